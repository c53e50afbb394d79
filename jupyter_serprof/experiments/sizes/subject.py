"""What is swept: a function of the size, a generator by its key, or the leading rows of a value."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.graphs.values import is_collection
from jupyter_serprof.experiments.sizes.generators import GENERATORS
from jupyter_serprof.model import Sweep, Trace, UsageError
from jupyter_serprof.model.errors import closest
from jupyter_serprof.objects.sizes import size_bytes

Maker = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Subject:
    """What gives a value for each size.

    Attributes
    ----------
    is_bytes
        Sizes are bytes.
    is_unknown
        It is the user's own function, which may serialize by itself.
    """

    make: Maker
    name: str
    parameter: str = "n"
    is_bytes: bool = False
    is_unknown: bool = False


def subject_of(make: object) -> Subject:
    """Return what is swept.

    Parameters
    ----------
    make
        A function of the size; the key of a generator, whose sizes are bytes; or a value whose
        leading rows are taken: a list, tuple, text, array, frame or table.

    Raises
    ------
    UsageError
        For an unknown key, and for a value that has no rows.
    """
    if isinstance(make, str):
        return _generated(make)
    if callable(make):
        name = getattr(make, "__name__", type(make).__name__).replace("<lambda>", "function")
        return Subject(make, name, is_unknown=True)
    return Subject(_leading(make), type(make).__name__, "rows")


def _generated(key: str) -> Subject:
    if key not in GENERATORS:
        shown = ", ".join(GENERATORS)
        message = f"unknown generator {key!r}; {closest(key, GENERATORS)}there are: {shown}"
        raise UsageError(message)
    generator = GENERATORS[key]

    def make(size: float) -> object:
        return generator.make(round(size))

    return Subject(make, generator.title, "bytes", is_bytes=True)


def _leading(value: Any) -> Maker:  # noqa: ANN401  (whatever has rows)
    try:
        count = len(value)
        _rows(value, 1)
    except Exception as error:
        message = (
            f"a {type(value).__name__} has no rows to take; sweep a function of the size instead: "
            "sp.sweep(lambda n: ..., sizes=[10**4, 10**6])"
        )
        raise UsageError(message) from error

    def take(size: float) -> object:
        if size > count:
            message = f"the value has {count:,} rows, not {size:,.0f}"
            raise UsageError(message)
        return _rows(value, round(size))

    return take


def _rows(value: Any, count: int) -> object:  # noqa: ANN401
    """Return leading rows as a value of their own: a view would pickle otherwise than a whole."""
    if hasattr(value, "iloc"):
        return value.iloc[:count].copy()
    if hasattr(value, "slice") and hasattr(value, "schema"):
        return value.slice(0, count)
    part = value[:count]
    return part.copy() if hasattr(part, "shape") else part


def serializes(make: Maker, sizes: Sequence[float], name: str) -> tuple[bool, Trace | None]:
    """Tell whether a function serializes something by itself, by calling it once.

    Returns
    -------
    (bool, Trace or None)
        With the recording, if it was the smallest size. What raises is tried with the next size.
    """
    __tracebackhide__ = True
    for size in sizes:
        recording = Recording(name, detail=False)
        try:
            with recording:
                make(size)
        except Exception:  # noqa: BLE001,S112  (the sweep meets it again, and says so)
            continue
        if not recording.has_spans:
            return False, None
        return True, recording.trace if size == sizes[0] else None
    return False, None


#: Code, places of code, and what this package made.
_NO_DATA = (
    *(ModuleType, type, FunctionType, BuiltinFunctionType, MethodType, GeneratorType, CodeType),
    *(Trace, Sweep),
)
#: Too small to ask about.
_SMALL = (bool, int, float, complex, type(None))
#: Rows of plain objects that are pickled to estimate the size of all.
_SAMPLE = 64
_PLAIN = (bool, int, float, complex, str, bytes, list, tuple, dict, type(None))


@dataclass(frozen=True, slots=True)
class Data:
    """A variable that can be measured.

    Attributes
    ----------
    kind
        Its type, for people: ``ndarray float64``.
    size_bytes
        Of its payload; of lists of plain objects an estimate from the first of them. None where
        nobody can say cheaply.
    rows
        How many leading rows can be taken; None where it has none.
    """

    name: str
    kind: str
    size_bytes: int | None
    rows: int | None


def list_data(namespace: Mapping[str, object]) -> list[Data]:
    """Return the data of a namespace, the largest first; nothing is run but lengths and sizes.

    Left out: modules, functions, classes, single numbers, Dask collections, documents of this
    package, and names that begin with an underscore.
    """
    found = [
        data_of(name, value)
        for name, value in list(namespace.items())
        if not name.startswith("_") and is_data(value)
    ]
    return sorted(found, key=lambda data: (-(data.size_bytes or 0), data.name))


def is_data(value: object) -> bool:
    """Tell data from code and from single numbers."""
    with suppress(Exception):  # a proxy may raise anything
        return not isinstance(value, (*_NO_DATA, *_SMALL)) and not is_collection(value)
    return False


def data_of(name: str, value: object) -> Data:
    """Describe one variable."""
    rows = _row_count(value)
    return Data(name, _kind(value), size_bytes(value) or _estimated(value, rows), rows)


def _kind(value: Any) -> str:  # noqa: ANN401
    kind = type(value).__name__
    with suppress(Exception):
        dtype = getattr(type(value), "dtype", None) and value.dtype
        return f"{kind} {dtype}" if dtype is not None else kind
    return kind


def _row_count(value: Any) -> int | None:  # noqa: ANN401
    with suppress(UsageError, Exception):
        if not callable(value):
            subject_of(value)
            return len(value) or None
    return None


def _estimated(value: Any, rows: int | None) -> int | None:  # noqa: ANN401
    """Return about how large a long list of plain objects is when it is pickled."""
    if rows is None or not isinstance(value, list | tuple):
        return None
    sample = value[:_SAMPLE]
    if not all(type(one) in _PLAIN for one in sample):
        return None
    with suppress(Exception):  # what cannot be pickled has no size
        return len(pickle.dumps(sample, protocol=5)) * rows // len(sample)
    return None
