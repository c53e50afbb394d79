"""Computations of local schedulers: groups of rows, the tables of tasks and of computations."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import Any

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.model import Table
from jupyter_serprof.probes.dask import computations
from jupyter_serprof.probes.dask.local.columns import CallColumns, CallRow
from jupyter_serprof.probes.dask.local.lanes import COMPUTE, Calls, is_get


@dataclass(slots=True)
class _LocalGraph:
    """One graph that a scheduler of this process ran."""

    draft: Draft
    title: str = ""
    layers: int | None = None
    signs: list[int] = field(default_factory=list)
    sent_bytes: int | None = None
    repeated: int = 0

    @property
    def kind(self) -> str:
        return "get" if is_get(self.draft) else self.draft.name


def add_facts(run: Page, calls: Calls) -> None:
    """Add groups and tables, to those that are there."""
    found = _computations(run)
    _note_tasks(found, calls)
    computations.add_groups(run, [_block(some) for some in _at_once(found)])
    columns, rows = computations.TASK_COLUMNS, tuple(_task_rows(calls))
    _extend(run, Table("dask.tasks", "Tasks by prefix", columns, rows))
    _extend(run, computations.rows_table([_computation_row(each) for each in found]))


def _extend(run: Page, table: Table) -> None:
    if not table.rows:
        return
    for at, other in enumerate(run.tables):
        if other.key == table.key and other.columns == table.columns:
            run.tables[at] = changed(other, rows=(*other.rows, *table.rows))
            return
    run.tables.append(table)


def _computations(run: Page) -> list[_LocalGraph]:
    found: dict[int, _LocalGraph] = {}
    for draft in run.drafts:
        if is_get(draft) and not draft.is_dropped:
            outer = [a for a in draft.ancestors() if a.role == COMPUTE or is_get(a)]
            top = outer[-1] if outer else draft
            if top is draft or top.role == COMPUTE:
                found.setdefault(id(top), _LocalGraph(top))
    for draft in run.drafts:
        if draft.name == "unpack_collections" and draft.extra is not None:
            _name(draft, found)
            draft.extra = None
    return sorted(found.values(), key=lambda each: each.draft.start)


def _name(unpacked: Draft, found: dict[int, _LocalGraph]) -> None:
    around = [found[id(above)] for above in unpacked.ancestors() if id(above) in found]
    if around and not around[-1].title:
        names, count, around[-1].layers = unpacked.extra
        around[-1].title = computations.named(names, count)


def _note_tasks(found: Sequence[_LocalGraph], calls: Calls) -> None:
    """Give each task to the computation that ran then; count those that one before had run."""
    # Of computations that ran at the same time, in threads, the owner of a task is unknown.
    alone = [some[0] for some in _at_once(found) if len(some) == 1]
    starts = [each.draft.start for each in alone]

    def owned(made: Iterable[CallColumns]) -> Iterator[tuple[_LocalGraph, CallRow]]:
        for row in (row for columns in made for row in columns.rows()):
            index = bisect_right(starts, row.start) - 1
            if index >= 0 and row.start <= alone[index].draft.end:
                yield alone[index], row

    for mine, row in owned(calls.executed()):
        mine.signs.append(row.sign)
    for mine, row in owned(calls.roads.encode.tracks.values()):
        mine.sent_bytes = (mine.sent_bytes or 0) + row.size
    before: set[int] = set()
    for each in found:
        mine_all = set(each.signs)
        each.repeated = len(mine_all & before)
        before |= mine_all


def _at_once(found: Sequence[_LocalGraph]) -> list[list[_LocalGraph]]:
    """Put computations together that ran at the same time; they are in the order of their start."""
    together: list[list[_LocalGraph]] = []
    end = 0
    for each in found:
        if together and each.draft.start < end:
            together[-1].append(each)
        else:
            together.append([each])
        end = max(end, each.draft.end)
    return together


def _block(some: Sequence[_LocalGraph]) -> tuple[int, int, list[str]]:
    names = [f"{each.kind} {each.title}" for each in some]
    return some[0].draft.start, max(each.draft.end for each in some), names


def _computation_row(each: _LocalGraph) -> tuple[Any, ...]:
    draft = each.draft
    known = len(each.signs) if each.signs else None
    repeated = each.repeated if each.signs else None
    length = draft.end - draft.start
    return each.title, each.kind, None, each.layers, known, repeated, None, each.sent_bytes, length


def _task_rows(calls: Calls) -> Iterator[tuple[Any, ...]]:
    lengths: dict[str, list[int]] = defaultdict(list)
    errors: dict[str, int] = defaultdict(int)
    sizes: dict[str, int] = defaultdict(int)
    prefix = calls.prefix
    for columns in calls.executed():
        for row in columns.rows():
            lengths[prefix(row.name)].append(row.end - row.start)
        for key in columns.failed:
            errors[prefix(key)] += 1
    for columns in calls.roads.outputs.values():
        for row in columns.rows():
            sizes[prefix(row.name)] += row.size
    ordered = sorted(lengths.items(), key=lambda entry: -sum(entry[1]))
    for name, some in ordered[: computations.MOST_ROWS]:
        some.sort()
        quarters = [some[round(part * (len(some) - 1) / 4)] for part in range(5)]
        yield (name, len(some), *quarters, sum(some), None, None, sizes.get(name), errors[name])
