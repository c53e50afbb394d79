"""The control: fixed work between the runs, which the user's program does not notice."""

import json
import mmap
import pickle
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace

import pytest
from made_runs import repeats_of
from pythons import python

import jupyter_serprof as sp
from jupyter_serprof.experiments.engine import machine as control_of
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.machine import EACH, FEWEST, MOST, REST, MachineCheck
from jupyter_serprof.experiments.graphs.repeats import is_here
from jupyter_serprof.model import Sweep, from_document, to_document
from jupyter_serprof.testing import TickClock

KINDS = {"copy", "pages", "pickle"}
MS = 1_000_000


def runs_of(call: Callable[[], object], repeat: int) -> Sweep:
    return run(repeats_of(call, repeat))


def pickled() -> object:
    return pickle.dumps([1])


@pytest.fixture
def bursts(monkeypatch: pytest.MonkeyPatch) -> TickClock:
    """Let each time of the control take 1 ms on a clock that nothing else moves."""
    clock = TickClock()

    def timed(_: object) -> dict[str, int]:
        clock.advance_ms(1)
        return {"pickle": MS}

    monkeypatch.setattr(control_of, "_timed", timed)
    monkeypatch.setattr(control_of, "time", SimpleNamespace(perf_counter_ns=clock))
    return clock


def due(runs: int, each_ns: int) -> list[int]:
    """Return before which of so many equal runs the control was timed; the last is after them."""
    control, found, known = MachineCheck(runs), [], 0
    for number in range(runs + 1):
        control.measure(number, each_ns if number else 0)
        times = len(control.times_ns.get("pickle", ()))
        if times > known:
            found.append(number)
        assert times - known in {0, EACH}
        known = times
    return found


def test_the_document_keeps_what_was_timed_beside_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five times of each kind before the first run, and after the last one."""
    # Runs that are short, also if the machine holds one up.
    monkeypatch.setattr(control_of, "REST", 10**9)

    sweep = runs_of(pickled, 6)
    again = from_document(json.loads(json.dumps(to_document(sweep))))

    assert set(sweep.control) == KINDS
    assert {len(times) for times in sweep.control.values()} == {2 * EACH}
    assert all(time > 0 for times in sweep.control.values() for time in times)
    assert isinstance(again, Sweep)
    assert again.control == sweep.control


@pytest.mark.usefixtures("bursts")
@pytest.mark.parametrize(
    ("runs", "each_ns", "expected"),
    [
        # What it leaves in the caches would be a part of the times of short runs.
        *((runs, 10_000, [0, runs]) for runs in (FEWEST, 15, 1000)),
        (15, REST * EACH * MS, list(range(16))),
        (15, REST * EACH * MS // 2, [0, *range(2, 16, 2), 15]),
        (15, REST * EACH * MS // 20, [0, 15]),
    ],
)
def test_long_runs_have_it_where_it_is_a_twentieth_of_them(
    runs: int, each_ns: int, expected: list[int]
) -> None:
    """Runs that take as long as twenty of its times have it before each one, short ones never."""
    assert due(runs, each_ns) == expected


@pytest.mark.usefixtures("bursts")
@pytest.mark.parametrize("runs", [15, 100, 1000])
def test_there_are_few_however_many_runs_there_are(runs: int) -> None:
    """A document of 1000 long runs stays small, and has them evenly."""
    found = due(runs, each_ns=1000 * MS)

    assert len(found) <= MOST + 2
    gaps = [late - early for early, late in pairwise(found)]
    assert max(gaps) <= 2 * runs / MOST


@pytest.mark.parametrize("repeat", [1, FEWEST - 1])
def test_where_no_verdict_is_possible_there_is_none(repeat: int) -> None:
    """A single run is not made longer, and its document says nothing new."""
    sweep = runs_of(pickled, repeat)

    assert sweep.control == {}
    assert "control" not in to_document(sweep)


def test_a_single_run_makes_no_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MachineCheck, "measure", lambda *_: pytest.fail("one run has none"))

    _, trace = sp.profile(pickled)

    assert trace.outcome == "ok"


def test_it_stands_outside_of_every_recording() -> None:
    """Neither a run nor a recording around all of them sees its pickles."""
    with sp.record() as outer:
        sweep = runs_of(pickled, 5)

    sizes = {span.size_bytes for span in outer.trace.spans if span.stage == "pickle.dumps"}
    assert sizes == {len(pickle.dumps([1]))}
    assert all(point.moved_bytes == len(pickle.dumps([1])) for point in sweep.points)


@pytest.mark.parametrize("error", [OSError, MemoryError, ValueError])
def test_it_never_fails_the_run(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without memory for it the document has none, and a comparison says so as before."""
    blocks = iter(range(100))

    def refuse(*_: object, **__: object) -> object:
        if next(blocks) == 5:
            raise error
        return real(-1, 4096)

    real = mmap.mmap
    monkeypatch.setattr(control_of, "_BLOCK_BYTES", 4096)
    monkeypatch.setattr(control_of, "_NEW_BYTES", 4096)
    monkeypatch.setattr(mmap, "mmap", refuse)

    sweep = runs_of(pickled, 6)

    assert len(sweep.points) == 7
    assert sweep.control == {}


def test_an_interrupt_in_it_stops_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is the user's, whatever it meets; what was measured stays."""
    calls = iter(range(100))

    def interrupted(_: object) -> int:
        if next(calls) == len(KINDS) * (1 + EACH):  # the first one after the runs
            raise KeyboardInterrupt
        return 1

    monkeypatch.setattr(control_of, "_duration_ns", interrupted)
    repeats = repeats_of(pickled, 9)

    with pytest.raises(KeyboardInterrupt):
        run(repeats)

    assert len(repeats.document.points) == 10
    assert repeats.document.control == dict.fromkeys(KINDS, (1,) * EACH)
    assert from_document(to_document(repeats.document)).name == "f()"


def test_the_garbage_collector_is_left_alone() -> None:
    """It neither runs because of it, nor is it switched or frozen."""
    # A process of its own, where nobody else makes objects meanwhile.
    script = """
import gc
from jupyter_serprof.experiments.engine.machine import MachineCheck
control = MachineCheck(9)
state = lambda: (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())
collections = lambda: [entry["collections"] for entry in gc.get_stats()]
before = state()
gc.collect()
counted = collections()
for number in range(10):
    control.measure(number)
print(len(control.times_ns["pickle"]), collections() == counted, state() == before)
"""

    assert python(script).split() == [str(2 * EACH), "True", "True"]


def test_its_document_stays_small() -> None:
    assert len(json.dumps(to_document(runs_of(pickled, 15))["control"])) < 800


class _Client:
    """A client whose scheduler says where it listens; None: it was closed."""

    def __init__(self, address: str | None) -> None:
        self.address = address

    def scheduler_info(self) -> dict[str, str]:
        if self.address is None:
            raise OSError
        return {"address": self.address}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        *(("tcp://127.0.0.1:8786", True), ("tls://[::1]:8786", True)),
        *(("inproc://10.0.0.3/12/1", True), ("tcp://10.0.0.3:8786", False)),
        *(("tcp://scheduler:8786", False), (None, False)),
    ],
)
def test_workers_elsewhere_have_no_control_here(address: str | None, *, expected: bool) -> None:
    """What this machine does says nothing about theirs."""
    assert is_here(_Client(address)) is expected
    assert is_here(None)
