"""The ways on which a value is sent while remedies are tried: written, moved once, read.

Every way ends with the bytes in another block of memory, as a store or a socket leaves them, and
with an object read from there: so no way wins by moving nothing. The block is known already (warm)
and used again.
"""

import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from itertools import accumulate
from typing import Any, NamedTuple

from jupyter_serprof.objects.classes import classes_kept
from jupyter_serprof.objects.picklers import flat

_ALIGNED = 64


class Trip(NamedTuple):
    """One trip: its stages in order (ns), what it moved, and what came back."""

    stages: Mapping[str, int]
    moved_bytes: int | None
    result: object
    in_band_bytes: int | None = None
    out_of_band_bytes: int | None = None

    @property
    def wall_ns(self) -> int:
        """The sum of its stages: nothing lies between them but the end of what is not needed."""
        return sum(self.stages.values())


class Watch:
    """Adds the time since it was last asked to a stage."""

    def __init__(self) -> None:
        self.stages: dict[str, int] = {}
        self.last = time.perf_counter_ns()

    def stage(self, key: str) -> None:
        """End a stage here."""
        now = time.perf_counter_ns()
        self.stages[key] = self.stages.get(key, 0) + now - self.last
        self.last = time.perf_counter_ns()

    def forget(self) -> None:
        """Leave out what happened since: the end of things that are not needed any more."""
        self.last = time.perf_counter_ns()


class GrowingBlock:
    """A block of memory into which everything is moved; it grows, and is never given back."""

    def __init__(self) -> None:
        self._view = memoryview(bytearray())

    def moved(self, frames: Sequence[Any]) -> list[memoryview]:
        """Copy frames into the block, each at an aligned place; return them there."""
        views = [flat(frame) for frame in frames]
        rooms = (-(-view.nbytes // _ALIGNED) * _ALIGNED for view in views)
        *places, end = accumulate(rooms, initial=0)
        if self._view.nbytes < end:
            self._view = memoryview(bytearray(end))
        there = [self._view[at : at + v.nbytes] for at, v in zip(places, views, strict=True)]
        for place, view in zip(there, views, strict=True):
            place[:] = view
        return there


@dataclass(frozen=True, slots=True)
class PickleWay:
    """By pickle or cloudpickle, in-band or out-of-band.

    ``reuses``: Write into a buffer that is kept.
    """

    block: GrowingBlock
    protocol: int = 5
    by_value: bool = False
    out_of_band: bool = False
    reuses: BytesIO | None = None

    def send(self, value: object) -> Trip:
        """Make one trip."""
        watch = Watch()
        frames = self._written(value)
        watch.stage("pickle.dumps")
        in_band, beside = flat(frames[0]).nbytes, sum(flat(f).nbytes for f in frames[1:])
        watch.forget()
        arrived = self.block.moved(frames)
        watch.stage("memory.move")
        del frames
        with classes_kept():
            watch.forget()
            result = pickle.loads(arrived[0], buffers=arrived[1:])  # noqa: S301  (our own bytes)
            watch.stage("pickle.loads")
        return Trip(watch.stages, in_band + beside, result, in_band, beside)

    def _written(self, value: object) -> list[Any]:
        buffers: list[pickle.PickleBuffer] = []
        callback = buffers.append if self.out_of_band else None
        if self.reuses is not None:
            self.reuses.seek(0)
            pickle.Pickler(self.reuses, protocol=self.protocol).dump(value)
            return [self.reuses.getbuffer()[: self.reuses.tell()]]
        module: Any = import_module("cloudpickle") if self.by_value else pickle
        data = module.dumps(value, protocol=self.protocol, buffer_callback=callback)
        return [data, *buffers]


def through_ray(value: object) -> Trip:
    """Put a value into Ray's store and get it."""
    import ray

    watch = Watch()
    reference: Any = ray.put(value)
    watch.stage("ray.store")
    result: Any = ray.get(reference)
    watch.stage("ray.fetch")
    return Trip(watch.stages, None, result)
