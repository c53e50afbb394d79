"""Computations: the graphs that a client sent, as groups of rows and as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

from jupyter_serprof.capture.freeze import MAIN_LANE, Draft, Page
from jupyter_serprof.model import Group, Table, TableColumn
from jupyter_serprof.probes.dask.cluster import Cluster

TASK_COLUMNS = TableColumn.each(
    *("prefix: Prefix", "count: Tasks, count", "compute_min: Min, ns", "compute_p25: 25 %, ns"),
    *("compute_p50: Median, ns", "compute_p75: 75 %, ns", "compute_max: Max, ns"),
    *("compute_total: Execution, ns", "transfer_total: Transfer, ns", "disk_total: Disk, ns"),
    *("result_bytes: Results, bytes", "errors: Errors, count"),
)
COMPUTATION_COLUMNS = TableColumn.each(
    *("computation: Computation", "kind: Call", "graph_bytes: Graph, bytes"),
    *("layers: Layers, count", "tasks: Tasks, count", "repeated_tasks: Computed again, count"),
    *("repeated_ns: Again took, ns", "dispatched_bytes: Sent to workers, bytes"),
    "duration: Duration, ns",
)


#: What finds out where the partitions of `set_index` begin.
_SORTS = frozenset({"RepartitionQuantiles", "_SetIndexPost", "SortIndexBlockwise"})
#: Computations that are drawn as groups; the others are in the last one.
_MOST_GROUPS = 12
#: Of a table of tasks or of computations.
MOST_ROWS = 48


@dataclass(slots=True)
class SentGraph:
    """A graph that the client sent."""

    draft: Draft
    kind: str = ""
    title: str = ""
    size_bytes: int | None = None
    layers: int | None = None
    noted: Mapping[str, Any] = field(default_factory=dict)
    #: By the prefix of each layer: 2 if it was computed before, 1 if what it begins with was.
    begun: Mapping[str, int] = field(default_factory=dict)
    #: When it was handed to the event loop.
    handed_ns: int = 0
    end_ns: int = 0

    @property
    def repeated(self) -> tuple[int | None, int | None]:
        """How many of its tasks were computed before, and how long they took, ns."""
        # The scheduler knows tasks by their keys. Fused ones have another key each time, and a name
        # that is one of their layers', or several: then it is the work of before and more.
        known = self.noted.get("repeated"), self.noted.get("repeated_ns")
        marked = [(self._mark(name), *own) for name, own in self.noted.get("prefixes", {}).items()]
        # Blockwise layers are one task with the name of the last.
        most = max((mark for mark, *_ in marked), default=0) or 2
        found = [own for mark, *own in marked if mark == most]
        fused = sum(count for count, _ in found), sum(took for _, took in found)
        return fused if known[0] is not None and fused[0] > known[0] else known

    def _mark(self, name: str) -> int:
        if name in self.begun:
            return self.begun[name]
        parts = (mark for prefix, mark in self.begun.items() if f"-{prefix}-" in f"-{name}-")
        return max(parts, default=0)


def find_sent(run: Page) -> list[SentGraph]:
    """Return the graphs that were sent, in order; note sizes on their spans."""
    found: dict[int, SentGraph] = {}
    for draft in run.drafts:
        if draft.role == "dask.graph" and draft.extra is not None:
            _, layers, _, keys, total, _ = draft.extra
            title = named(keys, total)
            found[id(draft)] = SentGraph(draft, _call_around(draft), title, layers=layers)
            found[id(draft)].handed_ns = draft.end
    for draft in run.drafts:
        if draft.role == "dask.send" and draft.parent is not None and id(draft.parent) in found:
            found[id(draft.parent)].handed_ns = draft.start
    ordered = sorted(found.values(), key=lambda entry: entry.draft.end)
    _number(ordered)
    for draft in run.drafts:
        if draft.role == "dask.serialize" and draft.extra is not None:
            in_band, out_of_band, buffers = draft.extra
            draft.extra, draft.size_bytes = None, in_band + out_of_band
            draft.details |= {"in_band_bytes": in_band, "out_of_band_bytes": out_of_band}
            draft.details["buffers"] = buffers
            if draft.parent is not None and (around := found.get(id(draft.parent))):
                around.size_bytes = draft.size_bytes
                draft.details["computation"] = around.draft.details["computation"]
                if around.layers is not None:
                    draft.details["layers"] = around.layers
    return ordered


def _number(ordered: Iterable[SentGraph]) -> None:
    before: set[str] = set()
    for number, entry in enumerate(ordered):
        entry.draft.details["computation"] = number
        layers: Mapping[str, frozenset[str]] = entry.draft.extra[5]
        if not _SORTS.isdisjoint(layers):
            entry.draft.details["sorts"] = 1
        # Where all begin alike (an array that is made, a file) is no work that was done before.
        again = {name for name, needed in layers.items() if name in before and needed}
        if entry.layers is not None and again:
            entry.begun = {
                _prefix(name): 2 if name in before else int(bool(needed & again))
                for name, needed in layers.items()
            }
        before.update(layers)


def _call_around(draft: Draft) -> str:
    calls = [a.role.partition(":")[2] for a in draft.ancestors() if a.role.startswith("dask.call:")]
    kind = calls[-1] if calls else "submit"
    return "compute" if kind == "get" else kind


def _prefix(key: object) -> str:
    from dask.utils import key_split

    return str(key_split(key))


def named(keys: Sequence[Any], total: int) -> str:
    """Return what is computed, by the names of its last layers or keys."""
    names = dict.fromkeys(map(_prefix, keys))
    more = f" and {total - len(keys)} more" if total > len(keys) else ""
    return ", ".join(names) + more


def match(sent: Sequence[SentGraph], cluster: Cluster) -> None:
    """Give each graph what the scheduler noted of it: by what tells it apart, else by order."""
    # A scheduler notes no graph that it could not take in.
    report = cluster.scheduler.report
    left = list(report["computations"]) if report else []
    for entry in sent:
        sign = entry.draft.extra[2]
        alike = (one for wanted in (sign, "") for one in left if one["sign"] == wanted)
        found = next(alike, None)
        if found is not None:
            left.remove(found)
            entry.noted = found
        last = found["last_finished"] if found else None
        if last is not None:
            entry.end_ns = last - cluster.scheduler.offset_ns


def describe_schedules(run: Page, sent: Sequence[SentGraph], suffix: str) -> None:
    """Note on the span of a scheduler that takes a graph in how large that graph is."""
    lane = f"scheduler{suffix}"
    own = (draft for draft in run.drafts if draft.lane == lane and draft.parent is None)
    taken = [draft for draft in own if draft.name == "update_graph"]
    taken.sort(key=lambda draft: draft.start)
    for draft, entry in zip(taken, sent, strict=False):
        details = entry.draft.details
        known = {key: entry.noted.get(key) for key in ("tasks", "chained")}
        known["layers"] = entry.layers
        draft.details |= {key: value for key, value in known.items() if value is not None}
        draft.details["computation"] = details["computation"]


def add_sent(run: Page, sent: Sequence[SentGraph]) -> None:
    """Make a group of each computation; graphs that are sent without a wait between are one."""
    waits = sorted(d.end for d in run.drafts if d.role == "dask.wait" and d.lane == MAIN_LANE)
    begins: list[tuple[int, list[str]]] = []
    before = run.start
    for entry in sent:
        ended = [end for end in waits if before < end <= entry.draft.start]
        if ended or not begins:
            begins.append((ended[-1] if ended else run.start, []))
        begins[-1][1].append(f"{entry.kind} {entry.title}")
        before = entry.draft.end
    edges = pairwise([*begins, (run.end, [])])
    add_groups(run, [(start, end, names) for (start, names), (end, _) in edges])


def add_groups(run: Page, blocks: Sequence[tuple[int, int, Sequence[str]]]) -> None:
    """Make a group of each (start, end, names of its graphs); the last one takes the rest."""
    if len(blocks) < 2:  # noqa: PLR2004  (one computation needs no group)
        return
    for number, (start, end, names) in enumerate(blocks[:_MOST_GROUPS], 1):
        rest = blocks[number:] if number == _MOST_GROUPS else ()
        count = len(names) - 1 + sum(len(some) for _, _, some in rest)
        more = f" and {count} more" if count else ""
        title = f"{number}: {names[0]}".rstrip() + more
        run.groups.append(Group(title, start, run.end if rest else end))


def rows_table(rows: Sequence[tuple[Any, ...]]) -> Table:
    """Return the table of computations, of the first ones."""
    left = len(rows) - MOST_ROWS
    note = f"{left} more computations" if left > 0 else ""
    shown = tuple(rows[:MOST_ROWS])
    return Table("dask.computations", "Computations", COMPUTATION_COLUMNS, shown, note)


def computation_table(
    run: Page, sent: Sequence[SentGraph], reports: Sequence[Mapping[str, Any]]
) -> Table | None:
    """Return the table of computations, in the order in which they were sent; None without any."""
    if not sent:
        return None
    alike = groupby(sent, key=lambda entry: (entry.title, entry.kind))
    rows = [_computation_row(run, list(entries)) for _, entries in alike]
    if len(rows) == 1 and reports:
        dispatched = _sum(report["bytes"].get("compute-task out") for report in reports)
        rows = [(*rows[0][:7], dispatched, rows[0][8])]
    return rows_table(rows)


def _computation_row(run: Page, entries: Sequence[SentGraph]) -> tuple[Any, ...]:
    first = entries[0]
    more = f" ({len(entries)} graphs)" if len(entries) > 1 else ""
    end = max(entry.end_ns or run.end for entry in entries)
    return (
        first.title + more,
        first.kind,
        _sum(entry.size_bytes for entry in entries),
        _sum(entry.layers for entry in entries),
        _sum(entry.noted.get("tasks") for entry in entries),
        *(_sum(each) for each in zip(*(entry.repeated for entry in entries), strict=True)),
        None,
        max(0, end - first.draft.start),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
