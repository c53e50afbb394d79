"""The recommendation of a chunk size in words: a finding with a remedy to paste, a headline."""

import math
from collections.abc import Sequence

from jupyter_serprof.experiments.chunks.best import FEWEST_SIZES, ChunkFacts, Limit, Recommendation
from jupyter_serprof.model import Finding, Summary, stage, units
from jupyter_serprof.model.sweep import BestSize
from jupyter_serprof.model.trace import Scalar

RULE = "dask.chunk-sweep"
#: In a remedy this stands for the best value.
BEST = "<best>"
#: Workers that computed for less of the time than at the best, by this share, are called idle.
_IDLER, _FARTHER = 0.1, 4
#: Warm runs of each size that are asked for where fewer did not tell.
_AGAIN = 10


def chunk_finding(found: Recommendation, parameter: str, code: str, remedy: str) -> Finding:
    """Return what a sweep over chunk sizes says.

    ``parameter``: What the number is called: ``chunk``.
    ``code``: What was swept, for the line that sweeps on.
    ``remedy``: A line of code with ``<best>`` where the best value goes.
    """
    best = found.sizes[found.best]
    return Finding(
        RULE,
        "info",
        _title(found, parameter),
        _evidence(found, parameter),
        _again(found, parameter, code)
        if not found.is_told or found.edge
        else remedy.replace(BEST, units.plain(best.parameter)),
        because=_because(found, parameter),
    )


def summarize_chunks(
    name: str, parameter: str, found: Recommendation | None, facts: Sequence[str], sizes: int | None
) -> Summary:
    """Return headline and facts of a sweep over chunk sizes.

    ``facts``: Sentences below it.
    ``sizes``: How many sizes have warm runs; None where not even a cold one ended.
    """
    if found is None:
        seen = f"{units.counted(sizes or 0, 'size')} with warm runs"
        needed = f"{seen}, {FEWEST_SIZES} are needed to recommend one"
        said = f"{units.code_text(name)}: {'no run ended' if sizes is None else needed}"
    else:
        said = _headline(found, parameter)
    return Summary(units.shortened(said), tuple(facts[:1]), details=tuple(facts[1:]))


def _title(found: Recommendation, parameter: str) -> str:
    if not found.is_told:
        return f"cannot tell which `{parameter}` is best"
    best = found.sizes[found.best]
    edge = f", the {found.edge} measured" if found.edge else ""
    chosen = f"`{parameter} = {units.plain(best.parameter)}`"
    ends = [units.plain(found.sizes[at].parameter) for at in (found.low, found.high)]
    chosen += f", like {ends[0]} to {ends[1]}," * (found.low < found.high)
    return f"{chosen} is best{edge}: {units.format_ns(best.wall_ns)}"


def _headline(found: Recommendation, parameter: str) -> str:
    best, alike = found.sizes[found.best], found.sizes[found.low : found.high + 1]
    ends = [
        f"{units.format_ratio(end.wall_ns / best.wall_ns)} as long at {units.plain(end.parameter)}"
        for end in (found.sizes[0], found.sizes[-1])
        if end not in alike and found.is_told
    ]
    return ", ".join([_title(found, parameter), *ends])


def _at(entry: ChunkFacts, parameter: str) -> str:
    size = entry.chunk_bytes
    bytes_text = f" ({units.format_bytes(size)})" if size is not None else ""
    return f"{parameter} = {units.plain(entry.parameter)}{bytes_text}"


def _because(found: Recommendation, parameter: str) -> str:
    best, low, high = (found.sizes[at] for at in (found.best, found.low, found.high))
    if not found.is_told:
        walls = sorted(entry.wall_ns for entry in found.sizes)
        ends = f"{_at(found.sizes[0], parameter)} to {_at(found.sizes[-1], parameter)}"
        times = f"{units.format_ns(walls[0])} to {units.format_ns(walls[-1])}"
        why = "and the runs spread as much" if found.is_repeated else "with one warm run of each"
        return f"all {len(walls)} sizes, {ends}, take {times}, {why}"
    alike = f"{_at(low, parameter)} to {_at(high, parameter)} cannot be told from it"
    limits = [_limit_text(each, best, parameter) for each in (found.below, found.above) if each]
    return "; ".join([*([] if low is high else [alike]), *limits])


def limit_names(limit: Limit | None) -> str:
    """Return the stages that limit, by their titles; "" where none is known."""
    keys = list(limit.stages_ns) if limit else []
    return " and ".join(stage(key).title if key else "unaccounted time" for key in keys)


def _limit_text(limit: Limit, best: ChunkFacts, parameter: str) -> str:
    grown = f"{units.format_ns(limit.grown_ns)} more at {_at(limit.at, parameter)}"
    named = [
        f"{units.format_ns(grown_ns)} of it {stage(key).title if key else 'unaccounted'}"
        for key, grown_ns in limit.stages_ns.items()
    ]
    return ", ".join([grown, *named, *_idle(limit, best)])


def _idle(limit: Limit, best: ChunkFacts) -> list[str]:
    here, there = best.busy_share, limit.at.busy_share
    if here is None or there is None or there > here - _IDLER:
        return []
    shares = f"{units.format_share(there, decimals=0)} of the time"
    return [f"where workers were busy {shares} instead of {units.format_share(here, decimals=0)}"]


def best_size(found: Recommendation | None) -> BestSize | None:
    """Return what is recommended; None where nothing is, or a size is unknown."""
    if found is None or not found.is_told:
        return None
    best = found.sizes[found.best]
    ends = [found.sizes[at].chunk_bytes for at in (found.low, found.high)]
    low, high = sorted(end or 0 for end in ends)
    if not best.chunk_bytes or not low:
        return None
    return BestSize(
        size_bytes=best.chunk_bytes,
        low_bytes=low,
        high_bytes=high,
        parameter=best.parameter,
        below=limit_names(found.below),
        above=limit_names(found.above),
    )


def _evidence(found: Recommendation, parameter: str) -> dict[str, Scalar]:
    best, low, high = (found.sizes[at] for at in (found.best, found.low, found.high))
    if not found.is_told:
        return {"parameter": parameter, "best": None, "sizes": len(found.sizes)}
    return {
        "parameter": parameter,
        "best": best.parameter,
        "low": low.parameter,
        "high": high.parameter,
        "best_bytes": best.chunk_bytes,
        "low_bytes": low.chunk_bytes,
        "high_bytes": high.chunk_bytes,
        "limits_below": limit_names(found.below),
        "limits_above": limit_names(found.above),
        "chunks": best.chunks,
        "tasks": best.tasks,
    }


def _again(found: Recommendation, parameter: str, code: str) -> str:
    """Return the line that measures on: beyond an edge, or the same more often."""
    start, end = sorted((found.sizes[0].parameter, found.sizes[-1].parameter))
    count = len(found.sizes)
    if not found.edge:
        asked = f"{parameter}={_range(start, end, count)} --repeat {_AGAIN}"
        took = units.format_ns((_AGAIN + 1) * sum(entry.wall_ns for entry in found.sizes))
        return f"%graphstages --sweep {asked} {code}   # takes about {took}"
    best = found.sizes[found.best].parameter
    low, high = (best, _FARTHER * best) if best == end else (best / _FARTHER, best)
    if float(best).is_integer():
        low, high = max(1, math.floor(low)), math.ceil(high)
    return f"%graphstages --sweep {parameter}={_range(low, high, count)} {code}"


def _range(low: float, high: float, count: int) -> str:
    return f"{units.plain(low)}:{units.plain(high)}:{count}".replace("_", "")
