"""The document of a sweep, made from whatever was measured until now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from jupyter_serprof.analysis.ranking import ranked_of, with_ranking
from jupyter_serprof.analysis.sizes.crossovers import crossovers_of, with_break_even
from jupyter_serprof.analysis.sizes.lines import fits_of
from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.experiments.engine.runs import Runs
from jupyter_serprof.experiments.engine.words import sweep_findings
from jupyter_serprof.model import Limits, Quality, Summary, Sweep, Trace, Variant

#: Of more sizes than this the ends are named.
_FEW = 3


def made_here(sweep: Sweep, latest: Trace | None, notes: Iterable[str] = ()) -> Sweep:
    """Add where and when it was made: the latest recording knows all libraries imported so far."""
    quality = latest.quality if latest else Quality()
    return replace(
        sweep,
        started=sweep.started or (latest.started if latest else ""),
        producer=latest.producer if latest else "",
        limits=measure_limits(),
        environment={**(latest.environment if latest else {}), **sweep.environment},
        quality=replace(quality, notes=(*quality.notes, *notes)),
    )


def with_findings(
    sweep: Sweep,
    summarize: Callable[[Sweep], Summary],
    *,
    holdout_bytes: int | None = None,
) -> Sweep:
    """Add lines, crossovers, findings and summary; leave out of the traces what is said for all.

    ``holdout_bytes`` is for the lines, see `fits_of`.
    """
    sweep = with_ranking(with_break_even(sweep))
    found = replace(
        sweep,
        fits=fits_of(sweep.points, holdout_bytes=holdout_bytes),
        crossovers=crossovers_of(sweep.points, ranked_of(sweep.variants)),
        findings=sweep_findings(sweep),
    )
    return lean_traces(replace(found, summary=summarize(found)))


def lean(trace: Trace) -> Trace:
    """Leave out what the sweep says once for all of its traces."""
    plain = tuple(replace(entry, note="") for entry in trace.stages)
    brief = replace(trace.summary, facts=()) if trace.summary else None
    return replace(
        trace,
        stages=plain,
        summary=brief,
        findings=(),
        environment={},
        limits=Limits(),
        quality=Quality(),
    )


def lean_traces(sweep: Sweep) -> Sweep:
    """Leave out of the traces what is said for all of them."""
    traces = (replace(entry, trace=lean(entry.trace)) for entry in sweep.traces)
    return replace(sweep, traces=tuple(traces))


def row_of_one(key: str, title: str, cell: Runs) -> Variant:
    """Return the row of one size, where no axis has a place for it beside the others."""
    if cell.points:
        return Variant(key, title, notes=tuple(filter(None, (cell.failed, cell.skipped))))
    return Variant(key, title, "failed" if cell.failed else "skipped", cell.failed or cell.skipped)


def problems(cells: Sequence[Runs], label: Callable[[float], str]) -> list[str]:
    """Say what failed and what was skipped, each reason once."""
    failed = {cell.parameter: cell.failed for cell in cells if cell.failed}
    skipped = {cell.parameter: cell.skipped for cell in cells if cell.skipped}
    return [*(f"failed at {said}" for said in grouped(failed, label)), *grouped(skipped, label)]


def grouped(reasons: Mapping[float, str], label: Callable[[float], str]) -> list[str]:
    """Return each reason once, behind all the sizes that it stands for."""
    sizes: dict[str, dict[str, None]] = {}
    for parameter in sorted(reasons):
        sizes.setdefault(reasons[parameter], {})[label(parameter)] = None
    return [f"{_named(list(labels))}: {why}" for why, labels in sizes.items()]


def _named(labels: Sequence[str]) -> str:
    return ", ".join(labels) if len(labels) <= _FEW else f"{labels[0]} to {labels[-1]}"
