"""A comparison with a line of each kind, as the text and Markdown tests show it."""

from dataclasses import replace

from jupyter_serprof.model import Change, Comparison

MS = 1_000_000
WALL = Change("", "Wall time", 10 * MS, 12.5 * MS, "slower", 1.25, 1.2, 1.3, 15, 15)
COLD = replace(
    WALL, cold=True, low=None, high=None, before_runs=1, verdict="cannot tell",
    reason="1 run before and 1 after are too few for an interval. Run each side again: --repeat 15",
)  # fmt: skip
PICKLE = Change("pickle.dumps", "Pickle", 8 * MS, 7 * MS, "faster", 0.875, 0.8, 0.95, 15, 15)
GONE = Change("gc", "Garbage collection", 1 * MS, None, "only before")
TINY = replace(PICKLE, stage="x", title="Tiny", reason="below 1 % of the wall time", is_small=True)
FOUND = Comparison(
    before="f()",
    after="f()",
    changes=(WALL, PICKLE, GONE, TINY),
    noise_share=0.034,
    method="Intervals.",
    notes=("other versions",),
)
