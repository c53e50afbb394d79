"""The document of trials: the ways it goes now, then the remedies, the best first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from jupyter_serprof.analysis import analyse
from jupyter_serprof.capture.freeze import MAIN_LANE
from jupyter_serprof.capture.machine import describe_environment, producer
from jupyter_serprof.experiments.engine.document import lean
from jupyter_serprof.experiments.engine.runs import shown_runs
from jupyter_serprof.experiments.remedies import gain as gains
from jupyter_serprof.experiments.remedies.table import REMEDIES
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.model import Limits, Point, Quality, Summary, Sweep, SweepTrace, Trace, Variant
from jupyter_serprof.model.trace import Lane, Scalar, Span
from jupyter_serprof.model.units import code_text, shortened


def count_points(trials: Sequence[gains.Trial]) -> int:
    """Return how many points their document has: the first trip as it goes now is told once."""
    cold = sum(trial.cold is not None for trial in trials)
    warm = sum(len(trips) for trial in trials for trips in trial.trips)
    return min(cold, 1) + cold + warm


def document_of(  # noqa: PLR0913  (what a document holds)
    name: str,
    started: str,
    trials: Sequence[gains.Trial],
    *,
    plain_bytes: int | None,
    notes: Sequence[str],
    limits: Limits,
    said: str = "",
    ended: str = "",
    is_over: bool = True,
) -> Sweep:
    """Return the document: as it goes now, then the remedies, the best first.

    ``said`` is the headline where nothing is to be tried; ``ended`` why it ended early, a fact;
    else, where it is not ``is_over``, the last of the trials is the one that runs.
    """
    # All trials are against the one way that it goes now.
    all_now = [trip for trial in trials for trip in trial.trips[0]]
    trials = [replace(trial, now=all_now) for trial in trials]
    ordered = gains.ranked(trials)
    now = [Variant(key, key, facts=_bytes(trials, 0)) for key in {_key(one) for one in trials}]
    sides = [(variant.key, trials, 0) for variant in now]
    sides += [(trial.key, [trial], 1) for trial in ordered]
    trying = "" if is_over or not trials else REMEDIES[trials[-1].key].title
    summary = _summary(name, plain_bytes, ordered, trying)
    findings = (gains.finding_of(trial, name) for trial in ordered if not trial.reason)
    return Sweep(
        name=name,
        started=started,
        producer=producer(),
        variants=(*now, *(_variant(trial) for trial in ordered)),
        points=tuple(point for side in sides for point in _points(*side, plain_bytes)),
        traces=tuple(trace for side in sides for trace in _traces(*side, plain_bytes)),
        findings=tuple(filter(None, findings)),
        summary=_ended(summary, name, said, ended),
        limits=limits,
        quality=Quality(notes=tuple(notes)),
        environment=describe_environment(),
    )


def _key(trial: gains.Trial) -> str:
    return f"now: {trial.baseline}"


def _summary(name: str, size: int | None, ordered: Sequence[gains.Trial], trying: str) -> Summary:
    known = [trial for trial in ordered if not trial.reason]
    measured = [trial for trial in known if trial.pairs]
    is_moved = any("memory.move" in trial.stages[1] for trial in measured)
    facts = (
        f"pairs in turns, warm{': written, moved once, read back' if is_moved else ''}",
        "gain: of the times shown, its 95 % interval of the pairs; what is made once is not in it",
    )
    return Summary(shortened(gains.headline(name, size, known, trying)), facts if measured else ())


def _ended(summary: Summary, name: str, said: str, ended: str) -> Summary:
    """Return the summary of what was not tried, or ended early: then it claims nothing of it."""
    if said:
        first, _, more = said.partition(". ")
        return Summary(shortened(first), (more,) if more else ())
    if ended and not summary.facts:
        return replace(summary, headline=shortened(f"{code_text(name)}: {ended}"))
    return replace(summary, facts=(ended, *summary.facts)) if ended else summary


def _variant(trial: gains.Trial) -> Variant:
    title = REMEDIES[trial.key].title
    if trial.reason:
        return Variant(trial.key, title, "failed", trial.reason, facts={"tried": True})
    gain = gains.gain_of(trial)
    facts: Mapping[str, Scalar] = {
        **_bytes([trial], 1),
        "tried": True,
        "baseline": _key(trial),
        "gain": gain.value if gain else None,
        "low": gain.low if gain else None,
        "high": gain.high if gain else None,
        "pairs": trial.pairs,
        "equal": trial.equal,
        "prepare_ns": trial.prepare_ns,
    }
    return Variant(trial.key, title, facts=facts, notes=gains.notes_of(trial))


def _bytes(trials: Sequence[gains.Trial], side: int) -> dict[str, Scalar]:
    trip = next((trial.cold[side] for trial in trials if trial.cold), None)
    if trip is None:
        return {}
    return {
        "in_band_bytes": trip.in_band_bytes,
        "out_of_band_bytes": trip.out_of_band_bytes,
        "total_bytes": trip.moved_bytes,
    }


def _points(
    key: str, trials: Sequence[gains.Trial], side: int, size: int | None
) -> Iterator[Point]:
    """Yield the points of one side: the first trip is cold, and never averaged with others."""
    cold = [(trial.cold[side], 1) for trial in trials if trial.cold][:1]
    warm = [(trip, trial.loops) for trial in trials for trip in trial.trips[side]]
    for is_cold, runs in ((True, cold), (False, warm)):
        for number, (trip, loops) in enumerate(runs, int(not is_cold)):
            yield Point(
                variant=key,
                size_bytes=size,
                repeat=number,
                cold=is_cold,
                wall_ns=trip.wall_ns,
                moved_bytes=trip.moved_bytes,
                stages=trip.stages,
                loops=loops if loops > 1 else None,
            )


def _traces(
    key: str, trials: Sequence[gains.Trial], side: int, size: int | None
) -> tuple[SweepTrace, ...]:
    cold = next((trial.cold[side] for trial in trials if trial.cold), None)
    warm = gains.middle_trip([trip for trial in trials for trip in trial.trips[side]])
    shown = (trip and _trace(key, trip) for trip in (cold, warm))
    return shown_runs(key, size, next(shown), [trace for trace in shown if trace])


def _trace(key: str, trip: Trip) -> Trace:
    spans, at = [], 0
    for name, duration in trip.stages.items():
        spans.append(Span(name, name, MAIN_LANE, at, duration))
        at += duration
    made = Trace(name=key, started="", wall_ns=at, lanes=(Lane(MAIN_LANE),), spans=tuple(spans))
    return lean(analyse(made), trip.stages)
