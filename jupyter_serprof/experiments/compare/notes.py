"""What makes two documents hard to compare (versions, machines), or forbids it (code, kinds)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from jupyter_serprof.analysis.kinds import graph_kind, stages_of
from jupyter_serprof.model import Sweep, Trace, UsageError, stage
from jupyter_serprof.model.units import format_rate

NO_CONTROL = "no fixed work beside both"
_MACHINE = ("platform", "machine", "cores")
#: They happen to any code, and say nothing of what it does.
_COMMON = frozenset({"import", "gc", "user", "python.wait"})
_SWEEPS = {"sweep": "a sweep over sizes", "chunks": "a sweep over chunk sizes"}
#: Variants of code that was run again, alone or in turns.
_CODE = frozenset({"code", "before", "after"})
_LONGEST_NAME, _MOST_NAMED = 60, 3
#: The same machine copies memory this much faster from one minute to the next.
_MEMCPY_RATIO = 1.5


def notes_on(before: Trace | Sweep, after: Trace | Sweep) -> Iterator[str]:
    """Yield sentences about what else differs than the code."""
    yield from _environment_notes(before, after)
    yield from _memory_notes(before, after)


def _environment_notes(before: Trace | Sweep, after: Trace | Sweep) -> Iterator[str]:
    one, other = before.environment, after.environment
    keys = [key for key in one if key in other and one[key] != other[key]]
    for label, chosen in (
        ("another machine", [key for key in keys if key in _MACHINE]),
        ("other versions", [key for key in keys if key not in _MACHINE]),
    ):
        if chosen:
            listed = ", ".join(f"{key} {one[key]} before and {other[key]} after" for key in chosen)
            yield f"{label}: {listed}; a change may come from there"
    if bool(one) != bool(other):
        yield f"{'after' if one else 'before'} does not say on which machine and versions it ran"


def _memory_notes(before: Trace | Sweep, after: Trace | Sweep) -> Iterator[str]:
    one, other = before.limits.memcpy_bytes_per_s, after.limits.memcpy_bytes_per_s
    if one and other and max(one, other) > _MEMCPY_RATIO * min(one, other):
        rates = f"{format_rate(one)} before, {format_rate(other)} after"
        yield f"memory was copied at {rates}: another or a busier machine"


def check_question(before: str, after: str) -> None:
    """Refuse documents of different code; one name says that both answer the same question.

    Raises
    ------
    UsageError
        With both names and what to type.
    """
    one, other = (" ".join(name.split()).removesuffix("()") for name in (before, after))
    if not one or not other or one == other:
        return
    given = shlex.quote(before) if len(before) <= _LONGEST_NAME else "TEXT (also of before)"
    message = (
        f"before is of {_short(before)}, after of {_short(after)}: not the same code. If both "
        f"answer the same question, say so: --name {given}, in Python name=..."
    )
    raise UsageError(message)


def check_kinds(before: Trace | Sweep, after: Trace | Sweep) -> None:
    """Refuse documents of two kinds, and runs that have no stage in common.

    Raises
    ------
    UsageError
        With what each of them is.
    """
    kinds = _kind(before), _kind(after)
    if kinds[0] != kinds[1]:
        message = (
            f"nothing can be compared: before is {kinds[0]} ({_short(before.name)}), after is "
            f"{kinds[1]} ({_short(after.name)}). Compare two of a kind"
        )
        raise UsageError(message)
    stages = [set(stages_of(doc)) - _COMMON for doc in (before, after)]
    if all(stages) and stages[0].isdisjoint(stages[1]):
        one, other = map(_stages_text, stages)
        message = (
            f"nothing can be compared: before has {one}; after has {other}: no stage in common. "
            "If both answer the same question, run both in turns: sp.compare(f, g)"
        )
        raise UsageError(message)


def _kind(doc: Trace | Sweep) -> str:
    """Return what a document is of, with its article."""
    if isinstance(doc, Sweep) and (doc.kind in _SWEEPS or not _is_code(doc)):
        return _SWEEPS.get(doc.kind, "a round trip")
    if isinstance(doc, Trace) and doc.prediction is not None:
        return "a prediction"
    return "runs of code" if graph_kind(doc) is None else "a Dask computation"


def _is_code(sweep: Sweep) -> bool:
    return {point.variant for point in sweep.points} <= _CODE


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def _stages_text(keys: set[str]) -> str:
    titles = [stage(key).title for key in sorted(keys, key=lambda key: stage(key).order)]
    more = len(titles) - _MOST_NAMED
    return ", ".join([*titles[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
