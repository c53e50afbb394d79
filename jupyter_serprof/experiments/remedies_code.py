"""``--try CODE`` for code that serializes: its findings, tried on the values that it names.

What the code sent cannot be taken out of a recording: no recording keeps values. What it names in
the namespace is still there, and the largest of that is most likely what was sent.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from dataclasses import replace

from jupyter_serprof.experiments.outcome import pickled_bytes
from jupyter_serprof.experiments.remedies import BUDGET_S, Tryout
from jupyter_serprof.model import Finding, Sweep, Trace, UsageError
from jupyter_serprof.model.sizes import size_bytes

_WORTH_BYTES = 10_000
_TRIED = 2
_NOT_DATA = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
_PROTOCOL_4 = "pickle.protocol-4"


def try_code(
    trace: Trace,
    source: str,
    namespace: Mapping[str, object],
    *,
    link_bytes_per_s: float | None = None,
    budget_s: float = BUDGET_S,
) -> Trace:
    """Return the trace with its findings measured on the values that the code names.

    Parameters
    ----------
    trace
        The recording of the code.
    source
        The code, as Python; namespace: where its names are looked up.
    link_bytes_per_s, budget_s
        As `try_remedies`.
    """
    values = list(values_named(source, namespace))[:_TRIED]
    now = "pickle4" if any(found.rule == _PROTOCOL_4 for found in trace.findings) else None
    found: list[Finding] = []
    notes: list[str] = [] if values else [_nothing()]
    for name, value in values:
        share_s = budget_s / len(values)
        tryout = Tryout(
            value, name=name, link_bytes_per_s=link_bytes_per_s, now=now, budget_s=share_s
        )
        try:
            sweep = tryout.run()
        except UsageError as error:
            notes.append(f"{name} was not tried: {error}")
            continue
        found += sweep.findings
        notes.append(_told(name, sweep))
    return with_findings(trace, found, notes)


def values_named(source: str, namespace: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield (name, value) of what code names and a pickle has at least 10 kB of, largest first."""
    sizes: dict[str, int] = {}
    for name in _names(source):
        value = namespace.get(name)
        if value is None or isinstance(value, _NOT_DATA):
            continue
        size = size_bytes(value)
        size = pickled_bytes(value) if size is None else size
        if size is not None and size >= _WORTH_BYTES:
            sizes[name] = size
    for name in sorted(sizes, key=lambda key: -sizes[key]):
        yield name, namespace[name]


def _names(source: str) -> dict[str, None]:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return {}
    return {node.id: None for node in nodes if isinstance(node, ast.Name)}


def _nothing() -> str:
    return (
        "nothing was tried: the code names no value of 10 kB or more that is still there. "
        "Give it a name first, then: %serprof --try NAME"
    )


def _told(name: str, sweep: Sweep) -> str:
    tried = [variant for variant in sweep.variants if variant.facts.get("tried")]
    if not tried:
        return f"tried on {name}: no remedy applies to it"
    told = [f"{variant.title} {variant.notes[0]}" for variant in tried if variant.notes]
    return f"tried on {name}: {'; '.join(told)}"


def with_findings(trace: Trace, found: list[Finding], notes: list[str]) -> Trace:
    """Return the trace with measured findings first; each takes over the spans of its rule."""
    spans = {finding.rule: finding.spans for finding in trace.findings}
    measured = [replace(finding, spans=spans.get(finding.rule, ())) for finding in found]
    rules = {finding.rule for finding in measured if finding.gain is not None}
    others = [finding for finding in trace.findings if finding.rule not in rules]
    quality = replace(trace.quality, notes=(*trace.quality.notes, *notes))
    ordered = sorted([*measured, *others], key=lambda finding: finding.gain is None)
    return replace(trace, findings=tuple(ordered), quality=quality)
