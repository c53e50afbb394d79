"""Probes of pickle and cloudpickle: ``dumps``, ``loads``, ``dump``, ``load``, with buffers."""

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any, ClassVar

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.capture.hook import Hook, Place
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model.units import below_global
from jupyter_serprof.objects.ask import is_a, kind_name, notebook_name
from jupyter_serprof.objects.culprits import Culprit, find_culprits
from jupyter_serprof.objects.look import LOOK_BYTES, Look, details_of, look_at
from jupyter_serprof.probes import Probe

_INSIDE_DUMPS = {"ray.serialize": "ray.pickle", "ray.submit": "ray.export"}
_INSIDE_LOADS = {"ray.get": "ray.unpickle", "ray.deserialize": "ray.unpickle"}
DUMPS_ROLE, LOADS_ROLE = "pickle.dumps", "pickle.loads"
#: Stands for the protocol of a pickle that does not say it.
_UNTOLD = 255
#: Libraries named one by one in what is unseen.
_NAMED, _SECONDS = 4, 0.3


class CountedBuffers:
    """A buffer callback that passes each buffer on and notes the size of the out-of-band ones."""

    __slots__ = ("callback", "sizes")

    def __init__(self, callback: Callable[[Any], Any]) -> None:
        self.callback = callback
        self.sizes: list[int] = []

    def __call__(self, buffer: Any) -> Any:  # noqa: ANN401  (pickle's PickleBuffer and any answer)
        """Pass the very same buffer on; a true answer means that it goes in-band."""
        in_band = bool(self.callback(buffer))  # once: it may be an object of the user
        if not in_band:
            self.sizes.append(memoryview(buffer).nbytes)
        return in_band


def count_buffers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Replace the buffer callback of a call of dumps, if it has one, by a counting one."""
    callback = kwargs.get("buffer_callback")
    if callback is None:
        return args, kwargs, None
    counted = CountedBuffers(callback)
    return args, {**kwargs, "buffer_callback": counted}, counted.sizes


def note_dumped(sizes: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note (in-band bytes, sizes of out-of-band buffers, the first two bytes, a look)."""
    # Of a small pickle a number, which the collector does not count: bytes << 8 | protocol.
    if len(result) < LOOK_BYTES and not sizes:
        return len(result) << 8 | (result[1] if result[:1] == pickle.PROTO else _UNTOLD)
    look = look_at(result, args[0] if args else None) if len(result) >= LOOK_BYTES else None
    return len(result), sizes or (), result[:2], look


def note_loaded(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note (in-band bytes, sizes of buffers handed over, nothing, a look); iterators stay whole."""
    data, buffers = args[0], kwargs.get("buffers")
    in_band = memoryview(data).nbytes
    if buffers is None and in_band < LOOK_BYTES:
        return in_band << 8 | _UNTOLD
    look = look_at(data) if in_band >= LOOK_BYTES else None
    if buffers is None:
        return in_band, (), b"", look
    known = type(buffers) is list or type(buffers) is tuple
    sizes = [memoryview(buffer).nbytes for buffer in buffers] if known else None
    return in_band, sizes, b"", look


_PLACE = partial(Place, faults="thread", joins=True)


def pickle_places(module: str) -> list[Place]:
    """Return the places of a module that has the four functions of pickle."""
    place = _PLACE
    keep = partial(keep_refused, takes_functions=module != "pickle")
    dumps = partial(place, stage=DUMPS_ROLE, role=DUMPS_ROLE, inside=_INSIDE_DUMPS, failed=keep)
    loads = partial(place, stage=LOADS_ROLE, role=LOADS_ROLE, inside=_INSIDE_LOADS)
    return [
        dumps(f"{module}:dumps", before=count_buffers, after=note_dumped),
        dumps(f"{module}:dump"),
        loads(f"{module}:loads", after=note_loaded),
        loads(f"{module}:load"),
    ]


#: Of the last pickles that failed, what tells the error from others, the value, and whether it was
#: cloudpickle, which takes functions.
_REFUSED: deque[tuple[object, Any, bool]] = deque(maxlen=16)


#: What pickle itself raises of a part; behind other errors it is of no use to search for one.
_OF_A_PART = (TypeError, AttributeError, pickle.PicklingError)
#: What the error of a user may say otherwise of itself.
_ARGS, _CAUSE, _CONTEXT, _TRACEBACK = (
    vars(BaseException)[name].__get__
    for name in ("args", "__cause__", "__context__", "__traceback__")
)
_OTHERS = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]))


def _mark_of(error: BaseException) -> object:
    return id(error), list(map(id, _ARGS(error, type(error))))


def keep_refused(error: BaseException, args: Sequence[object], *, takes_functions: bool) -> None:
    """Keep what a pickler was called with, and what holds it: it is named from the outside."""
    if is_a(error, _OF_A_PART):
        _REFUSED.extend((_mark_of(error), value, takes_functions) for value in args[:1])


def _variables(error: BaseException | None) -> dict[str, object]:
    """Return the variables of the user's own code on the way to an error, the outermost first."""
    known = dict[str, object]()
    for frame, _ in walk_tb(_TRACEBACK(error, type(error))) if error else ():
        if not frame.f_code.co_filename.startswith(_OTHERS):
            own = frame.f_locals
            known = {**known, **own, **frame.f_globals, **own, **known}
    return known


def refused_parts(error: BaseException | None) -> list[Culprit]:
    """Return what the pickle stumbled over that raised an error or its cause, and let it go."""
    # No reducer of the user runs for that, and it takes 0.3 s at most.
    last = list(_REFUSED)
    _REFUSED.clear()
    met, names = set[int](), _variables(error) if last else {}
    while last and error is not None and id(error) not in met:
        met.add(id(error))
        # Dask gives no cause for what it cannot hash. Source: dask 2026.8.0, tokenize.py.
        mark, is_lost = _mark_of(error), kind_name(type(error)) == "TokenizationError"
        known = [one for one in last[::-1] if one[0] == mark or (is_lost and one[2])]
        for _, value, takes in known:
            is_of_ray = type(value) is list and len(value) == 1 and not notebook_name(value)
            part, how = value[0] if is_of_ray else value, {"takes_functions": takes}
            if found := find_culprits(part, "", _SECONDS, **how, is_careful=True, names=names):
                return [one._replace(path=below_global(one.path)) for one in found]
        cause = _CAUSE(error, type(error))
        error = _CONTEXT(error, type(error)) if cause is None else cause
    return []


def complete_pickles(drafts: Iterable[Draft]) -> None:
    """Turn what the hooks of ``pickle_places`` noted into sizes and details."""
    for draft in drafts:
        if draft.role in (DUMPS_ROLE, LOADS_ROLE) and draft.extra is not None:
            extra, draft.extra = draft.extra, None
            if isinstance(extra, tuple):
                _complete(draft, *extra)
            else:
                _complete(draft, extra >> 8, (), bytes((pickle.PROTO[0], extra & 255)), None)


def _complete(
    draft: Draft, in_band: int, sizes: Sequence[int] | None, head: bytes, look: Look | None
) -> None:
    draft.details |= {"in_band_bytes": in_band, "copied_bytes": in_band}
    draft.details |= details_of(look, draft.stage) if look is not None else {}
    if head[:1] == pickle.PROTO and head[1:] not in (b"", bytes((_UNTOLD,))):
        draft.details["protocol"] = head[1]
    if sizes is not None:
        out_of_band = sum(sizes)
        draft.size_bytes = in_band + out_of_band
        draft.details |= {"out_of_band_bytes": out_of_band, "buffers": len(sizes)}


class _PickleFamily(Probe):
    """What pickle and cloudpickle have in common."""

    modules: ClassVar[tuple[str, ...]] = ()

    def places(self) -> list[Place]:
        return pickle_places(self.library)

    def arm(self, recorder: Recorder) -> None:
        """Listen at the functions, and at the names that the notebook itself gave to them."""
        self.was_armed = True
        self._originals: dict[int, Place] = {}
        for place in self.places():
            owner, attribute = place.owner()
            if hasattr(owner, attribute):
                self._originals[id(unhooked(getattr(owner, attribute)))] = place
            self.arm_place(place, recorder)
            for other in self.modules:
                self._arm_alias(place, sys.modules.get(other), attribute, recorder)
        self._arm_user_names(recorder)

    def _arm_alias(self, place: Place, module: object, name: str, recorder: Recorder) -> None:
        if module is not None and hasattr(module, name):
            self.arm_place(place, recorder, owner=module, attribute=name)

    def _arm_user_names(self, recorder: Recorder) -> None:
        """Watch ``from pickle import dumps`` typed in the notebook; libraries are left alone."""
        main = sys.modules.get("__main__")
        for name, value in list(vars(main).items()) if main else ():
            place = self._originals.get(id(unhooked(value)))
            # The shell keeps results as _, _1 ...; a name that the user typed has a letter first.
            if place is not None and not name.startswith("_"):
                self.arm_place(place, recorder, owner=main, attribute=name)

    def refine(self, run: Page) -> None:
        complete_pickles(run.drafts)

    def unseen(self) -> Sequence[str]:
        """Name the loaded libraries that hold a C function by name, where no hook can stand."""
        holders = sorted(set(self._holders()))
        rest = f" and {len(holders) - _NAMED} more" if len(holders) > _NAMED else ""
        shown = ", ".join(holders[:_NAMED]) + rest
        named = [f"{self.library} functions imported by name in {shown}"] if holders else []
        return [*super().unseen(), *named]

    def _holders(self) -> Iterable[str]:
        own = {"pickle", "_pickle", "__main__", "cloudpickle", "ray", "jupyter_serprof"}
        for name, held in _held_by_libraries().items():
            library = name.partition(".")[0]
            if library not in own and name in sys.modules and held & self._originals.keys():
                yield library


#: By module, the ids of what it holds under the names of the four functions, if anything.
_HELD: dict[str, frozenset[int]] = {}
_SEARCHED: set[str] = set()


def _held_by_libraries() -> Mapping[str, frozenset[int]]:
    """Look through the modules that came since: a library binds such names when it is imported."""
    for name in [name for name in list(sys.modules) if name not in _SEARCHED]:
        names = getattr(sys.modules.get(name), "__dict__", {})
        held = frozenset(id(names[n]) for n in ("dumps", "loads", "dump", "load") if n in names)
        _HELD.update({name: held} if held else {})
        _SEARCHED.add(name)
    return _HELD


def unhooked(value: object) -> object:
    """Return what a hook of ours stands for, or the value itself."""
    # Its class is asked, not the value, whose ``__class__`` may be code of the user.
    return value.original if issubclass(type(value), Hook) else value  # type: ignore[attr-defined]


class PickleProbe(_PickleFamily):
    """Sees pickle.dumps, loads, dump and load, called by the user or by any library.

    And what derives from the picklers written in Python, as those of joblib do. Libraries that
    imported a function by name keep the original; they are named in ``quality``. A
    ``pickle.Pickler`` that somebody uses directly is not seen: it is a C type.
    """

    name = "pickle"
    library = "pickle"

    def arm(self, recorder: Recorder) -> None:
        """Listen at the functions and at the picklers of Python."""
        super().arm(recorder)
        refused = partial(keep_refused, takes_functions=False)
        for place in (
            _PLACE(
                *("pickle:_Pickler.dump", DUMPS_ROLE, DUMPS_ROLE),
                inside=_INSIDE_DUMPS,
                failed=lambda error, args: refused(error, args[1:]),
            ),
            _PLACE("pickle:_Unpickler.load", LOADS_ROLE, LOADS_ROLE, inside=_INSIDE_LOADS),
        ):
            self.arm_place(place, recorder)


class CloudpickleProbe(_PickleFamily):
    """Sees cloudpickle.dumps, loads, dump and load."""

    name = "cloudpickle"
    library = "cloudpickle"
    modules = ("cloudpickle.cloudpickle",)
