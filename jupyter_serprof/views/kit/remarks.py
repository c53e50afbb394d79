"""What stands below a picture: findings with their remedies, and how good the numbers are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jupyter_serprof.model import Finding, Trace
from jupyter_serprof.model.units import format_count, format_ns, format_ratio
from jupyter_serprof.views.kit.cells import code, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_serprof.model import Finding, ProbeReport, Quality, Sweep
    from jupyter_serprof.model.trace import Scalar

_FINDINGS_SHOWN = 4
#: A library that was not there took no time, so nothing was missed.
_SILENT_STATES = frozenset({"not installed", "not imported"})
Remark = tuple[str, str]


def headline_of(doc: Trace | Sweep) -> str:
    """Return the sentence above the picture; a document without a summary gives name and wall."""
    if doc.summary is not None:
        return doc.summary.headline
    name = doc.name or "unnamed"
    return f"{name}: {format_ns(doc.wall_ns)}" if isinstance(doc, Trace) else name


def outcome_of(doc: Trace | Sweep) -> str | None:
    """Return how a run ended early, or None where it went through or the headline says so."""
    if not isinstance(doc, Trace) or doc.outcome == "ok":
        return None
    word = "interrupted" if doc.outcome == "interrupted" else "raised"
    if word in headline_of(doc):
        return None
    return f"{word} after {format_ns(doc.wall_ns)}: what was measured until then"


def remarks_of(doc: Trace | Sweep) -> list[Remark]:
    """Return (label, sentence) pairs: ``warn``/``info`` and ``try``, then ``note``."""
    findings = [
        remark for finding in doc.findings[:_FINDINGS_SHOWN] for remark in finding_remarks(finding)
    ]
    more = len(doc.findings) - _FINDINGS_SHOWN
    if more > 0:
        are = "finding is" if more == 1 else "findings are"
        findings.append(("note", f"{more} more {are} in the document"))
    return findings + [("note", sentence) for sentence in note_sentences(doc)]


def finding_remarks(finding: Finding) -> Iterator[Remark]:
    """Yield the title of a finding and its remedy, with the gain if it was measured."""
    yield finding.severity, finding.title
    if finding.remedy:
        yield "try", finding.remedy
    if finding.gain is not None:
        yield "", f"measured: {_gain_text(finding.gain, finding.measured or {})}"


def _gain_text(gain: float, measured: Mapping[str, Scalar]) -> str:
    """Return how much faster, and what is known of how sure that is."""
    low, high, pairs = (measured.get(key) for key in ("low", "high", "pairs"))
    said = f"{format_ratio(gain)} faster"
    if isinstance(low, int | float) and isinstance(high, int | float):
        said = f"{format_ratio(gain)} [{format_ratio(low)}, {format_ratio(high)}] faster"
    if isinstance(pairs, int) and not isinstance(pairs, bool):
        said += f", {format_count(pairs)} pair{'' if pairs == 1 else 's'}"
    equal = measured.get("equal")
    return said + (f", {'equal' if equal else 'NOT equal'}" if isinstance(equal, bool) else "")


def note_sentences(doc: Trace | Sweep) -> Iterator[str]:
    """Yield what a reader of the numbers should know about them."""
    if isinstance(doc, Trace) and not (doc.waterfall and doc.waterfall.rows):
        cut = doc.outcome == "interrupted"
        why = "none had ended" if cut else "nothing was serialized"
        yield f"no stage was seen: {why}, or no probe could watch it"
    yield from _quality_sentences(doc.quality)


def _quality_sentences(quality: Quality) -> Iterator[str]:
    """Yield one short sentence for each thing that makes the numbers less than complete."""
    if quality.spans_dropped:
        dropped = format_count(quality.spans_dropped)
        yield f"{dropped} spans were dropped; their time went to what encloses them"
    for probe in quality.probes:
        yield from _probe_sentences(probe)
    yield from quality.notes


def _probe_sentences(probe: ProbeReport) -> Iterator[str]:
    if probe.state in _SILENT_STATES:
        return
    name = f"{probe.name} {probe.version}" if probe.version else probe.name
    level = f" ({probe.level})" if probe.level else ""
    missed = ", ".join(probe.unseen)
    if probe.state != "armed":
        reason = f": {missed}" if missed else ""
        yield f"{name} was not watched, {probe.state}{level}{reason}"
    elif missed:
        yield f"{name}{level} did not see: {missed}"


def finding_blocks(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield each finding and its remedy."""
    for finding in findings:
        gain = _gain_sentence(finding)
        yield f"**{plain(finding.severity)}**: {plain(finding.title)}" + (
            f" (measured: {plain(gain)})" if gain else ""
        )
        if finding.remedy:
            yield code(finding.remedy)


def _gain_sentence(finding: Finding) -> str:
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
