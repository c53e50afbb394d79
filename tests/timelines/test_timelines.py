"""Timelines of Ray and Dask as documents: what is in them is shown, what is not is said."""

import json
from pathlib import Path
from typing import Any

import pytest

import jupyter_serprof as sp
from jupyter_serprof.model import DocumentError, Trace, from_document, to_document
from jupyter_serprof.testing import make_trace

DATA = Path(__file__).parents[1] / "data"
RAY, DASK = DATA / "ray-timeline.json", DATA / "dask-task-stream.json"
US, MS = 1_000, 1_000_000


def loaded(path: Path) -> Trace:
    trace = sp.load(path)
    assert isinstance(trace, Trace)
    return trace


def placed(trace: Trace) -> list[tuple[str, str, str, int, int]]:
    return [
        (span.stage, span.name, span.lane, span.start_ns, span.duration_ns)
        for span in trace.spans
        if span.name != "caller"
    ]


def test_a_timeline_of_ray_becomes_the_road_of_its_tasks() -> None:
    """Named by their tasks, on numbered workers, from the first event on."""
    trace = loaded(RAY)

    assert placed(trace) == [
        ("ray.submit", "submit_task", "client/main", 0, 500 * US),
        ("ray.arguments", "double", "worker 1", 1 * MS, 4 * MS),
        ("ray.execute", "double", "worker 1", 5 * MS, 2 * MS),
        ("ray.outputs", "double", "worker 1", 7 * MS, 1500 * US),
        ("ray.submit", "submit_task", "client/main", 9 * MS, 100 * US),
        ("ray.execute", "execute", "worker 2", 9500 * US, 500 * US),
    ]
    assert (trace.wall_ns, trace.started) == (10 * MS, "2001-09-09T01:46:40.000Z")


def test_the_steps_of_workers_own_the_time_that_the_caller_waits() -> None:
    """The waterfall adds up; the wait is assumed, and the document says so."""
    trace = loaded(RAY)

    assert {span.parent for span in trace.spans if span.stage == "ray.submit"} == {0}
    assert trace.waterfall is not None
    owned = {row.stage: row.self_ns for row in trace.waterfall.rows}
    assert owned == {
        "ray.submit": 600 * US,
        "ray.arguments": 4 * MS,
        "ray.execute": 2500 * US,
        "ray.outputs": 1500 * US,
        "ray.wait": 1400 * US,
    }
    assert trace.waterfall.unaccounted_ns == 0
    assert "it is taken to wait" in trace.quality.notes[0]
    assert from_document(to_document(trace)) == trace


def test_a_task_stream_of_dask_becomes_execution_transfer_and_spill() -> None:
    """Keys without their hashes, transfers beside the threads, the pickled type left alone."""
    trace = loaded(DASK)

    assert placed(trace) == [
        ("dask.execute", "ones_like", "worker 1/thread 1", 0, 4 * MS),
        ("dask.transfer", "sum-aggregate", "worker 2/transfer", 4 * MS, 2 * MS),
        ("dask.execute", "sum-aggregate", "worker 2/thread 1", 6 * MS, 3 * MS),
        ("dask.spill", "inc", "worker 1/disk", 8 * MS, 1 * MS),
        ("dask.execute", "deserialize", "worker 1/thread 2", 9 * MS, 500 * US),
        ("dask.execute", "inc", "worker 1/thread 2", 9500 * US, 500 * US),
    ]
    assert trace.spans[1].details == {"result_bytes": 80000}


def test_what_is_private_is_left_out() -> None:
    texts = [json.dumps(to_document(loaded(path))) for path in (RAY, DASK)]

    for word in ("192.0.2", "14000000000000", "00ff", "tcp:", "stimulus"):
        assert not any(word in text for text in texts)


def test_a_stream_that_was_never_saved_is_taken_as_it_is() -> None:
    """As the client returns it: tuples, bytes and keys of any kind."""
    record = {
        "key": ("x", 1), "worker": "tcp://a", "thread": 1, "nbytes": 8, "type": b"\x80\x05.",
        "startstops": ({"action": "compute", "start": 5.0, "stop": 6.0},),
    }  # fmt: skip

    trace = sp.import_timeline((record,), name="stream")

    assert (trace.name, trace.wall_ns) == ("stream", 10**9)
    assert placed(trace)[0][1] == "x"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "no event in it is known"),
        ([{"cat": "task:execute"}], "no event in it is known"),
        ([{"cat": {}, "ph": "X", "ts": 1, "dur": 1}], "no event in it is known"),
        ([1], "an event in it is no object"),
        ({"traceEvents": 5}, "which is no list of events"),
        ([{"cat": "task:execute", "ph": "X", "dur": 1}], "ts None, which is no time"),
        ([{"cat": "task:execute", "ph": "X", "ts": -1, "dur": 1}], "ts -1, which is no time"),
        ([{"cat": "task:execute", "ph": "X", "ts": 1, "dur": True}], "dur True, which is no time"),
        ([{"cat": "task:execute", "ph": "X", "ts": 1e300, "dur": 1}], "which is no time"),
        ([{"cat": "task:execute", "ph": "X", "ts": 1, "dur": 1e17}], "more than a year"),
        ([{"startstops": 3}], "startstops 3, which is no list"),
        ([{"startstops": ["x"]}], "the action 'x', which is no object"),
        ([{"startstops": [{"action": "compute", "start": 2, "stop": 1}]}], "stops before it"),
        ([{"startstops": [{"action": "compute", "start": "now"}]}], "start 'now', which is no"),
        ([{"startstops": []}], "no event in it is known"),
    ],
)
def test_a_damaged_timeline_is_an_error_with_what_is_wrong(
    tmp_path: Path, data: Any, said: str
) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(data), "utf-8")

    caught = []
    for read in (sp.load, sp.import_timeline):
        with pytest.raises(DocumentError) as error:
            read(path)
        caught.append(str(error.value))

    assert all(message.startswith("damaged.json: ") for message in caught)
    assert said in caught[0]
    assert "Give the file of ray.timeline(filename=...)" in caught[0]
    assert caught[0] == caught[1]


@pytest.mark.parametrize("text", ['[{"cat": "task:ex', "\x00", "{}", "3", '"x"', "[" * 100_000])
def test_a_file_that_is_no_timeline_is_no_traceback(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, "utf-8")

    for read in (sp.load, sp.import_timeline):
        with pytest.raises(DocumentError):
            read(path)

    with pytest.raises(DocumentError, match=r"cannot read missing.json: No such file"):
        sp.import_timeline(tmp_path / "missing.json")


def test_a_document_of_ours_that_is_damaged_says_so_itself(tmp_path: Path) -> None:
    path = tmp_path / "x.serprof.json"
    path.write_text('{"format": "serprof.trace", "version": 99, "traceEvents": []}', "utf-8")

    with pytest.raises(DocumentError, match="has version 99"):
        sp.load(path)


# Chrome traces


def test_what_we_write_for_perfetto_holds_all_spans_and_is_no_document(tmp_path: Path) -> None:
    """Every span with its stage, name, times and size; loading it says what to save instead."""
    trace = make_trace(
        [
            ("ray.submit", "client/main", 0, 5),
            ("pickle.dumps", "client/main", 1.000001, 2, 800, 0, {"protocol": 5}),
            ("ray.execute", "worker 1", 2, 4),
            ("ray.outputs", "worker 1", 4, 4),
            ("gc", "worker 1", 5, 0),
        ]
    )

    sp.save(trace, tmp_path / "x.trace.json")

    data = json.loads((tmp_path / "x.trace.json").read_text("utf-8"))
    events = [event for event in data["traceEvents"] if event["ph"] == "X"]
    seen = [
        (
            *(round(event[key] * 1_000) for key in ("ts", "dur")),
            *(event["cat"], event["args"]["call"], event["args"].get("size_bytes")),
        )
        for event in events
    ]
    assert sorted(seen, key=str) == sorted(
        [(s.start_ns, s.duration_ns, s.stage, s.name, s.size_bytes) for s in trace.spans], key=str
    )
    with pytest.raises(DocumentError, match="no event in it is known"):
        sp.load(tmp_path / "x.trace.json")


def test_events_of_one_thread_nest(tmp_path: Path) -> None:
    spans = [("ray.execute", "worker 1", at % 7 / 3, 1 + at % 5) for at in range(40)]
    sp.save(make_trace(spans), tmp_path / "x.trace.json")

    data = json.loads((tmp_path / "x.trace.json").read_text("utf-8"))

    events = [event for event in data["traceEvents"] if event["ph"] == "X"]
    assert len(events) == 40
    for one in events:
        for other in events:
            if (one["pid"], one["tid"]) == (other["pid"], other["tid"]):
                start, end = one["ts"], one["ts"] + one["dur"]
                first, last = other["ts"], other["ts"] + other["dur"]
                is_apart = end <= first + 1e-6 or last <= start + 1e-6
                is_inside = (start <= first and last <= end + 1e-6) or (
                    first <= start and end <= last + 1e-6
                )
                assert is_apart or is_inside


def test_a_chrome_trace_has_what_the_format_asks_for(tmp_path: Path) -> None:
    """Whole numbers as ids, times in us that are not negative, names of processes and threads."""
    trace = make_trace([("gc", "client/main", 0.5, 1), ("ray.execute", "worker 1", -1, 1)])

    sp.save(trace, tmp_path / "x.perfetto.json")
    data = json.loads((tmp_path / "x.perfetto.json").read_text("utf-8"))

    assert data["displayTimeUnit"] == "ms"
    assert data["otherData"]["wall_ns"] == trace.wall_ns
    events = data["traceEvents"]
    assert {event["ph"] for event in events} == {"X", "M"}
    assert all(isinstance(event[key], int) for event in events for key in ("pid", "tid"))
    times = {event["cat"]: (event["ts"], event["dur"]) for event in events if event["ph"] == "X"}
    assert times == {"ray.execute": (0, 1000), "gc": (1500, 1000)}
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert names == ["client/main", "worker 1"]
    processes = {event["pid"] for event in events if event["name"] == "process_name"}
    assert len(processes) == 2
