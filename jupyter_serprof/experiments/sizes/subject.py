"""The subject of a sweep: a function of the size, seeded random data, or rows of a value.

Making takes time of its own: 100 MB took 0.1 to 0.4 s as arrays, tables and numbers in frames,
1.2 s as floats in a list or texts in a frame, 2.3 s as a list of dicts (two cores, one run).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.graphs.values import is_collection
from jupyter_serprof.experiments.roundtrip.transport import is_installed
from jupyter_serprof.model import Sweep, Trace, UsageError
from jupyter_serprof.model.errors import closest
from jupyter_serprof.objects.ask import is_exactly, size_bytes

_SEED, _FLOAT_BYTES = 20_261, 8
_COLUMNS, _LAYERS = 4, 8
#: Characters of a random text, each half a byte of randomness.
_TEXT = 12
#: Rows of the two samples from which the bytes of a row are known.
_FEW, _MANY = 32, 1024


@dataclass(frozen=True, slots=True)
class Generator:
    """Makes values of one kind.

    ``key``, ``title``: What one types, and what a menu shows.
    ``measure``: What the asked size is the size of: ``nbytes`` (its payload) or ``pickled``
        (protocol 5).
    ``make``: Takes the size in bytes, 1 KB to 1 GB, and returns a value that is within 10 % of it.
    """

    key: str
    title: str
    measure: str
    libraries: tuple[str, ...]
    make: Callable[[int], object]

    def state(self) -> tuple[str, str]:
        """Return (``ok``, "") or (``not installed``, a sentence with a remedy); imports nothing."""
        for library in self.libraries:
            if not is_installed(library):
                run = 'Run: pip install "jupyter_serprof[dataframe]"'
                return "not installed", f"{self.title} needs {library}. {run}"
        return "ok", ""


def _random() -> Any:  # noqa: ANN401  (a numpy.random.Generator)
    import numpy as np

    return np.random.default_rng(_SEED)


def _array(size_bytes: int) -> object:
    return _random().random(max(1, size_bytes // _FLOAT_BYTES))


def _strided(size_bytes: int) -> object:
    """Return a column of a table of two: its neighbour lies between its elements."""
    return _random().random((max(1, size_bytes // _FLOAT_BYTES), 2))[:, 0]


def _floats(count: int) -> object:
    return _random().random(count).tolist()


def _texts(random: Any, count: int) -> list[str]:  # noqa: ANN401
    digits = random.bytes(count * _TEXT // 2).hex()
    return [digits[at : at + _TEXT] for at in range(0, count * _TEXT, _TEXT)]


def _dicts(count: int) -> object:
    random = _random()
    numbers = random.integers(2**16, 2**31, count).tolist()
    values = random.random(count).tolist()
    rows = zip(numbers, values, _texts(random, count), strict=True)
    return [{"id": number, "value": value, "name": name} for number, value, name in rows]


def _frame(size_bytes: int) -> object:
    import pandas as pd

    # The size of a frame counts its index, too.
    own_bytes = int(pd.RangeIndex(0).memory_usage())
    count = max(1, (size_bytes - own_bytes) // (_FLOAT_BYTES * _COLUMNS))
    return pd.DataFrame(_random().random((count, _COLUMNS)), columns=list("abcd"))


def _text_frame(count: int) -> object:
    import pandas as pd

    return pd.DataFrame({"name": _texts(_random(), count)})


def _table(size_bytes: int) -> object:
    import numpy as np
    import pyarrow as pa

    count = max(1, size_bytes // (2 * _FLOAT_BYTES + _TEXT + 4))
    random = _random()
    ends = np.arange(0, (count + 1) * _TEXT, _TEXT, dtype="int32")
    digits = pa.py_buffer(random.bytes(count * _TEXT // 2).hex().encode())
    names = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(ends), digits])
    numbers = random.integers(0, 2**62, count)
    return pa.table({"value": random.random(count), "id": numbers, "name": names})


def _layers(size_bytes: int) -> object:
    random = _random()
    count = max(1, size_bytes // _FLOAT_BYTES)
    layers = min(_LAYERS, count // 4) or 1
    ends = [count * at // layers for at in range(layers + 1)]
    sizes = [high - low for low, high in pairwise(ends)]
    return {f"layer {at}": _layer(random, size) for at, size in enumerate(sizes)}


def _layer(random: Any, count: int) -> dict[str, object]:  # noqa: ANN401
    bias = count // 16
    return {"weights": random.random(count - bias), "bias": random.random(bias)}


def _pickled(rows: Callable[[int], object]) -> Callable[[int], object]:
    """Return a maker by size from one by rows: each row is pickled to the same number of bytes."""

    def make(size_bytes: int) -> object:
        few, many = (len(pickle.dumps(rows(count), protocol=5)) for count in (_FEW, _MANY))
        row_bytes = (many - few) / (_MANY - _FEW)
        fixed_bytes = few - _FEW * row_bytes
        return rows(max(1, round((size_bytes - fixed_bytes) / row_bytes)))

    return make


_NUMPY, _PANDAS, _ARROW = ("numpy",), ("pandas",), ("pyarrow",)

GENERATORS: dict[str, Generator] = {
    each.key: each
    for each in (
        Generator("float64", "float64 array", "nbytes", _NUMPY, _array),
        Generator("strided", "strided array", "nbytes", _NUMPY, _strided),
        Generator("floats", "list of floats", "pickled", _NUMPY, _pickled(_floats)),
        Generator("dicts", "list of dicts", "pickled", _NUMPY, _pickled(_dicts)),
        Generator("frame", "DataFrame numeric", "nbytes", _PANDAS, _frame),
        Generator("strings", "DataFrame strings", "pickled", _PANDAS, _pickled(_text_frame)),
        Generator("table", "Arrow table", "nbytes", _ARROW, _table),
        Generator("layers", "nested dict of arrays", "nbytes", _NUMPY, _layers),
    )
}


Maker = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Subject:
    """What gives a value for each size.

    ``is_unknown``: It is the user's own function, which may serialize by itself.
    """

    make: Maker
    name: str
    parameter: str = "n"
    is_bytes: bool = False
    is_unknown: bool = False


def subject_of(make: object) -> Subject:
    """Return what is swept.

    ``make``: A function of the size; the key of a generator, whose sizes are bytes; or a value
        whose leading rows are taken: a list, tuple, text, array, frame or table.
    Raises ``UsageError``: For an unknown key, and for a value that has no rows.
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
    """Tell whether a function serializes something by itself, by calling it once."""
    # With the recording, if it was the smallest size. What raises is tried with the next size.
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

    ``kind``: Its type, for people: ``ndarray float64``.
    ``size_bytes``: Of its payload; of lists of plain objects an estimate from the first of them.
        None where nobody can say cheaply.
    ``rows``: How many leading rows can be taken; None where it has none.
    """

    name: str
    kind: str
    size_bytes: int | None
    rows: int | None


def list_data(namespace: Mapping[str, object]) -> list[Data]:
    """Return the data of a namespace, the largest first; nothing is run but lengths and sizes."""
    # Left out: modules, functions, classes, single numbers, Dask collections, documents of this
    # package, and names that begin with an underscore.
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
    if rows is None or not isinstance(value, list | tuple):
        return None
    sample = value[:_SAMPLE]
    if not all(is_exactly(one, _PLAIN) for one in sample):
        return None
    with suppress(Exception):  # what cannot be pickled has no size
        return len(pickle.dumps(sample, protocol=5)) * rows // len(sample)
    return None
