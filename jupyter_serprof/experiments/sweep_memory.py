"""The memory guard: what a size will need at its peak, against what is free, before it is made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from jupyter_serprof.capture.machine import available_bytes
from jupyter_serprof.model.units import format_bytes, format_fixed

#: Of the memory that is free, so much may be taken.
_SHARE = 0.8
#: They hand the same memory back.
_WITHOUT_COPY = ("pickle-oob",)
_RAY = "ray"
#: Its store frees the copy of the run before late.
_STORE_COPIES = 2.0
#: A smaller value says nothing: the allocator has room for it anyway.
_TELLING_BYTES = 1_000_000
_MOST_SHARE = 100.0


@dataclass(slots=True)
class MemoryGuard:
    """Bounds the sizes of a sweep by the memory that is free now.

    Parameters
    ----------
    keys
        The transports that take part: an in-band one holds the bytes and the result beside the
        value, Ray's store up to two copies, out-of-band pickle none.

    Notes
    -----
    A value of Python objects holds more memory than its size (a list of dicts several times): that
    ratio is measured as the growth of this process while the largest value so far was made.
    """

    keys: Sequence[str]
    _held_share: float = field(default=1.0, init=False)

    def learn(self, size_bytes: int | None, grown_bytes: int | None) -> None:
        """Take what the process grew by while a value of this size was made."""
        if size_bytes and grown_bytes and size_bytes >= _TELLING_BYTES:
            self._held_share = min(_MOST_SHARE, max(1.0, grown_bytes / size_bytes))

    @property
    def copies(self) -> float:
        """How many times its size a value needs at the peak, itself included."""
        held = self._held_share
        beside = [0.0 if key in _WITHOUT_COPY else 1.0 + held for key in self.keys]
        stored = _STORE_COPIES if any(key.startswith(_RAY) for key in self.keys) else 0.0
        return held + max(beside, default=0.0) + stored

    @property
    def most_bytes(self) -> int | None:
        """The largest size that fits into what is free now; None where nobody can say."""
        free = available_bytes()
        return None if free is None else int(_SHARE * free / self.copies)

    @property
    def bound(self) -> str:
        """The bound in words, for people; "" where nobody can say."""
        free, most = available_bytes(), self.most_bytes
        if free is None or most is None:
            return ""
        return (
            f"sizes up to {format_bytes(most)} fit: {format_bytes(free)} of memory are free, "
            f"and the peak holds {format_fixed(self.copies, 1)} times the size"
        )

    def problem(self, size_bytes: float | None) -> str:
        """Return why a size is left out; "" if it fits or nobody can say."""
        most = self.most_bytes
        if size_bytes is None or most is None or size_bytes <= most:
            return ""
        return f"left out for lack of memory; {self.bound}"

    def store_problem(self, key: str, size_bytes: int | None) -> str:
        """Return why a size does not fit into Ray's store; "" if it does or nobody can say."""
        if key.partition("-")[0] != _RAY or not size_bytes:
            return ""
        store = _store_bytes()
        if store is None or size_bytes <= _SHARE * store:
            return ""
        return f"left out: it does not fit into Ray's store of {format_bytes(store)}"


def _store_bytes() -> float | None:
    ray = sys.modules.get("ray")
    with suppress(Exception):  # Ray is gone, or does not say
        if ray is not None and ray.is_initialized():
            found = ray.cluster_resources().get("object_store_memory")
            return float(found) if found else None
    return None
