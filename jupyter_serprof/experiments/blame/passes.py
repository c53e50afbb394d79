"""One pass over an opened object: every closed part is dumped once, all with one memo.

So that references are as long as in one pickle, the memo numbers what is met as that pickle would.
An opened object is never dumped; it is put into the memo where the pickler would put it. That means
copying the memo, so it is done one by one only as long as it has less than 256 entries (references
to those take 2 bytes, to all later ones 5); then all that is left is put there at once.
"""

import time
from collections.abc import Iterator
from typing import Any

from jupyter_serprof.experiments.blame.node import MEMOIZE, Node, recursion_bytes, tuple_bytes
from jupyter_serprof.experiments.blame.opening import is_atom
from jupyter_serprof.model.units import format_bytes, format_count
from jupyter_serprof.objects.ask import attribute, is_a, kind_module
from jupyter_serprof.objects.culprits import error_text
from jupyter_serprof.objects.picklers import Counter

#: References to the first entries, this many, of the memo take 2 bytes, to others 5.
_NEAR = 256
_NEAR_BYTES, _FAR_BYTES = 2, 5
_LONG, _SOME = 64, 16


class _MetInsideItselfError(Exception):
    """A tuple that is held by one of its parts: it is written there."""

    def __init__(self, own_bytes: int) -> None:
        super().__init__()
        self.own_bytes = own_bytes


class Pass:
    """The measuring of a tree of nodes, from the root on."""

    def __init__(self, counter: Counter, root: Node) -> None:
        self._counter = counter
        self._memo = counter.pickler
        self._ahead = opened_at(root)
        self._known: set[int] = set()
        #: True when the memo holds all that will be put there.
        self._is_complete = False
        self._values = set[int]()
        #: Of the memo, after the last run of items.
        self._entries = 0

    def measure(self, node: Node) -> None:
        """Measure a node and what is in it.

        Raises ``Exception``: What the pickler raises; the parts that were measured until then keep
            their numbers.
        """
        if node.steps is None or self._is_met(node):
            self._close(node)
        else:
            self._open(node)

    def _open(self, node: Node) -> None:
        self._values.add(id(node.value))
        node.is_shared = False
        size, beside, took = node.own_bytes, 0, node.opening_ns
        try:
            for step in node.steps or ():
                if isinstance(step, Node):
                    self.measure(step)
                    size += step.in_band_bytes or 0
                    beside += step.out_of_band_bytes
                    took += step.duration_ns
                elif step is MEMOIZE:
                    self._memoize(node)
                else:
                    size += self._counter.add(node.value)
        except _MetInsideItselfError as met:
            size += met.own_bytes
        node.in_band_bytes, node.out_of_band_bytes, node.duration_ns = size, beside, took

    def _close(self, node: Node) -> None:
        counter = self._counter
        beside, met = counter.sink.buffer_bytes, len(counter.met)
        if node.steps is None and not is_atom(node.value) and node.items is None:
            node.is_shared = id(node.value) in self._values
            self._values.add(id(node.value))
        began = time.perf_counter_ns()
        node.error = ""
        try:
            size = counter.add(node.value) if node.items is None else self._run(node.items)
        except Exception as error:  # noqa: BLE001  (nested too deeply, or changed meanwhile)
            size, node.error = 0, error_text(error)
        node.duration_ns = time.perf_counter_ns() - began
        node.in_band_bytes = size
        node.out_of_band_bytes = counter.sink.buffer_bytes - beside
        node.holes = counter.met[met:]

    # Runs of items, dumped as tuples: those enter the memo after their items, and leave it again.

    def _run(self, items: tuple[object, ...]) -> int:
        size, at, step, grows = 0, 0, 1, True
        while grows and not self._is_complete and self._ahead and at < len(items) > _LONG:
            before = self._entries
            size += self._dump_run(items[at : at + step])
            grows = step < _SOME or self._entries > before
            at, step = at + step, 2 * step
        rest = items[at:] if at else items
        return size + (self._dump_run(rest) if rest else 0)

    def _dump_run(self, items: tuple[object, ...]) -> int:
        # A copy: the user may hold the very same tuple.
        size = self._counter.add((*items,)) - tuple_bytes(len(items))
        if not self._is_complete and (self._ahead or self._counter.has_small_memo):
            memo = self._memo.memo.copy()
            self._entries = len(memo)
            if len(memo) <= _NEAR:
                del memo[max(memo, key=lambda key: memo[key][0])]
            self._replace(memo)
        return size

    # The memo.

    def _is_met(self, node: Node) -> bool:
        key = id(node.value)
        if not self._is_complete:
            memo = self._memo.memo.copy()
            self._known |= {key} & memo.keys()
            if len(memo) >= _NEAR:
                self._replace(memo)
        met = key in self._known
        node.is_shared = met
        if met:
            self._ahead.pop(key, None)
        return met

    def _memoize(self, node: Node) -> None:
        key = id(node.value)
        self._ahead.pop(key, None)
        self._known.add(key)
        if self._is_complete:
            return
        memo = self._memo.memo.copy()
        if key in memo:
            near = memo[key][0] < _NEAR
            raise _MetInsideItselfError(
                recursion_bytes(node.value) + (_NEAR_BYTES if near else _FAR_BYTES)
            )
        memo[key] = (len(memo), node.value)
        self._replace(memo)

    def _replace(self, memo: dict[int, tuple[int, object]]) -> None:
        if len(memo) >= _NEAR:
            self._known |= self._ahead.keys() & memo.keys()
            for key, node in self._ahead.items():
                memo.setdefault(key, (len(memo), node.value))
            self._is_complete = True
        self._memo.memo = memo


def opened_at(node: Node) -> dict[int, Node]:
    """Return the opened nodes by the id of their object."""
    found: dict[int, Node] = {}
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.steps is not None:
            found.setdefault(id(node.value), node)
            waiting += node.nodes
    return found


def settle(node: Node, opened: dict[int, Node], visited: set[int]) -> None:
    """Open an object where the pickler meets it first, not where it is nearest to the root."""
    key = id(node.value)
    if node.steps is None and node.items is None and key in opened and key not in visited:
        other = opened[key]
        node.steps, other.steps = other.steps, None
        node.own_bytes, node.is_late = other.own_bytes, other.is_late
        node.opening_ns, node.is_fixed, other.is_fixed = other.opening_ns, False, True
    if node.items is None:
        visited.add(key)
    for part in node.nodes:
        settle(part, opened, visited)


def closed(node: Node, depth: int = 1) -> Iterator[tuple[Node, Node, int]]:
    """Yield the closed parts, each with what holds it and its depth."""
    for part in node.nodes:
        if part.steps is None:
            yield node, part, depth
        else:
            yield from closed(part, depth + 1)


_MUCH, _LEAST_BYTES = 2, 10_000
_DEEP, _DEEPEST = 50, 1_000_000


def memory_note(value: Any, pickled_bytes: int) -> str:  # noqa: ANN401  (anything)
    """Say whether a table or a column drags its base along; NumPy pickles what a view shows."""
    library = kind_module(type(value)).partition(".")[0]
    own = attribute(value, "nbytes") if library in ("pyarrow", "pandas") else None
    if type(own) is not int or pickled_bytes <= max(_LEAST_BYTES, _MUCH * own):
        return ""
    return f"drags its base along: {format_bytes(pickled_bytes)} for {format_bytes(own)}"


def depth_note(value: object) -> str:
    """Say how deep a chain of containers is; "" for what is not deep, or a circle."""
    levels, inner = set[int](), _following(value)
    while inner is not None and id(inner) not in levels and len(levels) < _DEEPEST:
        levels.add(id(inner))
        inner = _following(inner)
    if len(levels) < _DEEP or id(inner) in levels:
        return ""
    return f"nested too deeply for pickle: {format_count(len(levels))} levels more. Flatten it"


def _following(value: object) -> object | None:
    parts: Any = ()
    try:
        if is_a(value, (list, tuple)):
            parts = (list if is_a(value, list) else tuple).__iter__(value)  # type: ignore[arg-type]  # it is one
        elif is_a(value, dict):
            parts = dict.values(value)
        elif not is_a(value, type):
            parts = vars(value).values()
    except Exception:  # noqa: BLE001  (without __dict__, or with a strange one)
        return None
    return next(
        (p for p in parts if is_a(p, (list, tuple, dict)) or kind_module(type(p)) == "__main__"),
        None,
    )
