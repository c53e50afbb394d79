"""Generators: the asked size, the same data each time, and none that compresses like a pattern."""

import pickle
import sys
import zlib
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.experiments.sizes.subject import GENERATORS, Generator
from jupyter_serprof.objects.ask import size_bytes


def size_of(value: object, measure: str) -> int:
    if measure == "pickled":
        return len(pickle.dumps(value, protocol=5))
    if isinstance(value, Mapping):
        return sum(size_of(part, measure) for part in value.values())
    return size_bytes(value) or 0


@pytest.mark.parametrize("asked", [1_000, 31_623, 1_000_000, 10_000_000])
@pytest.mark.parametrize("generator", GENERATORS.values(), ids=GENERATORS)
def test_the_asked_size_is_made(generator: Generator, asked: int) -> None:
    value = generator.make(asked)

    assert size_of(value, generator.measure) == pytest.approx(asked, rel=0.1)


@pytest.mark.parametrize("generator", GENERATORS.values(), ids=GENERATORS)
def test_the_same_size_gives_the_same_data(generator: Generator) -> None:
    """Two sweeps of one generator measure the same bytes; NumPy's own seed stays as it is."""
    np.random.seed(7)  # noqa: NPY002  (what a user may have set)
    before = str(np.random.get_state())  # noqa: NPY002

    first, second = (pickle.dumps(generator.make(50_000), protocol=5) for _ in range(2))

    assert first == second
    assert str(np.random.get_state()) == before  # noqa: NPY002


@pytest.mark.parametrize("generator", GENERATORS.values(), ids=GENERATORS)
def test_data_is_not_periodic(generator: Generator) -> None:
    """Ten times the data compresses as well as the data, not ten times better."""
    small, large = (pickle.dumps(generator.make(size), protocol=5) for size in (100_000, 1_000_000))

    ratios = [len(data) / len(zlib.compress(data, 9)) for data in (small, large)]

    assert ratios[1] < 1.1 * ratios[0]
    assert ratios[1] < 4


def test_a_strided_array_is_one() -> None:
    """It has gaps, which its own size does not count."""
    value = GENERATORS["strided"].make(80_000)

    assert isinstance(value, np.ndarray)
    assert not value.flags.c_contiguous
    assert value.nbytes == 80_000


def test_what_is_made_has_the_kind_of_its_title() -> None:
    made = {key: each.make(10_000) for key, each in GENERATORS.items()}

    assert all(type(entry) is float for entry in made["floats"])  # type: ignore[attr-defined]
    assert all(type(entry) is dict for entry in made["dicts"])  # type: ignore[attr-defined]
    assert isinstance(made["frame"], pd.DataFrame)
    assert isinstance(made["strings"], pd.DataFrame)
    assert pd.api.types.is_string_dtype(made["strings"].name)
    assert type(made["table"]).__name__ == "Table"
    assert isinstance(made["layers"], dict)


def test_a_missing_library_gives_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    states = {key: each.state() for key, each in GENERATORS.items()}

    assert states["frame"] == (
        "not installed",
        'DataFrame numeric needs pandas. Run: pip install "jupyter_serprof[dataframe]"',
    )
    assert states["float64"] == ("ok", "")
