"""Sizes: exact payloads of what libraries make, None where nobody knows, never sys.getsizeof."""

import array
import pickle
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pythons import python

from jupyter_serprof.objects.ask import size_bytes

MILLION = np.zeros(1_000_000)
TEXTS = np.array(["a" * 1000, "b" * 1000], dtype=object)


class Surprise:
    """Its ``nbytes`` answers whatever it was made with, or raises it."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    @property
    def nbytes(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Estimated:
    """Has the name that polars uses, with another meaning."""

    estimated_size = property(lambda _: 5)


class Inventive:
    """A proxy that has every attribute one asks for."""

    def __getattr__(self, name: str) -> int:
        return 42


@pytest.mark.parametrize(
    ("value", "expected_bytes"),
    [
        pytest.param(MILLION, 8_000_000, id="numpy"),
        pytest.param(MILLION[::2], 4_000_000, id="numpy-strided-view"),
        pytest.param(MILLION[:0], 0, id="numpy-empty"),
        pytest.param(np.zeros((10, 10), order="F")[2:, 3:], 8 * 7 * 8, id="numpy-2d-view"),
        pytest.param(np.float64(1), 8, id="numpy-scalar"),
        pytest.param(np.array(["2026-11-21"], dtype="M8[D]"), 8, id="numpy-dates"),
        pytest.param(pd.DataFrame({"a": MILLION}), 8_000_000 + 132, id="pandas-frame"),
        pytest.param(pd.Series(MILLION), 8_000_000, id="pandas-series"),
        # The documented limit: objects behind references are not followed.
        pytest.param(TEXTS, 16, id="numpy-objects"),
        pytest.param(pd.DataFrame({"a": TEXTS}, dtype=object), 16 + 132, id="pandas-objects"),
        pytest.param(pl.DataFrame({"a": MILLION}), 8_000_000, id="polars-frame"),
        pytest.param(pl.Series(MILLION), 8_000_000, id="polars-series"),
        pytest.param(pa.table({"a": MILLION}), 8_000_000, id="pyarrow-table"),
        pytest.param(pa.array(MILLION)[:10], 80, id="pyarrow-slice"),
        pytest.param(pa.py_buffer(bytes(1000)), 1000, id="pyarrow-buffer"),
        pytest.param(bytes(1000), 1000, id="bytes"),
        pytest.param(bytearray(1000), 1000, id="bytearray"),
        pytest.param(memoryview(bytes(1000))[::2], 500, id="memoryview-strided"),
        pytest.param(memoryview(array.array("q", [1, 2])), 16, id="memoryview-of-int64"),
        pytest.param(array.array("q", [1, 2]), 16, id="array"),
        pytest.param(pickle.PickleBuffer(bytes(1000)), 1000, id="pickle-buffer"),
        pytest.param("abc", 3, id="str"),
        pytest.param("é", 2, id="str-two-bytes"),
        pytest.param("\ud800", 3, id="str-surrogate"),
        pytest.param("a" * 2_000_000, 2_000_000, id="str-long-ascii"),
        pytest.param([MILLION, MILLION[:]], 16_000_000, id="list-of-arrays"),
        # Once held, twice named: it is written once.
        pytest.param([MILLION, MILLION], 8_000_000, id="list-of-the-same-array"),
        pytest.param((bytes(10), bytearray(5), memoryview(b"abc"), "é"), 20, id="tuple-of-leaves"),
        pytest.param({"key": MILLION, "other": b"abc"}, 8_000_003, id="dict-of-values"),
        pytest.param({"key": pd.DataFrame({"a": MILLION})}, 8_000_132, id="dict-of-frames"),
    ],
)
def test_the_size_is_the_exact_payload(value: object, expected_bytes: int) -> None:
    """The bytes that the value holds, whichever library made it, views and slices included."""
    size = size_bytes(value)

    assert size == expected_bytes
    assert type(size) is int


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="none"),
        pytest.param(1, id="int"),
        pytest.param(object(), id="object"),
        pytest.param(lambda: None, id="function"),
        pytest.param(np.ndarray, id="a-class-that-has-nbytes"),
        pytest.param([], id="empty-list"),
        pytest.param([b"abc", 1], id="list-with-an-unknown-part"),
        pytest.param([[b"abc"]], id="list-of-lists"),
        pytest.param([b""] * 10_001, id="more-parts-than-cheap"),
        pytest.param("é" * 2_000_000, id="str-long-not-ascii"),
        pytest.param(pl.LazyFrame({"a": [1]}), id="polars-lazy"),
        pytest.param(Inventive(), id="proxy-that-invents-attributes"),
        pytest.param(SimpleNamespace(nbytes=5), id="attribute-of-an-instance"),
        pytest.param(Surprise("5"), id="nbytes-is-a-text"),
        pytest.param(Surprise(answer=True), id="nbytes-is-a-bool"),
        pytest.param(Surprise(-1), id="nbytes-is-negative"),
        pytest.param(Surprise(2**63), id="nbytes-is-beyond-int64"),
        pytest.param(Surprise(float("nan")), id="nbytes-is-nan"),
        pytest.param(Surprise(RuntimeError("not computed")), id="nbytes-raises"),
        pytest.param(Estimated(), id="estimated-size-is-no-method"),
    ],
)
def test_an_unknown_size_is_none(value: object) -> None:
    """Nobody can say cheaply: None, never 0, never a guess, never an exception of the value."""
    assert size_bytes(value) is None


def test_a_released_memoryview_has_no_size() -> None:
    """A buffer that is gone is unknown; asking does not raise."""
    view = memoryview(b"abc")
    view.release()

    assert size_bytes(view) is None


def test_a_half_imported_pandas_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may be in the middle of importing pandas; sizes are still answered."""
    half: Any = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "pandas", half)

    assert size_bytes(MILLION) == 8_000_000


def test_asking_for_a_size_imports_no_library() -> None:
    """A size costs no import: libraries that are not loaded have made no values."""
    program = (
        "import sys; from jupyter_serprof.objects.ask import size_bytes\n"
        "before = set(sys.modules);"
        "[size_bytes(v) for v in (b'a', 'a', [b'a'], {'k': 1}, object(), memoryview(b'a'))];"
        "print(sorted(set(sys.modules) - before), 'numpy' in sys.modules, 'pandas' in sys.modules)"
    )

    assert python(program).split("\n")[0] == "[] False False"
