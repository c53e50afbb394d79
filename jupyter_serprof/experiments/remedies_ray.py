"""The way through Ray's store while remedies are tried: put each time, or once."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any

from jupyter_serprof.experiments.remedies_ways import Trip, Watch


def is_running() -> bool:
    """Tell whether Ray is there to be used; never imports or starts it."""
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


@dataclass(slots=True)
class RayWay:
    """Through Ray's store: put each time, or once."""

    once: bool = False
    prepare_ns: int | None = field(default=None, init=False)
    _reference: Any = field(default=None, init=False)

    def send(self, value: object) -> Trip:
        """Put, unless that was done, and get."""
        import ray

        if self.once and self._reference is None:
            start = time.perf_counter_ns()
            self._reference = ray.put(value)
            self.prepare_ns = time.perf_counter_ns() - start
        watch = Watch()
        reference = self._reference if self.once else ray.put(value)
        if not self.once:
            watch.stage("ray.store")
        result = ray.get(reference)
        watch.stage("ray.fetch")
        return Trip(watch.stages, None, result)

    def end(self) -> None:
        """Give the reference back."""
        self._reference = None
