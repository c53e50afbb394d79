"""pickle and cloudpickle: sizes are exact, nothing is counted twice, no byte is different."""

import importlib
import io
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import cloudpickle
import numpy as np
import pandas as pd
import pytest

from clusters.seen import detail, probe, recorded, row, spans
from jupyter_serprof.api import record
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.pickle import CloudpickleProbe, PickleProbe
from jupyter_serprof.testing import ProbeContract


class TestPickle(ProbeContract):
    """The contract of every probe."""

    probe: ClassVar[type[Probe]] = PickleProbe
    module: ClassVar[Any] = pickle

    def call(self) -> object:
        return self.module.loads(self.module.dumps([1, 2]))

    def failing_call(self) -> object:
        return self.module.dumps({"lock": threading.Lock()})


class TestCloudpickle(TestPickle):
    """The same of the other library."""

    probe = CloudpickleProbe
    module = cloudpickle


def test_in_band_bytes_are_the_length_of_the_pickle() -> None:
    """The size of a pickle is what was written, and all of it was copied."""
    values = list(range(10_000))

    data, trace = recorded(lambda: pickle.dumps(values))

    assert row(trace, "pickle.dumps").size_bytes == len(data)
    assert row(trace, "pickle.dumps").copied_bytes == len(data)
    assert detail(trace, "pickle.dumps", "buffers") == 0


def test_out_of_band_buffers_are_counted_and_not_called_copied() -> None:
    """Buffers that are handed over appear with their number and exact size, on both ways."""
    arrays = [np.arange(1_000), np.arange(2_000)]
    buffers: list[pickle.PickleBuffer] = []

    with record("out of band") as recording:
        data = pickle.dumps(arrays, protocol=5, buffer_callback=buffers.append)
        again = pickle.loads(data, buffers=buffers)

    trace = recording.trace
    assert [len(array) for array in again] == [1_000, 2_000]
    for stage in ("pickle.dumps", "pickle.loads"):
        assert detail(trace, stage, "buffers") == 2
        assert detail(trace, stage, "out_of_band_bytes") == 24_000
        assert detail(trace, stage, "in_band_bytes") == len(data)
        assert row(trace, stage).copied_bytes == len(data)


def test_buffers_that_the_callback_keeps_in_band_are_not_counted() -> None:
    """A callback that answers True leaves the buffer in the pickle, and so does the document."""
    array = np.arange(1_000)

    data, trace = recorded(lambda: pickle.dumps(array, protocol=5, buffer_callback=lambda _: True))

    assert detail(trace, "pickle.dumps", "out_of_band_bytes") == 0
    assert detail(trace, "pickle.dumps", "in_band_bytes") == len(data) > 8_000


def test_buffers_from_an_iterator_reach_loads_untouched() -> None:
    """Noting sizes does not use up buffers that can be read only once; their size is unknown."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(np.arange(100), protocol=5, buffer_callback=buffers.append)

    again, trace = recorded(lambda: pickle.loads(data, buffers=iter(buffers)))

    assert again.sum() == 4_950
    assert [span.size_bytes for span in spans(trace, "pickle.loads")] == [None]
    assert detail(trace, "pickle.loads", "in_band_bytes") == len(data)


def test_files_are_seen() -> None:
    """Dump and load on a file have their spans; their sizes are unknown, not zero."""
    file = io.BytesIO()

    with record("files") as recording:
        pickle.dump([1, 2, 3], file)
        file.seek(0)
        assert pickle.load(file) == [1, 2, 3]

    assert row(recording.trace, "pickle.dumps").size_bytes is None
    assert row(recording.trace, "pickle.loads").count == 1


class _Plain:
    def __init__(self) -> None:
        self.array = np.arange(5_000)[::2]

    def method(self) -> int:
        return int(self.array.sum())


def _table() -> dict[str, object]:
    return {
        "numbers": [1, 2.5, None, True, 10**30],
        "nested": {"tuple": (1, ("a", b"b")), "set": frozenset({1})},
        "array": np.arange(10_000.0),
        "objects": np.array([{"a": 1}, None], dtype=object),
        "frame": pd.DataFrame({"text": ["a", "b"], "number": [1, 2]}),
        "instance": _Plain(),
        "method": _Plain().method,
        "function": _table,
        "module function": pickle.loads,
    }


@pytest.mark.parametrize("name", [*_table()])
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps], ids=["pickle", "cloudpickle"])
def test_the_bytes_of_a_pickle_are_the_same_while_recording(
    dumps: Callable[[object], bytes], name: str
) -> None:
    module = importlib.import_module(dumps.__module__.replace("_pickle", "pickle"))
    value = _table()[name]
    bare = module.dumps(value)

    with record("same bytes"):
        armed = module.dumps(value)

    assert armed == bare


def test_the_bytes_of_a_closure_are_the_same_while_recording() -> None:
    """A function that uses the modules pickle and cloudpickle is pickled as ever."""

    def both(value: object) -> int:
        return len(pickle.dumps(value)) + len(cloudpickle.dumps(value))

    bare = cloudpickle.dumps(both)

    armed, _ = recorded(lambda: cloudpickle.dumps(both))

    assert armed == bare


def test_a_function_taken_while_recording_travels_as_the_original() -> None:
    """``dumps`` taken during a recording arrives as the library's own function."""
    with record("hook travels"):
        taken = pickle.dumps
        data = cloudpickle.dumps(taken)

    arrived = pickle.loads(data)

    assert arrived is pickle.dumps
    assert taken is not pickle.dumps
    assert taken([1]) == pickle.dumps([1])


def test_a_name_typed_in_the_notebook_is_seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """``from pickle import loads`` is one call although cloudpickle shares the same function."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "loads", pickle.loads, raising=False)
    data = pickle.dumps([1, 2, 3])

    _, trace = recorded(lambda: main.loads(data))

    assert len(spans(trace, "pickle.loads")) == 1


@pytest.mark.parametrize("module", ["cloudpickle", "cloudpickle.cloudpickle"])
def test_cloudpickle_is_seen_under_both_of_its_names(module: str) -> None:
    """Libraries take dumps from either module; a call is one span."""
    dumps = importlib.import_module(module)

    data, trace = recorded(lambda: dumps.dumps([1, 2, 3]))

    assert [span.size_bytes for span in spans(trace, "pickle.dumps")] == [len(data)]


def test_libraries_that_hold_a_function_by_name_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no hook can see is listed in quality by the name of its holder."""
    holder: Any = type(sys)("holder_of_dumps")
    holder.dumps = pickle.dumps
    monkeypatch.setitem(sys.modules, "holder_of_dumps", holder)

    _, trace = recorded(lambda: holder.dumps([1]))

    assert any("holder_of_dumps" in entry for entry in probe(trace, "pickle").unseen)
    assert spans(trace, "pickle.dumps") == []
