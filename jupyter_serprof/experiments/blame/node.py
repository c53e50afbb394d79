"""A node of an anatomy while it is measured, and the opcodes that a container writes for itself.

The opcodes are counted, not measured: a container whose items are dumped one by one is never
dumped itself. Source: CPython 3.11, ``Modules/_pickle.c``: save_list, batch_list_exact,
batch_dict_exact, save_set, save_frozenset, save_tuple, save_reduce.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

_BATCH = 1000
_SHORT_TUPLE = 3


class Step:
    """What is done between two parts of an opened object."""

    def __init__(self, name: str) -> None:
        self.name = name


#: The object is known to the memo from here on.
MEMOIZE = Step("memoize")
#: A reference to the object itself is written.
REFER = Step("refer")


@dataclass(eq=False, slots=True)
class Node:
    """One part: an object, or (``items``) a run of the items of a long container.

    Attributes
    ----------
    value
        The object; of a run the container.
    label
        The last step of its path; "" for what only the pickler sees, which joins what holds it.
    items
        Of a run: what is pickled for it, in order, keys before their values.
    count
        Of a run: how many items of the container.
    own_bytes
        Opcodes that are written for an opened object itself.
    steps
        What is inside, in the order of the pickler; None while it is closed.
    is_late
        True for what enters the memo after its parts: tuples, frozensets.
    is_fixed
        True if it stays closed: a reference, an atom, what opened to nothing.
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


def list_bytes(count: int) -> int:
    """Return the opcodes of a list: EMPTY_LIST, MEMOIZE, APPEND or MARK and APPENDS."""
    return 2 + (1 if count == 1 else 2 * -(-count // _BATCH))


def dict_bytes(count: int) -> int:
    """Return the opcodes of a dict; a last batch may be empty."""
    if count <= 1:
        return 2 + count
    return 2 + 2 * (count // _BATCH + 1)


def set_bytes(count: int) -> int:
    """Return the opcodes of a set; a last batch may be empty."""
    return 2 + (2 * (count // _BATCH + 1) if count else 0)


def tuple_bytes(count: int) -> int:
    """Return the opcodes of a tuple; short ones have no MARK, the empty one is not memoized."""
    if count == 0:
        return 1
    return 2 if count <= _SHORT_TUPLE else 3


def batch_bytes(count: int) -> int:
    """Return the opcodes around items that come from an iterator of a reducer."""
    full, rest = divmod(count, _BATCH)
    return 2 * full + (1 if rest == 1 else 2 if rest else 0)


def recursion_bytes(value: object) -> int:
    """Return what drops the parts of a tuple or frozenset that was met again inside itself."""
    if type(value) is tuple and len(value) <= _SHORT_TUPLE:
        return len(value) - 2
    return -1
