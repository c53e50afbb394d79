"""A document as Markdown, for an issue or a pull request: all that it says, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_serprof.model import Anatomy, Comparison, Sweep, Trace, Variant
from jupyter_serprof.model.times import groups_text, middle_ns, quartiles
from jupyter_serprof.model.units import format_bytes, format_ns
from jupyter_serprof.views.blame.markdown import anatomy_blocks
from jupyter_serprof.views.compare.text import comparison_blocks
from jupyter_serprof.views.flat import Given, no_document
from jupyter_serprof.views.kit.cells import listed, plain
from jupyter_serprof.views.kit.remarks import finding_blocks
from jupyter_serprof.views.kit.table import Line, markdown_table
from jupyter_serprof.views.waterfall.text import stages_table


def markdown(doc: Given) -> str:
    """Return headline, tables and findings; whatever a name holds, it stays text in its cell.

    Raises
    ------
    UsageError
        If it is no document.
    """
    return "\n\n".join(_blocks(doc)) + "\n"


def _blocks(doc: Given) -> Iterator[str]:
    if isinstance(doc, Anatomy):
        yield from anatomy_blocks(doc, "")
    elif isinstance(doc, Comparison):
        yield from comparison_blocks(doc)
    elif isinstance(doc, Trace | Sweep):
        yield from _document(doc)
    else:
        raise no_document(doc)


def _document(doc: Trace | Sweep) -> Iterator[str]:
    headline = doc.summary.headline if doc.summary else doc.name or "unnamed"
    yield f"**{plain(headline)}**"
    facts = " · ".join(doc.summary.facts) if doc.summary else ""
    if facts:
        yield plain(facts)
    if doc.comparison is not None:
        yield from comparison_blocks(doc.comparison, has_headline=False)
    said = f"{headline} {facts}"
    yield from _trace(doc, said) if isinstance(doc, Trace) else _sweep(doc)
    yield from finding_blocks(doc.findings)
    yield from listed(doc.quality.notes)
    environment = ", ".join(f"{key} {value}" for key, value in doc.environment.items())
    origin = ", ".join(part for part in (doc.producer, environment) if part)
    if origin:
        yield plain(origin)


def _trace(trace: Trace, said: str) -> Iterator[str]:
    for anatomy in trace.anatomies:
        yield from anatomy_blocks(anatomy, said)
    yield stages_table(trace)


def _sweep(sweep: Sweep) -> Iterator[str]:
    heads = ("variant", "size", "cold", "warm (median)", "spread", "runs", "moved")
    yield markdown_table(
        heads, (line for variant in sweep.variants for line in _runs(sweep, variant)), 1
    )
    yield from listed(
        f"{variant.title}: {sentence}"
        for variant in sweep.variants
        for sentence in ((variant.result,) if variant.result else ()) + variant.notes
    )


def _runs(sweep: Sweep, variant: Variant) -> Iterator[Line]:
    own = [point for point in sweep.points if point.variant == variant.key]
    if not own:
        why = plain(f"{variant.title} ({variant.reason or variant.state})")
        yield why, "", "", "", "", "0", ""
    for size in dict.fromkeys(point.size_bytes for point in own):
        here = [point for point in own if point.size_bytes == size]
        cold = [point.wall_ns for point in here if point.cold]
        warm = [point.wall_ns for point in here if not point.cold]
        yield (
            plain(variant.title),
            "" if size is None else format_bytes(size),
            format_ns(cold[0]) if cold else "",
            format_ns(middle_ns(warm)) if warm else "",
            _spread(warm),
            str(len(warm)),
            "" if here[0].moved_bytes is None else format_bytes(here[0].moved_bytes),
        )


def _spread(warm: list[int]) -> str:
    """Return the two groups of the runs, else their quartiles, or of few the range."""
    if len(warm) < 2:  # noqa: PLR2004  (one run has no spread)
        return ""
    low, high = quartiles(warm) or (min(warm), max(warm))
    return groups_text(warm) or f"{format_ns(low)} to {format_ns(high)}"
