"""What a schema cannot say of a document: sums, indices and references that must fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.model.errors import damaged, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_serprof.model.sweep import Sweep
    from jupyter_serprof.model.trace import Span, Trace


def check_trace(trace: Trace) -> None:
    """Refuse what does not fit: sums, spans inside themselves, indices that point at nothing.

    Raises
    ------
    DocumentError
        With what does not fit; the document was changed after it was written.
    """
    _check_sum(trace)
    _check_parents(trace.spans)
    _check_groups(trace)
    _check_tables(trace)
    count = len(trace.spans)
    for index in (index for finding in trace.findings for index in finding.spans):
        if not 0 <= index < count:
            problem = f"a finding points at span {index} of {count}"
            raise damaged(problem)


def check_details(details: Mapping[str, object], count: int) -> None:
    """Refuse details of spans that do not exist.

    Raises
    ------
    DocumentError
        With the index that is not one of the spans.
    """
    known = {str(index) for index in range(count)} if details else set()
    unknown = [key for key in details if key not in known]
    if unknown:
        problem = f"it has details of span {shown(unknown[0])}, there are {count} spans"
        raise damaged(problem)


def check_sweep(sweep: Sweep) -> None:
    """Refuse points and traces of variants that the sweep does not list.

    Raises
    ------
    DocumentError
        With the variant that is missing.
    """
    known = {variant.key for variant in sweep.variants}
    measured = {entry.variant for entry in sweep.points} | {entry.variant for entry in sweep.traces}
    unknown = sorted(measured - known)
    if unknown:
        problem = f"it measures the variant {shown(unknown[0])} and does not describe it"
        raise damaged(problem)


def _check_sum(trace: Trace) -> None:
    if trace.waterfall is None:
        return
    total = sum(row.self_ns for row in trace.waterfall.rows) + trace.waterfall.unaccounted_ns
    if total != trace.wall_ns:
        problem = f"its rows add up to {total} ns, not {trace.wall_ns} ns"
        raise damaged(problem)


def _check_groups(trace: Trace) -> None:
    rows = trace.waterfall.rows if trace.waterfall else ()
    for index in (row.group for row in rows if row.group is not None):
        if not 0 <= index < len(trace.groups):
            problem = f"a row belongs to group {index} of {len(trace.groups)}"
            raise damaged(problem)


def _check_tables(trace: Trace) -> None:
    for table in trace.tables:
        lengths = {len(row) for row in table.rows} - {len(table.columns)}
        if lengths:
            problem = (
                f"the table {shown(table.key)} has {len(table.columns)} columns "
                f"and a row of {lengths.pop()}"
            )
            raise damaged(problem)


def _check_parents(spans: Sequence[Span]) -> None:
    """Refuse circles: a walk from a span to its root would never end."""
    rooted = {-1}
    for start in range(len(spans)):
        index, walked = start, set[int]()
        while index not in rooted:
            if index in walked:
                problem = f"span {index} is inside itself"
                raise damaged(problem)
            walked.add(index)
            index = spans[index].parent
        rooted |= walked
