"""Findings in Markdown: the cause, the remedy to paste, and what it gained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jupyter_serprof.model import Finding
from jupyter_serprof.model.units import format_count, format_ratio
from jupyter_serprof.views.kit.markdown_cells import code, plain


def finding_blocks(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield each finding and its remedy."""
    for finding in findings:
        gain = _gain_text(finding)
        yield f"**{plain(finding.severity)}**: {plain(finding.title)}" + (
            f" (measured: {plain(gain)})" if gain else ""
        )
        if finding.remedy:
            yield code(finding.remedy)


def _gain_text(finding: Finding) -> str:
    if finding.gain is None:
        return ""
    measured = finding.measured or {}
    low, high, pairs = (measured.get(key) for key in ("low", "high", "pairs"))
    said = f"{format_ratio(finding.gain)} faster"
    if isinstance(low, int | float) and isinstance(high, int | float):
        said += f", 95 % interval {format_ratio(low)} to {format_ratio(high)}"
    if isinstance(pairs, int):
        said += f", {format_count(pairs)} pair{'' if pairs == 1 else 's'}"
    equal = measured.get("equal")
    return said + (f", {'equal' if equal else 'NOT equal'}" if isinstance(equal, bool) else "")
