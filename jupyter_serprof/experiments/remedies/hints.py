"""Remedies that are only suggested: what cannot be tried without running or changing user code."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from jupyter_serprof.experiments.chunks.look import look_at
from jupyter_serprof.experiments.remedies.cache import (
    WORTH_BYTES,
    WORTH_SHARE,
    attributes_of,
    is_kept,
    leaves_state_to_object,
    looks_like_cache,
)
from jupyter_serprof.experiments.roundtrip.trip import pickled_bytes
from jupyter_serprof.model import Finding
from jupyter_serprof.model.units import format_bytes, format_count
from jupyter_serprof.objects.sizes import size_bytes

_ATTRIBUTES = 200
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
    """Find caches of a class whose ``__setstate__`` may need them; all others are tried."""
    kind = type(value)
    if not leaves_state_to_object(kind) or not hasattr(kind, "__setstate__"):
        return
    for key, part in list(attributes_of(value).items())[:_ATTRIBUTES]:
        if not (is_kept(kind, key) or looks_like_cache(key)):
            continue
        size = pickled_bytes(part) or 0
        if size >= max(WORTH_BYTES, WORTH_SHARE * plain_bytes):
            yield _cache_finding(name, kind.__name__, key, size, plain_bytes)


def _cache_finding(name: str, kind: str, key: str, size: int, plain_bytes: int) -> Finding:
    return Finding(
        "pickle.cache-travels",
        "info",
        f"{name}.{key} looks like a cache and takes {format_bytes(size)} of the pickle's "
        f"{format_bytes(plain_bytes)}. Not tried: {kind}.__setstate__ may need it",
        {"attribute": key, "size_bytes": size, "total_bytes": plain_bytes},
        f"{kind}.__getstate__ = lambda self: {{**vars(self), {key!r}: None}}   # not tried",
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
