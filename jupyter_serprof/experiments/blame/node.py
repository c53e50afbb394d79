"""A node of an anatomy while it is measured, and the opcodes that a tuple writes for itself."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from enum import Enum

_SHORT_TUPLE = 3
#: A run whose items are larger by this factor than those of its neighbours holds an outlier.
_OUTLIER = 2.0


class Step(Enum):
    """What is done between two parts of an opened object."""

    #: The object is known to the memo from here on.
    MEMOIZE = "memoize"
    #: A reference to the object itself is written.
    REFER = "refer"


MEMOIZE, REFER = Step


@dataclass(eq=False, slots=True)
class Node:
    """One part: an object, or (``items``) a run of the items of a long container.

    ``value``: The object; of a run the container.
    ``label``: The last step of its path; "" for what only the pickler sees, which joins what holds
        it.
    ``items``: Of a run: what is pickled for it, in order, keys before their values.
    ``count``: Of a run: how many items of the container.
    ``own_bytes``: Opcodes that are written for an opened object itself.
    ``steps``: What is inside, in the order of the pickler; None while it is closed.
    ``is_late``: True for what enters the memo after its parts: tuples, frozensets.
    ``is_fixed``: True if it stays closed: a reference, an atom, what opened to nothing.
    """

    value: object
    label: str = ""
    items: tuple[object, ...] | None = None
    first: int = 0
    count: int = 1
    kind: str = ""
    own_bytes: int = 0
    steps: list[Node | Step] | None = None
    is_late: bool = False
    is_fixed: bool = False
    is_shared: bool = False
    is_plumbing: bool = False
    in_band_bytes: int | None = None
    out_of_band_bytes: int = 0
    duration_ns: int = 0
    opening_ns: int = 0
    error: str = ""
    holes: list[int] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """What was written for it, in-band and beside."""
        return (self.in_band_bytes or 0) + self.out_of_band_bytes

    @property
    def nodes(self) -> list[Node]:
        """The parts among the steps."""
        return [step for step in self.steps or () if isinstance(step, Node)]

    def has_outlier(self, run: Node) -> bool:
        """Tell whether the items of a run in it are much larger than those of its neighbours."""
        sizes = [node.bytes / node.count for node in self.nodes if node.items is not None]
        return run.bytes / run.count > _OUTLIER * max(1.0, statistics.median(sizes))

    def replace(self, node: Node, nodes: list[Node]) -> None:
        """Put several nodes where one was."""
        steps = self.steps or []
        at = steps.index(node)
        steps[at : at + 1] = nodes


def copied(node: Node) -> Node:
    """Return a tree of the same objects, to be measured for itself."""
    steps = node.steps and [copied(s) if isinstance(s, Node) else s for s in node.steps]
    return replace(node, steps=steps)


def take_times(node: Node, timed: Node, *, is_first: bool) -> None:
    """Take the times of a copy of the tree, or the shorter ones of both."""
    known = timed.duration_ns if is_first else node.duration_ns
    node.duration_ns = min(known, timed.duration_ns)
    for part, other in zip(node.nodes, timed.nodes, strict=True):
        take_times(part, other, is_first=is_first)


def tuple_bytes(count: int) -> int:
    """Return the opcodes of a tuple; short ones have no MARK, the empty one is not memoized."""
    if count == 0:
        return 1
    return 2 if count <= _SHORT_TUPLE else 3


def recursion_bytes(value: object) -> int:
    """Return what drops the parts of a tuple or frozenset that was met again inside itself."""
    if type(value) is tuple and len(value) <= _SHORT_TUPLE:
        return len(value) - 2
    return -1
