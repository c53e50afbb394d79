"""The way through Ray's store while remedies are tried: put each time, or once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.experiments.remedies.ways import Trip, Watch
from jupyter_serprof.probes.ray.alive import is_alive


def is_running() -> bool:
    """Tell whether Ray is there and lives; never imports or starts it."""
    return is_alive()


def reference_text(value: object, name: str) -> str:
    """Say that a value is only a reference to another one, and what to try; "" of all others."""
    ray, distributed = sys.modules.get("ray"), sys.modules.get("distributed")
    behind = ""
    if ray is not None and isinstance(value, ray.ObjectRef):
        behind = f"ray.get({name})"
    elif distributed is not None and isinstance(value, distributed.Future):
        behind = f"{name}.result()"
    if not behind:
        return ""
    return (
        f"{name} is a reference: what travels is its name, a few bytes, and not the object behind "
        f"it. There is nothing to make faster. For that object: %serprof --try {behind}"
    )


@dataclass(frozen=True, slots=True)
class RayWay:
    """Through Ray's store some times: put each time, or once for all of them.

    Attributes
    ----------
    count
        How often it is fetched.
    once
        Whether it is put once for all of these.
    """

    count: int = 1
    once: bool = False

    def send(self, value: object) -> Trip:
        """Put and get; the stages are the sums of all."""
        import ray

        watch = Watch()
        reference: Any = None
        result: Any = None
        for number in range(self.count):
            if number == 0 or not self.once:
                reference = ray.put(value)
                watch.stage("ray.store")
            result = ray.get(reference)
            watch.stage("ray.fetch")
        return Trip(watch.stages, None, result)
