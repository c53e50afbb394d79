"""What may be named as the reason why a curve bends: limits of libraries and of this machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jupyter_serprof.analysis.sizes.lines import Cause
from jupyter_serprof.capture.machine import cache_sizes
from jupyter_serprof.model import Point
from jupyter_serprof.model.units import format_bytes

_RAY_INLINE_BYTES = 100 * 1024
_RAY_THREADS_BYTES = 2**20
#: Stages of tasks: what they take and return below the limit travels with the call itself.
_TASK_STAGES = frozenset({"ray.submit", "ray.arguments", "ray.execute", "ray.outputs"})
_STORES = frozenset({"ray.store"})


def causes_of(points: Sequence[Point], *, has_objects: bool) -> tuple[Cause, ...]:
    """Return the reasons that can act on the variants of a sweep, the most telling first.

    Parameters
    ----------
    has_objects
        True where the values are made of Python objects, which the pickler remembers one by one.

    Source: ray 2.60, max_direct_call_object_size (arguments and returns of tasks, not ``ray.put``)
    and parallel_memcopy (6 threads for buffers above 1 MiB); caches from the operating system.
    """
    limits = [
        _limit("Ray's inline limit (100 KiB)", _RAY_INLINE_BYTES, points, _TASK_STAGES),
        _limit("Ray copies with several threads", _RAY_THREADS_BYTES, points, _STORES),
    ]
    caches = [
        Cause(f"beyond the L{level} cache ({format_bytes(size)})", size)
        for level, size in cache_sizes().items()
    ]
    memo = [Cause("the pickler's memo grows")] if has_objects else []
    return (*(cause for cause in limits if cause), *memo, *caches)


def _limit(
    title: str, at_bytes: int, points: Iterable[Point], stages: frozenset[str]
) -> Cause | None:
    variants = {point.variant for point in points if stages & point.stages.keys()}
    return Cause(title, at_bytes, tuple(sorted(variants))) if variants else None


def has_objects(value: object) -> bool:
    """Tell whether a value is a container of Python objects, not one block of bytes."""
    if isinstance(value, list | tuple | dict | set | frozenset):
        return True
    dtype = getattr(value, "dtype", None)
    return bool(getattr(dtype, "hasobject", False)) or (
        hasattr(value, "__dict__")
        and not hasattr(value, "nbytes")
        and not hasattr(value, "memory_usage")
    )
