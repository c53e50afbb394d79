"""Remedies that are only suggested: what cannot be tried without running or changing user code."""

from __future__ import annotations

import types
from collections.abc import Iterator

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
from jupyter_serprof.model.units import format_bytes
from jupyter_serprof.objects.sizes import size_bytes

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
