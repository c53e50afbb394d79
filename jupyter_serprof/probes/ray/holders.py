"""Who holds what in Ray's object stores, and why it is alive.

In: the variables of a program, and what the processes of Ray say (`stores`). Out: one `Kept` for
each object. Nothing of it refers to an object: who is told of lets go as before.
"""

import re
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from types import FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

from jupyter_serprof.capture.machine import buffers_of, lies_inside, store_ranges
from jupyter_serprof.model import UsageError
from jupyter_serprof.model.units import code_text
from jupyter_serprof.objects import ask
from jupyter_serprof.objects.walk import is_small_atom, parts_of
from jupyter_serprof.probes.ray import stores
from jupyter_serprof.probes.ray.stores import TASK_BYTES, Census, Holding, number_of

#: A key, how it is told behind "kept" with a name and without, and what ends it; in their order.
REASONS = {
    "variable": ("by the variable {}", "", ""),
    "output": ("by the output {}", "", "IPython keeps what a cell shows until it is restarted"),
    "value": ("by the zero-copy value {}", "by a zero-copy value", "it lies there, no copy would"),
    "actor": ("by actor {}", "by an actor", "the actor has to drop it, or to end"),
    "argument": ("as argument of {}", "as argument of a task", "it goes when the task is over"),
    "inside": ("inside {}", "inside another object", "it goes with what it is inside of"),
    "worker": ("by a worker of {}", "by a worker", "a task there, or a global that one left"),
    "here": ("", "by this program", "no variable: a local, a class, a generator, a shown error"),
    "program": ("", "by another program", ""),
    "nobody": ("", "by nobody", "it is about to go"),
}
_ORDER = list(REASONS)
#: Of variables, what is looked at, and how deep.
_MOST_PARTS, _DEEPEST = 300_000, 5
_CONTAINERS = (list, tuple, dict, set, frozenset, deque, partial, FunctionType, MethodType)
#: What a function reads and what a class has does not go with a variable of it.
_ELSEWHERE = (".<global", ".__class__")
#: What IPython keeps of outputs beside ``Out``, and of what was typed.
_SHELL = re.compile(r"_+|_i+|_i?\d+|_[iod]h|In|exit|quit|get_ipython")
_TOP = re.compile(r"Out\[\d+\]|\w+|")
#: What an object has beside the bytes of its value.
_ENVELOPE_BYTES, _ENVELOPE_PART = 8_192, 50
#: Ray's max_direct_call_object_size: smaller results stay in the memory of their owner.
_INLINE_BYTES = 100 * 1024
#: How, behind the first byte, the ids of a program's own puts begin, and of what is an actor.
_DRIVER = b"\xff" * 19
_OURS = ("ray", __name__.partition(".")[0])
_NO_REFERENCE = (
    "there is no reference of Ray in it: give some, or nothing to be told of all objects"
)
#: Why an object is alive: a key of ``REASONS``, and who it is; "" where nobody knows.
Reason = tuple[str, str]


class Kept(NamedTuple):
    """An object in a store: its name, who made it where, why it is alive, and what lets it go."""

    ident: bytes
    path: str
    size_bytes: int
    maker: str
    line: str
    copies: Mapping[str, Any] | None
    why: tuple[Reason, ...]
    frees: tuple[str, ...]


#: Of puts and tasks of this cluster, by id without the first byte, where they were typed, and the
#: function; the last ones that recordings saw.
_LINES: dict[bytes, tuple[str, str]] = {}
_MOST_LINES, _CLUSTER = 50_000, list[object]()


def note_line(ident: bytes | None, name: str = "") -> None:
    """Note from where the call comes that puts an object, or submits a task of a function."""
    cluster = sys.modules["ray._private.worker"].global_worker.current_cluster_and_job
    if [cluster] != _CLUSTER:  # the next one has the same ids
        _CLUSTER[:] = [cluster]
        _LINES.clear()
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (documented)
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] in _OURS:
        frame = frame.f_back
    if frame is not None and ident is not None:
        if len(_LINES) >= _MOST_LINES:  # not one each time: to find the first takes ever longer
            for one in [*islice(_LINES, _MOST_LINES // 2)]:
                del _LINES[one]
        _LINES[ident[1:]] = f"{frame.f_code.co_filename}:{frame.f_lineno}", name


def note_put(token: Any, args: Any, kwargs: Any, result: Any) -> None:  # noqa: ANN401, ARG001
    """Note from where an object is put."""
    note_line(result.binary())


def _shown_line(place: str) -> str:
    """Return a file and line without its folder; of a notebook the number of the cell."""
    file, _, line = place.rpartition(":")
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    tell = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)
    return f"{(tell(file) or ('', file.rpartition('/')[2]))[1]}:{line}"


class Variables:
    """What the variables of a program refer to, by their names only."""

    def __init__(self, names: Mapping[str, object]) -> None:
        #: By the id of an object, where references to it are.
        self.paths = defaultdict[bytes, list[str]](list)
        #: Bytes of values that lie in a store, by their address, and the variables that have them.
        self.values: dict[int, tuple[int, set[str]]] = {}
        ray, ranges = sys.modules["ray"], store_ranges() or []
        known = [(name, one, 0) for name, one in list(names.items()) if not _SHELL.fullmatch(name)]
        waiting, seen = deque[tuple[str, Any, int]](known), set[int]()
        while waiting and len(seen) < _MOST_PARTS:
            path, value, depth = waiting.popleft()
            if type(value) is ray.ObjectRef:
                self.paths[bytes(value.binary())].append(path)
            elif not is_small_atom(value) and not (depth and id(value) in seen):
                seen.add(id(value))
                if ask.is_known(value) and not ask.is_a(value, _CONTAINERS):
                    self._add_value(path, value, ranges)
                elif depth < _DEEPEST and _is_open(value):
                    parts = parts_of(value, takes_functions=True)
                    mine = (one for one in parts if not one[0].startswith(_ELSEWHERE))
                    waiting.extend((path + step, part, depth + 1) for step, part in mine)

    def _add_value(self, path: str, value: Any, ranges: Sequence[tuple[int, int]]) -> None:  # noqa: ANN401
        while ask.is_array(value) and ask.is_array(value.base):
            value = value.base
        buffers = buffers_of(value) if ranges else []
        if lies_inside(buffers, ranges):
            size = sum(each for _, each in buffers)
            self.values.setdefault(buffers[0][0], (size, set()))[1].add(_top(path))

    def mapped(self, held: Iterable[Holding]) -> dict[bytes, tuple[str, ...]]:
        """Return which variables have the values of objects that lie in a store, by their size."""
        # Of objects of one size that are more than the values nobody knows which is which.
        fitting = {
            one.ident: tuple(
                address
                for address, (size, _) in self.values.items()
                if 0 <= one.size_bytes - size <= _ENVELOPE_BYTES + one.size_bytes // _ENVELOPE_PART
            )
            for one in held
            if one.is_mapped and one.size_bytes is not None
        }
        alike = Counter(fitting.values())
        return {
            ident: tuple(sorted(set().union(*(self.values[address][1] for address in found))))
            for ident, found in fitting.items()
            if alike[found] <= len(found)
        }


def _is_open(value: object) -> bool:
    """Tell whether references can be inside: a container, a function, or an object of the user."""
    library = ask.kind_module(type(value)).partition(".")[0]
    return not isinstance(value, type) and library not in {*_OURS, "IPython"}


def _top(path: str) -> str:
    return _TOP.match(path)[0]  # type: ignore[index]  # it matches anything


def kept_objects(told: Census, names: Mapping[str, object], of: object = None) -> list[Kept]:
    """Return the objects in the stores that ``of`` refers to, or all: the largest first."""
    rows, wanted = defaultdict[bytes, list[Holding]](list), set[bytes]()
    for one in told.holdings:
        rows[one.ident].append(one)
    if of is not None:
        asked = Variables({"it": of})
        wanted = {*asked.paths, *asked.mapped(o for o in told.holdings if o.worker == told.worker)}
        if not wanted:
            raise UsageError(_NO_REFERENCE)
    stock = _Stock(told, rows, Variables(names))
    found = [ident for ident in stock.sizes if of is None or ident in wanted]
    place = {ident: at for at, ident in enumerate(stock.paths)}
    found.sort(key=lambda ident: (-stock.sizes[ident], place.get(ident, len(place))))
    return [stock.kept(ident) for ident in found]


class _Stock:
    """Who made each object that lies in a store, and why it is alive."""

    def __init__(
        self, told: Census, rows: Mapping[bytes, Sequence[Holding]], variables: Variables
    ) -> None:
        self._me, self._rows, self.paths = told.worker, rows, variables.paths
        self._copies = stores.copies_of(rows)
        sizes = {ident: self._stored_bytes(ident, held) for ident, held in rows.items()}
        self.sizes = {ident: size for ident, size in sizes.items() if size is not None}
        self._values = variables.mapped(one for one in told.holdings if one.worker == self._me)
        self._actors = stores.actor_names({one.actor for one in told.holdings} - {b""})
        noted = {task: name for task, (_, name) in _LINES.items() if name}
        wanted = {ident[1:TASK_BYTES] for ident in self.sizes} - noted.keys()
        self._names = {**stores.task_names(wanted), **noted}

    def _stored_bytes(self, ident: bytes, held: Sequence[Holding]) -> int | None:
        """Return the size of what is in a store: no handle of an actor, and made already."""
        copies, is_put = self._copies.get(ident), number_of(ident)[0]
        known = [one.size_bytes for one in held] + [copies["object_size"] if copies else None]
        size = max(each or 0 for each in known)
        is_stored = is_put or size > _INLINE_BYTES or any(one.is_mapped for one in held)
        if copies is not None:
            is_stored = bool(copies["node_ids"] or copies["did_spill"])
        is_value = size > 0 and (is_put or not ident.startswith(_DRIVER[:8]))
        return size if is_value and is_stored else None

    def kept(self, ident: bytes) -> Kept:
        """Return all that is known of an object."""
        is_put, number = number_of(ident)
        unnamed = f"put {number}" if is_put else f"result {ident.hex()[:6]}.{number}"
        place, _ = _LINES.get(ident[1:]) or _LINES.get(ident[1:TASK_BYTES]) or ("", "")
        is_ours = is_put and ident.startswith(_DRIVER, 1)
        name = self._names.get(ident[1:TASK_BYTES]) or self._actors.get(ident[8:TASK_BYTES])
        task = code_text(name) if name and not is_ours else "a task"
        return Kept(
            ident,
            self.paths[ident][0] if ident in self.paths else unnamed,
            self.sizes[ident],
            "put here" if is_ours else f"{'put in ' * is_put}{task}",
            _shown_line(place) if place else "",
            self._copies.get(ident),
            why := self._reasons(ident),
            self._frees(ident, why),
        )

    def _reasons(self, ident: bytes) -> tuple[Reason, ...]:
        held = self._rows.get(ident, ())
        found = {reason for one in held for reason in self._of(one)}
        if any(one.submitted for one in held):
            tasks = {name for kind, name in found if kind == "worker" and name} or {""}
            found = {one for one in found if one[0] != "worker"} | {("argument", t) for t in tasks}
        return tuple(sorted(found or {("nobody", "")}, key=lambda r: (_ORDER.index(r[0]), r[1])))

    def _of(self, one: Holding) -> Iterable[Reason]:
        is_held = one.local > 0 or one.is_mapped
        for outer in one.inside:
            yield "inside", self.paths[outer][0] if outer in self.paths else ""
        if one.worker == self._me:
            paths = self.paths.get(one.ident, ())
            if one.is_mapped:
                yield "value", ", ".join(self._values.get(one.ident, ()))
            for top in {_top(path) for path in paths}:
                yield "output" if top.startswith("Out[") else "variable", top
            if one.local and not paths:
                yield "here", ""
        elif one.actor and is_held:
            yield "actor", self._actors.get(one.actor, "")
        elif is_held:
            yield ("program", "") if one.is_driver else ("worker", one.task)

    def _frees(self, ident: bytes, why: Iterable[Reason]) -> tuple[str, ...]:
        """Return the variables without which an object goes; none where others keep it, too."""
        names: set[str] = set()
        for kind, name in why:
            found = [name.split(", ")] if kind in {"variable", "value"} and name else []
            if kind == "inside":
                outer = [each for one in self._rows[ident] for each in one.inside]
                found = [list(self._frees(each, self._reasons(each))) for each in outer]
            if not (found and all(found)):
                return ()
            names.update(*found)
        return tuple(sorted(names))
