"""The document of Ray's object stores: who holds what, as a tree of bytes and as tables.

In: what is kept (`holders`). Out: a trace without spans; its anatomy has a part for each reason and
below it the largest objects: ``out_of_band_bytes`` were spilled, ``in_band_bytes`` were not.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.capture.machine import describe_environment, installed_version, producer
from jupyter_serprof.model import Anatomy, Finding, Part, Summary, Table, TableColumn, Trace
from jupyter_serprof.model.anatomy import below
from jupyter_serprof.model.trace import ProbeReport, Quality, Scalar
from jupyter_serprof.model.units import code_text, counted, format_bytes, shortened
from jupyter_serprof.probes.ray.agent.meter import SPILLS, SpillFile
from jupyter_serprof.probes.ray.arrivals import Arrivals
from jupyter_serprof.probes.ray.holders import REASONS, Kept, Reason, kept_objects
from jupyter_serprof.probes.ray.stores import Census, census

#: Objects with a row of their own, in all and of each reason in the tree; the others are folded.
_MOST_ROWS, _MOST_PARTS = 80, 12
_NAME = "object stores"
_UNITS = {"count": "count", "part": "ratio"}
_STORES = {"node": "Node", "used_bytes": "In use", "limit_bytes": "Limit", "part": "Full"}
_STORES |= {"written_bytes": "Written to disk so far"}
#: What waits where a store is full; from such a part of the time on it is told for whom.
_STORING, _WORTH, _MOST_FILES = ("ray.store", "ray.outputs", "ray.task.put"), 3, 2_000
#: The objects that the same reasons keep alive.
Group = tuple[tuple[Reason, ...], list[Kept]]


@lru_cache
def phrase(why: tuple[Reason, ...]) -> str:
    """Return why objects are kept, to stand behind "kept"."""
    return " and ".join(
        REASONS[kind][0].format(code_text(name)) if name else REASONS[kind][1] for kind, name in why
    )


@lru_cache
def _short(words: str) -> str:
    """Return words for a column: without articles and marks of code."""
    return re.sub("the (zero-copy )?|`", "", words)


def groups_of(kept: Iterable[Kept]) -> list[Group]:
    """Return objects by their reasons, those with most bytes first."""
    groups = defaultdict[tuple[Reason, ...], list[Kept]](list)
    for one in kept:
        groups[one.why].append(one)
    return sorted(groups.items(), key=lambda group: -_bytes(group[1]))


def _bytes(kept: Iterable[Kept]) -> int:
    return sum(one.size_bytes for one in kept)


def _spilled_bytes(kept: Iterable[Kept]) -> int:
    return _bytes(one for one in kept if one.copies and one.copies["did_spill"])


def _objects(kept: Sequence[Kept]) -> str:
    said, makers = counted(len(kept), "object"), {one.maker for one in kept}
    [maker] = makers if len(makers) == 1 else [""]
    return f"{said}{' of' * (not maker.startswith('put'))} {maker}" if maker else said


def remedy_of(kept: Sequence[Kept]) -> str:
    """Return the line that lets objects go, where nothing but variables keeps them."""
    names = sorted({name for one in kept for name in one.frees})
    return f"del {', '.join(names)}" if all(one.frees for one in kept) else ""


def cause_of(group: Group) -> str:
    """Return what most bytes are and who keeps them: "12 objects of `make` are kept by ..."."""
    why, kept = group
    return f"{_objects(kept)} {'is' if len(kept) == 1 else 'are'} kept {phrase(why)}"


def _table(
    key: str, title: str, heads: Mapping[str, str], rows: Iterable[Sequence[Scalar]], note: str = ""
) -> Table:
    """Return a table; what ends in ``bytes`` are bytes."""
    columns = (
        TableColumn(name, head, "bytes" if name.endswith("bytes") else _UNITS.get(name, "text"))
        for name, head in heads.items()
    )
    return Table(key, title, tuple(columns), tuple(map(tuple, rows)), note)


def holders_table(groups: Sequence[Group], told: Census) -> Table:
    """Return the totals by reason; parts are of what all stores may hold."""
    heads = {"name": "Kept", "count": "Objects", "bytes": "Bytes", "spilled_bytes": "Spilled"}
    heads |= {"part": "Of the stores", "code": "To let go"}
    limit, rows = sum(one.limit_bytes for one in told.stores) or 1, list[Sequence[Scalar]]()
    for why, kept in groups[:_MOST_ROWS]:
        sizes = (size := _bytes(kept)), _spilled_bytes(kept), size / limit
        rows += [(_short(phrase(why)), len(kept), *sizes, remedy_of(kept))]
    return _table("ray.holders", "Who keeps objects in Ray's stores", heads, rows)


def _objects_table(kept: Sequence[Kept], nodes: Mapping[str, str]) -> Table:
    heads = {"path": "Object", "bytes": "Size", "why": "Kept", "task": "Made by"}
    heads |= {"code": "At", "nodes": "Copies on", "spilled": "Spilled"}
    earlier = "before the recording" if any(one.line for one in kept) else None
    rows, folded = list[Sequence[Scalar]](), defaultdict[tuple[str, str], list[Kept]](list)
    for at, one in enumerate(kept):
        told = _short(phrase(one.why)), _short(one.maker)
        if at >= _MOST_ROWS:
            folded[told].append(one)
            continue
        held = one.copies or {"node_ids": (), "did_spill": None}
        on = ", ".join(sorted(nodes.get(node, "?") for node in held["node_ids"])) or None
        is_spilled = {True: "yes", False: "no"}.get(held["did_spill"])
        rows += [(one.path, one.size_bytes, *told, one.line or earlier, on, is_spilled)]
    for told, some in [*folded.items()][:_MOST_PARTS]:
        rows += [(counted(len(some), "more object"), _bytes(some), *told, None, None, None)]
    note = "At: what a recording saw being put or submitted here" * bool(earlier)
    return _table("ray.objects", "Objects in Ray's stores", heads, rows, note)


def _anatomy(groups: Sequence[Group]) -> Anatomy:
    """Return the tree; labels begin with a space, as paths are labels joined."""
    parts: list[Part] = []

    def add(label: str, kind: str, kept: Sequence[Kept], parent: int, count: int = 0) -> None:
        path, disk = below(parts[parent].path if parts else "", label), _spilled_bytes(kept)
        sizes = (rest := _bytes(kept) - disk) * (count > 0), rest, disk
        parts.append(Part(label, path, _short(kind), parent, *sizes, count=count or 1))

    every = [one for _, kept in groups for one in kept]
    add(_NAME, _objects(every), every, -1)
    for why, kept in groups[:_MOST_ROWS]:
        add(f" {_short(phrase(why))}", _objects(kept), kept, 0)
        at = len(parts) - 1
        for one in kept[:_MOST_PARTS]:
            add(f" {one.path}", ", ".join(filter(None, (one.maker, one.line))), [one], at, 1)
        if rest := kept[_MOST_PARTS:]:
            add(" others", "smaller", rest, at, len(rest))
    if rest := [one for _, kept in groups[_MOST_ROWS:] for one in kept]:
        add(" otherwise", "smaller", rest, 0, len(rest))
    sizes = {name: getattr(parts[0], name) for name in ("in_band_bytes", "out_of_band_bytes")}
    return Anatomy(name=_NAME, pickler="", parts=tuple(parts), **sizes)


def footprint(names: Mapping[str, object], of: object = None) -> Trace:
    """Return the document of what is in the stores now; of what something refers to, or of all."""
    told = census()
    kept = kept_objects(told, names, of)
    groups, others = groups_of(kept), sorted({one.node for one in told.stores} - {told.node})
    nodes = {told.node: "this node"} | {node: f"node {at}" for at, node in enumerate(others, 2)}
    stores = [(nodes[n], used, most, used / (most or 1), d) for n, used, most, d in told.stores]
    silent = f"{counted(told.silent, 'node')} did not answer: what is there is missing"
    report = ProbeReport("ray", installed_version("ray"))
    return Trace(
        name=_NAME,
        started="",
        wall_ns=0,
        producer=producer(),
        summary=_summary(groups, told, kept),
        findings=tuple(map(_finding, groups[:1])),
        tables=(
            holders_table(groups, told),
            _objects_table(kept, nodes),
            _table("ray.stores", "Object stores of Ray", _STORES, sorted(stores)),
        ),
        anatomies=(_anatomy(groups),) if kept else (),
        quality=Quality(probes=(report,), notes=(silent,) * bool(told.silent)),
        environment=describe_environment(),
    )


def _summary(groups: Sequence[Group], told: Census, kept: Sequence[Kept]) -> Summary:
    sums = [sum(each) for each in zip(*(one[1:] for one in told.stores), strict=True)]
    (used, limit, disk), nodes = map(format_bytes, sums), len(told.stores)
    facts = [f"{used} of {limit} in use{f' on {nodes} nodes' * (nodes > 1)}"]
    if not kept:
        return Summary("no object is in Ray's object stores", tuple(facts))
    facts += [f"{counted(len(kept), 'object')} of {format_bytes(_bytes(kept))}"]
    facts += [f"{disk} written to disk so far"] * bool(sums[2])
    size = _bytes(groups[0][1])
    of = "of" if size <= sums[1] else "for a store of"
    said = f"{format_bytes(size)} {of} {limit}: {cause_of(groups[0])}"
    return Summary(shortened(said), tuple(facts))


def _finding(group: Group) -> Finding:
    why, kept = group
    ends = "; ".join(filter(None, (REASONS[kind][2] for kind, _ in why)))
    told = cause_of(group), {"objects": len(kept), "total_bytes": _bytes(kept)}, remedy_of(kept)
    return Finding("ray.objects-kept", "info", *told, because=ends)


def tell_spills(run: Page, arrivals: Arrivals, nodes: Mapping[str, str]) -> None:
    """Tell puts and outputs for how long they waited until others were spilled; and who fills it.

    A file of spilled objects was written last when what needs the room went on. Source: Ray 2.60.0,
    ray/_private/external_storage.py; files in another folder than that of the session are not seen.

    ``nodes``: On which node each lane is.
    """
    inside, files = defaultdict[int, list[int]](list), list(_files(run, arrivals))
    for draft in run.drafts:
        inside[id(draft.parent)].append(draft.end)
    stages = {*_STORING, "ray.restore"}
    waiting = [draft for draft in run.drafts if draft.stage in stages and not draft.is_dropped]
    for draft in waiting:
        node, is_get = nodes.get(draft.lane), draft.stage not in _STORING
        near = (one for one in files if one.node == node and (is_get or one.is_written))
        mine = [o for o in near if draft.start <= (o.end if o.is_written else o.start) <= draft.end]
        if mine:
            begun = (end for end in inside[id(draft)] if end <= mine[0].start)
            run.drafts += _parts_of(draft, max(begun, default=draft.start), mine)
        if written := [one for one in mine if one.is_written]:
            draft.details["spilled_ns"] = written[-1].end - draft.start
            draft.details["spilled_bytes"] = sum(one.size_bytes for one in written)
            files = [one for one in files if one not in written]  # told once
    waited_ns = sum(draft.details.get("spilled_ns", 0) for draft in waiting)
    if _WORTH * waited_ns >= run.end - run.start:
        with suppress(Exception):  # who holds them is not known then
            run.tables.append(footprint(vars(sys.modules["__main__"])).tables[0])


def _files(run: Page, arrivals: Arrivals) -> Iterator[SpillFile]:
    """Yield the files that were watched, in their order; else those that are there."""
    yield from sorted(arrivals.all_seen().files, key=lambda one: one.start)
    disks = [meter.disk for meter in arrivals.meters.values()]
    if disks and all(disks):
        return
    node = sys.modules["ray._private.worker"].global_worker.node
    where = getattr(node, "get_session_dir_path", None)
    for file in islice(Path(where()).glob(f"{SPILLS}*/*") if where else (), _MOST_FILES):
        with suppress(OSError):  # it was restored, and is gone
            at, size = (stat := file.stat()).st_mtime_ns - run.wall_offset, stat.st_size
            whose = file.parent.name.removeprefix(SPILLS).strip("_") * bool(disks)
            yield SpillFile(whose, at, at, size, is_written=True)


def _parts_of(draft: Draft, begin: int, files: Sequence[SpillFile]) -> Iterator[Draft]:
    """Yield what there is in a call of waiting for files: until each begins, and until it ends."""
    at = begin
    for one in files if files[0].start < files[0].end else ():
        key, step = ("ray.spill", "write") if one.is_written else ("ray.restore", "read")
        low, high = max(at, one.start), min(draft.end, max(at, one.end))
        for part, start, end in (("start", at, low), (step, low, high)):
            if start < end:
                made = Draft(f"{key}.{part}", part, draft.lane, start, end, "ray.file", draft)
                made.size_bytes = one.size_bytes if part == "write" else None
                yield made
        at = high
