"""What a namespace holds that can be measured: its data, by name, with type and size."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

from jupyter_serprof.experiments.graphs.values import is_collection
from jupyter_serprof.experiments.sizes.subject import subject_of
from jupyter_serprof.model import Sweep, Trace, UsageError
from jupyter_serprof.objects.sizes import size_bytes

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
    rows = _rows(value)
    return Data(name, _kind(value), size_bytes(value) or _estimated(value, rows), rows)


def _kind(value: Any) -> str:  # noqa: ANN401
    kind = type(value).__name__
    with suppress(Exception):
        dtype = getattr(type(value), "dtype", None) and value.dtype
        return f"{kind} {dtype}" if dtype is not None else kind
    return kind


def _rows(value: Any) -> int | None:  # noqa: ANN401
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
