"""Findings of real pickles: what was recorded of values that look alike from outside."""

import dataclasses
import datetime as dt
import pickle
import zlib
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest

from jupyter_serprof import record
from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.findings import find
from jupyter_serprof.analysis.spans import number
from jupyter_serprof.model import Finding, Limits, Trace
from jupyter_serprof.testing import make_trace

#: A machine on which all of these pickles are slow for their bytes, and whose pages are free.
FAST = Limits(memcpy_bytes_per_s=1e15, first_touch_bytes_per_s=1e15)


def big() -> Any:
    return np.ones(10_000_000)


def rows() -> list[dict[str, object]]:
    return [{"id": at, "x": at / 7, "name": f"n{at % 50}"} for at in range(200_000)]


class Waits:
    """A state that takes its time; the time itself is put into the recording."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__


class Compresses:
    """A reducer that compresses: one object, one payload."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return Compresses, (zlib.compress(self.data, 6),)


@dataclasses.dataclass
class Point:
    """A small object with two fields."""

    x: float
    y: float


def recorded(value: object, times: int = 1, protocol: int | None = None) -> Trace:
    with record("pickle.dumps(value)") as recording:
        for _ in range(times):
            pickle.dumps(value, protocol)
    return recording.trace


def pages(trace: Trace) -> int:
    """Return how many pages were new in all pickles."""
    return sum(number(span, "minor_faults") or 0 for span in trace.spans)


def found(value: object, rule: str, each_ms: int = 40, **options: Any) -> list[Finding]:
    """Return the findings of a rule in dumps of a value, on a machine where each takes so long."""
    trace = recorded(value, **options)
    spans = [one._replace(duration_ns=each_ms * 1_000_000) for one in trace.spans]
    judged = dataclasses.replace(trace, limits=FAST, spans=tuple(spans))
    return [one for one in find(judged) if one.rule == rule]


@pytest.mark.parametrize("protocol", [3, 5])
@pytest.mark.parametrize(
    "value",
    [
        Waits(np.ones(1_000_000)),
        Waits([at / 7 for at in range(120_000)]),
        Compresses(np.random.default_rng(0).bytes(3_000_000)),
    ],
    ids=["waits with an array", "waits with numbers", "compresses"],
)
def test_slow_reducers_are_not_many_small_objects(value: object, protocol: int) -> None:
    """Only that it was slow is known; the way to find out more is named."""
    rules = ("pickle.small-objects", "pickle.slow")
    said, slow = (found(value, rule, 300, protocol=protocol) for rule in rules)

    assert said == []
    assert len(slow) == 1
    assert "--blame value" in slow[0].remedy


@pytest.mark.parametrize("protocol", [4, 5])
def test_an_array_is_not_many_small_objects_however_slow_its_pages_are(protocol: int) -> None:
    """A cold run on a busy machine takes long; there is one object."""
    assert found(big(), "pickle.small-objects", 600, protocol=protocol) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: [Point(at, at / 3) for at in range(60_000)],
        lambda: [dt.datetime(2020, 1, 1, at % 24) for at in range(100_000)],  # noqa: DTZ001
        lambda: [np.ones(3) for _ in range(30_000)],
        lambda: pd.DataFrame(
            {"s": np.array([f"abc{at}" for at in range(200_000)], dtype=object)}, dtype=object
        ),
        lambda: [(at, str(at)) for at in range(200_000)],
        lambda: {"rows": rows()},
        lambda: [{"id": at, "n": [at]} for at in range(200_000)],
    ],
    ids=["dataclasses", "datetimes", "arrays", "frame", "tuples", "rows inside", "rows of lists"],
)
def test_many_small_objects_of_any_kind_are_told(make: Callable[[], object]) -> None:
    """As many objects, or as slow for its bytes; what measures other forms is named."""
    value = make()

    said = found(value, "pickle.small-objects") + found(value, "pickle.slow")

    assert len(said) == 1
    assert "%serprof --" in said[0].remedy


def test_what_a_function_captures_is_named_without_ray() -> None:
    """With the share of all its pickles; the remedy is told in words: nobody knows who calls it."""
    table = np.ones(300_000)

    def lookup(at: int) -> Any:
        return table[at]

    with record("x") as recording:
        for _ in range(3):
            cloudpickle.dumps(lookup)

    trace = recording.trace
    [told] = [one for one in trace.findings if one.rule == "ray.captured-variable"]
    assert told.title.startswith("`table` of 2.40 MB travels inside `lookup`")
    assert "argument" in told.because
    assert "ray" not in told.because + told.remedy
    ran_ns = sum(span.duration_ns for span in trace.spans if span.stage == "pickle.dumps")
    assert told.share == pytest.approx(ran_ns / trace.wall_ns)


@pytest.mark.parametrize("graph_bytes", [2_500_000, 9_000_000])
def test_what_a_function_captures_is_sent_with_a_graph_that_is_mostly_it(graph_bytes: int) -> None:
    """Its pickles, for a key, and what sends it; of a graph of other things only the pickles."""
    look = {"in_band_bytes": 2_400_000, "function": "use"}
    entry = {"name": "cfg", "kind": "global", "type": "dict", "size_bytes": None}
    trace = make_trace(
        [
            ("pickle.dumps", "client/main", 0, 20, None, -1, {**look, "captured": [entry]}),
            ("pickle.loads", "client/main", 20, 10, None, -1, {"in_band_bytes": 2_400_000}),
            ("dask.serialize", "client/main", 30, 30, None, -1, {"in_band_bytes": graph_bytes}),
        ],
        wall_ms=100,
    )

    [told] = [one for one in find(analyse(trace)) if one.rule == "ray.captured-variable"]

    assert told.title.startswith("`cfg` of 2.40 MB travels inside `use`")
    assert told.share == pytest.approx(0.6 if graph_bytes < 4_800_000 else 0.3)
    assert ("with each task" in told.because) == (graph_bytes < 4_800_000)


def test_the_objects_of_rows_are_counted() -> None:
    """200,000 dicts of three values each; its columns are three arrays."""
    columns = {key: np.array([row[key] for row in rows()]) for key in ("id", "x", "name")}

    (said,) = found(rows(), "pickle.small-objects")

    assert said.evidence["objects"] == pytest.approx(800_000, rel=0.1)
    assert found(columns, "pickle.small-objects") == []


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        *((big, 1), (lambda: big()[::2], 0), (lambda: {"a": big()}, 1), (lambda: [big()[::2]], 0)),
        (lambda: b"x" * 40_000_000, 0),
    ],
    ids=["array", "strided", "dict of an array", "list of a strided one", "bytes"],
)
def test_protocol_5_is_proposed_only_where_it_copies_less(
    make: Callable[[], object], expected: int
) -> None:
    """An array with gaps is gathered by each protocol; its pages are the same."""
    value = make()
    trace = recorded(value, protocol=4)
    said = [one for one in trace.findings if one.rule == "pickle.protocol-4"]

    assert len(said) == expected
    if said:
        assert pages(recorded(value, protocol=5)) < 0.6 * pages(trace)


@pytest.mark.parametrize("times", [1, 5])
def test_a_dumps_is_not_told_to_run_again(times: int) -> None:
    """Each dumps writes into new pages: only a kept buffer helps."""
    for value in (big(), np.ones(2_000_000)):
        assert "memory.first-touch" not in {one.rule for one in recorded(value, times).findings}
