"""From two documents to the runs that can be set against each other, and what cannot."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import median

from jupyter_serprof.analysis.findings.dask_facts import graph_notes, is_of_dask
from jupyter_serprof.analysis.findings.pickle import PAGE_BYTES
from jupyter_serprof.experiments.engine.runs import point_of
from jupyter_serprof.model import Point, Sweep, Trace, UsageError
from jupyter_serprof.model.stages import UNACCOUNTED
from jupyter_serprof.model.units import first_of, format_bytes

#: The size of "the same" value may differ a little from run to run.
_SAME_SIZE_SHARE = 0.05
_MOST_NAMED, _ENDED = 4, "ok"


def owned_ns(run: Point, key: str) -> int:
    """Return what a stage owned of a run; without a key the wall time."""
    return run.stages.get(key, 0) if key else run.wall_ns


@dataclass(frozen=True, slots=True)
class Sample:
    """Runs of the same thing in one document, in the order in which they were made."""

    variant: str
    title: str
    size_bytes: int | None
    cold: bool | None
    runs: tuple[Point, ...]
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
        # Those of bytes that only one side moves are left out: they are of the code.
        pages, moved = self._medians("minor_faults"), self._medians("moved_bytes")
        more = (moved[0] - moved[1]) / PAGE_BYTES if moved else 0.0
        return tuple(
            max(0.0, n - max(0.0, of)) for n, of in zip(pages, (more, -more), strict=False)
        )

    def _medians(self, name: str) -> tuple[float, ...]:
        sides = ([getattr(run, name) for run in s.runs] for s in (self.before, self.after))
        known = [[number for number in side if number is not None] for side in sides]
        return tuple(map(median, known)) if all(known) else ()


def match(before: Trace | Sweep, after: Trace | Sweep) -> tuple[list[Match], list[str]]:
    """Return what can be compared, and sentences about what cannot.

    Raises ``UsageError``: If nothing can be compared.
    """
    made = _samples(before), _samples(after)
    notes = list[str]()
    if _are_near(*made) and made[0][0].size_bytes != made[1][0].size_bytes:
        one, other = (format_bytes(side[0].size_bytes) for side in made)
        notes.append(f"sizes differ a little: {one} before, {other} after")
    ones, others = _alike(*made)
    known = {_key(sample): sample for sample in others}
    found = [Match(sample, known[_key(sample)]) for sample in ones if _key(sample) in known]
    if not found:
        message = (
            f"nothing can be compared: before has {_listed(ones)}; after has {_listed(others)}. "
            "Compare two runs of the same code, or round trips with a transport and size in common"
        )
        raise UsageError(message)
    both = {_key(each.before) for each in found}
    sides = ((ones, "only before"), (others, "only after"))
    lonely = [f"{s.told} ({when})" for side, when in sides for s in side if _key(s) not in both]
    if lonely:
        notes.append(f"not in both, so not compared: {first_of(lonely, _MOST_NAMED)}")
    return found, notes


def _key(sample: Sample) -> tuple[str, int | None, bool | None]:
    return sample.variant, sample.size_bytes, sample.cold


def _samples(doc: Trace | Sweep) -> list[Sample]:
    if isinstance(doc, Trace):
        failure = "" if doc.outcome == _ENDED else f"did not end ({doc.outcome})"
        return [Sample("", "", None, None, (_run(point_of("", None, 0, doc)),), failure)]
    titles = {variant.key: variant.title for variant in doc.variants}
    runs: dict[tuple[str, int | None, bool], list[Point]] = {}
    for point in doc.points:
        runs.setdefault((point.variant, point.size_bytes, point.cold), []).append(_run(point))
    return [
        Sample(key, titles.get(key, key), size, is_cold, tuple(found))
        for (key, size, is_cold), found in runs.items()
    ]


def _run(point: Point) -> Point:
    rest = max(0, point.wall_ns - sum(point.stages.values()))
    return replace(point, stages={**point.stages, UNACCOUNTED: rest}) if point.stages else point


def _alike(
    before: Sequence[Sample], after: Sequence[Sample]
) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """Make equal what need not be: one variant or nearly one size, a single run against many."""
    if _is_single(before) and not _is_single(after):
        return before, _warm_only(after)
    if _is_single(after) and not _is_single(before):
        return _warm_only(before), after
    keys, others = ({sample.variant for sample in samples} for samples in (before, after))
    if len(keys) == len(others) == 1:
        after = [replace(sample, variant=before[0].variant) for sample in after]
    if _are_near(before, after):
        after = [replace(sample, size_bytes=before[0].size_bytes) for sample in after]
    return before, after


def _are_near(before: Sequence[Sample], after: Sequence[Sample]) -> bool:
    sides = [{sample.size_bytes for sample in samples} for samples in (before, after)]
    sizes = [size for side in sides for size in side if size is not None]
    if not len(sides[0]) == len(sides[1]) == 1 or len(sizes) < len(sides):
        return False
    return max(sizes) - min(sizes) <= _SAME_SIZE_SHARE * max(sizes)


def _is_single(samples: Sequence[Sample]) -> bool:
    return [sample.cold for sample in samples] == [None]


def _warm_only(samples: Sequence[Sample]) -> list[Sample]:
    """Return runs of one piece of code as a trace has them; of several variants nothing fits."""
    if len({(sample.variant, sample.size_bytes) for sample in samples}) != 1:
        return list(samples)
    warm = [sample for sample in samples if not sample.cold] or list(samples)
    return [Sample("", "", None, None, sample.runs, sample.failure) for sample in warm[:1]]


def _listed(samples: Sequence[Sample]) -> str:
    told = [sample.told for sample in samples]
    return first_of(told, _MOST_NAMED) if told else "no run that ended"


NO_CONTROL = "no fixed work beside both"
_MACHINE = ("platform", "machine", "cores")
_SWEEPS = {"sweep": "a sweep over sizes", "chunks": "a sweep over chunk sizes"}
ALIKE = "Compare two of a kind"
#: Variants of code that was run again, alone or in turns.
_CODE = frozenset({"code", "before", "after"})
_LONGEST_NAME = 60


def notes_on(before: Trace | Sweep, after: Trace | Sweep) -> Iterator[str]:
    """Yield sentences about what else differs than the code."""
    if is_of_dask(before) and is_of_dask(after):
        yield from graph_notes(before, after)
    one, other = before.environment, after.environment
    keys = [key for key in one if key in other and one[key] != other[key]]
    for label, chosen in (
        ("another machine", [key for key in keys if key in _MACHINE]),
        ("other versions", [key for key in keys if key not in _MACHINE]),
    ):
        if chosen:
            listed = ", ".join(f"{key} {one[key]} before and {other[key]} after" for key in chosen)
            yield f"{label}: {listed}; a change may come from there"


def same_code(before: str, after: str) -> bool:
    """Tell whether two names are those of one piece of code: a function, or its call."""
    one, other = (_as_written(name).removesuffix("()") for name in (before, after))
    return one == other


def _as_written(code: str) -> str:
    with suppress(SyntaxError, ValueError, RecursionError):
        return ast.unparse(ast.parse(code.strip()))
    return " ".join(code.split())


def check_question(before: str, after: str) -> None:
    """Refuse documents of different code; one name says that both answer the same question.

    Raises ``UsageError``: With both names and what to type.
    """
    if not before.strip() or not after.strip() or same_code(before, after):
        return
    given = shlex.quote(before) if len(before) <= _LONGEST_NAME else "TEXT (also of before)"
    message = (
        f"before is of {_short(before)}, after of {_short(after)}: not the same code. If both "
        f"answer the same question, say so: --name {given}, in Python name=..."
    )
    raise UsageError(message)


def check_kinds(before: Trace | Sweep, after: Trace | Sweep, remedy: str = ALIKE) -> None:
    """Refuse documents of two kinds, e.g. a Dask computation and other code.

    Raises ``UsageError``: With what each of them is, and the remedy.
    """
    kinds = _kind(before), _kind(after)
    if kinds[0] != kinds[1]:
        message = (
            f"nothing can be compared: before is {kinds[0]} ({_short(before.name)}), after is "
            f"{kinds[1]} ({_short(after.name)}). {remedy}"
        )
        raise UsageError(message)


def _kind(doc: Trace | Sweep) -> str:
    if isinstance(doc, Sweep) and (doc.kind in _SWEEPS or {v.key for v in doc.variants} - _CODE):
        return _SWEEPS.get(doc.kind, "a round trip")
    return "a Dask computation" if is_of_dask(doc) else "runs of code"


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"
