"""Which computation of Dask a document is of, and what tells two of them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jupyter_serprof.analysis.findings.dask_facts import prefix, records, task_count, word
from jupyter_serprof.model import Sweep, Trace, stage
from jupyter_serprof.model.units import format_count

#: Computations with another end are taken for one if so many kinds of tasks are in both.
_SHARED_SHARE = 0.7
#: What Dask adds where results are gathered.
_GATHERING = frozenset({"finalize", "hlgfinalizecompute"})
_MOST_NAMED = 4
_DONE = {"compute": "computed", "persist": "persisted"}


@dataclass(frozen=True, slots=True)
class GraphKind:
    """What a document tells of the graphs that ran.

    Attributes
    ----------
    ends
        The last layer of each computation, without its hash.
    ways
        What was done with each: ``persist``, ``compute``.
    kinds
        The parts of the names of all tasks: ``sum-partial`` has two. Fusion joins names.
    tasks
        How many tasks ran; None where nobody saw.
    has_cluster
        Whether a scheduler and workers took part.
    """

    ends: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    tasks: int | None = None
    has_cluster: bool = False


def graph_kind(document: Trace | Sweep) -> GraphKind | None:
    """Return what a document tells of its graphs, None if nothing of Dask is in it."""
    if not any(key.startswith("dask.") for key in stages_of(document)):
        return None
    traces = _traces(document)
    if not traces:
        return GraphKind()
    # The last one is a warm run where there is one: the first may have found less, or more.
    trace = traces[-1]
    computations = records(trace, "dask.computations")
    names = [prefix(word(entry, "prefix")) for entry in records(trace, "dask.tasks")]
    return GraphKind(
        tuple(prefix(word(entry, "computation")) for entry in computations),
        tuple(word(entry, "kind") for entry in computations),
        frozenset(part for name in names for part in name.split("-") if part) - _GATHERING,
        task_count(trace),
        any(lane.kind == "worker" for lane in trace.lanes),
    )


def stages_of(document: Trace | Sweep) -> list[str]:
    """Return the keys of the stages of a document, in the order of the road."""
    found: set[str] = set()
    if isinstance(document, Sweep):
        found.update(key for point in document.points for key in point.stages)
    for trace in _traces(document):
        found.update(row.stage for row in (trace.waterfall.rows if trace.waterfall else ()))
        found.update(span.stage for span in trace.spans)
    return sorted(found, key=lambda key: (stage(key).order, key))


def _traces(document: Trace | Sweep) -> list[Trace]:
    if isinstance(document, Trace):
        return [document]
    return [entry.trace for entry in document.traces]


def difference(before: GraphKind, after: GraphKind) -> str:
    """Return what makes them two computations, one sentence; "" if they may be the same.

    Notes
    -----
    An improvement changes the graph: chunks, fusion, a task more or less; and fusion hides names.
    So graphs with the same end pass, and `graph_notes` says what else is in one of them only;
    graphs with another end pass if nearly all kinds of tasks are in both.
    """
    if set(before.ways) and set(after.ways) and set(before.ways).isdisjoint(after.ways):
        return f"before it was {_done(before)}, now it is {_done(after)}"
    if before.kinds and after.ends and not after.kinds:
        return (
            f"before {_ran(before)}, and now no task was seen: its results are on the cluster "
            "already, or the cluster admits no agents"
        )
    return "" if _may_be_same(before, after) else f"before {_ran(before)}; now {_ran(after)}"


def _may_be_same(before: GraphKind, after: GraphKind) -> bool:
    if not before.kinds or not after.kinds:
        return True
    if not set(before.ends).isdisjoint(after.ends):
        return True
    shared = len(before.kinds & after.kinds) / len(before.kinds | after.kinds)
    return shared >= _SHARED_SHARE


def graph_notes(before: GraphKind, after: GraphKind) -> Iterator[str]:
    """Yield sentences about what else is different between two runs of one computation."""
    if before.tasks and after.tasks and before.tasks != after.tasks:
        counts = f"{format_count(before.tasks)} tasks before, {format_count(after.tasks)} after"
        yield f"the graph is another one: {counts}"
    if before.kinds and after.kinds and before.kinds != after.kinds:
        sides = (
            (before.kinds - after.kinds, "only before"),
            (after.kinds - before.kinds, "only after"),
        )
        said = [f"{_listed(sorted(names))} {when}" for names, when in sides if names]
        yield f"kinds of tasks: {'; '.join(said)}"
    if before.ends and after.ends and len(before.ends) != len(after.ends):
        yield f"{_counted(before.ends)} before, {len(after.ends)} after"
    if before.has_cluster != after.has_cluster:
        here = "in this process"
        first, second = ("on a cluster", here) if before.has_cluster else (here, "on a cluster")
        yield f"before ran {first}, after {second}: few stages are the same"


def _done(kind: GraphKind) -> str:
    ways = dict.fromkeys(kind.ways)
    return " and ".join(_DONE.get(way, way) for way in ways)


def _ran(kind: GraphKind) -> str:
    """Say which tasks ran, and what the graph ended in."""
    end = f", up to {kind.ends[-1]}" if kind.ends and kind.ends[-1] else ""
    count = "tasks" if kind.tasks is None else f"{format_count(kind.tasks)} tasks"
    return f"it ran {count} of {_listed(sorted(kind.kinds))}{end}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join([*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _counted(ends: Sequence[str]) -> str:
    return f"{len(ends)} computation{'' if len(ends) == 1 else 's'}"
