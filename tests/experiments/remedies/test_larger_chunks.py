"""Graphs with larger chunks: made again from their sources, equal, and refused where unsure."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.experiments.remedies.larger_chunks import (
    NotRemadeError,
    merged,
    with_larger_chunks,
)
from jupyter_serprof.experiments.remedies.rounding import same_or_rounded

if TYPE_CHECKING:
    from collections.abc import Callable

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

NUMBERS = np.arange(90 * 80.0).reshape(90, 80)


class Lazy:
    """Something that is read by slices, as a file."""

    shape, dtype, ndim = (90, 80), np.dtype("f8"), 2

    def __getitem__(self, index: Any) -> Any:
        return NUMBERS[index]


def ones() -> Any:
    """Return 72 chunks of ones."""
    return da.ones((90, 80), chunks=10)


def drawn() -> Any:
    """Return a square of random numbers."""
    return da.random.default_rng(3).random((64, 64), chunks=8)


def held() -> Any:
    """Return an array in memory, with a smaller chunk at each end."""
    return da.from_array(NUMBERS, chunks=7)


def centred(block: Any) -> Any:
    """Do something that depends on the chunk."""
    return block - block.mean()


def informed(block: Any, block_info: Any = None) -> Any:
    """Be told which chunk it is."""
    return block + (0 if block_info is None else 1)


MADE: dict[str, Callable[[], Any]] = {
    "sum": lambda: (ones() + 1).sum(),  # noqa: PLW0108  (made when it is called)
    "transposed": lambda: (drawn() + drawn().T).sum(),  # noqa: PLW0108  (as above)
    "mean along an axis": lambda: held().mean(axis=0),
    "deviation, axes kept": lambda: drawn().std(axis=1, keepdims=True),
    "blocks only": lambda: held() * 2 + 1,
    "read by slices": lambda: da.from_array(Lazy(), chunks=11).max(axis=0),
    "product": lambda: drawn().dot(drawn()),
    "two reductions": lambda: ((drawn() - drawn().mean()) / drawn().std()).sum(axis=0),
    "row and matrix": lambda: held() - held().mean(axis=0),
    "three axes": lambda: da.ones((16, 16, 16), chunks=2).var(axis=(0, 2)),
}
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "slice": (lambda: ones()[1:5], "its step getitem"),
    "rechunk": (lambda: ones().rechunk(20), "its step rechunk-merge"),
    "told its chunk": (lambda: ones().map_blocks(informed, dtype=float), "is told which chunk"),
    "running sum": (lambda: ones().cumsum(axis=0), "its step cumsum"),
    "place of the largest": (lambda: ones().argmax(axis=0), "its step arg-reduce"),
    "concatenate": (lambda: da.concatenate([ones(), ones()]), "its step concatenate"),
    "delayed": (
        lambda: da.from_delayed(dask.delayed(np.ones)(5), (5,), dtype=float),
        "its step from-value",
    ),
    "unknown sizes": (lambda: ones()[ones() > 0], "not known before it is computed"),
}


@pytest.mark.parametrize("factor", [2, 4, 8])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_the_result_is_the_same_with_fewer_tasks(make: Callable[[], Any], factor: int) -> None:
    """Shape, dtype and values; chunks are those of which so many are one."""
    array = make()

    larger, _ = with_larger_chunks(array, factor)

    with dask.config.set(scheduler="sync"):
        # One after the other: they have the same keys.
        before, after = array.compute(), larger.compute()
    assert same_or_rounded(before, after).equal is True
    assert larger.chunks == merged(array.chunks, factor)
    assert len(larger.dask) < len(array.dask) / 2
    assert larger.dtype == array.dtype
    assert not any("rechunk" in name for name in larger.dask.layers)


@pytest.mark.parametrize(("make", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_understood_is_refused(make: Callable[[], Any], said: str) -> None:
    """By the name of its step: then a line can be written with other chunks by hand."""
    with pytest.raises(NotRemadeError, match=said):
        with_larger_chunks(make(), 2)


def test_a_function_of_the_chunk_gives_another_result() -> None:
    """It can be made, and comparing tells: it depends on how it is cut."""
    array = held().map_blocks(centred, dtype=float)

    larger, _ = with_larger_chunks(array, 2)

    with dask.config.set(scheduler="sync"):
        assert same_or_rounded(array.compute(), larger.compute()).equal is False


def test_random_numbers_are_drawn_as_before_and_put_together() -> None:
    """Another chunk size would draw others; the step is named, since that is a copy."""
    array = drawn()

    larger, joined = with_larger_chunks(array, 8)

    assert joined == ["random"]
    assert with_larger_chunks(ones(), 8)[1] == []
    with dask.config.set(scheduler="sync"):
        assert np.array_equal(array.compute(), larger.compute())


def test_reductions_keep_their_tree() -> None:
    """A task is given no more chunks of an axis than before."""
    array = da.ones(1000, chunks=1).sum(split_every=4)

    larger, _ = with_larger_chunks(array, 2)

    tasks = dict(larger.dask)
    widest = max(len(task.dependencies) for task in tasks.values())
    assert widest == 4
    assert len([key for key in tasks if "sum" in str(key)]) < 1000


def test_the_graph_of_the_user_is_not_materialized() -> None:
    """It would travel so from then on."""
    array = ((ones() + 1) * 2).sum()
    before = {n: vars(layer).keys() for n, layer in array.dask.layers.items()}
    lazy = {n for n, layer in array.dask.layers.items() if not layer.is_materialized()}

    larger, _ = with_larger_chunks(array, 2)

    after = array.dask.layers
    assert {n for n, layer in after.items() if not layer.is_materialized()} == lazy
    assert {n: vars(layer).keys() for n, layer in after.items()} == before
    assert not all(layer.is_materialized() for layer in larger.dask.layers.values())


def test_the_last_chunk_may_be_smaller() -> None:
    """Seven chunks are four of two."""
    assert merged(((1, 1, 1, 1, 1, 1, 1),), 2) == ((2, 2, 2, 1),)


# Equal within rounding


def test_floats_may_differ_in_their_last_digits_and_this_is_said() -> None:
    """Of the largest value, in its own dtype; what is not finite stays where it is."""
    for dtype in (np.float32, np.float64):
        wide: Any = np.array([1e3, 1e-9, math.nan, math.inf], dtype)
        last = wide * (1 + 4 * np.finfo(dtype).eps)

        near = same_or_rounded(wide, last)
        assert near.equal is True
        assert "equal within rounding" in near.changes[-1]
        assert same_or_rounded(wide, wide * wide.dtype.type(1.01)).equal is False
        assert same_or_rounded(wide, wide[::-1]).equal is False


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (np.arange(3), np.arange(3) + 1),
        (np.ones(3), np.ones((3, 1))),
        (np.ones(3), np.ones(3, np.float32)),
        (np.zeros(3), np.full(3, 1e-300)),
        (np.float64(1), np.float64(2)),
        (pd.Series([1.0, 2.0]), pd.Series([1.0, 2.5])),
        (pd.Series([1, 2]), pd.Series([2, 1])),
        (pd.Series([1.0, 2.0]), pd.Series([1.0])),
        (pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})),
    ],
)
def test_another_result_is_not_equal(before: Any, after: Any) -> None:
    """Integers, shapes, dtypes, labels: there rounding is no excuse."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_or_rounded(before, after).equal is False


def test_rows_may_come_in_another_order() -> None:
    """The index tells them apart; it is said."""
    before = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[5, 6, 7])

    moved = same_or_rounded(before, before.loc[[7, 5, 6]])

    assert moved.equal is True
    assert moved.changes == ("its rows come in another order",)
    assert same_or_rounded(before, None).equal is None
