"""Self-test of the Ray probe: whether its places still see a put and a get in this Ray."""

from __future__ import annotations

import sys
from threading import get_ident

from jupyter_serprof.capture.draft import Run
from jupyter_serprof.capture.point import Record
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model import ProbeReport

_PAYLOAD_BYTES = 200_000
_SEEN_SHARE = 0.8
#: Each takes about a ms. Of those that other processes disturb 8 in 100 see less than their share;
#: what all of them miss would be held against this Ray as long as the process lives.
_ATTEMPTS = 20
#: Imported by the first put of a process; before it, a test would take the first-use imports away
#: from the user's own first put, where they belong.
_FIRST_PUT_MODULE = "ray.experimental.rdt.util"
_EXPECTED_ROLES = frozenset({"ray.put", "ray.serialize", "ray.get", "ray.deserialize"})
#: What the test found out in this process, once it could be made.
_ANSWERS: list[str] = []


def blindness() -> str:
    """Return what put and get hide from the probe, in words; empty if nothing or not known yet.

    Puts and gets 200 kB once in a process, after the user's own run, and asks for spans of both
    calls and of what happens inside them, that cover 80 % of the calls' time.
    """
    ray = sys.modules.get("ray")
    if ray is None or _FIRST_PUT_MODULE not in sys.modules or not ray.is_initialized():
        return ""
    if not _ANSWERS:
        _ANSWERS.append(_try())
    return _ANSWERS[0]


def known_blindness() -> str:
    """Return what `blindness` found earlier in this process, without trying."""
    return _ANSWERS[0] if _ANSWERS else ""


def _try() -> str:
    unseen, best = frozenset[str](), 0.0
    for _ in range(_ATTEMPTS):
        roles, share = _put_and_get()
        unseen, best = _EXPECTED_ROLES - roles, max(best, share)
        # A busy machine spoils a share; it does not hide a call.
        if unseen or best >= _SEEN_SHARE:
            break
    if unseen:
        return f"{', '.join(sorted(unseen))}: a trial put and get of 200 kB went by unseen"
    if best < _SEEN_SHARE:
        return f"{1 - best:.0%} of a trial put and get of 200 kB"
    return ""


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


def _put_and_get() -> tuple[frozenset[str], float]:
    """Return the roles that were seen, and the share of the time that put and get cover."""
    import ray

    recorder = Recorder([_DriverOnly()])
    payload = bytearray(_PAYLOAD_BYTES)
    recorder.start()
    try:
        start = recorder.now()
        # Held until the clock is read: letting go of a reference takes Ray up to a millisecond.
        reference = ray.put(payload)
        result = ray.get(reference)
        end = recorder.now()
    finally:
        recorder.stop()
    del reference, result
    own = [record for record in recorder.page if record[1] == get_ident()]
    return frozenset(record[0].role for record in own), _covered(own) / max(1, end - start)


def _covered(records: list[Record]) -> int:
    return sum(record[3] - record[2] for record in records if record[0].role in _OUTER_ROLES)


_OUTER_ROLES = ("ray.put", "ray.get")
