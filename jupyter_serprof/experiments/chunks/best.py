"""Which chunk size is best, how sure that is, and what limits on either side of it.

Small chunks are many tasks, each with an overhead; large ones leave workers idle or wait for bytes:
the wall time over the size of a chunk is a U. The lowest median is the best; its interval are the
neighbours whose runs cannot be told from its own (``analysis.ranking``), or differ by less than a
tenth; of few runs the cold ones count, too, where all of them lie apart by three. Nothing is said
between or beyond the measured sizes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis.ranking import PLAIN_RATIO, is_comparable, matters
from jupyter_serprof.model import Point, stage
from jupyter_serprof.model.sweep import middle_ns, middle_run

#: Fewer sizes make no curve.
FEWEST_SIZES = 3
#: Stages are named until so much of what the time grew by is explained, two at most.
_EXPLAINED_SHARE = 0.6
UNACCOUNTED = ""


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """What is known of one chunk size; what is unknown is None.

    ``chunk_bytes``: The median chunk.
    ``chunks``, ``tasks``: How many there are.
    ``busy_share``: How much of the wall time the worker threads computed (0..1), in the median run.
    ``walls_ns``, ``wall_ns``, ``stages_ns``: Of the warm runs: the times, their median, and the
        stages of the run in the middle.
    """

    parameter: float
    chunk_bytes: int | None = None
    chunks: int | None = None
    tasks: int | None = None
    busy_share: float | None = None
    walls_ns: Sequence[int] = ()
    wall_ns: float = 0.0
    stages_ns: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limit:
    """What the time grows by, from the best size to the next one that is surely slower.

    ``stages_ns`` are the stages that grew most, the largest first; the key of what no stage
    explains is ``""``.
    """

    at: ChunkFacts
    grown_ns: float
    stages_ns: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The best chunk size and its interval, small chunks first.

    ``sizes``: Every size with warm runs, from small chunks to large ones.
    ``best``, ``low``, ``high``: Positions in ``sizes``; ``low`` to ``high`` cannot be told from the
        best.
    ``is_told``: False where the runs cannot tell any size from another, or no size was run twice.
    ``is_repeated``: Whether some size has two warm runs: without, the noise is unknown.
    ``below``, ``above``: What limits; None where no size on that side is surely slower.
    """

    sizes: tuple[ChunkFacts, ...]
    best: int
    low: int
    high: int
    is_told: bool
    is_repeated: bool
    below: Limit | None = None
    above: Limit | None = None

    @property
    def edge(self) -> str:
        """``smallest`` or ``largest`` where the best is the last size measured, else ``""``."""
        if not self.is_told:
            return ""
        is_whole = self.sizes[self.best].chunks == 1  # nothing lies beyond one chunk
        ends = {0: "smallest", len(self.sizes) - 1: "" if is_whole else "largest"}
        return ends.get(self.best, "")


def recommend(points: Sequence[Point], facts: Sequence[ChunkFacts]) -> Recommendation | None:
    """Return the best of the chunk sizes that were measured; None for fewer than three.

    ``points``: Of one variant; warm ones count.
    ``facts``: Of the sizes, in any order; sizes without are left out.
    """
    sizes = [entry for entry in in_order(facts) if _warm(points, entry.parameter)]
    if len(sizes) < FEWEST_SIZES:
        return None
    measured = tuple(_measured(points, entry) for entry in sizes)
    best = min(range(len(measured)), key=lambda at: measured[at].wall_ns)
    slower = _surely_slower(measured, best) | _plainly_slower(points, measured, best)
    low = next((at + 1 for at in range(best, -1, -1) if at in slower), 0)
    high = next((at - 1 for at in range(best, len(measured)) if at in slower), len(measured) - 1)
    below = _limit(measured, best, low - 1) if low > 0 else None
    above = _limit(measured, best, high + 1) if high + 1 < len(measured) else None
    is_repeated = any(is_comparable(entry.walls_ns) for entry in measured)
    return Recommendation(measured, best, low, high, bool(slower), is_repeated, below, above)


def in_order(facts: Sequence[ChunkFacts]) -> list[ChunkFacts]:
    """Return facts from many small chunks to few large ones; by the parameter if nothing tells."""
    signs = {"chunks": -1, "chunk_bytes": 1, "tasks": -1}
    known = [key for key in signs if all(getattr(entry, key) is not None for entry in facts)]
    return sorted(facts, key=lambda e: (*(signs[k] * getattr(e, k) for k in known), e.parameter))


def _warm(points: Sequence[Point], parameter: float) -> list[Point]:
    return [point for point in points if point.parameter == parameter and not point.cold]


def _measured(points: Sequence[Point], facts: ChunkFacts) -> ChunkFacts:
    own = _warm(points, facts.parameter)
    walls_ns = [point.wall_ns for point in own]
    # Of one run, the one whose bars are drawn: medians of each stage are those of no run.
    stages_ns = _families(middle_run(own, lambda point: point.wall_ns))
    return replace(facts, walls_ns=walls_ns, wall_ns=middle_ns(walls_ns), stages_ns=stages_ns)


def _families(point: Point) -> Counter[str]:
    owned: Counter[str] = Counter()
    for key, self_ns in point.stages.items():
        owned[stage(key).parent or key] += self_ns
    owned[UNACCOUNTED] = max(0, point.wall_ns - sum(point.stages.values()))
    return owned


def _surely_slower(measured: Sequence[ChunkFacts], best: int) -> set[int]:
    runs = [entry.walls_ns for entry in measured]
    return {
        at
        for at, own in enumerate(runs)
        if is_comparable(own) and is_comparable(runs[best]) and matters(own, runs[best])
    }


def _plainly_slower(points: Sequence[Point], measured: Sequence[ChunkFacts], best: int) -> set[int]:
    """Return the sizes slower than the best by three in every run, also in the first, cold one."""
    walls = [[p.wall_ns for p in points if p.parameter == each.parameter] for each in measured]
    worst_ns = PLAIN_RATIO * max(walls[best])
    enough = [is_comparable(walls[best]) and is_comparable(own) for own in walls]
    return {at for at, own in enumerate(walls) if enough[at] and min(own) >= worst_ns}


def _limit(measured: Sequence[ChunkFacts], best: int, at: int) -> Limit:
    grown = {
        key: self_ns - measured[best].stages_ns.get(key, 0.0)
        for key, self_ns in measured[at].stages_ns.items()
    }
    total_ns = measured[at].wall_ns - measured[best].wall_ns
    named: dict[str, float] = {}
    for key in sorted(grown, key=lambda key: -grown[key])[:2]:
        if grown[key] > 0 and sum(named.values()) < _EXPLAINED_SHARE * total_ns:
            named[key] = grown[key]
    return Limit(measured[at], total_ns, named)
