"""Remedies that are only suggested: what cannot be tried without running or changing user code."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Iterator

from jupyter_serprof.experiments.outcome import pickled_bytes
from jupyter_serprof.model import Finding
from jupyter_serprof.model.sizes import size_bytes
from jupyter_serprof.model.units import format_bytes

#: Names that people give to what can be computed again.
_CACHE = re.compile(r"(^|_)(cache|cached|memo|memoized|lru)(_|$|s$)", re.IGNORECASE)
_WORTH_BYTES = 10_000
_WORTH_SHARE = 0.1
_ATTRIBUTES = 200
_CAPTURED_BYTES = 1_000_000


def hints_of(value: object, name: str, plain_bytes: int) -> Iterator[Finding]:
    """Yield the findings whose remedy was not tried, each with the reason."""
    try:
        yield from _caches(value, name, plain_bytes)
        yield from _captured(value, name)
    except Exception:  # noqa: BLE001  (attributes and reducers of the user's own classes)
        return


def _caches(value: object, name: str, plain_bytes: int) -> Iterator[Finding]:
    """Find attributes that look like caches: dropping them is for the class to say."""
    attributes = getattr(value, "__dict__", None)
    if not isinstance(attributes, dict) or isinstance(value, type | types.FunctionType):
        return
    if hasattr(type(value), "__setstate__") or "__getstate__" in vars(type(value)):
        return  # the class has a say already
    for key, part in list(attributes.items())[:_ATTRIBUTES]:
        if not _is_cache(value, str(key)):
            continue
        size = pickled_bytes(part) or 0
        if size >= max(_WORTH_BYTES, _WORTH_SHARE * plain_bytes):
            yield _cache_finding(name, str(key), size, plain_bytes)


def _is_cache(value: object, key: str) -> bool:
    """Tell by the name, or because a ``cached_property`` keeps its value there."""
    kept = getattr(type(value), key, None)
    return isinstance(kept, functools.cached_property) or bool(_CACHE.search(key))


def _cache_finding(name: str, key: str, size: int, plain_bytes: int) -> Finding:
    return Finding(
        "pickle.cache-travels",
        "info",
        f"{name}.{key} looks like a cache and takes {format_bytes(size)} of the pickle's "
        f"{format_bytes(plain_bytes)}. Not tried: only the class knows whether it can do without",
        {"attribute": key, "size_bytes": size, "total_bytes": plain_bytes},
        f"__getstate__ = lambda self: {{**vars(self), {key!r}: None}}   # in the class; not tried",
    )


def _captured(value: object, name: str) -> Iterator[Finding]:
    """Find what a function captures: passing it as an argument changes the function."""
    if not isinstance(value, types.FunctionType):
        return
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=False)
    named = [(free, cell.cell_contents, "closure") for free, cell in cells]
    read = value.__code__.co_names
    named += [(n, value.__globals__[n], "global") for n in read if n in value.__globals__]
    for variable, part, kind in named:
        size = size_bytes(part) or 0
        if size >= _CAPTURED_BYTES:
            yield Finding(
                "ray.captured-variable",
                "info",
                f"{name} captures {kind} {variable}: {format_bytes(size)} travel with its code. "
                "Not tried: it would be another function",
                {"name": variable, "size_bytes": size, "kind": kind},
                f"ref = ray.put({variable})   # then pass ref as an argument; Dask: client.scatter",
            )
