"""The remedies: those that can be tried, with what to paste, and those that are only suggested.

What cannot be tried without running or changing code of the user is suggested.
"""

from __future__ import annotations

import copyreg
import functools
import re
import types
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from jupyter_serprof.experiments.chunks.look import look_at
from jupyter_serprof.experiments.roundtrip.trip import pickled_bytes
from jupyter_serprof.model import Finding
from jupyter_serprof.model.units import format_bytes, format_count
from jupyter_serprof.objects.ask import size_bytes
from jupyter_serprof.objects.captured import variables_of

#: Stands for the variable in what is to be pasted.
NAME = "NAME"
_PLACEHOLDER = "a"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy with a mechanical transformation.

    Attributes
    ----------
    rule
        The rule whose finding it answers.
    cause
        What is the matter, a sentence without the name of the variable.
    code
        A line to paste; `NAME` stands for the variable. "" where the trial has its own: the line
        that made the very form that was sent.
    """

    key: str
    title: str
    rule: str
    cause: str
    code: str = ""


_ALL = (
    Remedy(
        "out-of-band",
        "out-of-band buffers",
        "pickle.in-band-copy",
        "its buffers are copied into the pickle; out-of-band they are handed over",
        "buffers = []; data = pickle.dumps(NAME, protocol=5, buffer_callback=buffers.append)   "
        "# Ray and Dask do so by themselves",
    ),
    Remedy(
        "contiguous",
        "contiguous copy, once",
        "pickle.in-band-copy",
        "it is not contiguous: every pickle gathers its elements first",
    ),
    Remedy(
        "contiguous-out-of-band",
        "contiguous once, out-of-band",
        "pickle.in-band-copy",
        "it is not contiguous, so its buffers cannot be handed over",
    ),
    Remedy(
        "reused-buffer",
        "one buffer, used again",
        "pickle.fresh-buffers",
        "every pickle of it is written into new pages",
        "buffer = io.BytesIO(); pickle.Pickler(buffer, protocol=5).dump(NAME); "
        "data = buffer.getbuffer()[:buffer.tell()]   "
        "# keep buffer; each next time first: data.release(); buffer.seek(0)",
    ),
    Remedy(
        "protocol-5",
        "protocol 5",
        "pickle.protocol-4",
        "protocol 4 copies its arrays twice",
        "data = pickle.dumps(NAME, protocol=5)   # the default is still 4 before Python 3.14",
    ),
    Remedy(
        "put-once",
        "ray.put once, pass the reference",
        "ray.same-object",
        "each task that is given it stores it anew",
        "ref = ray.put(NAME)   # once; then f.remote(ref) instead of f.remote(NAME)",
    ),
    Remedy(
        "array",
        "one array instead of numbers",
        "pickle.small-objects",
        "each of its numbers is an object of its own",
    ),
    Remedy(
        "dtype",
        "a fixed dtype instead of objects",
        "pickle.small-objects",
        "its elements are Python objects although one dtype holds them all",
    ),
    Remedy(
        "stacked",
        "one stacked array",
        "pickle.small-objects",
        "its arrays have one shape and one dtype, and each is pickled by itself",
    ),
    Remedy(
        "columns",
        "columns instead of rows",
        "pickle.small-objects",
        "each of its rows is a dict, with every key and value an object",
    ),
    Remedy(
        "arrow-strings",
        "an Arrow array of strings",
        "pickle.small-objects",
        "each of its texts is an object of its own",
    ),
    Remedy(
        "str",
        "dtype str instead of objects",
        "pickle.small-objects",
        "its texts are Python objects, pickled one by one",
    ),
    Remedy(
        "category",
        "categorical texts",
        "pickle.small-objects",
        "its texts repeat: few of them are different",
    ),
    Remedy(
        "dask-delayed",
        "one key of the graph",
        "dask.large-object",
        "a large object is embedded in its tasks, and travels with each of them",
        "value = dask.delayed(value)   # one key of the graph, to which all tasks refer",
    ),
    Remedy(
        "dask-scatter",
        "scattered, broadcast",
        "dask.large-object",
        "a large object is embedded in its tasks, and travels with each of them",
        "value = client.scatter(value, broadcast=True)   # once; tasks then carry its key only",
    ),
)
REMEDIES: Mapping[str, Remedy] = {entry.key: entry for entry in _ALL}


def pasted(code: str, name: str) -> str:
    """Return the line with the name of the variable; an expression is called ``a``."""
    return code.replace(NAME, variable(name))


def variable(name: str) -> str:
    """Return what a line to paste calls it.

    >>> variable("rows"), variable("rows[3].w")
    ('rows', 'a')
    """
    return name if name.isidentifier() and not iskeyword(name) else _PLACEHOLDER


#: Names that people give to what can be computed again; "memory" is none.
_CACHE = re.compile(r"cache|(^|_)memo(s|ized)?(_|$)|(^|_)lru(_|$)", re.IGNORECASE)
_WORTH_BYTES, _WORTH_SHARE = 10_000, 0.1
_ATTRIBUTES = 200
#: What a class would begin with; anything else becomes None.
_EMPTY = (dict, list, set, OrderedDict)
_CAPTURED_BYTES = 1_000_000
#: Above this a chunk is not small: who has made it so had a reason.
_SMALL_CHUNK_BYTES = 16_000_000


def hints_of(value: object, name: str, plain_bytes: int) -> Iterator[Finding]:
    """Yield the findings whose remedy was not tried, each with the reason."""
    try:
        yield from _caches(value, name, plain_bytes)
        yield from _captured(value, name)
    except Exception:  # noqa: BLE001  (attributes and reducers of the user's own classes)
        return


def _caches(value: object, name: str, plain_bytes: int) -> Iterator[Finding]:
    """Find caches in an object of a class that leaves to ``object`` what of it travels.

    Told is what the pickle would be shorter by: of what something else holds as well, nothing.
    """
    if not _leaves_state_to_object(type(value)):
        return
    known = _attributes_of(value)
    worth_bytes = max(_WORTH_BYTES, _WORTH_SHARE * plain_bytes)
    for key, part in list(known.items())[:_ATTRIBUTES]:
        is_cache = _is_kept(type(value), key) or looks_like_cache(key)
        if not is_cache or (pickled_bytes(part) or 0) < worth_bytes:
            continue
        others = {other: each for other, each in known.items() if other != key}
        size = (pickled_bytes(known) or 0) - (pickled_bytes(others) or 0)
        if size >= worth_bytes:
            yield _cache_finding(value, name, key, size, plain_bytes)


def _cache_finding(value: object, name: str, key: str, size: int, plain_bytes: int) -> Finding:
    kind = type(value).__name__
    if hasattr(type(value), "__setstate__"):
        why = f"{kind}.__setstate__ may need it"
    elif _is_kept(type(value), key):
        why = "whoever reads it there computes it again"
    else:
        why = f"only the author of {kind} knows whether it can compute it again"
    return Finding(
        "pickle.cache-travels",
        "info",
        f"{name}.{key} looks like a cache and takes {format_bytes(size)} of the pickle's "
        f"{format_bytes(plain_bytes)}. Not tried: {why}",
        {"attribute": key, "size_bytes": size, "total_bytes": plain_bytes},
        f"{_getstate_line(type(value), key, _attributes_of(value)[key])}   # not tried",
    )


def _getstate_line(kind: type, key: str, part: object) -> str:
    """Return the ``__getstate__`` to write, as a line that can be pasted behind the class."""
    start = f"{kind.__name__}.__getstate__ = lambda self:"
    if _is_kept(kind, key):
        return f"{start} {{k: v for k, v in vars(self).items() if k != {key!r}}}"
    empty = f"{{{key!r}: {type(part)() if type(part) in _EMPTY else None!r}}}"
    if not _has_slots(kind):
        return f"{start} {{**vars(self), {empty[1:]}"
    parts = f"{{k: {empty}.get(k, v) for k, v in part.items()}}"
    return f"{start} tuple(part and {parts} for part in object.__getstate__(self))"


def looks_like_cache(key: str) -> bool:
    """Tell by the name.

    >>> [looks_like_cache(key) for key in ("_cache", "memo", "rowcache", "memory", "lru_rows")]
    [True, True, True, False, True]
    """
    return bool(_CACHE.search(key))


def _is_kept(kind: type, key: str) -> bool:
    """Tell whether a ``cached_property`` of the class keeps its value there."""
    return any(isinstance(vars(c).get(key), functools.cached_property) for c in kind.__mro__)


def _leaves_state_to_object(kind: type) -> bool:
    """Tell whether neither the class nor one above it says what of an object travels."""
    if issubclass(kind, type | types.FunctionType) or kind in copyreg.dispatch_table:
        return False
    if "__dict__" not in dir(kind) and not _has_slots(kind):
        return False
    names = ("__reduce_ex__", "__reduce__", "__getstate__")
    return all(getattr(kind, name) is getattr(object, name) for name in names)


def _attributes_of(value: object) -> dict[str, object]:
    """Return the attributes of an object whose state is left to ``object``, slots included."""
    state: Any = object.__getstate__(value)
    parts = state if isinstance(state, tuple) else (state,)
    return {str(key): part for known in parts if known for key, part in known.items()}


def _has_slots(kind: type) -> bool:
    return any(vars(each).get("__slots__") for each in kind.__mro__)


def _captured(value: object, name: str) -> Iterator[Finding]:
    """Find what a function captures: passing it as an argument changes the function."""
    if not isinstance(value, types.FunctionType):
        return
    for variable, kind, part in variables_of(value):
        size = size_bytes(part) or 0
        if kind != "default" and size >= _CAPTURED_BYTES:
            yield Finding(
                "ray.captured-variable",
                "info",
                f"{name} captures {kind} {variable}: {format_bytes(size)} travel with its code. "
                "Not tried: it would be another function",
                {"name": variable, "size_bytes": size, "kind": kind},
                f"ref = ray.put({variable})   # then pass ref as an argument; Dask: client.scatter",
            )


def small_chunks(collection: Any, client: Any, name: str) -> Finding | None:  # noqa: ANN401
    """Find more chunks than threads that are small; other ones take another graph to measure."""
    try:
        look = look_at([collection])
        threads = sum(client.nthreads().values())
    except Exception:  # noqa: BLE001  (another version of Dask, a collection of others)
        return None
    chunks, size = look.chunks, look.chunk_bytes
    if chunks is None or size is None or chunks <= threads or size > _SMALL_CHUNK_BYTES:
        return None
    return Finding(
        "dask.tiny-tasks",
        "info",
        f"{name} has {format_count(chunks)} chunks of {format_bytes(size)}; fewer, larger ones "
        "make fewer tasks. Not tried here: a sweep over chunk sizes measures it",
        {"chunks": chunks, "chunk_bytes": size},
        f"%graphstages --sweep chunk=100:1000:5 make(chunk)   # make: a function of yours that "
        f"makes {name} with such chunks",
    )
