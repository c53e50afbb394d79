"""One pass over an opened object: every closed part is dumped once, all with one memo.

So that references are as long as in one pickle, the memo numbers what is met as that pickle would.
An opened object is never dumped; it is put into the memo where the pickler would put it. That means
copying the memo, so it is done one by one only as long as it has less than 256 entries (references
to those take 2 bytes, to all later ones 5); then all that is left is put there at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from jupyter_serprof.experiments.blame.node import MEMOIZE, Node, recursion_bytes
from jupyter_serprof.experiments.blame.opening import is_atom
from jupyter_serprof.objects.culprits import told
from jupyter_serprof.objects.picklers import Counter

#: References to the first so many entries of the memo take 2 bytes, to others 5.
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
        self._ahead = {id(node.value): node for node in _opened(root)}
        self._known: set[int] = set()
        #: True when the memo holds all that will be put there.
        self._is_complete = False
        self._values: dict[int, Node] = {}
        #: Of the memo, after the last run of items.
        self._entries = 0

    def measure(self, node: Node) -> None:
        """Measure a node and what is in it.

        Raises
        ------
        Exception
            What the pickler raises; the parts that were measured until then keep their numbers.
        """
        if node.steps is None or self._is_met(node):
            self._close(node)
        else:
            self._open(node)

    def _open(self, node: Node) -> None:
        self._values.setdefault(id(node.value), node)
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
        """Dump a part that stays closed."""
        counter = self._counter
        beside, met = counter.sink.buffer_bytes, len(counter.met)
        if node.steps is None and not is_atom(node.value) and node.items is None:
            node.is_shared = id(node.value) in self._values
            self._values.setdefault(id(node.value), node)
        began = time.perf_counter_ns()
        node.error = ""
        try:
            size = counter.add(node.value) if node.items is None else self._run(node.items)
        except Exception as error:  # noqa: BLE001  (nested too deeply, or changed meanwhile)
            size, node.error = 0, told(error)
        node.duration_ns = time.perf_counter_ns() - began
        node.in_band_bytes = size
        node.out_of_band_bytes = counter.sink.buffer_bytes - beside
        node.holes = counter.met[met:]

    def first_of(self, node: Node) -> Node | None:
        """Return the node where a shared object was met first."""
        return self._values.get(id(node.value))

    # Runs of items, dumped as tuples: those enter the memo after their items, and leave it again.

    def _run(self, items: tuple[object, ...]) -> int:
        """Dump a few, more and more, until the memo has 256 entries, or items add none."""
        size, at, step, grows = 0, 0, 1, True
        while grows and self._is_risky() and at < len(items) and len(items) > _LONG:
            before = self._entries
            size += self._dump_run(items[at : at + step])
            grows = step < _SOME or self._entries > before
            at, step = at + step, 2 * step
        rest = items[at:] if at else items
        return size + (self._dump_run(rest) if rest else 0)

    def _is_risky(self) -> bool:
        return not self._is_complete and bool(self._ahead)

    def _dump_run(self, items: tuple[object, ...]) -> int:
        own = _tuple_bytes(len(items))
        # A copy: the user may hold the very same tuple.
        size = self._counter.add((*items,)) - own
        if not self._is_complete and (self._ahead or self._counter.has_small_memo):
            memo = self._memo.memo.copy()
            self._entries = len(memo)
            if len(memo) <= _NEAR:
                del memo[max(memo, key=lambda key: memo[key][0])]
            self._replace(memo)
        return size

    # The memo.

    def _is_met(self, node: Node) -> bool:
        """Tell whether an opened object was met before, inside a closed part."""
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
            rest = ((key, node) for key, node in self._ahead.items() if key not in memo)
            for key, node in rest:
                memo[key] = (len(memo), node.value)
            self._is_complete = True
        self._memo.memo = memo


def _opened(node: Node) -> Iterator[Node]:
    if node.steps is not None:
        yield node
        for part in node.nodes:
            yield from _opened(part)


def _tuple_bytes(count: int) -> int:
    return 0 if count == 0 else 2 if count <= 3 else 3  # noqa: PLR2004  (TUPLE1 to TUPLE3)
