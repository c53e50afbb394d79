"""Self-test of the Ray probe: do our places still see a put and a get in this version of Ray?"""

from __future__ import annotations

import sys
from functools import cache
from threading import get_ident

from jupyter_serprof.capture.draft import Run
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model import ProbeReport

_PAYLOAD_BYTES = 200_000
_SEEN_SHARE = 0.8
#: Imported by the first put of a process; before it, a test would take the first-use imports away
#: from the user's own first put, where they belong.
_FIRST_PUT_MODULE = "ray.experimental.rdt.util"


def self_test() -> bool:
    """Tell whether put and get are seen; True while it cannot be tested without being noticed.

    Puts and gets 200 kB once in a process, after the user's own run, and asks for nested spans that
    cover 80 % of the wall time.
    """
    ray = sys.modules.get("ray")
    ready = ray is not None and _FIRST_PUT_MODULE in sys.modules and ray.is_initialized()
    return not ready or _passes()


@cache
def _passes() -> bool:
    return any(_seen_share() >= _SEEN_SHARE for _ in range(3))


class _DriverOnly:
    """The places of the driver, without anything that could call the self-test again."""

    library = "ray"

    def arm(self, recorder: Recorder) -> None:
        from jupyter_serprof.probes import Probe
        from jupyter_serprof.probes.ray_driver import driver_points

        self._probe = Probe()
        for point in driver_points(detail=False):
            self._probe.arm_point(point, recorder)

    def remove(self) -> None:
        self._probe.remove()

    def refine(self, run: Run) -> None:
        """Nothing to add."""

    def report(self) -> ProbeReport:
        return ProbeReport("ray self-test")


def _seen_share() -> float:
    import ray

    recorder = Recorder([_DriverOnly()])
    recorder.start()
    try:
        ray.get(ray.put(bytearray(_PAYLOAD_BYTES)))
    finally:
        recorder.stop()
    outer = {"ray.put", "ray.get"}
    own = [record for record in recorder.page if record[1] == get_ident()]
    if not outer <= {record[0].role for record in own}:
        return 0.0
    seen = sum(record[3] - record[2] for record in own if record[0].role in outer)
    return seen / max(1, (recorder.end_ns or 0) - recorder.start_ns)
