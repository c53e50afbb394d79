"""The parts of a sweep: its plan, one run out of many, lean recordings, memory."""

import math
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from jupyter_serprof.analysis import analyse
from jupyter_serprof.capture import machine
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.capture.recorder import active_recorders
from jupyter_serprof.experiments.engine import machine as sweep_memory
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.machine import MemoryGuard
from jupyter_serprof.experiments.engine.order import expected, log_spaced
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.engine.runs import one_of
from jupyter_serprof.experiments.roundtrip.transport import TransportRuns
from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS
from jupyter_serprof.experiments.sizes.document import Cell
from jupyter_serprof.experiments.sizes.sweep import SizeSweep
from jupyter_serprof.model import Trace
from jupyter_serprof.testing import make_trace

DUMPS, LOADS, MAIN = "pickle.dumps", "pickle.loads", "client/main"


def a_loop(lengths_ms: list[float], *, extra: list[tuple[object, ...]] | None = None) -> Trace:
    """Return a recording of runs: dumps, loads of half its length, a gap of 1 ms between runs."""
    spans: list[tuple[object, ...]] = []
    at = 0.0
    for length in lengths_ms:
        spans += [(DUMPS, MAIN, at, length), (LOADS, MAIN, at + length, length / 2)]
        at += 1.5 * length + 1
    return make_trace([*spans, *(extra or [])])


def test_sizes_are_equally_far_apart_and_whole_where_the_ends_are() -> None:
    whole, broken, dense = log_spaced(1e3, 1e8, 12), log_spaced(0.5, 8, 5), log_spaced(1, 5, 50)

    assert (whole[0], whole[-1], len(whole)) == (1000, 100_000_000, 12)
    assert all(isinstance(size, int) for size in whole)
    assert broken == pytest.approx((0.5, 1, 2, 4, 8))
    assert dense == (1, 2, 3, 4, 5)


def test_what_a_size_will_cost_follows_the_smaller_ones() -> None:
    """Nothing before the first; proportional after one; then the line, which never falls."""
    assert expected({}, 10) is None
    assert expected({10: 2.0}, 10) == 2.0
    assert expected({10: 2.0}, 100) == 20.0
    assert expected({10: 2.0}, 100, slowest=0.01) == pytest.approx(2.9)
    assert expected({10: 2.0, 20: 3.0}, 100) == pytest.approx(11.0)
    assert expected({10: 3.0, 20: 2.0}, 100) == 2.0


@pytest.mark.parametrize(("bare_ns", "gap_ns"), [(math.inf, 1_000_000), (6_250_000, 250_000)])
def test_the_run_of_median_length_stands_for_the_others(bare_ns: float, gap_ns: int) -> None:
    """Its waterfall adds up to one run, from the end of the run before to its own end."""
    # What recording took between the spans is no part of it: a round trip of a microsecond was told
    # as nine; spans keep their length and their order.
    alone = one_of(a_loop([9.0, 6.0, 2.0, 4.0]), 4, bare_ns)

    assert alone is not None
    assert alone.wall_ns == gap_ns + 6_000_000
    assert [(s.stage, s.start_ns, s.duration_ns) for s in alone.spans] == [
        (DUMPS, gap_ns, 4_000_000),
        (LOADS, gap_ns + 4_000_000, 2_000_000),
    ]
    assert alone.waterfall is not None
    assert [row.self_ns for row in alone.waterfall.rows] == [4_000_000, 2_000_000]
    assert alone.waterfall.unaccounted_ns == gap_ns


@pytest.mark.parametrize(
    ("trace", "loops"),
    [
        (a_loop([2.0, 2.0]), 3),
        (a_loop([2.0, 2.0], extra=[(DUMPS, "client/thread 1", 0, 1)]), 5),
        (a_loop([2.0, 2.0], extra=[(DUMPS, MAIN, 90, 1), (DUMPS, MAIN, 99, 1)]), 3),
    ],
)
def test_runs_that_are_not_alike_are_not_told_apart(trace: Trace, loops: int) -> None:
    """Then there is no such recording, and none is invented."""
    assert one_of(trace, loops) is None


def test_without_spans_the_mean_run_stands_for_all() -> None:
    """Code of which no stage is seen has no ends, and nothing to draw but its time."""
    alone = one_of(make_trace([], wall_ms=1), 4)

    assert alone is not None
    assert (alone.wall_ns, alone.spans) == (250_000, ())


def test_an_interrupt_before_the_first_line_of_the_exit_leaves_no_hook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A signal is served where a function begins, too: then that function did nothing."""
    monkeypatch.setattr(Recording, "__exit__", Mock(side_effect=KeyboardInterrupt))

    with pytest.raises(KeyboardInterrupt):
        TransportRuns(key="pickle").run(TRANSPORTS["pickle"](), [1], detail=False)

    assert armed_places() == []
    assert active_recorders() == ()


def test_garbage_collection_belongs_to_no_run() -> None:
    """It comes when it comes; the runs are told apart all the same."""
    alone = one_of(a_loop([2.0, 2.0, 2.0], extra=[("gc", MAIN, 3.2, 0.5)]), 3)

    assert alone is not None


def test_a_lean_recording_keeps_its_totals() -> None:
    """Fewer spans and pieces; the waterfall and its sums are the same."""
    collections = [("gc", MAIN, 1 + 2 * at, 0.1 + at / 1000, None, 0) for at in range(40)]
    trace = analyse(make_trace([(DUMPS, MAIN, 0, 100), *collections]))

    lean = Cell(key="pickle").kept(trace)

    assert trace.waterfall is not None
    assert lean.waterfall is not None
    assert len(lean.spans) == 12
    assert all(len(row.pieces) <= 8 for row in lean.waterfall.rows)
    assert [r.self_ns for r in lean.waterfall.rows] == [r.self_ns for r in trace.waterfall.rows]
    assert lean.spans[0].stage == DUMPS
    assert {span.parent for span in lean.spans[1:]} == {0}
    assert lean.waterfall.unaccounted_ns == trace.waterfall.unaccounted_ns


def test_the_guard_counts_copies_and_what_objects_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """In-band: the bytes and the result; Ray: its store, too; a list holds more than its size."""
    monkeypatch.setattr(sweep_memory, "available_bytes", lambda: 10_000_000)
    oob, in_band, ray = (
        MemoryGuard(keys) for keys in (("pickle-oob",), ("pickle", "pickle-oob"), ("ray", "pickle"))
    )
    copies = [guard.copies for guard in (oob, in_band, ray)]

    in_band.learn(2_000_000, 8_000_000)
    in_band.learn(1000, 50_000_000)

    assert copies == [1.0, 3.0, 5.0]
    assert in_band.copies == 9.0
    assert oob.problem(8_000_000) == ""
    assert "sizes up to 8.00 MB fit" in oob.problem(8_000_001)
    assert oob.problem(None) == ""


@pytest.mark.parametrize(
    ("key", "size_bytes", "fits"), [("ray", 900, False), ("ray", 800, True), ("pickle", 900, True)]
)
def test_rays_store_bounds_what_goes_through_ray(
    monkeypatch: pytest.MonkeyPatch, key: str, size_bytes: int, *, fits: bool
) -> None:
    """Beyond it Ray would spill to disk, which is another measurement."""
    monkeypatch.setitem(sys.modules, "ray", a_ray(4000.0, {"object_store_memory": 1000.0}))

    problem = MemoryGuard(("ray",)).store_problem(key, size_bytes)

    assert (problem == "") is fits
    assert fits or "what is free of Ray's store, 1.00 kB" in problem


def a_ray(store_bytes: float, free: dict[str, float]) -> object:
    return SimpleNamespace(
        is_initialized=lambda: True,
        cluster_resources=lambda: {"object_store_memory": store_bytes},
        available_resources=lambda: free,
    )


@pytest.mark.parametrize(
    ("free_bytes", "keys", "stages", "said"),
    [
        ((1e9, 1e6), ("code",), ["ray.store"], "up to 800 kB fit: 1.00 MB of Ray's store are free"),
        ((1e9, None), ("code",), ["ray.store"], "up to 0 B fit: 0 B of Ray's store are free"),
        ((1e9, 1e6), ("code",), ["pickle.dumps"], "up to 267 MB fit: 1.00 GB of memory are free"),
        ((1e6, 1e9), ("code",), ["ray.store"], "up to 267 kB fit: 1.00 MB of memory are free"),
        ((1e9, 1e6), ("ray",), [], "up to 800 kB fit: 1.00 MB of Ray's store"),
        ((1e9, 1e6), ("ray", "pickle"), [], "up to 160 MB fit: 1.00 GB of memory are free"),
    ],
)
def test_the_smaller_of_memory_and_rays_store_is_the_bound(
    monkeypatch: pytest.MonkeyPatch,
    free_bytes: tuple[float, float | None],
    keys: tuple[str, ...],
    stages: list[str],
    said: str,
) -> None:
    """Code that goes through Ray, and Ray alone; beside others Ray is left out where it is full."""
    memory_bytes, free = free_bytes
    ray = a_ray(2e9, {} if free is None else {"object_store_memory": free})
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(sweep_memory, "available_bytes", lambda: int(memory_bytes))
    guard = MemoryGuard(keys)

    guard.learn_stages(stages)

    assert said in guard.bound
    assert guard.problem((guard.most_bytes or 0) + 1).endswith(guard.bound)
    assert guard.problem(guard.most_bytes) == ""


def test_nobody_is_stopped_where_nobody_can_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_memory, "available_bytes", lambda: None)

    guard = MemoryGuard(("pickle",))

    assert (guard.most_bytes, guard.bound, guard.problem(1e18)) == (None, "", "")


def test_a_container_has_less_memory_than_its_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "_GROUP", tmp_path)
    monkeypatch.setattr(machine, "free_memory_bytes", lambda: 5000)
    (tmp_path / "memory.current").write_text("400\n")

    found = []
    for limit in ("1000\n", "max\n", "100\n"):
        (tmp_path / "memory.max").write_text(limit)
        found.append(machine.available_bytes())

    assert found == [600, 5000, 0]


def test_unknown_costs_are_no_cost() -> None:
    """A budget without an end is infinite; a cost nobody knows stops nothing."""
    from jupyter_serprof.experiments.engine.order import Budget

    assert Budget(None).left_s == math.inf
    assert Budget(1.0).problem(None) == ""
    assert "would take about 5.00 s" in Budget(1.0).problem(5.0)


def test_the_guard_of_code_learns_which_stages_its_first_runs_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the code names: what was seen tells whether Ray's store takes part."""
    seen: list[set[str]] = []
    monkeypatch.setattr(MemoryGuard, "learn_stages", lambda _, stages: seen.append(set(stages)))

    run(SizeSweep(lambda n: pickle.dumps(b"x" * int(n)), [1000, 2000], repeat=1, code=True))

    assert len(seen) == 2
    assert all("pickle.dumps" in stages for stages in seen)
