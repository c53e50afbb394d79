"""The largest values that cross while a recording runs, kept until they are opened."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from jupyter_serprof.capture.hook import Hook
from jupyter_serprof.capture.patching import Subscription, arm, remove_all
from jupyter_serprof.capture.point import Point, Record
from jupyter_serprof.probes.cloudpickle import pickle_points
from jupyter_serprof.probes.ray_driver import driver_points

_KEPT = 3
_WORTH_SHARE = 0.01
_PICKLES = ("pickle", "cloudpickle")
_RAY = ("SerializationContext.serialize", "Manager.export", "Manager.export_actor_class")


class Keeper:
    """Listens where values are handed to a pickler, and keeps the three largest.

    The places are those of the probes, noted as the probes note them: a recording that starts
    later listens to the same hooks. Values are held only from `start` to `clear`.
    """

    now = staticmethod(time.perf_counter_ns)

    def __init__(self) -> None:
        self._kept: dict[int, tuple[int, object]] = {}
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

    def values(self) -> list[object]:
        """Return what was kept, the largest first; not what is next to nothing beside it."""
        kept = sorted(self._kept.values(), key=lambda kept: -kept[0])
        return [value for size, value in kept if size >= _WORTH_SHARE * kept[0][0]]

    def clear(self) -> None:
        """Let go of the values."""
        self._kept.clear()

    def add(self, record: Record) -> None:
        """Forget what the hook noted: the recording listens, too."""

    def failed(self, point: Point, error: Exception) -> None:
        """Forget it: the recording is told, too."""

    def _keeping(self, point: Point) -> Callable[..., object]:
        """Return what notes as the probe does, and keeps the value; functions stand behind self."""
        at = 0 if point.role == "pickle.dumps" else 1

        def note(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401
            noted = point.after(token, args, kwargs, result) if point.after else None
            if self._is_keeping and len(args) > at:
                self._keep(args[at], _size_bytes(noted, args[at]))
            return noted

        return note

    def _keep(self, value: object, size_bytes: int) -> None:
        self._kept[id(value)] = (size_bytes, value)
        if len(self._kept) > _KEPT:
            del self._kept[min(self._kept, key=lambda key: self._kept[key][0])]


def _points() -> Iterator[Point]:
    for module in _PICKLES:
        if module in sys.modules:
            yield pickle_points(module)[0]
    if "ray" in sys.modules:
        yield from (p for p in driver_points(detail=False) if p.place.endswith(_RAY))


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


def _size_bytes(noted: object, value: object) -> int:
    """Return the size that a probe has noted first; for a function that of its pickle."""
    if isinstance(noted, tuple) and noted and isinstance(noted[0], int):
        beside = noted[1] if len(noted) > 1 else ()
        return noted[0] + (sum(beside) if isinstance(beside, list | tuple) else 0)
    pickled = getattr(value, "_pickled_function", None)
    return len(pickled) if isinstance(pickled, bytes) else 0
