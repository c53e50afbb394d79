"""Why a value cannot be pickled: the path to each culprit, bounded in time and in steps.

Method: descend by parts that the pickler would visit (items, attributes, closures, named globals),
and stop at a part that fails while none of its own parts does. A part that pickles is not opened;
among many parts the failing ones are found by halving.
"""

from __future__ import annotations

import functools
import io
import pickle
import re
import sys
import time
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_serprof.model.units import is_code
from jupyter_serprof.objects import ask
from jupyter_serprof.objects.labels import is_by_value
from jupyter_serprof.objects.picklers import CountingFile, OutOfTime, careful
from jupyter_serprof.objects.walk import Part, parts_of

_SECONDS, _DEPTH = 1.0, 50
_CULPRITS = 10
#: The clock is read once in this number of objects that a pickler meets.
_OBJECTS_A_LOOK = 256
#: A list or an object of so few parts, nested too deeply, is a chain: its depth is the culprit.
_CHAIN_PARTS, _TOLD = 4, 200
#: A path with folders, down to its last name; "/" between words is no path.
_QUOTED = re.compile(r"""(['"])(?:~|[A-Za-z]:)?[/\\][^'"]*?([^'"/\\]*)\1""")
_PATH = re.compile(r"(?<![\w.])(?:~|[A-Za-z]:)?(?:[/\\]+[\w.~+-]+)*[/\\]+([\w.~+-]+)")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_TOO_DEEP = "nested too deeply"
#: Behind the type of what nobody can replace in its place.
_IN_TUPLE = " in a tuple"
#: Behind the type of what is not found by the name of its class.
_NO_MODULE = " that no module has"
_NOT_FOUND = re.compile(r"\w+Error: Can't (pickle|get) (local object|<)")
_COLUMN = "column in a DataFrame"
#: Before the class that has it as an attribute, and before one that copies itself.
_OF, _IN = " of ", " in a "
#: What has attributes, and is no class of the user.
_UNNAMED = (functools.partial, types.MethodType, types.ModuleType, types.SimpleNamespace)
#: A file that can be opened again by its path, and the types that it may have.
FILE = "file"
_FILES = (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO)
_ADVICE = {
    FILE: "Pass its path, and open it where it is used",
    "generator": "Make it a list",
    "function": "cloudpickle takes functions; pickle only those that a module has by their name",
}
#: What pickle says of a type that it does not take. Source: CPython 3.11, ``Modules/_pickle.c``,
#: ``copyreg.py``; cloudpickle adds nothing.
_PICKLE_SAYS = re.compile(
    r"TypeError(: cannot pickle '[^']*' object)?$|\w+Error: Can't (pickle|get) (local object|<)"
)


class Culprit(NamedTuple):
    """A part that cannot be pickled, its type, and what the pickler said."""

    path: str
    type_name: str
    error: str


def find_culprits(  # noqa: PLR0913  (what a search may be told)
    value: object,
    name: str = "value",
    seconds: float = _SECONDS,
    *,
    takes_functions: bool = True,
    is_careful: bool = False,
    names: Mapping[str, object] | None = None,
) -> list[Culprit]:
    """Return the parts of a value that cannot be pickled, in the order in which they are met.

    ``name``: What the paths begin with.
    ``seconds``: Time after which the search stops and returns what it has. A single reducer that
        takes longer can exceed it.
    ``takes_functions``: True for cloudpickle, which takes functions and classes by value; False for
        pickle itself.
    ``is_careful``: Run no reducers of the user for that: those that raise are not found.
    ``names``: Variables that a path may begin with, beside those of the notebook.

    At most 10; empty if everything can be pickled or time ran out before the first.
    """
    search = _Search(time.monotonic() + seconds, takes_functions, is_careful, names or {})
    with suppress(OutOfTime):
        error = search.error_of(value)
        if error is not None:
            search.descend(value, name, error, ())
    return list({one.path: one for one in search.found}.values())  # met in each that holds it


def culprits_text(culprits: Sequence[Culprit]) -> str:
    """Say which parts are to blame, and what to do; empty without culprits."""
    deep, others = list[str](), list[str]()
    for path, kind, error in culprits:
        # The words of pickle itself say no more than the type.
        said = f", {error}" if error and not _PICKLE_SAYS.match(error) else ""
        is_deep = error == _TOO_DEEP
        (deep if is_deep else others).append(
            f"{path[:_TOLD]}{'…' * (len(path) > _TOLD)} ({kind}{'' if is_deep else said})"
        )
    if others:
        named = "; ".join([*others, *deep])
        kinds = {one.type_name.partition(_OF)[0] for one in culprits if one.error != _TOO_DEEP}
        (kind, *more) = kinds
        advice = _ADVICE.get("" if more else kind, "")
        path = next(culprit.path for culprit in culprits if culprit.error != _TOO_DEEP)
        if advice == _ADVICE["generator"] and is_code(path):
            advice += f": {path} = list({path})"
        return f"cannot be pickled because of {named}" + (advice and f". {advice}")
    if deep:
        return f"{'; '.join(deep)} is {_TOO_DEEP} for pickle. Flatten it, e.g. into one list"
    return ""


def refusal_text(value: object, name: str, error: Exception, *, takes_functions: bool) -> str:
    """Say why a value was not pickled: its culprits, or what was raised where there are none."""
    culprits = find_culprits(value, name, takes_functions=takes_functions)
    return culprits_text(culprits) or error_text(error)


def error_text(error: BaseException) -> str:
    """Return what an error says, its first line without paths and addresses, which are private."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # noqa: BLE001  (errors of users raise anything)
        lines = []
    bare = _PATH.sub(r"\1", _QUOTED.sub(r"\1\2\1", lines[0])) if lines else ""
    said = _ADDRESS.sub("", bare)
    said = said if len(said) <= _TOLD else f"{said[: _TOLD - 3]}..."
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


@dataclass(slots=True)
class _Search:
    """The state of one search."""

    deadline: float
    takes_functions: bool
    is_careful: bool
    names: Mapping[str, object]
    found: list[Culprit] = field(default_factory=list)
    attempts: int = 0

    def error_of(self, value: object) -> str | None:
        """Pickle into nowhere; return what the pickler said if it failed."""
        import cloudpickle

        self.attempts += 1
        try:
            base = cloudpickle.Pickler if self.takes_functions else pickle.Pickler
            _pickler(self.deadline, careful(base) if self.is_careful else base).dump(value)
        except Exception as error:  # noqa: BLE001  (reducers raise anything)
            if isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError):
                return _TOO_DEEP
            return error_text(error)
        return None

    def descend(
        self, value: object, path: str, error: str, above: tuple[int, ...], place: str = ""
    ) -> None:
        """Add what fails below a value, or itself; a path begins at the first with a name."""
        if not path[:1].isidentifier():
            known = ask.notebook_name(value) or ask.name_in(self.names, value)
            path, place = (known, "") if known else (path, place)
        count = len(self.found)
        found = parts_of(value, takes_functions=self.takes_functions)
        in_time = takewhile(lambda _: time.monotonic() <= self.deadline, found)
        parts = list(in_time) if len(above) < _DEPTH else []
        if error != _TOO_DEEP or len(parts) > _CHAIN_PARTS or ask.is_a(value, dict):
            for step, part, why in self._failing(parts):
                if ask.is_of(value, "pandas", "DataFrame") and step[:1] == "[":
                    kind = _COLUMN + _IN_TUPLE * (place == _IN_TUPLE)
                    self.found.append(Culprit(path + step, kind, why))
                elif id(part) not in above and part is not value:
                    inside = _place_in(value, step, place)
                    self.descend(part, path + step, why, (*above, id(value)), inside)
        places = (one.type_name.partition(_OF) for one in self.found[count:])
        if any("." in owner and kind not in _ADVICE for kind, _, owner in places):
            del self.found[count:]  # what a library made for itself: its object is told whole
        if len(self.found) == count:
            place_on_disk = getattr(value, "name", None) if ask.is_exactly(value, _FILES) else None
            is_file = type(place_on_disk) is str and Path(place_on_disk).is_file()
            kind = FILE if is_file else ask.kind_name(type(value))
            is_unknown = not self.takes_functions and _NOT_FOUND.match(error)
            kind += _NO_MODULE * (kind != "function") if is_unknown else place
            self.found.append(Culprit(path, kind, error))
        elif not self.takes_functions and is_by_value(type(value)) and self.error_of(type(value)):
            self.found.append(Culprit(path, ask.kind_name(type(value)) + _NO_MODULE, error))
        if len(self.found) >= _CULPRITS:
            raise OutOfTime

    def _failing(self, parts: Sequence[Part]) -> Iterator[tuple[str, object, str]]:
        """Yield the parts that fail: both halves of what fails together, nothing of the rest."""
        if len(parts) == 1:
            [(step, part)] = parts
            error = self.error_of(part)
            if error is not None:
                yield step, part, error
        elif parts and self.error_of([part for _, part in parts]) is not None:
            middle = len(parts) // 2
            yield from self._failing(parts[:middle])
            yield from self._failing(parts[middle:])


def _place_in(value: object, step: str, place: str) -> str:
    """Say what a part is in that stands at a place, as far as it decides what to do about it."""
    if place.startswith(_IN) and place != _IN_TUPLE:
        return place
    copies_itself = ask.of_class(type(value), "__deepcopy__") and not ask.is_array(value)
    if copies_itself or ask.is_a(value, type):  # a deep copy may not go into it
        return _IN + ask.kind_name(type(value))
    if step[1:].isidentifier() and not ask.is_a(value, _UNNAMED):
        return _OF + _owner_name(type(value))
    return _IN_TUPLE if ask.is_a(value, tuple) and step[:1] == "[" else ""


def _owner_name(kind: type) -> str:
    """Return the name of a class, with its module where it is of a library, not of the user."""
    name, module = ask.kind_name(kind), ask.kind_module(kind)
    file = str(getattr(sys.modules.get(module), "__file__", ""))
    is_library = module.partition(".")[0] in sys.stdlib_module_names or "site-packages" in file
    if is_library and module != "__main__":
        return f"{module}.{name}"
    has_slots = any(ask.own_names(base).get("__slots__") for base in ask.bases_of(kind))
    state = "__slots__" if has_slots else "" if ask.is_plain(kind) else "__getstate__"
    return f"{name} with {state}" if state else name


def _pickler(deadline: float, base: Any) -> pickle.Pickler:  # noqa: ANN401  (a class)
    file = CountingFile(deadline)

    class Pickler(base):  # type: ignore[misc]  # cloudpickle ships no types
        looks = 0

        def persistent_id(self, value: object) -> None:  # noqa: ARG002
            """Look at the clock; the pickler asks here for every object."""
            self.looks += 1
            if self.looks % _OBJECTS_A_LOOK == 0:
                file.look()

    made: pickle.Pickler = Pickler(file, protocol=5, buffer_callback=file.take)
    return made
