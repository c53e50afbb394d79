"""What goes wrong in the user's code goes wrong as it would without us, and is documented."""

import importlib
import signal
import sys
import textwrap
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from pythons import python

from clusters.seen import has_row, recorded, row, spans, trace_of
from jupyter_serprof.api import record
from jupyter_serprof.capture.patching import armed_places

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


@pytest.mark.parametrize("send", [ray.put, lambda cfg: ray.remote(lambda _: 1).remote(cfg)])
def test_an_unpicklable_object_raises_what_ray_raises(
    send: Callable[[object], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Type and message are Ray's; the time until it failed is in the document, and the path."""
    cfg = {"lr": 0.1, "jobs": [{"lk": threading.Lock()}]}
    monkeypatch.setattr(sys.modules["__main__"], "cfg", cfg, raising=False)
    with pytest.raises(TypeError) as bare:
        send(cfg)

    with pytest.raises(TypeError) as armed, record("unpicklable") as recording:
        send(cfg)

    assert str(armed.value) == str(bare.value)
    trace = trace_of(recording)
    assert trace.outcome == "error"
    top = spans(trace, "ray.store" if send is ray.put else "ray.submit")[0]
    assert (top.details or {})["error"] == "TypeError"
    assert trace.findings[0].title == "`cfg['jobs'][0]['lk']` cannot be pickled"


def test_an_object_larger_than_the_store_ends_as_it_does_bare() -> None:
    """600 MB into 500 MB: Ray falls back to disk or refuses, with us as without us."""
    value = np.zeros(600_000_000 // 8)

    def outcome() -> tuple[str, Any]:
        try:
            return "ok", ray.get(ray.put(value)).nbytes
        except Exception as error:  # noqa: BLE001  (which one is Ray's choice)
            return type(error).__name__, None

    bare = outcome()

    armed, trace = recorded(outcome)

    assert armed == bare
    assert row(trace, "ray.store").self_ns > 0
    if armed[0] == "ok":
        assert (row(trace, "ray.store").size_bytes or 0) > value.nbytes


def test_a_get_that_times_out_raises_and_is_a_wait(tmp_path: Path) -> None:
    """GetTimeoutError passes through; the time until then is waiting."""
    may_end = tmp_path / "may end"

    @ray.remote
    def slow() -> None:
        while not may_end.exists():
            time.sleep(0.01)

    reference = slow.remote()

    with pytest.raises(ray.exceptions.GetTimeoutError), record("timeout") as recording:
        ray.get(reference, timeout=0.2)

    may_end.touch()
    trace = trace_of(recording)
    assert trace.outcome == "error"
    (wait,) = spans(trace, "ray.fetch")
    assert wait.duration_ns >= 190e6
    # Who waits for a task that was sent before waits for it to execute.
    rows = trace.waterfall.rows if trace.waterfall else ()
    assert sum(each.self_ns for each in rows if each.stage.startswith("ray.")) >= 190e6
    ray.get(reference)


def test_a_task_that_raises_keeps_its_road() -> None:
    """The error reaches the user as ever; the document shows where the task had been."""

    @ray.remote
    def fail() -> None:
        message = "no such luck"
        raise ValueError(message)

    with pytest.raises(ValueError, match="no such luck"), record("raises") as recording:
        ray.get(fail.remote())

    trace = trace_of(recording)
    assert trace.outcome == "error"
    assert has_row(trace, "ray.execute")


def _press_when_it_runs(task_id: bytes) -> None:
    """Press Ctrl-C when Ray knows that a task runs, and this process waits for it."""
    from ray._private.state import state

    names: Any = importlib.import_module("ray.core.generated.common_pb2")
    running = names.TaskStatus.Value("RUNNING")
    while not any(
        task.task_id == task_id and running in task.state_updates.state_ts_ns
        for task in state._get_all_task_events()
    ):
        time.sleep(0.05)
    main = threading.main_thread().ident or 0
    while not {"get_objects", "_timed_wait"} & set(_names_in(sys._current_frames()[main])):
        time.sleep(0.01)
    time.sleep(1.5)
    signal.raise_signal(signal.SIGINT)


def _names_in(frame: types.FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back


@pytest.mark.parametrize("detail", [False, True], ids=["plain", "detail"])
def test_an_interrupt_while_waiting_keeps_what_was_seen(detail: bool) -> None:
    """Stop in the middle of ray.get: interrupted, spans kept, everything removed."""

    @ray.remote
    def never_done() -> None:
        time.sleep(600)

    recording = record("interrupt", detail=detail)
    references = []

    def run() -> None:
        with recording:
            references.append(never_done.remote())
            task_id = references[0].task_id().binary()
            threading.Thread(target=_press_when_it_runs, args=(task_id,)).start()
            ray.get(references)

    with pytest.raises(KeyboardInterrupt):
        run()
    trace = trace_of(recording)
    ray.cancel(references[0], force=True)

    assert armed_places() == []
    assert trace.outcome == "interrupted"
    assert trace.summary is not None
    assert " until stopped: " in trace.summary.headline
    waited = spans(trace, "ray.wait" if detail else "ray.fetch")
    assert max(span.duration_ns for span in waited) > 1e9
    # The one before was cancelled, and may have been on its way when this one began.
    assert spans(trace, "ray.execute")[-1].end_ns == trace.wall_ns


_HEAD = """
import sys
from jupyter_serprof.api import record
from jupyter_serprof.capture.patching import armed_places

def start():
    import ray
    ray.init(address=sys.argv[1], log_to_driver=False)

def report(recording):
    trace = recording.trace
    assert armed_places() == []
    rows = {row.stage: row for row in trace.waterfall.rows}
    owned = sum(row.self_ns for row in rows.values())
    assert owned + trace.waterfall.unaccounted_ns == trace.wall_ns
    (ray_probe,) = [p for p in trace.quality.probes if p.name == "ray"]
    return rows, ray_probe
"""


def test_ray_may_be_started_and_shut_down_while_recording() -> None:
    """A cell that imports Ray, starts it and uses it is seen from the first put on."""
    # What was seen before a shutdown stays; a Ray that does not run is neither asked nor started.
    address = ray.get_runtime_context().gcs_address
    code = """
    with record("all in one") as recording:
        import ray
        start()
        value = ray.get(ray.put(b"x" * 1_000_000))
    rows, probe = report(recording)
    assert probe.state == "armed" and probe.level == "pickle", probe
    assert rows["ray.store"].size_bytes == 1_000_000
    assert rows["import"].self_ns > 0

    @ray.remote
    def one():
        return 1

    with record("shut down inside") as recording:
        ray.get(ray.put(b"x" * 1_000_000))
        ray.get(one.remote())
        ray.shutdown()
        start()  # the agent comes to each job
        assert ray.get(one.remote()) == 1
        ray.shutdown()
    rows, probe = report(recording)
    assert rows["ray.store"].size_bytes == 1_000_000
    assert "agent + events: 2 of 2 tasks seen" in probe.level, probe  # read before it was left

    start()
    assert ray.get(one.remote()) == 1
    ray.shutdown()

    import pickle
    with record("no cluster") as recording:
        pickle.dumps([1])
    rows, probe = report(recording)
    assert not ray.is_initialized()
    assert rows["pickle.dumps"].count == 1
    print("seen, kept, quiet")
    """
    said = python(_HEAD + textwrap.dedent(code), address)

    assert said.splitlines()[-1] == "seen, kept, quiet"
