"""From measured nodes to the parts that people read: plumbing joins what holds it, equals fold.

Every byte stays: ``self_bytes`` of all parts sum to the pickle. The root's own bytes also hold the
envelope: PROTO, the header of each frame of 64 KiB, and STOP.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

from jupyter_serprof.experiments.blame.descent import Descent, is_hole
from jupyter_serprof.experiments.blame.node import Node
from jupyter_serprof.experiments.blame.opening import is_atom, values_of
from jupyter_serprof.experiments.blame.passes import depth_note, memory_note
from jupyter_serprof.model import Anatomy, Part
from jupyter_serprof.model.anatomy import below
from jupyter_serprof.model.units import format_ns
from jupyter_serprof.objects.ask import kind_name
from jupyter_serprof.objects.culprits import error_text
from jupyter_serprof.objects.labels import kind_label

#: Equal neighbours are told as one if they are smaller than this share of the whole.
_SMALL_SHARE = 0.02
#: Technical parts (arguments, slots of functions) below it join what holds them.
_DULL_BYTES, _TINY_SHARE = 1000, 0.0005
_TECHNICAL = (
    *("<class", "<function"),
    *("<argument", "<repeated", ".__", "._cloudpickle", "<state>", "<empty>", "<base"),
    *("<closure>", "<defaults>", "<keyword defaults>", "<globals>"),
)
_RANGE = re.compile(r"\[([\d,]+)(?:\.\.([\d,]+))?\]")
_FEW, _SAMPLE = 3, 50
_ALIKE = 2.0
#: A chain of this number of equal steps is told as one.
_CHAIN = 4
#: More keys of text beside each other are data: the rows of somebody, not the fields of something.
_MOST_TEXTS = 20


@dataclass(eq=False, slots=True)
class _Branch:
    """A part while the tree is made."""

    label: str
    kind: str
    #: In-band, beside, and ns: what is not inside.
    own: tuple[int, int, int] = (0, 0, 0)
    count: int = 1
    state: str = ""
    note: str = ""
    first: int | None = None
    inside: list[_Branch] = field(default_factory=list)
    size_bytes: int = 0
    buffer_bytes: int = 0
    duration_ns: int = 0

    def add_up(self) -> None:
        for branch in self.inside:
            branch.add_up()
        self.size_bytes, self.buffer_bytes, self.duration_ns = _added(
            self.own, *((b.size_bytes, b.buffer_bytes, b.duration_ns) for b in self.inside)
        )

    def add(self, size_bytes: int, buffer_bytes: int = 0, took_ns: int = 0) -> None:
        self.own = _added(self.own, (size_bytes, buffer_bytes, took_ns))

    @property
    def bytes(self) -> int:
        return self.size_bytes + self.buffer_bytes


def _added(*sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    in_band, beside, took_ns = map(sum, zip(*sizes, strict=True))
    return in_band, beside, took_ns


INTERRUPTED = "interrupted"
_BUDGET = "the time budget is too short to open everything"
#: What the times of parts are: a note, which begins with what tells it from others.
_PLAIN = "times: shares of an in-band probe, scaled to the plain dumps"
_NOWHERE = (
    "times: shares of the probe, scaled to one pickle that hands buffers over and copies nothing"
)


def anatomy_of(descent: Descent, dumps_ns: int | None = None) -> Anatomy:
    """Return what a descent has found, also if it was interrupted.

    ``dumps_ns``: Time of the plain ``dumps``, if it was measured. Parts that were timed in-band add
        up to it, others to the first pickle into nowhere: both are of one way.
    """
    root = _Branches(descent).of(descent.root)
    root.add_up()
    notes = [*_notes(descent)]
    _balance(descent, root, notes)
    whole_ns = dumps_ns if descent.is_timed_in_band else descent.duration_ns
    can_tell = descent.is_measured and descent.error is None and root.duration_ns > 0
    scale = whole_ns / root.duration_ns if whole_ns is not None and can_tell else None
    if scale is not None:
        notes.append(_PLAIN if descent.is_timed_in_band else _NOWHERE)
    total = max(1, root.bytes)
    _shrink(root, total)
    root.add_up()
    parts = tuple(_parts(root, "", -1, [], scale))
    return Anatomy(
        name=root.label,
        in_band_bytes=root.size_bytes,
        out_of_band_bytes=root.buffer_bytes,
        plain_bytes=None if descent.error is not None else descent.plain_bytes,
        duration_ns=whole_ns if descent.error is None else None,
        is_complete=descent.is_complete,
        parts=parts,
        notes=tuple(notes),
    )


def _notes(descent: Descent) -> Iterator[str]:
    if descent.error is not None:
        yield f"it cannot be pickled: {error_text(descent.error)}; sizes are of what can be"
    if descent.was_interrupted:
        yield f"{INTERRUPTED}: what was measured until then"
    elif not descent.is_complete:
        took = "" if descent.cost_s is None else f", {format_ns(descent.cost_s * 1e9)}"
        again = f"{descent.pickled} times{took and took + ' each time'}"
        often = f"once{took}" if descent.pickled == 1 else again
        yield f"{_BUDGET}: it was pickled {often}; give it more with budget_s"


def _balance(descent: Descent, root: _Branch, notes: list[str]) -> None:
    whole = descent.in_band_bytes
    if whole is None and not root.buffer_bytes and descent.is_measured:
        whole = max(descent.known_bytes or 0, root.size_bytes)
    if whole is None:
        return
    rest, beside = whole - root.size_bytes, descent.out_of_band_bytes - root.buffer_bytes
    if rest < 0 or beside < 0:
        notes.append("its size changes from pickle to pickle: this is the sum of its parts")
    elif descent.is_complete or descent.is_measured or not root.inside:
        root.add(rest, beside)
    else:
        root.inside.append(_Branch(".<not opened>", "", (rest, beside, 0), state="not opened"))
    if not descent.is_complete and len(root.inside) == 0:
        root.state = root.state or "not opened"
    root.add_up()


class _Branches:
    """Makes branches of nodes."""

    def __init__(self, descent: Descent) -> None:
        self._descent = descent
        self._paths: dict[int, str] = {}

    def of(self, node: Node, path: str = "") -> _Branch:
        """Return the branch of a node with what is in it."""
        path += node.label
        if node.items is None:
            branch = _Branch(node.label or "it", node.kind or kind_label(node.value))
        else:
            first, end = node.first, node.first + node.count - 1
            label = f"[{first:,}..{end:,}]" if node.count > 1 else f"[{first:,}]"
            names = {kind_name(type(value)) for value in islice(values_of(node), _SAMPLE)}
            kind = names.pop() if len(names) == 1 else "mixed"
            branch = _Branch(label, kind, count=node.count, first=first)
        self._fill(branch, node, path)
        self._describe(branch, node, path)
        return branch

    def _fill(self, branch: _Branch, node: Node, path: str) -> None:
        """Add what a node writes itself, and its parts; plumbing is opened on the way."""
        if node.steps is None or node.is_shared:
            branch.add(node.in_band_bytes or 0, node.out_of_band_bytes, node.duration_ns)
            return
        branch.add(node.own_bytes, took_ns=node.opening_ns)
        _hide_data(node.nodes)
        for part in node.nodes:
            if part.is_plumbing and not part.error and not part.holes:
                self._fill(branch, part, path)
            elif _is_dull(part):
                branch.add(part.in_band_bytes or 0, took_ns=part.duration_ns)
            else:
                branch.inside.append(self.of(part, path))
        # What was written by other steps than parts: references to the object itself.
        sizes = [part.in_band_bytes for part in node.nodes]
        if node.in_band_bytes is not None and None not in sizes:
            branch.add(node.in_band_bytes - sum(s or 0 for s in sizes) - node.own_bytes)

    def _describe(self, branch: _Branch, node: Node, path: str) -> None:
        if is_atom(node.value) and not (node.error or node.holes):
            return
        if node.is_shared:
            where = self._paths.get(id(node.value))
            branch.state = "shared"
            branch.note = f"the same object as {where}" if where else "met before in another part"
        elif node.items is None:
            self._paths.setdefault(id(node.value), path)
        if node.steps is None and (node.error or node.holes):
            branch.state, branch.note = "unpicklable", self._reason(node)
        elif node.steps is None and node.in_band_bytes is None:
            branch.state = "not opened"
        elif not branch.note and node.items is None:
            branch.note = memory_note(node.value, sum(branch.own[:2]))

    def _reason(self, node: Node) -> str:
        is_bad = is_hole(node)
        for key in [id(node.value)] if is_bad and node.items is None else node.holes:
            if key in self._descent.holes:
                said = error_text(self._descent.holes[key][1])
                return said if is_bad else f"something in it: {said}"
        return depth_note(node.value) or node.error


def _hide_data(parts: Sequence[Node]) -> None:
    """Give numbers to keys that look like data, which a document would share: many, or long."""
    texts = [part for part in parts if part.label.startswith(('["', "[<str>]"))]
    for number, part in enumerate(texts, 1):
        if len(texts) > _MOST_TEXTS or part.label == "[<str>]":
            part.label = f"[key {number}]"


def _is_dull(part: Node) -> bool:
    """Tell a technical part that is small: an argument, a slot of a function, a known class."""
    labels = _TECHNICAL if part.is_shared else _TECHNICAL[2:]
    size = part.in_band_bytes
    if not part.label.startswith(labels) or size is None or size >= _DULL_BYTES:
        return False
    return not (part.out_of_band_bytes or _has_problem(part))


def _has_problem(node: Node) -> bool:
    return bool(node.error or node.holes) or any(map(_has_problem, node.nodes))


# Shrinking: runs that are alike, small neighbours, chains.


def _shrink(branch: _Branch, total: int) -> None:
    branch.inside = _without_tiny(_folded(branch.inside, total), total)
    for part in branch.inside:
        _shrink(part, total)


def _folded(branches: list[_Branch], total: int) -> list[_Branch]:
    """Join neighbours that are alike: runs of items, and items without parts."""
    runs = [b.bytes / b.count for b in branches if b.first is not None]
    middle = statistics.median(runs) if runs else 0.0

    def key(at: int) -> object:
        branch = branches[at]
        kind = branch.kind.partition(" ")[0]
        if branch.state == "unpicklable" and not branch.inside and _RANGE.fullmatch(branch.label):
            return kind, branch.note
        if branch.state:
            return at
        if branch.first is not None:
            is_usual = branch.bytes / branch.count <= _ALIKE * max(middle, 1.0)
            return kind if is_usual else at
        is_item = _RANGE.fullmatch(branch.label) and not branch.inside
        return kind if is_item and branch.bytes < _SMALL_SHARE * total else at

    found: list[_Branch] = []
    for _, group in groupby(range(len(branches)), key):
        found += _joined([branches[at] for at in group])
    return found


def _joined(alike: Sequence[_Branch]) -> list[_Branch]:
    is_few = len(alike) == 1 or (len(alike) <= _FEW and all(b.first is None for b in alike))
    first, last = _RANGE.fullmatch(alike[0].label), _RANGE.fullmatch(alike[-1].label)
    if is_few or first is None or last is None:
        return list(alike)
    label = f"[{first[1]}..{last[2] or last[1]}]"
    count = sum(branch.count for branch in alike)
    return [_sum(alike, label, alike[0].kind.partition(" ")[0], count)]


def _sum(alike: Sequence[_Branch], label: str, kind: str, count: int) -> _Branch:
    first = alike[0]
    is_bad = all(branch.state == "unpicklable" for branch in alike)
    state, note = (first.state, first.note) if is_bad else ("", "")
    joined = _Branch(label, kind, count=count, first=first.first, state=state, note=note)
    joined.own = _added(*((b.size_bytes, b.buffer_bytes, b.duration_ns) for b in alike))
    joined.add_up()
    return joined


def _without_tiny(branches: list[_Branch], total: int) -> list[_Branch]:
    tiny = [
        b for b in branches if b.bytes < _TINY_SHARE * total and not (b.state or _is_refused(b))
    ]
    if len(tiny) <= _FEW or len(branches) <= 2 * _FEW:
        return branches
    count = sum(branch.count for branch in tiny)
    rest = [branch for branch in branches if branch not in tiny]
    return [*rest, _sum(tiny, f".<{count:,} more>", "", count)]


def _is_refused(branch: _Branch) -> bool:
    return branch.state == "unpicklable" or any(map(_is_refused, branch.inside))


def _parts(
    branch: _Branch, above: str, parent: int, made: list[int], scale: float | None
) -> Iterator[Part]:
    """Yield a branch and what is in it; a chain of equal steps is one part."""
    label, own, took_ns = branch.label, branch.own[0], branch.duration_ns
    depth, last = _chain(branch) if parent >= 0 else (1, branch)
    if depth >= _CHAIN:
        own = branch.size_bytes - sum(part.size_bytes for part in last.inside)
        label, branch = f"{label}{label}… x {depth:,}", last
    at, path = len(made), below(above, label)
    made.append(at)
    yield Part(
        label=label,
        path=path,
        kind=branch.kind,
        parent=parent,
        self_bytes=own,
        in_band_bytes=own + sum(part.size_bytes for part in branch.inside),
        out_of_band_bytes=branch.buffer_bytes,
        duration_ns=round(took_ns * scale) if scale is not None and took_ns else None,
        count=branch.count,
        state=branch.state,
        note=branch.note,
    )
    for part in branch.inside:
        yield from _parts(part, path, at, made, scale)


def _chain(branch: _Branch) -> tuple[int, _Branch]:
    """Return how often a step is repeated, each time as the only part, and the last one."""
    last, depth = branch, 1
    while len(last.inside) == 1 and last.inside[0].label == branch.label and not last.state:
        last, depth = last.inside[0], depth + 1
    return depth, last
