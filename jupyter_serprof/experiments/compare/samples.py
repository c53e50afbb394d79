"""From two documents to the runs that can be set against each other, and what cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from jupyter_serprof.model import Point, Sweep, Trace, UsageError
from jupyter_serprof.model.units import format_bytes

#: Time that no stage explains is compared as one.
UNACCOUNTED = "unaccounted"
#: The size of "the same" value may differ a little from run to run.
_SAME_SIZE_SHARE = 0.05
_MOST_NAMED = 4
_ENDED = "ok"


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its wall time, what each stage owned of it, and how many new pages it filled."""

    wall_ns: int
    stages: Mapping[str, int]
    pages: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """Runs of the same thing in one document, in the order in which they were made."""

    variant: str
    title: str
    size_bytes: int | None
    cold: bool | None
    runs: tuple[Run, ...]
    failure: str = ""

    @property
    def told(self) -> str:
        """Return what it is, for people."""
        size = f" at {format_bytes(self.size_bytes)}" if self.size_bytes is not None else ""
        heat = "" if self.cold is None else ", cold" if self.cold else ", warm"
        return f"{self.title or 'the run'}{size}{heat}"


@dataclass(frozen=True, slots=True)
class Match:
    """Two samples of the same thing."""

    before: Sample
    after: Sample

    @property
    def failure(self) -> str:
        """Return which side has no complete run; nothing if both have."""
        sides = (("before", self.before.failure), ("after", self.after.failure))
        return next((f"{side} {failure}" for side, failure in sides if failure), "")

    @property
    def pages(self) -> tuple[float, ...]:
        """Return the new pages of a run before and after, medians; nothing if one is not known."""
        sides = [[run.pages for run in side.runs] for side in (self.before, self.after)]
        known = [[count for count in side if count is not None] for side in sides]
        return tuple(map(median, known)) if all(known) else ()


def match(before: Trace | Sweep, after: Trace | Sweep) -> tuple[list[Match], list[str]]:
    """Return what can be compared, and sentences about what cannot.

    Raises
    ------
    UsageError
        If nothing can be compared.
    """
    ones, others = _alike(_samples(before), _samples(after))
    found, notes = _matched(ones, others)
    if not found:
        message = (
            f"nothing can be compared: before has {_listed(ones)}; after has {_listed(others)}. "
            "Compare two runs of the same code, or round trips with a transport and size in common"
        )
        raise UsageError(message)
    return found, notes


def _samples(doc: Trace | Sweep) -> list[Sample]:
    if isinstance(doc, Trace):
        failure = "" if doc.outcome == _ENDED else f"did not end ({doc.outcome})"
        return [Sample("", "", None, None, (_run_of(doc),), failure)]
    titles = {variant.key: variant.title for variant in doc.variants}
    points: dict[tuple[str, int | None, bool], list[Point]] = {}
    for point in doc.points:
        points.setdefault((point.variant, point.size_bytes, point.cold), []).append(point)
    return [
        Sample(key, titles.get(key, key), size, is_cold, tuple(map(_run_at, found)))
        for (key, size, is_cold), found in points.items()
    ]


def _run_of(trace: Trace) -> Run:
    owned: dict[str, int] = {}
    for row in trace.waterfall.rows if trace.waterfall else ():
        owned[row.stage] = owned.get(row.stage, 0) + row.self_ns
    return _complete(trace.wall_ns, owned)


def _run_at(point: Point) -> Run:
    return _complete(point.wall_ns, point.stages, point.minor_faults)


def _complete(wall_ns: int, stages: Mapping[str, int], pages: int | None = None) -> Run:
    rest = wall_ns - sum(stages.values())
    return Run(wall_ns, {**stages, UNACCOUNTED: max(0, rest)} if stages else {}, pages)


def _alike(
    before: Sequence[Sample], after: Sequence[Sample]
) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """Make names equal that need not be: one variant on each side, a single run against many."""
    if _is_single(before) and not _is_single(after):
        return before, _warm_only(after)
    if _is_single(after) and not _is_single(before):
        return _warm_only(before), after
    keys, others = ({sample.variant for sample in samples} for samples in (before, after))
    if len(keys) == len(others) == 1 and keys != others:
        return before, [_renamed(sample, before[0].variant) for sample in after]
    return before, after


def _is_single(samples: Sequence[Sample]) -> bool:
    return [sample.cold for sample in samples] == [None]


def _warm_only(samples: Sequence[Sample]) -> list[Sample]:
    """Return runs of one piece of code as a trace has them; of several variants nothing fits."""
    if len({(sample.variant, sample.size_bytes) for sample in samples}) != 1:
        return list(samples)
    warm = [sample for sample in samples if not sample.cold] or list(samples)
    return [Sample("", "", None, None, sample.runs, sample.failure) for sample in warm[:1]]


def _renamed(sample: Sample, key: str) -> Sample:
    return Sample(key, sample.title, sample.size_bytes, sample.cold, sample.runs, sample.failure)


def _matched(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[list[Match], list[str]]:
    found, notes, left = [], list[str](), list(after)
    lonely: list[str] = []
    for sample in before:
        other = _nearest(sample, before, left)
        if other is None:
            lonely.append(f"{sample.told} (only before)")
            continue
        left.remove(other)
        found.append(Match(sample, other))
        if other.size_bytes != sample.size_bytes:
            notes.append(f"sizes differ a little: {sample.told} before, {other.told} after")
    lonely += [f"{sample.told} (only after)" for sample in left]
    if lonely:
        notes.append(f"not in both, so not compared: {_named(lonely)}")
    return found, notes


def _nearest(sample: Sample, own: Sequence[Sample], others: Sequence[Sample]) -> Sample | None:
    """Return the sample of the same thing; sizes may differ a little where there is only one."""
    alike = [
        other for other in others if (other.variant, other.cold) == (sample.variant, sample.cold)
    ]
    for other in alike:
        if other.size_bytes == sample.size_bytes:
            return other
    count = sum((one.variant, one.cold) == (sample.variant, sample.cold) for one in own)
    if count == len(alike) == 1 and _is_near(sample.size_bytes, alike[0].size_bytes):
        return alike[0]
    return None


def _is_near(one: int | None, other: int | None) -> bool:
    if one is None or other is None:
        return False
    return abs(one - other) <= _SAME_SIZE_SHARE * max(one, other)


def _listed(samples: Sequence[Sample]) -> str:
    return _named([sample.told for sample in samples]) if samples else "no run that ended"


def _named(entries: Sequence[str]) -> str:
    more = len(entries) - _MOST_NAMED
    rest = [f"{more} more"] if more > 0 else []
    return ", ".join([*entries[:_MOST_NAMED], *rest])
