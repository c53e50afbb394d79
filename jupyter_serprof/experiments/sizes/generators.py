"""Data of a wanted size for sweeps: seeded and random, so that it compresses as real data may.

Making takes time of its own: 100 MB took 0.1 to 0.4 s as arrays, tables and numbers in frames,
1.2 s as floats in a list or texts in a frame, 2.3 s as a list of dicts (two cores, one run).
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

_SEED = 20_261
_FLOAT_BYTES = 8
_COLUMNS = 4
_LAYERS = 8
#: Characters of a random text, each half a byte of randomness.
_TEXT = 12
#: Rows of the two samples from which the bytes of a row are known.
_FEW, _MANY = 32, 1024


@dataclass(frozen=True, slots=True)
class Generator:
    """Makes values of one kind.

    Attributes
    ----------
    key, title
        What one types, and what a menu shows.
    measure
        What the asked size is the size of: ``nbytes`` (its payload) or ``pickled`` (protocol 5).
    libraries
        What has to be installed.
    make
        Takes the size in bytes, 1 KB to 1 GB, and returns a value that is within 10 % of it.
    """

    key: str
    title: str
    measure: str
    libraries: tuple[str, ...]
    make: Callable[[int], object]

    def state(self) -> tuple[str, str]:
        """Return (``ok``, "") or (``not installed``, a sentence with a remedy); imports nothing."""
        for library in self.libraries:
            if not _is_installed(library):
                run = 'Run: pip install "jupyter_serprof[dataframe]"'
                return "not installed", f"{self.title} needs {library}. {run}"
        return "ok", ""


def _is_installed(library: str) -> bool:
    if library in sys.modules:
        return sys.modules[library] is not None
    return find_spec(library) is not None


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
    """Return so many texts of hexadecimal digits."""
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
    """Return a table with a column of floats, of integers and of texts."""
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
    """Return a dict of dicts of arrays, like the weights of a model."""
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
