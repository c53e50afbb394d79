"""Documents of runs that are made up, to compare real ones with."""

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
