"""Which object is to blame: pickle the whole once, then its parts, opening what is large.

Method: one pickle of the whole into nowhere gives the exact size. Then what has few parts is opened
(at most some hundred objects, sooner for small ones), long containers are cut into at most 64 runs
of items, and every closed part is pickled once with one memo (`anatomy_pass`). Parts that turn out
large are opened in a further pass, while there is time: about two more pickles. Nothing is kept of
what is pickled. The garbage collector rests meanwhile.

Where one pickle takes so long that these would take more than the budget, only what costs nothing
is opened, and one pass is made, or none.

Reducers of opened objects are called once more in each pass that has them closed, and once to open
them: their side effects happen two to four times.
"""

import math
import time
from collections import deque
from contextlib import suppress
from typing import Any

from jupyter_serprof.capture.machine import available_bytes
from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.experiments.blame import opening
from jupyter_serprof.experiments.blame.node import Node, copied, take_times
from jupyter_serprof.experiments.blame.passes import Pass, closed, depth_note, opened_at, settle
from jupyter_serprof.objects.picklers import Counter, OutOfTime

#: How many parts are looked at: many where the pickle takes long, some hundred where it is short.
_MOST_PARTS, _FEWEST_PARTS = 3000, 300
#: A part costs about so much in all, which is some microseconds in each step.
_PART_NS = 15_000
_DEPTH, _LARGE_SHARE = 60, 0.02
#: Further passes are made as long as all took less than this multiple of the first.
_PASSES, _SMALL_NS = 2.2, 6_000_000
#: Unpicklable parts that one pass opens, and those that are enough.
_HOLES_OPENED, _HOLES = 64, 200
_APART = 8
#: The pass over the whole, the opening, which calls every reducer, and the pass over the parts.
_PICKLES = 3
#: A file in memory grows by moving.
_COPIES = 2.2
#: The times of what is so short are the least of some passes: anything else may hold one up.
_SHORT_S, _ROUNDS = 0.01, 3


class Descent:
    """The anatomy of one object, as far as it has come.

    ``budget_s``: Seconds; a single reducer that takes longer can exceed it.
    ``root``: The tree; parts that were not measured have no bytes.
    ``in_band_bytes``, ``out_of_band_bytes``, ``duration_ns``: Of the pickle as a whole; None until
        it was made.
    ``plain_bytes``: Of a pickle without buffers; None if it cannot be pickled or was not made.
    ``pickled``: How often it was pickled, or a part of it, with the earlier pickle that was timed.
    ``error``: What the pickler raised, where it cannot be pickled.
    """

    def __init__(self, value: object, name: str, budget_s: float) -> None:
        self.root = Node(value, name)
        self.budget_s = budget_s
        #: On the clock of `time.monotonic`.
        self.deadline = math.inf
        self.in_band_bytes: int | None = None
        self.out_of_band_bytes = 0
        self.buffers = 0
        self.duration_ns: int | None = None
        self.plain_bytes: int | None = None
        self.error: BaseException | None = None
        self.is_complete = False
        #: True while every part that is open has been measured.
        self.is_measured = False
        #: True if the times of parts are of a pickle in-band that is kept, else of one that hands
        #: buffers over and keeps nothing.
        self.is_timed_in_band = False
        self.was_interrupted = False
        self.cost_s: float | None = None
        self.pickled = 0
        #: What the earlier pickle has written, buffers included.
        self.known_bytes: int | None = None
        self.holes: dict[int, tuple[object, BaseException]] = {}
        self._globals: dict[int, Any] = {}
        self._opened: set[int] = set()
        self._room = _MOST_PARTS
        self._is_lean = False
        #: Reduces what is opened; the picklers of the passes share its globals.
        self._opener = self._counter()

    def open(self, known_s: float | None = None, known_bytes: int | None = None) -> None:
        """Make the anatomy; after an interrupt or the deadline what is known stays.

        ``known_s``, ``known_bytes``: What one pickle of it has taken before, and its size; None if
            unknown.
        Raises ``KeyboardInterrupt``: If the user interrupts.
        """
        self.deadline = time.monotonic() + self.budget_s
        self.cost_s, self.known_bytes = known_s, known_bytes
        self.pickled = 0 if known_s is None else 1
        try:
            with paused_collector():
                self._run()
        except OutOfTime:
            self.is_complete = False
        except KeyboardInterrupt:
            self.is_complete, self.was_interrupted = False, True
            raise

    def time_in_band(self, plain_s: float) -> None:
        """Time the parts once more, in-band and kept: so that they are parts of a plain dumps."""
        # A pickler that keeps nothing copies no large buffer, and a plain dumps mostly copies.
        # Without time or memory for it, the times stay those of the passes. ``plain_s`` is what a
        # plain dumps took.
        size, free = self.plain_bytes, available_bytes()
        if size is None or (free is not None and free < _COPIES * size):
            return
        if not self.is_measured or time.monotonic() + plain_s > self.deadline:
            return
        for _ in range(_ROUNDS if plain_s < _SHORT_S else 1):
            timed, counter = copied(self.root), self._counter(takes_buffers=False, keeps=True)
            self.pickled += 1
            with suppress(Exception, OutOfTime), paused_collector():  # a reducer had enough
                Pass(counter, timed).measure(timed)
                take_times(self.root, timed, is_first=not self.is_timed_in_band)
                self.is_timed_in_band = True

    def _run(self) -> None:
        began = time.perf_counter_ns()
        self._need(1)
        self._is_lean = not self._fits(_PICKLES)
        if not self._is_lean:
            self._whole()
            self._need(1)
            self._is_lean = not self._fits(_PICKLES - 1)
        if self.duration_ns is not None:
            self._room = min(_MOST_PARTS, max(_FEWEST_PARTS, self.duration_ns // _PART_NS))
        self._open_small(self.root, 0)
        self.is_complete = not self._is_lean
        for at in range(_DEPTH + 1):
            self._measure()
            self.is_measured = True
            spent = time.perf_counter_ns() - began
            is_late = at > 0 and spent > max(_PASSES * (self.duration_ns or 0), _SMALL_NS)
            if at == _DEPTH or self._is_lean or (is_late and self.error is None):
                break
            self.is_measured = False
            if not (self._open_large() if self.error is None else self._open_holes()):
                self.is_measured = True
                break
        is_less = (self.root.in_band_bytes or 0) > (self.in_band_bytes or 0)
        if self.error is None and is_less and not self._is_lean:
            self._whole_again()

    def _fits(self, pickles: int) -> bool:
        return time.monotonic() + pickles * (self.cost_s or 0.0) <= self.deadline

    def _need(self, pickles: int) -> None:
        if not self._fits(pickles):
            raise OutOfTime

    def _whole_again(self) -> None:
        """Measure the whole once more: the first pickle of an instance can add to its class."""
        # That is the ``__slotnames__`` of ``copyreg``. What changes otherwise keeps its first size.
        counter = self._counter()
        with suppress(Exception):  # a reducer that has had enough
            size = counter.whole(self.root.value)
            if size - counter.envelope_bytes == self.root.in_band_bytes:
                self._take(counter, size)
                self.plain_bytes = self._plain()

    def _counter(self, *, takes_buffers: bool = True, keeps: bool = False) -> Counter:
        return Counter(
            self.deadline,
            forgives=self.error is not None,
            takes_buffers=takes_buffers,
            keeps=keeps,
            globals_ref=self._globals,
        )

    def _whole(self) -> None:
        """Pickle the whole; if that fails, once more with a placeholder for each failure."""
        try:
            self._measure_whole()
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            self.error = error
            self._opener = self._counter()
            try:
                self._measure_whole()
            except Exception as again:  # noqa: BLE001  (nested too deeply, or changed meanwhile)
                self.error = again
                self.in_band_bytes = self.duration_ns = None
            return
        self.plain_bytes = self._plain()

    def _plain(self) -> int | None:
        if not self.buffers:
            return self.in_band_bytes
        with suppress(Exception):  # a reducer that has had enough
            if self._fits(_PICKLES):
                self.pickled += 1
                return self._counter(takes_buffers=False).whole(self.root.value)
        return None

    def _measure_whole(self) -> None:
        counter = self._counter()
        self._globals.clear()
        self.pickled += 1
        started_s, began = time.monotonic(), time.perf_counter_ns()
        size = counter.whole(self.root.value)
        self.duration_ns = time.perf_counter_ns() - began
        self.cost_s = time.monotonic() - started_s
        self._take(counter, size)

    def _take(self, counter: Counter, size: int) -> None:
        self.in_band_bytes = size
        self.out_of_band_bytes = counter.sink.buffer_bytes
        self.buffers = counter.sink.buffers
        self.holes |= counter.holes

    def _measure(self) -> None:
        counter = self._counter()
        settle(self.root, opened_at(self.root), set())
        self.pickled += 1
        try:
            Pass(counter, self.root).measure(self.root)
        finally:
            self.holes |= counter.holes

    # What is opened.

    def _open(self, node: Node) -> bool:
        """Open a node; one that was opened elsewhere stays closed: it is a reference."""
        key = id(node.value)
        if node.items is not None or (self._is_lean and not opening.is_cheap(node.value)):
            return False
        if key in self._opened or node.steps is not None:
            return False
        if time.monotonic() > self.deadline:
            raise OutOfTime
        try:
            if not opening.open_node(node, self._opener.reduce):
                node.is_fixed = True
                return False
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            node.steps, node.is_fixed = None, True
            self.holes.setdefault(key, (node.value, error))
            return False
        self._opened.add(key)
        return True

    def _open_small(self, first: Node, first_depth: int) -> bool:
        waiting = deque([(first, first_depth)])
        found = False
        while waiting:
            node, depth = waiting.popleft()
            if node.steps is None and (self._room <= 0 or depth > _DEPTH or not self._open(node)):
                continue
            found = True
            self._room -= len(node.steps or ())
            inner = (part for part in node.nodes if not part.is_fixed and part.items is None)
            waiting.extend((part, depth + 1) for part in inner if not opening.is_atom(part.value))
        return found

    def _open_large(self) -> bool:
        """Open what is closed and large; tell whether there was something."""
        least = _LARGE_SHARE * max(1, (self.in_band_bytes or 0) + self.out_of_band_bytes)
        self._room = _FEWEST_PARTS
        found = False
        for holder, node, depth in list(closed(self.root)):
            if node.bytes < least or node.is_shared:
                continue
            if node.items is not None:
                found |= self._split(holder, node, least)
            elif not node.is_fixed:
                found |= self._open_small(node, depth)
        return found

    def _split(self, holder: Node, run: Node, least: float) -> bool:
        if run.is_fixed or not holder.has_outlier(run):
            return False
        run.is_fixed = True
        if heavy := self._heavy(run, least) if run.count > 1 else [0]:
            holder.replace(run, list(opening.around(run, heavy)))
        return bool(heavy)

    def _heavy(self, run: Node, least: float) -> list[int]:
        counter, sizes = self._counter(), []
        for at in range(run.count):
            [item] = opening.split(run, [(at, at + 1)])
            beside = counter.sink.buffer_bytes
            try:
                size = counter.add((*(item.items or ()),))
            except Exception:  # noqa: BLE001  (met as a hole in the next pass)
                size = 0
            sizes.append(size + counter.sink.buffer_bytes - beside)
        order = sorted(range(run.count), key=lambda at: -sizes[at])
        return sorted(at for at in order[:_APART] if sizes[at] >= least)

    # What cannot be pickled.

    def _open_holes(self) -> bool:
        """Open the closed parts that hold something that cannot be pickled, some in each pass."""
        waiting = list(closed(self.root))
        known = sum(is_hole(node) for _, node, _ in waiting)
        bad = [
            (holder, node)
            for holder, node, depth in waiting
            if depth <= _DEPTH and (node.holes or node.error) and not is_hole(node)
        ]
        self._room = _MOST_PARTS
        found = False
        for holder, node in bad[:_HOLES_OPENED] if known < _HOLES else []:
            if node.items is not None:  # a run: what holds something is found by halving
                halves = [(0, node.count // 2), (node.count // 2, node.count)]
                is_few, cut = node.count <= opening.MOST_ITEMS, opening.split(node, halves)
                holder.replace(node, opening.singles(node) if is_few else cut)
                found = True
            elif not node.is_fixed and (node.holes or not depth_note(node.value)):
                found |= self._open(node)
        return found


def is_hole(node: Node) -> bool:
    """Tell whether it is the object itself that cannot be pickled, and not what it holds."""
    # Of a run it is each of its items.
    if node.items is None:
        return id(node.value) in node.holes
    holes = set(node.holes)
    return bool(holes) and all(id(item) in holes for item in opening.values_of(node))
