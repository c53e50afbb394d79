"""What Dask advises for arrays, data frames and bags: docs.dask.org, its best practices."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import wait

from . import entry

GENERAL, ARRAY = "dask: best-practices#", "dask: array-best-practices#"
FRAME = "dask: dataframe-best-practices#"


@cache
def frame(rows):
    draw = np.random.default_rng(0)
    names = np.array([f"name {at}" for at in range(50)])
    return pd.DataFrame(
        {
            "key": draw.integers(0, 1000, rows),
            "name": names[draw.integers(0, 50, rows)],
            "x": draw.random(rows),
            "t": pd.date_range("2026-01-01", periods=rows, freq="s"),
        }
    )


def loaded(rows, partitions):
    made = dd.from_pandas(frame(rows), npartitions=partitions).persist()
    wait(made)
    return made


@cache
def files(kind):
    """Write that frame as eight files of a kind and return their folder."""
    folder = Path(tempfile.mkdtemp(prefix="sp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for at, part in enumerate(np.array_split(np.arange(400_000), 8)):
        rows = frame(400_000).iloc[part]
        path = folder / f"{at}.{kind}"
        if kind == "csv":
            rows.to_csv(path, index=False)
        else:
            rows.to_parquet(path)
    return folder


@entry(ARRAY + "select-a-good-chunk-size", "dask.tiny-tasks")
def tiny_chunks():
    """Chunks of 80 kB: the scheduler works longer than the workers."""
    return (
        lambda: float(da.ones((2000, 2000), chunks=100).sum().compute()),
        lambda: float(da.ones((2000, 2000), chunks=1000).sum().compute()),
    )


@entry(GENERAL + "avoid-very-large-partitions", "dask.one-task")
def one_chunk():
    """The whole array in one chunk: one worker does all, and holds all."""

    def slow(block):
        time.sleep(len(block) / 5000)  # of rows; another core may not be free
        return block

    def total(side):
        x = da.ones((2400, 100), chunks=(side, 100))
        return float(x.map_blocks(slow).sum().compute())

    return (lambda: total(2400)), (lambda: total(600))


@entry(GENERAL + "persist-when-you-can", "dask.recompute")
def queries_without_persist():
    """Several queries on a frame that each of them reads and cleans again."""

    def clean():
        data = dd.read_csv(files("csv") / "*.csv")
        return data[data.x > 0.1]

    def queries(data):
        return [
            float(data.x.max().compute()),
            float(data.x.mean().compute()),
            float(data.x.min().compute()),
        ]

    return (lambda: queries(clean())), (lambda: queries(clean().persist()))


def prepare(block):
    time.sleep(len(block) / 4000)  # of rows; another core may not be free
    return block + 1


@entry("dask: api#dask.compute", "dask.recompute")
def shared_work_computed_twice():
    """Two results of the same array, computed one after the other."""

    def both():
        x = da.random.default_rng(0).random((5000, 30), chunks=(2500, 30))
        prepared = x.map_blocks(prepare, dtype=float)
        return prepared.sum(), prepared[:, 0].max()

    return (
        lambda: [float(x.compute()) for x in both()],
        lambda: [float(x) for x in dask.compute(*both())],
    )


@entry(FRAME + "persist-intelligently", "dask.recompute")
def persist_without_assignment():
    """persist() whose result nobody keeps: all is computed again."""

    def made():
        x = da.random.default_rng(0).random((5000, 3000), chunks=(625, 3000))
        return x.map_blocks(np.sort, axis=1)

    def antipattern():
        x = made()
        wait(x.persist())
        return float(x.sum().compute())

    def healthy():
        x = made().persist()
        wait(x)
        return float(x.sum().compute())

    return antipattern, healthy


@entry(FRAME + "store-data-in-apache-parquet-format", "dask.text-files", needs=("pyarrow",))
def csv_instead_of_parquet():
    """Text files that are parsed for one column of them."""
    files("csv"), files("parquet")
    return (
        lambda: float(dd.read_csv(files("csv") / "*.csv").x.mean().compute()),
        lambda: float(dd.read_parquet(files("parquet")).x.mean().compute()),
    )


@entry(FRAME + "avoid-full-data-shuffling", "dask.shuffle")
def set_index_again():
    """The index set anew for each query."""
    data = loaded(200_000, 8)

    def total(indexed, at):
        return float(indexed.loc[at : at + 50].x.sum().compute())

    def healthy():
        indexed = data.set_index("key").persist()
        return [total(indexed, at) for at in (0, 100, 200)]

    return (lambda: [total(data.set_index("key"), at) for at in (0, 100, 200)]), healthy


@entry(FRAME + "repartition-to-reduce-overhead", "dask.small-partitions")
def many_tiny_partitions():
    """A frame filtered to little, in as many partitions as before."""
    data = loaded(100_000, 100)
    few = data[data.name == "name 7"].persist()
    fewer = data[data.name == "name 7"].repartition(npartitions=2).persist()
    wait([few, fewer])

    def rest(part):
        return float(part.assign(y=part.x * 2).groupby("key").y.mean().sum().compute())

    return (lambda: rest(few)), (lambda: rest(fewer))


@entry(FRAME + "joins", "dask.shuffle")
def merge_with_a_small_frame():
    """A small frame as a Dask frame of several partitions: both sides are shuffled."""
    data = loaded(200_000, 8)
    small = pd.DataFrame({"key": np.arange(1000), "weight": np.arange(1000.0)})

    def antipattern():
        other = dd.from_pandas(small, npartitions=8)
        return float(
            data.merge(other, on="key", shuffle_method="tasks", broadcast=False)
            .weight.sum()
            .compute()
        )

    return antipattern, (lambda: float(data.merge(small, on="key").weight.sum().compute()))


@entry("dask: dataframe-groupby", "dask.shuffle")
def groupby_apply():
    """A groupby.apply where an aggregation would do: it shuffles and calls Python per group."""
    data = loaded(100_000, 8)

    def antipattern():
        groups = data.groupby("name")
        return float(groups.apply(lambda g: g.x.sum(), meta=("x", "f8")).sum().compute())

    return antipattern, (lambda: float(data.groupby("name").x.sum().sum().compute()))


@entry(FRAME + "pandas-performance-tips-apply-to-dask-dataframe", "dask.object-columns")
def object_columns():
    """Strings as Python objects, which travel one by one."""
    words = [f"word {at % 999}" for at in range(200_000)]
    kinds = [pd.DataFrame({"w": pd.Series(words, dtype=kind)}) for kind in (object, "str")]

    def work(data):
        with dask.config.set({"dataframe.convert-string": False}):
            made = dd.from_pandas(data, npartitions=4)
            return int(made.w.str.len().sum().compute())

    return (lambda: work(kinds[0])), (lambda: work(kinds[1]))


@entry(FRAME + "use-pandas", "dask.large-object")
def large_frame_in_the_graph():
    """A large frame made here and cut by from_pandas: all of it travels with the graph."""
    data = pd.DataFrame({"x": np.arange(3_000_000.0)})

    def part(at):
        return pd.DataFrame({"x": np.arange(at * 750_000.0, (at + 1) * 750_000)})

    return (
        lambda: float(dd.from_pandas(data, npartitions=4).x.sum().compute()),
        lambda: float(dd.from_map(part, range(4), meta=data[:0]).x.sum().compute()),
    )


@entry(GENERAL + "learn-techniques-for-customization", "dask.repeated-payload")
def captured_in_map_blocks():
    """A large table that the function of map_blocks captures: sent with each task."""
    table = np.random.default_rng(0).random((1000, 1000))
    x = da.ones((20_000, 1000), chunks=(1000, 1000))

    def summed(function, *given):
        return float(x.map_blocks(function, *given, chunks=(1, 1000), dtype=float).sum().compute())

    return (
        lambda: summed(lambda block: block[:1] + table[:1]),
        lambda: summed(lambda block, other: block[:1] + other[:1], dask.delayed(table)),
    )


@entry("dask: scheduling#local-threads", "dask.gil")
def threads_held_by_the_interpreter():
    """Pure Python on threads: one runs at a time."""

    def count(at):
        return sum(value % 7 for value in range(2_000_000 + at))

    bag = db.from_sequence(range(8), npartitions=8).map(count)
    return (lambda: bag.compute(scheduler="threads")), bag.compute


@entry("dask: scheduling#local-processes", "dask.pool-start")
def pool_of_processes_for_little():
    """Processes started for work of a few milliseconds."""
    bag = db.from_sequence(range(100), npartitions=4).map(str).map(len)
    return (lambda: bag.sum().compute(scheduler="processes", num_workers=2)), bag.sum().compute
