"""The document of trials: the ways it goes now, then the remedies, the best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jupyter_serprof.analysis import analyse
from jupyter_serprof.capture.machine import describe_environment, producer
from jupyter_serprof.experiments.engine.document import lean
from jupyter_serprof.experiments.remedies.gain import (
    Trial,
    finding_of,
    gain_of,
    headline,
    notes_of,
    ranked,
)
from jupyter_serprof.experiments.remedies.table import REMEDIES
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.model import (
    Finding,
    Lane,
    Limits,
    Point,
    Quality,
    Span,
    Summary,
    Sweep,
    SweepTrace,
    Trace,
    Variant,
)
from jupyter_serprof.model.sweep import middle_run
from jupyter_serprof.model.trace import Scalar

_LANE = "client/main"


@dataclass(slots=True)
class Tried:
    """A trial while it runs: the trips of both sides, the first of each apart.

    ``baseline`` is the title of the way it goes now; ``reason`` says why it failed.
    """

    baseline: str
    trial: Trial
    trips: tuple[list[Trip], list[Trip]] = field(default_factory=lambda: ([], []))
    cold: tuple[Trip, Trip] | None = None
    loops: int = 1
    reason: str = ""
    is_over: bool = False

    @property
    def sides_left(self) -> tuple[int, ...]:
        """Which sides a pair still needs: each begins in every other one.

        Neither always runs in the wake of the other.
        """
        pairs, more = sorted(map(len, self.trips))
        order = (0, 1) if pairs % 2 == 0 else (1, 0)
        return order if pairs == more else order[1:]

    def goes_on(self, most: int, has_time: Callable[[], bool]) -> bool:
        """Tell whether another pair is made, or the rest of one that was interrupted."""
        pairs, more = sorted(map(len, self.trips))
        return pairs < more or (pairs < most and (not pairs or has_time()))

    def count(self) -> None:
        """Take what was run so far into the trial."""
        before, after = self.trips
        self.trial = replace(
            self.trial,
            before_ns=tuple(trip.wall_ns for trip in before),
            after_ns=tuple(trip.wall_ns for trip in after),
            before_stages=_middle(before).stages,
            after_stages=_middle(after).stages,
        )


def count_points(tried: Sequence[Tried]) -> int:
    """Return how many points their document has: the ways of now share their first trip."""
    cold = [entry.baseline for entry in tried if entry.cold]
    warm = sum(len(trips) for entry in tried for trips in entry.trips)
    return len(set(cold)) + len(cold) + warm


def _middle(trips: Iterable[Trip]) -> Trip:
    return middle_run(trips, lambda trip: trip.wall_ns)


def document_of(  # noqa: PLR0913  (what a document holds)
    name: str,
    started: str,
    tried: Sequence[Tried],
    *,
    plain_bytes: int | None,
    hints: Sequence[Finding],
    notes: Sequence[str],
    limits: Limits,
    said: str = "",
    ended: str = "",
) -> Sweep:
    """Return the document: baselines first, then the remedies, the best first.

    Parameters
    ----------
    said
        Stands for the headline, where nothing is to be tried.
    ended
        Why it ended early, a sentence; "" where it went through.
    """
    places = {id(entry.trial): entry for entry in tried}
    ordered = [places[id(trial)] for trial in ranked([entry.trial for entry in tried])]
    baselines = list(dict.fromkeys(entry.baseline for entry in tried))
    sides = [(_key(title), [e for e in tried if e.baseline == title], 0) for title in baselines]
    sides += [(entry.trial.key, [entry], 1) for entry in ordered]
    size = plain_bytes
    return Sweep(
        name=name,
        started=started,
        producer=producer(),
        variants=(
            *(_baseline(title, [e for e in tried if e.baseline == title]) for title in baselines),
            *(_variant(entry, _now_ns(entry, tried)) for entry in ordered),
        ),
        points=tuple(p for key, entries, side in sides for p in _points(key, entries, side, size)),
        traces=tuple(t for key, entries, side in sides for t in _traces(key, entries, side, size)),
        findings=(*_findings(name, ordered), *hints),
        summary=_ended(_summary(name, plain_bytes, baselines, ordered), name, said, ended),
        limits=limits,
        quality=Quality(notes=tuple(notes)),
        environment=describe_environment(),
    )


def _key(title: str) -> str:
    return f"now: {title}"


def _findings(name: str, ordered: Sequence[Tried]) -> list[Finding]:
    found = (finding_of(entry.trial, name) for entry in ordered if not entry.reason)
    return [finding for finding in found if finding is not None]


def _summary(
    name: str, size: int | None, baselines: Sequence[str], ordered: Sequence[Tried]
) -> Summary:
    measured = [entry for entry in ordered if not entry.reason and entry.trial.pairs]
    against = measured[0].baseline if measured else (baselines or ["the way it goes"])[0]
    is_moved = any("memory.move" in entry.trial.after_stages for entry in measured)
    facts = (
        f"pairs in turns, warm{': written, moved once, read back' if is_moved else ''}",
        "gain of the pairs, with its 95 % interval; what is made once is not in it",
    )
    known = [entry.trial for entry in ordered if not entry.reason]
    said = headline(name, size, against, known)
    return Summary(said, facts if measured else ())


def _ended(summary: Summary, name: str, said: str, ended: str) -> Summary:
    """Return the summary of what was not tried, or ended early: then it claims nothing of it."""
    if said:
        return Summary(said)
    if not ended:
        return summary
    if summary.facts:
        return replace(summary, headline=f"{summary.headline} {ended}")
    return replace(summary, headline=f"{name}: {ended[0].lower()}{ended[1:]}")


def _baseline(title: str, entries: Sequence[Tried]) -> Variant:
    cold = next((entry.cold[0] for entry in entries if entry.cold), None)
    return Variant(_key(title), f"now: {title}", facts=_bytes(cold))


def _now_ns(entry: Tried, tried: Sequence[Tried]) -> list[int]:
    """Return the warm runs of the way it goes now, as they are shown: of all trials against it."""
    alike = [other for other in tried if other.baseline == entry.baseline]
    return [point.wall_ns for point in _points("", alike, 0, None) if not point.cold]


def _variant(entry: Tried, now_ns: Sequence[int]) -> Variant:
    trial, remedy = entry.trial, REMEDIES[entry.trial.key]
    if entry.reason:
        return Variant(trial.key, remedy.title, "failed", entry.reason, facts={"tried": True})
    gain = gain_of(trial)
    facts: Mapping[str, Scalar] = {
        **_bytes(entry.cold[1] if entry.cold else None),
        "tried": True,
        "baseline": _key(entry.baseline),
        "gain": gain.value if gain else None,
        "low": gain.low if gain else None,
        "high": gain.high if gain else None,
        "pairs": trial.pairs,
        "equal": trial.equal,
        "prepare_ns": trial.prepare_ns,
    }
    return Variant(trial.key, remedy.title, facts=facts, notes=notes_of(trial, now_ns))


def _bytes(trip: Trip | None) -> dict[str, Scalar]:
    if trip is None:
        return {}
    return {
        "in_band_bytes": trip.in_band_bytes,
        "out_of_band_bytes": trip.out_of_band_bytes,
        "total_bytes": trip.moved_bytes,
    }


def _points(key: str, entries: Sequence[Tried], side: int, size: int | None) -> list[Point]:
    """Return the points of one side: the first trip is cold, and never averaged with others."""
    cold = [entry.cold[side] for entry in entries if entry.cold][:1]
    points = [_point(key, trip, number, size, None) for number, trip in enumerate(cold)]
    # What was the other side of several trials, is one trip.
    warm = {id(t): (t, entry.loops) for entry in entries for t in entry.trips[side]}.values()
    return points + [
        _point(key, trip, number, size, loops) for number, (trip, loops) in enumerate(warm, 1)
    ]


def _point(key: str, trip: Trip, number: int, size: int | None, loops: int | None) -> Point:
    return Point(
        variant=key,
        size_bytes=size,
        repeat=number,
        cold=number == 0,
        wall_ns=trip.wall_ns,
        moved_bytes=trip.moved_bytes,
        stages=trip.stages,
        loops=loops if loops is not None and loops > 1 else None,
    )


def _traces(key: str, entries: Sequence[Tried], side: int, size: int | None) -> list[SweepTrace]:
    cold = [(True, entry.cold[side]) for entry in entries if entry.cold][:1]
    warm = {id(trip): trip for entry in entries for trip in entry.trips[side]}.values()
    shown = cold + ([(False, _middle(warm))] if warm else [])
    return [SweepTrace(key, size, is_cold, _trace(key, trip)) for is_cold, trip in shown]


def _trace(key: str, trip: Trip) -> Trace:
    spans, at = [], 0
    for name, duration in trip.stages.items():
        spans.append(Span(name, name, _LANE, at, duration))
        at += duration
    made = Trace(name=key, started="", wall_ns=at, lanes=(Lane(_LANE),), spans=tuple(spans))
    return lean(analyse(made))
