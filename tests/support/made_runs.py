"""Runs of code again and again, and documents that are made up to compare them with."""

from collections.abc import Callable

from jupyter_serprof.experiments.compare.repeats import Repeats
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Point, Sweep, Variant

CODE = "pickle.dumps([1, 2, 3])"
#: No code is as fast, and none as slow: verdicts against them hold on the busiest machine.
FAST_NS, SLOW_NS = 10, 10**15


def made(wall_ns: int, name: str = CODE) -> Sweep:
    """Return a document of fifteen warm runs of the same code, nearly alike."""
    points = tuple(
        Point("code", None, at + 1, False, wall_ns + at % 3, None, {})  # noqa: FBT003  (a column)
        for at in range(15)
    )
    return Sweep(
        name=name,
        started="",
        variants=(Variant("code", name),),
        points=points,
        control={"pickle": (10**6,) * 10},
    )


def repeats_of(call: Callable[[], object], repeat: int) -> Repeats:
    """Return the warm runs of a call whose first one has just been made."""
    with Recording("f()", detail=False) as first:
        call()
    return Repeats(call, "f()", traces=[first.trace], repeat=repeat)
