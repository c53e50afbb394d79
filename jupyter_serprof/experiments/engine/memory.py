"""The memory guard: what a size will need at its peak, against what is free, before it is made.

Free is the memory of this machine or container and, for what goes through Ray, Ray's store.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from jupyter_serprof.capture.machine import available_bytes
from jupyter_serprof.model.units import format_bytes, format_fixed
from jupyter_serprof.probes.ray.tasks import is_alive

#: Of the memory that is free, so much may be taken.
_SHARE = 0.8
#: They hand the same memory back.
_WITHOUT_COPY = ("pickle-oob",)
_RAY = "ray"
_RAY_STAGE = "ray."
_STORE = "object_store_memory"
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
    What Ray's store has free is asked once: what a sweep puts there itself is freed late.
    """

    keys: Sequence[str]
    _held_share: float = field(default=1.0, init=False)
    _is_stored: bool = field(default=False, init=False)
    _store_free_bytes: float | None = field(default=None, init=False)

    def learn(self, size_bytes: int | None, grown_bytes: int | None) -> None:
        """Take what the process grew by while a value of this size was made."""
        if size_bytes and grown_bytes and size_bytes >= _TELLING_BYTES:
            self._held_share = min(_MOST_SHARE, max(1.0, grown_bytes / size_bytes))

    def learn_stages(self, stages: Iterable[str]) -> None:
        """Take which stages a run of code had: with one of Ray's its bytes go through the store."""
        self._is_stored = self._is_stored or any(key.startswith(_RAY_STAGE) for key in stages)

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
        known = [most for most in (self._most_in_memory, self._most_in_store) if most is not None]
        return min(known, default=None)

    @property
    def bound(self) -> str:
        """The bound in words, for people; "" where nobody can say."""
        free, most, stored = available_bytes(), self.most_bytes, self._most_in_store
        if most is None:
            return ""
        fit = f"sizes up to {format_bytes(most)} fit"
        if free is None or most == stored:
            return (
                f"{fit}: {format_bytes(self._store_bytes())} of Ray's store are free, "
                "and what is larger goes to disk"
            )
        return (
            f"{fit}: {format_bytes(free)} of memory are free, "
            f"and the peak holds {format_fixed(self.copies, 1)} times the size"
        )

    @property
    def _most_in_memory(self) -> int | None:
        free = available_bytes()
        return None if free is None else int(_SHARE * free / self.copies)

    @property
    def _most_in_store(self) -> int | None:
        """What fits into Ray's store, where everything goes there; else `store_problem` tells."""
        is_stored = self._is_stored or (bool(self.keys) and all(map(_is_ray, self.keys)))
        free = self._store_bytes() if is_stored else None
        return None if free is None else int(_SHARE * free)

    def _store_bytes(self) -> float | None:
        if self._store_free_bytes is None:
            self._store_free_bytes = _store_free_bytes()
        return self._store_free_bytes

    def problem(self, size_bytes: float | None) -> str:
        """Return why a size is left out; "" if it fits or nobody can say."""
        most = self.most_bytes
        if size_bytes is None or most is None or size_bytes <= most:
            return ""
        return f"left out for lack of memory; {self.bound}"

    def store_problem(self, key: str, size_bytes: int | None) -> str:
        """Return why a size does not fit into Ray's store; "" if it does or nobody can say."""
        free = self._store_bytes() if _is_ray(key) and size_bytes else None
        if free is None or not size_bytes or size_bytes <= _SHARE * free:
            return ""
        return f"left out: it does not fit into what is free of Ray's store, {format_bytes(free)}"


def _is_ray(key: str) -> bool:
    return key.partition("-")[0] == _RAY


def _store_free_bytes() -> float | None:
    ray = sys.modules.get("ray")
    with suppress(Exception):  # Ray is gone, or does not say
        if ray is not None and is_alive() and ray.cluster_resources().get(_STORE):
            # A store that is full is not listed.
            return float(ray.available_resources().get(_STORE, 0.0))
    return None
