"""What an anatomy costs beside a plain pickle, and how exact it is, for each kind of object.

Run: python tests/benchmarks/anatomy.py
Ratio: CPU time of `blame` over that of `cloudpickle.dumps`, protocol 5, median of 5 pairs in turns.
The kinds marked with * were not looked at while the method was tuned, but for the tree of dicts and
the shared lists: their first figures led to changes.
"""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import pickle
import random
import statistics
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
import pandas as pd

from jupyter_serprof.api import blame

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_serprof.model import Anatomy

_PAIRS = 5
_RANDOM = random.Random(3)  # noqa: S311  (data for a benchmark)
_N = 200_000


class Node:
    """An object with attributes."""

    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


def _words(count: int) -> list[str]:
    return ["".join(_RANDOM.choices("abcdefgh", k=12)) for _ in range(count)]


def _frame(count: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": np.arange(float(count)),
            "any": np.array([*_words(count), None], dtype=object)[:-1],
            "kind": pd.Categorical(["u", "v"] * (count // 2)),
            "text": _words(count),
        }
    )


def _tree(depth: int) -> dict[str, Any]:
    if depth == 0:
        return {"leaf": list(range(20))}
    return {f"branch {i}": _tree(depth - 1) for i in range(6)}


def _closure() -> Callable[[], object]:
    table = {i: str(i) for i in range(_N)}
    return lambda: table


def _shared() -> list[object]:
    one = _words(50_000)
    return [[one] * 1000, [list(one) for _ in range(5)]]


TUNED: dict[str, Callable[[], object]] = {
    "1,000,000 dicts": lambda: [{"a": i, "b": "text", "c": 1.5} for i in range(1_000_000)],
    "dict of 500 arrays, 40 MB": lambda: {str(i): np.ones(10_000) for i in range(500)},
    "model with layers": lambda: Node(layers=[Node(w=np.ones(1000), b=[i]) for i in range(50)]),
    "frame of 4 kinds": lambda: _frame(_N),
    "tiny list": lambda: [1, [2, 3], {"a": 4}],
}
UNTUNED: dict[str, Callable[[], object]] = {
    "* tuples": lambda: [(i, float(i), str(i)) for i in range(_N)],
    "* dates": lambda: [dt.datetime(2026, 1, 1 + i % 28, i % 24) for i in range(_N)],  # noqa: DTZ001
    "* decimals": lambda: [decimal.Decimal(i) / 7 for i in range(_N)],
    "* sets of words": lambda: [set(_words(5)) for _ in range(_N // 5)],
    "* ordered dicts": lambda: [collections.OrderedDict(a=i, b=str(i)) for i in range(_N // 4)],
    "* instances by value": lambda: [Node(x=i, y=[i]) for i in range(_N // 4)],
    "* tree of dicts": lambda: _tree(5),
    "* random floats in lists": lambda: [
        [_RANDOM.random() for _ in range(100)] for _ in range(_N // 100)
    ],
    "* closure over a dict": _closure,
    "* shared lists of words": _shared,
}


def main() -> None:
    """Print a line for each kind."""
    print(f"{'kind':28}{'dumps ms':>10}{'blame ms':>10}{'ratio':>7}{'max':>7}  exact  peak MB")
    medians = []
    for name, make in {**TUNED, **UNTUNED}.items():
        value = make()
        ratio = _line(name, value)
        if name.startswith("*"):
            medians.append(ratio)
    print(f"median of the {len(medians)} kinds with *: {statistics.median(medians):.2f}")


def _line(name: str, value: object) -> float:
    plain, opened = [], []
    anatomy = blame(value)
    for _ in range(_PAIRS):
        plain.append(_timed(lambda: cloudpickle.dumps(value, protocol=5)))
        opened.append(_timed(lambda: blame(value)))
    ratios = [b / a for a, b in zip(plain, opened, strict=True)]
    ratio = statistics.median(ratios)
    print(
        f"{name:28}{1e3 * statistics.median(plain):10.2f}{1e3 * statistics.median(opened):10.2f}"
        f"{ratio:7.2f}{max(ratios):7.2f}  {_exact(anatomy, value)}  {_peak_bytes(value) / 1e6:.1f}"
    )
    return ratio


def _timed(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _exact(anatomy: Anatomy, value: object) -> str:
    buffers: list[pickle.PickleBuffer] = []
    data = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    is_exact = (
        anatomy.in_band_bytes == len(data) == sum(part.self_bytes for part in anatomy.parts)
        and anatomy.plain_bytes == len(cloudpickle.dumps(value, protocol=5))
        and anatomy.out_of_band_bytes == sum(buffer.raw().nbytes for buffer in buffers)
    )
    return "yes  " if is_exact else "NO   "


def _peak_bytes(value: object) -> int:
    """Return what Python allocates at most while it is opened (the memo of C is not seen)."""
    tracemalloc.start()
    blame(value)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


if __name__ == "__main__":
    main()
