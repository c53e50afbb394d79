"""The largest different values that cross while a recording runs, kept until they are opened."""

from __future__ import annotations

import sys
import threading
import time
import types
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from jupyter_serprof.capture.hook import Hook
from jupyter_serprof.capture.patching import Subscription, arm, remove_all
from jupyter_serprof.capture.point import Point, Record
from jupyter_serprof.objects.blame_payload import Payload, payloads
from jupyter_serprof.probes.pickle import pickle_points
from jupyter_serprof.probes.ray.driver import driver_points

_KEPT = 3
_WORTH_SHARE = 0.01
_PICKLES = ("pickle", "cloudpickle")
_RAY = "SerializationContext.serialize"
#: Pickles what `_RAY` sees, and besides the functions and classes that are exported.
_RAY_PICKLE = "ray.cloudpickle"


@dataclass(frozen=True, slots=True)
class Crossed:
    """An object that was pickled, once or again and again.

    Attributes
    ----------
    value, holder
        The object, and the outermost object of the user that it was first met in.
    size_bytes
        Of the largest of its pickles.
    count
        How often it was pickled.
    total_bytes
        Of all its pickles; None if it was pickled as a part of something else.
    """

    value: object
    holder: object
    size_bytes: int
    count: int = 1
    total_bytes: int | None = None

    def again(self, other: Crossed) -> Crossed:
        """Return both times as one."""
        apart = (self.total_bytes, other.total_bytes)
        return replace(
            self,
            size_bytes=max(self.size_bytes, other.size_bytes),
            count=self.count + other.count,
            total_bytes=None if None in apart else sum(size or 0 for size in apart),
        )


class Keeper:
    """Listens where values are handed to a pickler, and keeps the three largest different ones.

    The places are those of the probes, noted as the probes note them: a recording that starts
    later listens to the same hooks. Values are held only from `start` to `clear`.
    """

    now = staticmethod(time.perf_counter_ns)

    def __init__(self) -> None:
        self._kept: dict[Hashable, Crossed] = {}
        # Threads of Dask and finalizers pickle, too.
        self._lock = threading.RLock()
        self._is_keeping = False
        self._subscriptions: list[Subscription] = []

    def start(self) -> None:
        """Listen; to be called before the recording starts."""
        for point in _points():
            with suppress(AttributeError, ImportError, TypeError):
                keeping = replace(point, after=self._keeping(point))
                for owner, name in _places(point):
                    self._subscriptions.append(arm(keeping, self, owner=owner, attribute=name))

    def keep(self, *, is_on: bool) -> None:
        """Keep what crosses from now on, or no more: what probes send for themselves is not kept.

        With a cluster connected a recording pickles its agents when it starts, and fetches what
        they saw when it ends.
        """
        self._is_keeping = is_on

    def stop(self) -> None:
        """Listen no more; called again it does nothing."""
        self._is_keeping = False
        remove_all(self._subscriptions)
        self._subscriptions.clear()

    def crossed(self) -> list[Crossed]:
        """Return what was kept, the largest first; not what is next to nothing beside it."""
        kept = sorted(self._kept.values(), key=lambda one: -one.size_bytes)
        return [one for one in kept if one.size_bytes >= _WORTH_SHARE * kept[0].size_bytes]

    def clear(self) -> None:
        """Let go of the values."""
        self._kept.clear()

    def add(self, record: Record) -> None:
        """Forget what the hook noted: the recording listens, too."""

    def failed(self, point: Point, error: Exception) -> None:
        """Forget it: the recording is told, too."""

    def _keeping(self, point: Point) -> Callable[..., object]:
        """Return what notes as the probe does, and keeps the value, which can stand behind self."""
        at = 0 if point.role == "pickle.dumps" else 1

        def note(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401
            noted = point.after(token, args, kwargs, result) if point.after else None
            if self._is_keeping and len(args) > at and _is_meant(point, args[at]):
                with suppress(Exception):  # the recording needs what was noted
                    self._keep(args[at], _size_bytes(noted))
            return noted

        return note

    def _keep(self, value: object, size_bytes: int) -> None:
        for payload in payloads(value, size_bytes):
            total = size_bytes if payload.value is value else None
            new = Crossed(payload.value, payload.holder, payload.size_bytes, 1, total)
            with self._lock:
                self._add(payload, new)

    def _add(self, payload: Payload, new: Crossed) -> None:
        known = self._kept.get(payload.key)
        self._kept[payload.key] = new if known is None else known.again(new)
        if len(self._kept) > _KEPT:
            del self._kept[min(self._kept, key=lambda key: self._kept[key].size_bytes)]


def _points() -> Iterator[Point]:
    for module in _PICKLES:
        if module in sys.modules:
            yield pickle_points(module)[0]
    if "ray" in sys.modules:
        yield from (p for p in driver_points(detail=False) if p.place.endswith(_RAY))
        yield pickle_points(_RAY_PICKLE)[0]


def _is_meant(point: Point, value: object) -> bool:
    is_ray_pickle = point.place.startswith(_RAY_PICKLE)
    return not is_ray_pickle or isinstance(value, types.FunctionType | type)


def _places(point: Point) -> Iterator[tuple[object, str]]:
    """Yield the place of a point, and the names that the notebook gave to the same function."""
    owner, name = point.owner()
    yield owner, name
    original = _unhooked(getattr(owner, name))
    main = sys.modules.get("__main__")
    for given, value in list(vars(main).items()) if main else ():
        if not given.startswith("_") and _unhooked(value) is original:
            yield main, given


def _unhooked(value: object) -> object:
    return value.original if isinstance(value, Hook) else value


def _size_bytes(noted: object) -> int:
    """Return the size that a probe has noted first."""
    if isinstance(noted, tuple) and noted and isinstance(noted[0], int):
        beside = noted[1] if len(noted) > 1 else ()
        return noted[0] + (sum(beside) if isinstance(beside, list | tuple) else 0)
    return 0
