"""ray.put and ray.get in the driver: stages cover the wall time, sizes and zero-copy are exact."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import ray
from ray._private.worker import Worker
from threads import in_threads

from clusters.seen import attempts, detail, findings, has_row, probe, recorded, row, self_ns, spans
from jupyter_serprof.experiments.roundtrip.trip import checked_result
from jupyter_serprof.model import Trace
from jupyter_serprof.objects.equality import Witness
from jupyter_serprof.probes.ray import waits

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

MB = 1_000_000


def _array(size_bytes: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.arange(size_bytes // 8, dtype=np.float64)


def _roundtrip(value: object) -> tuple[object, object]:
    """Put and get; the reference is returned too, because dropping it takes Ray 0.1-0.9 ms."""
    reference = ray.put(value)
    return ray.get(reference), reference


@pytest.mark.parametrize("size_bytes", [MB, 50 * MB], ids=["1MB", "50MB"])
def test_sizes_of_an_array_are_exact(size_bytes: int) -> None:
    """The pickle has a hundred bytes in-band, the payload is one buffer, the store takes both."""
    array = _array(size_bytes)

    _, trace = recorded(lambda: _roundtrip(array))

    in_band_bytes = detail(trace, "ray.pickle", "in_band_bytes")
    assert detail(trace, "ray.pickle", "out_of_band_bytes") == array.nbytes
    assert detail(trace, "ray.pickle", "buffers") == 1
    assert 100 < in_band_bytes < 200
    stored = row(trace, "ray.store").size_bytes
    assert stored is not None
    assert 0 < stored - array.nbytes - in_band_bytes < 256
    assert row(trace, "ray.store").copied_bytes == stored
    assert row(trace, "ray.fetch").size_bytes == stored
    assert row(trace, "ray.fetch").copied_bytes == 0
    assert not has_row(trace, "ray.map")
    assert probe(trace).unseen == ()


ZERO_COPY: dict[str, Callable[[], object]] = {
    "array": lambda: _array(MB),
    "small array": lambda: np.arange(10),
    "list of arrays": lambda: [np.arange(1_000) for _ in range(5)],
    "dict of arrays": lambda: {"a": np.arange(1_000), "b": np.arange(1_000)},
    "pandas numbers": lambda: pd.DataFrame({"a": np.arange(100_000.0), "b": range(100_000)}),
    "pandas text": lambda: pd.DataFrame({"text": ["some text"] * 50_000}),
    "arrow table": lambda: pa.table({"a": np.arange(100_000.0), "b": ["text"] * 100_000}),
}
COPIED: dict[str, Callable[[], object]] = {
    "bytes": lambda: b"x" * MB,
    "str": lambda: "x" * MB,
    "polars": lambda: pl.DataFrame({"a": np.arange(100_000.0)}),
    "strided array": lambda: np.arange(200_000)[::2],
    "object array": lambda: np.array([{"a": 1}] * 1_000, dtype=object),
    "python floats": lambda: [1.0] * 10_000,
}


@pytest.mark.parametrize("kind", [*ZERO_COPY, *COPIED])
def test_zero_copy_is_told_by_address(kind: str) -> None:
    """Buffers in shared memory are, small ones too; the heap is not, whatever its flags say."""
    value = (ZERO_COPY | COPIED)[kind]()

    (result, _), trace = recorded(lambda: _roundtrip(value))

    assert detail(trace, "ray.unpack", "zero_copy") is (kind in ZERO_COPY)
    told = str(checked_result(value, result, Witness(value))["result"])
    assert told.startswith("zero-copy") is (kind in ZERO_COPY)
    assert kind in COPIED or detail(trace, "ray.unpack", "result_bytes") > 0


def test_a_small_result_of_a_task_is_on_the_heap() -> None:
    """Results up to 100 kB come inline: read-only and with a base, but not zero-copy."""

    @ray.remote
    def small() -> Any:
        return np.arange(100)

    array, trace = recorded(lambda: ray.get(small.remote()))

    assert not array.flags.writeable
    assert detail(trace, "ray.unpack", "zero_copy") is False


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: _array(4 * MB)[::2], "non-contiguous"),
        (lambda: np.array([f"text number {i}" for i in range(100_000)], object), "Python objects"),
    ],
    ids=["strided", "objects"],
)
def test_an_array_that_is_copied_into_the_pickle_is_named(
    make: Callable[[], np.ndarray[Any, Any]], said: str
) -> None:
    """A view with gaps, and objects that are pickled one by one, go in-band."""
    array = make()

    _, trace = recorded(lambda: ray.put(array))

    assert detail(trace, "ray.pickle", "in_band_bytes") > array.nbytes
    (finding,) = findings(trace, "pickle.in-band-copy")
    assert said in finding.because


def test_a_file_that_is_put_is_told_to_send_its_content() -> None:
    with Path(__file__).open("r") as file:
        _, trace = recorded(lambda: ray.put([file]))

    (finding,) = findings(trace, "pickle.in-band-copy")
    assert finding.title.startswith("an open file was sent with its content, ")


def test_elements_of_a_list_are_counted() -> None:
    """A list of numpy floats is walked one by one; the same numbers as Python floats are not."""
    values = list(_array(160_000))

    walked = list(attempts(lambda: ray.put(values)))
    _, plain = recorded(lambda: ray.put([float(value) for value in values]))

    for trace in walked:
        assert detail(trace, "ray.pickle", "elements") == 20_000
        assert detail(trace, "ray.pickle", "element_type") == "float64"
    # The walk is told by its share of the time, most of which a collection may take once.
    said = [finding for trace in walked for finding in findings(trace, "ray.element-walk")]
    assert {finding.evidence["elements"] for finding in said} == {20_000}
    assert not has_row(plain, "ray.pickle")


def test_a_list_that_is_got_and_handed_on_is_known_again_and_stays_a_list() -> None:
    """Another list that is made of it is another one."""
    count: Any = ray.remote(lambda texts: len(texts[0]))
    ref: Any = ray.put([f"text number {at}" for at in range(100_000)])

    _, as_it_is = recorded(lambda: ray.get(count.remote(ray.get(ref))))
    _, changed = recorded(lambda: ray.get(count.remote(list(ray.get(ref)))))

    assert [_handed_on(trace) for trace in (as_it_is, changed)] == [1, 0]
    assert not any("pa.array(" in finding.remedy for finding in as_it_is.findings)


def _handed_on(trace: Trace) -> int:
    noted: list[Any] = [span.details or {} for span in trace.spans]
    got = {key for each in noted for key in each.get("value_keys", ())}
    return len(got & {each.get("value_key") for each in noted})


def test_bytes_are_not_pickled_and_copied_on_get() -> None:
    """Bytes go raw into the store; the copy to the heap is charged to the way back."""
    data = b"x" * (5 * MB)

    _, trace = recorded(lambda: _roundtrip(data))

    assert not has_row(trace, "ray.pickle")
    assert row(trace, "ray.store").size_bytes == len(data)
    assert row(trace, "ray.unpack").copied_bytes == len(data)
    assert len(findings(trace, "ray.not-zero-copy")) == 1


def test_new_objects_at_a_reused_address_are_not_the_same_object() -> None:
    """Only a living object counts as the same; Python hands out addresses again."""

    def put_new_ones() -> list[int]:
        addresses = []
        for _ in range(10):
            array = _array(MB)
            addresses.append(id(array))
            ray.put(array)
            del array
        return addresses

    addresses, trace = recorded(put_new_ones)

    assert len(set(addresses)) < len(addresses), "no address was reused: nothing was tested"
    assert findings(trace, "ray.same-object") == []


def test_detail_tells_producer_pull_and_map_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A task that sleeps 300 ms in the wait, then 60 ms of pull and 50 ms of map: each its own."""
    waits, get_objects, begin = ray.wait, Worker.get_objects, tmp_path / "begin"

    @ray.remote
    def produce() -> object:
        while not begin.exists():
            time.sleep(0.001)
        time.sleep(0.3)
        return np.zeros(50 * MB // 8)

    def wait(*args: Any, fetch_local: bool, **kwargs: Any) -> Any:
        begin.touch()
        time.sleep(0.06 if fetch_local else 0)
        return waits(*args, fetch_local=fetch_local, **kwargs)

    def get(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.05)
        return get_objects(*args, **kwargs)

    monkeypatch.setattr(ray, "wait", wait)
    monkeypatch.setattr(Worker, "get_objects", get)

    _, trace = recorded(lambda: ray.get(produce.remote()), detail=True)

    (waited,) = spans(trace, "ray.wait")
    (pull,) = spans(trace, "ray.pull")
    (mapped,) = spans(trace, "ray.map")
    (execute,) = spans(trace, "ray.execute")
    assert waited.duration_ns >= 300e6
    assert pull.duration_ns >= 60e6
    assert mapped.duration_ns >= 50e6
    assert execute.end_ns <= waited.end_ns <= pull.start_ns < pull.end_ns <= mapped.start_ns
    # Of the sleep all lies in the wait; the clock of the day may be slewed meanwhile.
    assert 299e6 <= self_ns(trace, "ray.execute") <= execute.duration_ns
    assert not has_row(trace, "ray.fetch")


def test_detail_keeps_the_promise_of_a_timeout() -> None:
    """With a timeout nothing is waited for before: the get is the wait, which the task explains."""

    @ray.remote
    def produce() -> int:
        time.sleep(0.3)
        return 1

    value, trace = recorded(lambda: ray.get(produce.remote(), timeout=60), detail=True)

    assert value == 1
    assert not {"ray.wait", "ray.map"} & {span.stage for span in trace.spans}
    assert self_ns(trace, "ray.execute") >= 299e6


def test_detail_asks_a_part_of_the_gets_that_need_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is at hand costs two more calls each time: few are enough, and all gets are told."""
    reference = ray.put(b"x" * 1_000_000)
    monkeypatch.setattr(waits, "_AT_HAND_NS", 10**12)  # also on a busy machine
    monkeypatch.setattr(waits, "_MOST_PART", 10**9)  # however long the recording is

    _, trace = recorded(lambda: [ray.get(reference) for _ in range(1_000)], detail=True)

    split, whole = (len(spans(trace, stage)) for stage in ("ray.map", "ray.fetch"))
    assert split + whole == 1_000
    assert 0 < split < 700
    told = [finding.evidence for finding in trace.findings if finding.rule == "ray.get-in-loop"]
    assert all(evidence["times"] == 1_000 for evidence in told)


def test_four_threads_are_four_lanes() -> None:
    """Threads that put at once lose no span and do not mix their nesting."""
    array, together = _array(MB), threading.Barrier(4)

    def put_ten() -> None:
        for _ in range(10):
            ray.put(array)
        together.wait()  # a thread that has ended gives its number to the next one

    _, trace = recorded(lambda: in_threads([put_ten] * 4))

    for name in ("Worker.put_object", ".serialize", "_serialize_to_pickle5", "dumps"):
        seen = spans(trace, name=name)
        lanes = [span.lane for span in seen]
        assert len(seen) == 40
        assert sorted(lanes.count(lane) for lane in set(lanes)) == [10] * 4
        assert all(s.parent < 0 or trace.spans[s.parent].lane == s.lane for s in seen)
    assert row(trace, "ray.store").count == 40
