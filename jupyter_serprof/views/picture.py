"""The layout of a document: a sheet that figures, PNG and SVG are painted from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.analysis.outline import stage_sums
from jupyter_serprof.model import Trace
from jupyter_serprof.model.units import clean, format_bytes, format_count, format_ns, format_share
from jupyter_serprof.views.compare import put_comparison
from jupyter_serprof.views.kit.parts import put_head, put_remarks
from jupyter_serprof.views.kit.raster import measure
from jupyter_serprof.views.kit.remarks import headline_of, outcome_of
from jupyter_serprof.views.kit.sheet import DARK, LIGHT, Sheet
from jupyter_serprof.views.sweep.bars import put_sweep
from jupyter_serprof.views.sweep.chart import put_sizes
from jupyter_serprof.views.sweep.runs import runs_of, time_text
from jupyter_serprof.views.sweep.series import is_over_sizes, series_of
from jupyter_serprof.views.waterfall.sheet import put_trace
from jupyter_serprof.views.waterfall.table import MOST_ROWS

if TYPE_CHECKING:
    from jupyter_serprof.model import Sweep


def sheet_of(
    doc: Trace | Sweep, *, dark: bool = False, most_rows: int = MOST_ROWS, is_brief: bool = False
) -> Sheet:
    """Return everything that the picture of a document consists of, with its place in pixels."""
    sheet = Sheet(DARK if dark else LIGHT, measure, is_brief=is_brief)
    put_head(sheet, doc)
    if doc.comparison is not None:
        put_comparison(sheet, doc.comparison)
    if isinstance(doc, Trace):
        put_trace(sheet, doc, most_rows)
    elif is_over_sizes(doc):
        put_sizes(sheet, doc)
    else:
        put_sweep(sheet, doc)
    put_remarks(sheet, doc)
    return sheet


_NAMED = 3
_LONGEST = 400


def alt_text(doc: Trace | Sweep) -> str:
    """Return what the picture of a document says, in one or two sentences (at most 400 characters).

    It names the headline and the largest stages of a trace, or the time of each variant of a sweep.
    """
    outcome = outcome_of(doc)
    headline = clean(headline_of(doc)).strip().rstrip(".")
    headline = f"{headline} ({outcome})" if outcome else headline
    said = _trace_sentence(doc) if isinstance(doc, Trace) else _sweep_sentence(doc)
    sentences = f"{headline}. {said}"
    return sentences if len(sentences) <= _LONGEST else f"{sentences[: _LONGEST - 1]}…"


def _trace_sentence(trace: Trace) -> str:
    if not trace.wall_ns:
        return "Waterfall without time."
    rest_ns = trace.waterfall.unaccounted_ns if trace.waterfall else trace.wall_ns
    sums = [*stage_sums(trace), ("Unaccounted", rest_ns)]
    largest = sorted(sums, key=lambda pair: -pair[1])[:_NAMED]
    named = ", ".join(
        f"{title} {format_share(ns / trace.wall_ns, decimals=0)}" for title, ns in largest if ns
    )
    blocks = len(trace.groups)
    of = f" of {format_count(blocks)} computations" if blocks > 1 else ""
    stages = f"{len(sums) - 1} stages{of}"
    return f"Waterfall of {stages} over {format_ns(trace.wall_ns)}: {named}."


def _sweep_sentence(sweep: Sweep) -> str:
    if is_over_sizes(sweep):
        return _sizes_sentence(sweep)
    named = []
    for variant in sweep.variants:
        runs = runs_of(sweep, variant)
        title = clean(variant.title)
        times = " and ".join(f"{time_text(run)} {run.label}" for run in runs[-2:])
        named.append(f"{title} {times}" if runs else f"{title} {variant.state}")
    return f"Bars of {len(named)} variants: {', '.join(named)}."


def _sizes_sentence(sweep: Sweep) -> str:
    """Say how far the lines go, and where each of them ends."""
    found = series_of(sweep, cold=False) or series_of(sweep, cold=True)
    sizes = sorted({point.size_bytes for each in found for point in each.points})
    ends = f"{format_bytes(sizes[0])} to {format_bytes(sizes[-1])}"
    last = ((each, each.points[-1]) for each in found)
    named = ", ".join(
        f"{clean(each.variant.title)} {format_ns(point.wall_ns)} at "
        f"{format_bytes(point.size_bytes)}"
        for each, point in last
    )
    return f"Time over {len(sizes)} sizes, {ends}, of {len(found)} variants: {named}."
