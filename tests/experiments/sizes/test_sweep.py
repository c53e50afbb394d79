"""The sweep: order, resume, Stop, budget, memory and drift; nothing that was measured is lost."""

import json
import pickle
from collections.abc import Callable, Sequence
from typing import Any, Self
from unittest.mock import Mock

import numpy as np
import pytest

from jupyter_serprof.experiments.engine import experiment as progress_module
from jupyter_serprof.experiments.engine import machine as sweep_memory
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.roundtrip import trip as roundtrip
from jupyter_serprof.experiments.roundtrip.transport import Transport
from jupyter_serprof.experiments.sizes.sweep import SizeSweep
from jupyter_serprof.model import Sweep, UsageError, from_document, to_document
from jupyter_serprof.testing import TickClock

SIZES = (1000, 10_000, 100_000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, set_clock: Callable[[TickClock], None]) -> TickClock:
    """Time passes only where a test says so, for budgets and for recordings."""
    made = TickClock(tick_ns=10)
    set_clock(made)
    start = Recording.start

    def started(self: Recording) -> None:
        self._recorder.now = made
        start(self)

    monkeypatch.setattr(Recording, "start", started)
    return made


class Ways:
    """Transports a, b, ... that a test scripts, and the order in which they ran."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, clock: TickClock) -> None:
        self.ran: list[tuple[str, int]] = []
        self.clock = clock
        self.known: dict[str, type[Transport]] = {}
        monkeypatch.setattr(roundtrip, "TRANSPORTS", self.known)
        monkeypatch.setattr(progress_module, "QUIET_S", 0.0)
        monkeypatch.setattr(progress_module, "BETWEEN_S", 0.0)
        monkeypatch.setattr(progress_module, "REST", 0)

    def add(
        self, key: str, each_ms: float = 2.0, before: Callable[[int], None] | None = None
    ) -> None:
        """Add one whose runs take so long, after ``before`` saw the number of bytes."""
        ways = self

        def trip(_: Transport, value: Any) -> object:
            ways.ran.append((key, len(value)))
            if before:
                before(len(value))
            data = pickle.dumps(value)
            ways.clock.advance_ms(each_ms)
            return pickle.loads(data)

        fields = {"key": key, "title": f"way {key}", "round_trip": trip}
        self.known[key] = type("Way", (Transport,), fields)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch, clock: TickClock) -> Ways:
    return Ways(monkeypatch, clock)


def of_bytes(sizes: Sequence[int] = SIZES, **options: Any) -> SizeSweep:
    return SizeSweep(lambda n: b"x" * int(n), sizes, **{"repeat": 2, "seed": 1} | options)


def valid(sweep: Sweep) -> Sweep:
    again = from_document(json.loads(json.dumps(to_document(sweep))))
    assert isinstance(again, Sweep)
    return again


def test_the_first_pass_is_cold_and_goes_up_and_later_ones_are_shuffled(ways: Ways) -> None:
    """Drift of the machine does not look like growth; the first picture is there at once."""
    ways.add("a")
    ways.add("b")
    sizes = tuple(1000 * 2**step for step in range(8))

    sweep = valid(run(of_bytes(sizes)))
    order = ways.ran

    first, *later = (order[at : at + 16] for at in (0, 16, 32))
    assert [size for _, size in first] == [size for size in sizes for _ in "ab"]
    for ran in later:
        assert sorted(ran) == sorted(first)
        assert [size for _, size in ran[::2]] == [size for _, size in ran[1::2]]
        assert [size for _, size in ran[::2]] != list(sizes)
    assert later[0] != later[1]
    assert order[0] == ("a", 1000)
    assert {key for key, _ in order[::2]} == {"a", "b"}
    assert all(p.cold == (p.repeat == 0) for p in sweep.points)


def test_the_order_is_that_of_the_seed_and_the_document_holds_it(ways: Ways) -> None:
    ways.add("a")
    ways.add("b")

    sweeps = [run(of_bytes(seed=seed)) for seed in (7, 7)]
    half = len(ways.ran) // 2

    assert ways.ran[:half] == ways.ran[half:]
    assert [sweep.environment["seed"] for sweep in sweeps] == [7, 7]


def test_the_document_is_complete_and_survives_a_file(ways: Ways) -> None:
    """Kind, parameter, points with bytes, one cold and one warm recording of each size, lines."""
    ways.add("a")

    sweep = run(of_bytes((1000, 4000, 16_000, 64_000), name="bytes", parameter="rows"))
    again = valid(sweep)

    assert again.points == sweep.points
    assert (again.kind, again.name, again.parameter) == ("sweep", "bytes", "rows")
    assert len(again.points) == 4 * 3
    assert {(p.size_bytes, p.parameter) for p in again.points} == {
        (size, size) for size in (1000, 4000, 16_000, 64_000)
    }
    assert all(p.moved_bytes and p.moved_bytes > (p.size_bytes or 0) for p in again.points)
    assert all(p.minor_faults is not None for p in again.points)
    assert len(again.traces) == 8
    assert again.fits == sweep.fits != ()
    assert again.variants[0].facts["equal"] is True


def test_one_size_that_fails_in_one_variant_leaves_all_others(ways: Ways) -> None:
    """The note says which size and why; the other variant and the other sizes are complete."""

    def fail(size: int) -> None:
        if size == 10_000:
            message = "no room"
            raise MemoryError(message)

    ways.add("a", before=fail)
    ways.add("b")

    sweep = valid(run(of_bytes()))

    counts = dict.fromkeys((("a", 10_000), ("b", 10_000), ("a", 1000)), 0)
    for point in sweep.points:
        at = (point.variant, point.size_bytes or 0)
        counts[at] = counts.get(at, 0) + 1
    assert counts[("a", 10_000)] == 0
    assert counts[("b", 10_000)] == counts[("a", 1000)] == counts[("a", 100_000)] == 3
    (note,) = sweep.variants[0].notes
    assert note.startswith("failed at 10.0 kB: MemoryError")
    assert sweep.variants[0].state == "ok"
    assert sweep.summary is not None
    assert any("failed at 10.0 kB" in fact for fact in sweep.summary.details)


def test_a_value_that_a_variant_refuses_is_a_skipped_row(ways: Ways) -> None:
    """Not tried, not failed: its reason is the row; one that is absent, or fails, has its own."""
    fail = Mock(side_effect=ValueError("never"))
    for key in "abcd":
        ways.add(key, before=fail if key == "d" else None)
    ways.known["a"].refuses = lambda *_: "only tables"  # type: ignore[method-assign]  # scripted
    ways.known["b"].state = lambda *_: ("not running", "Start it.")  # type: ignore[method-assign]  # the same

    sweep = valid(run(of_bytes()))

    *others, failed = [(v.state, v.reason) for v in sweep.variants]
    assert others == [("skipped", "only tables"), ("not running", "Start it."), ("ok", "")]
    assert failed[0] == "failed"
    assert failed[1].count("never") == 1
    assert {p.variant for p in sweep.points} == {"c"}


def test_a_maker_that_fails_at_one_size_leaves_the_others(ways: Ways) -> None:
    ways.add("a")

    def make(n: float) -> object:
        if n == 10_000:
            message = "bad size"
            raise ValueError(message)
        return b"x" * int(n)

    sweep = valid(run(SizeSweep(make, SIZES, repeat=1)))

    assert {p.size_bytes for p in sweep.points} == {1000, 100_000}
    assert any("n=10000" in note and "bad size" in note for note in sweep.quality.notes)
    with pytest.raises(LookupError):
        run(SizeSweep(Mock(side_effect=LookupError), SIZES, repeat=1))


def test_the_real_size_counts(ways: Ways) -> None:
    """A maker that gives other sizes than asked: points stand where the bytes are."""
    ways.add("a")

    sweep = valid(run(SizeSweep(lambda n: b"x" * (2 * int(n)), SIZES, repeat=1, is_bytes=True)))

    assert {p.size_bytes for p in sweep.points} == {2000, 20_000, 200_000}
    assert {p.parameter for p in sweep.points} == set(SIZES)
    assert any("not as large as asked" in note for note in sweep.quality.notes)


def test_two_sizes_with_the_same_bytes_are_measured_once(ways: Ways) -> None:
    ways.add("a")

    sweep = valid(run(SizeSweep(lambda n: b"x" * max(5000, int(n)), SIZES, repeat=1)))
    tiny = valid(run(SizeSweep(lambda _: b"x" * 5000, SIZES, repeat=1)))

    assert [(p.size_bytes, p.parameter) for p in sweep.points if p.cold] == [
        (5000, 1000),
        (10_000, 10_000),
        (100_000, 100_000),
    ]
    assert len(tiny.points) == 2
    assert any("as large as n=1000" in note for note in tiny.quality.notes)


def test_values_are_dropped_before_the_next_is_made(ways: Ways) -> None:
    alive = most = 0

    class Value(bytes):
        def __new__(cls, size: int) -> Self:
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            return super().__new__(cls, b"x" * size)

        def __reduce__(self) -> tuple[Any, ...]:
            return (bytes, (b"x" * len(self),))

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    ways.add("a")

    run(SizeSweep(lambda n: Value(int(n)), SIZES, repeat=2))

    assert (alive, most) == (0, 1)


def test_microseconds_are_measured_several_at_a_time(ways: Ways) -> None:
    """Wall time, stages and bytes are those of one run; the point says how many there were."""
    ways.add("a", each_ms=0.05)

    sweep = valid(run(of_bytes((1000,), repeat=3)))

    cold, *warm = sweep.points
    assert cold.loops is None
    assert {p.loops for p in warm} == {20}
    assert len(pickle.dumps(b"x" * 1000)) in {p.moved_bytes for p in warm}
    for point in warm:
        assert point.wall_ns == pytest.approx(50_000, rel=0.05)
        assert sum(point.stages.values()) <= point.wall_ns
    (trace,) = (entry.trace for entry in sweep.traces if not entry.cold)
    assert trace.wall_ns == pytest.approx(50_000, rel=0.05)
    assert [span.stage for span in trace.spans] == ["pickle.dumps", "pickle.loads"]


def test_the_budget_ends_it_and_says_so(ways: Ways, clock: TickClock) -> None:
    """A run that alone takes longer than what is left is skipped; the small ones are complete."""
    ways.add("a", before=lambda size: clock.advance_ms(size / 10))

    sweep = valid(run(of_bytes((1000, 10_000, 100_000, 1_000_000), repeat=3, budget_s=40)))

    counts = dict.fromkeys((1000, 10_000, 100_000, 1_000_000), 0)
    for point in sweep.points:
        counts[point.size_bytes or 0] += 1
    assert counts[1000] == 4
    assert counts[1_000_000] == 0
    assert any("1.00 MB: it would take about" in n for n in sweep.variants[0].notes)
    assert clock.now_ns / 1e9 < 60


def test_without_repeat_there_are_three_warm_runs_and_five_if_they_fit(
    ways: Ways, clock: TickClock
) -> None:
    """Default: three; two more where the budget allows."""
    ways.add("a", before=lambda _: clock.advance_ms(700))

    quick = run(of_bytes(repeat=None, budget_s=60))
    slow = run(of_bytes(repeat=None, budget_s=10))

    assert len(quick.points) == 3 * 6
    assert len(slow.points) == 3 * 4


def test_sizes_beyond_the_memory_are_left_out_before_they_are_made(
    ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways.add("a")
    monkeypatch.setattr(sweep_memory, "available_bytes", lambda: 1_000_000)
    made: list[float] = []

    def make(n: float) -> object:
        made.append(n)
        return b"x" * int(n)

    runner = SizeSweep(make, (1000, 100_000, 10_000_000), repeat=1)
    sweep = valid(run(runner))

    assert max(made) == 100_000
    assert {p.size_bytes for p in sweep.points} == {1000, 100_000}
    assert any("n=1e+07: left out for lack of memory" in note for note in sweep.quality.notes)
    assert any(
        "sizes up to 267 kB fit: 1.00 MB of memory are free" in n for n in sweep.quality.notes
    )
    assert runner.progress.bound.startswith("sizes up to 267 kB fit")


@pytest.mark.parametrize(
    ("repeat", "each_ms", "total", "made"),
    [(2, 2.0, 18, 18), (None, 2.0, 36, 36), (None, 1500.0, 36, 30), (None, 4000.0, 36, 14)],
)
def test_progress_counts_down(
    ways: Ways, repeat: int | None, each_ms: float, total: int, made: int
) -> None:
    """Done of one total and, once each size was measured, the time that is left, at any moment."""
    ways.add("a", each_ms)
    ways.add("b", each_ms)
    runner = of_bytes(repeat=repeat)
    seen = [runner.progress]
    runner_done: list[int] = []

    def tell(sweep: Sweep) -> None:
        seen.append(runner.progress)
        runner_done.append(len(sweep.points))

    run(runner, tell)
    seen.append(runner.progress)

    assert (seen[0].done, seen[0].left, seen[0].left_s) == (0, total, None)
    assert {p.done + p.left for p in seen[:made]} == {total}
    assert (seen[-1].done, seen[-1].left, seen[-1].left_s) == (made, 0, 0.0)
    assert [p.left_s is None for p in (seen[1], seen[-5])] == [True, False]
    short = "As many as fit into 60 s of measuring" if made < total else ""
    assert seen[-5].what == short
    assert runner_done[0] == 1


def test_code_is_timed_as_a_whole_and_stands_where_its_bytes_are(clock: TickClock) -> None:
    """One variant; the size is what moved in the first run of each number."""

    def call(n: float) -> object:
        clock.advance_ms(2)
        return pickle.loads(pickle.dumps(b"x" * int(n)))

    sweep = valid(run(SizeSweep(call, SIZES, code=True, name="f(n)", repeat=2)))

    assert [(v.key, v.title, v.state) for v in sweep.variants] == [("code", "f(n)", "ok")]
    assert {(p.parameter, p.size_bytes) for p in sweep.points} == {
        (n, len(pickle.dumps(b"x" * n))) for n in SIZES
    }
    assert len(sweep.points) == 9


def test_code_that_moves_the_same_bytes_is_measured_once(clock: TickClock) -> None:
    """Two numbers, one size: the second one is told, not mixed in."""

    def call(n: float) -> object:
        clock.advance_ms(n / 1000)
        return pickle.dumps(b"x" * 1000)

    sweep = valid(run(SizeSweep(call, SIZES, code=True, repeat=1)))

    assert {p.parameter for p in sweep.points} == {1000}
    assert any("moves as many bytes as n=1000" in n for n in sweep.variants[0].notes)


def test_code_of_which_nobody_saw_bytes_keeps_its_points(clock: TickClock) -> None:
    """It stands nowhere on the axis, and a note says why there are no lines."""
    sweep = valid(run(SizeSweep(lambda _: clock.advance_ms(1), SIZES, code=True, repeat=1)))

    assert {(p.size_bytes, p.parameter) for p in sweep.points} == {(None, n) for n in SIZES}
    assert any("nobody saw how many bytes moved" in note for note in sweep.quality.notes)
    assert sweep.fits == ()
    assert [variant.title for variant in sweep.variants] == [
        "value, n = 1_000",
        "value, n = 10_000",
        "value, n = 100_000",
    ]
    for variant in sweep.variants:
        own = [point for point in sweep.points if point.variant == variant.key]
        assert len({point.parameter for point in own}) == 1
        assert len(own) == len([t for t in sweep.traces if t.variant == variant.key]) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sizes": []}, "there are 0 sizes"),
        ({"sizes": [0]}, "a size is 0"),
        ({"sizes": [float("nan")]}, "a size is nan"),
        ({"sizes": "12"}, "sizes is '12'"),
        ({"sizes": range(1, 300)}, "there are 299 sizes"),
        ({"repeat": 0}, "repeat is 0"),
        ({"budget_s": 0}, "budget_s is 0"),
        ({"transports": ["pickel"]}, "did you mean pickle?"),
        ({"code": True, "transports": ["pickle"]}, "transports are for values"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(options: dict[str, Any], said: str) -> None:
    given = {"sizes": SIZES} | options

    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        SizeSweep(lambda _: pytest.fail("ran"), given.pop("sizes"), **given)


def test_the_line_of_a_sweep_ends_at_its_last_size(ways: Ways) -> None:
    ways.add("a", before=lambda size: ways.clock.advance_ms(size / 1000))

    sweep = valid(run(of_bytes((1000, 4000, 16_000, 64_000))))

    (line,) = [line for line in sweep.fits if not line.cold]
    assert (line.growth, line.to_bytes) == ("linear", 64_000)
    assert line.ns_per_byte == pytest.approx(1_000, rel=0.01)


def test_real_transports_check_every_size() -> None:
    """Arrays through pickle: equal, a copy in-band, the same memory out-of-band."""
    keys = ["pickle", "pickle-oob", "cloudpickle"]
    runner = SizeSweep(
        lambda n: np.arange(int(n) // 8, dtype=float), SIZES, transports=keys, repeat=1
    )

    sweep = valid(run(runner))

    results = {v.key: v.result for v in sweep.variants}
    assert results["pickle"].startswith("a copy")
    assert "aliases the original" in results["pickle-oob"]
    assert all(v.facts["equal"] is True for v in sweep.variants)
    assert {p.size_bytes for p in sweep.points} == set(SIZES)
    assert all(p.minor_faults is not None and p.moved_bytes for p in sweep.points)


def test_values_that_pickle_cannot_measure_stand_where_their_bytes_are() -> None:
    """Two sizes are never one median because nobody knew them beforehand."""
    sweep = run(
        SizeSweep(
            lambda n: [lambda: n] * int(n),
            [10, 20, 30],
            transports=["pickle", "cloudpickle"],
            repeat=1,
        )
    )

    sizes = {point.parameter: point.size_bytes for point in sweep.points}
    assert len(sizes) == len({size for size in sizes.values() if size}) == 3
    assert all(point.size_bytes == sizes[point.parameter] for point in sweep.points)
    assert len([entry for entry in sweep.traces if not entry.cold]) == 3


def test_what_was_left_out_was_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_memory, "available_bytes", lambda: 1_000)

    runner = SizeSweep(
        lambda n: bytes(int(n)), [10**6, 10**7], transports=["pickle"], repeat=1, is_bytes=True
    )
    sweep = run(runner)

    (variant,) = sweep.variants
    assert (variant.state, variant.reason) == ("skipped", "left out for lack of memory")
