"""The round trip: transports side by side, cold apart from warm, nothing lost when one fails."""

import functools
import gc
import json
import pickle
import sys
import threading
import time
import tracemalloc
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jupyter_serprof import model
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.experiments.engine import recording
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.order import ROUND_TRIP
from jupyter_serprof.experiments.roundtrip import trip as roundtrip
from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS, RoundTrip, Transport
from jupyter_serprof.model.sweep import middle_ns
from jupyter_serprof.objects import picklers
from jupyter_serprof.testing import TickClock
from jupyter_serprof.views.text import text

Fakes = dict[str, type[Transport]]
LOCAL = ("pickle", "pickle-oob", "cloudpickle")
LOCK = threading.Lock()
ALIASES = "zero-copy, aliases the original"
PEAK_COPIES = {"pickle": 2, "pickle-oob": 0, "cloudpickle": 2}


class Equal:
    """A class with equality, for subclasses that break in one way each."""

    def __init__(self, x: int = 1) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.x == other.x

    __hash__ = None  # type: ignore[assignment]


class Forgets(Equal):
    """Loses its state on the way."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Forgets, (0,))


#: What recordings measure with in the tests of injected delays.
CLOCK = TickClock(tick_ns=10)


class SlowReducer:
    """Takes 50 ms to be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        CLOCK.advance_ms(50)
        return (SlowReducer, ())


class SlowState:
    """Takes 50 ms to be unpickled."""

    def __getstate__(self) -> dict[str, int]:
        return {"x": 1}

    def __setstate__(self, state: object) -> None:
        CLOCK.advance_ms(50)


@dataclass
class Holder:
    """An object of a class that nobody knows, which holds an array."""

    array: np.ndarray
    label: str = "a"


class Handed:
    """An object that hands a buffer of its own to pickle."""

    def __init__(self, data: bytearray) -> None:
        self.data = data

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Handed, (pickle.PickleBuffer(self.data),)


def long() -> object:
    time.sleep(0.0015)
    return None


class Fake(Transport):
    """A transport that does what a test says in each run."""

    key = "fake"
    title = "a fake"
    steps: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.run_count = 0

    def round_trip(self, value: object) -> object:
        step = self.steps[min(self.run_count, len(self.steps) - 1)] if self.steps else None
        self.run_count += 1
        if isinstance(step, BaseException):
            raise step
        return pickle.loads(pickle.dumps(value)) if step is None else step()


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """The transports, to be replaced one by one."""
    known = dict(TRANSPORTS)
    for key in ("ray", "dask", "dask-scatter"):
        del known[key]
    monkeypatch.setattr(roundtrip, "TRANSPORTS", known)
    return known


def add_fake(known: Fakes, key: str, *steps: object) -> None:
    known[key] = type("F", (Fake,), {"key": key, "title": f"fake {key}", "steps": steps})


def variants(sweep: model.Sweep) -> dict[str, model.Variant]:
    """Return the rows by key; the document must be valid."""
    assert model.from_document(json.loads(json.dumps(model.to_document(sweep)))).name == sweep.name
    return {variant.key: variant for variant in sweep.variants}


def moved(value: object, *keys: str, repeat: int | None = 1) -> dict[str, model.Variant]:
    return variants(run(RoundTrip(value, transports=keys or LOCAL, repeat=repeat)))


def test_every_transport_has_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual ones, in their order, whether they could run or not; Dask's if it is imported."""
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "distributed", None)

    sweep = run(RoundTrip([1, 2], repeat=1))

    assert list(variants(sweep)) == [*LOCAL, "ray"]
    assert [variants(sweep)[key].state for key in LOCAL] == ["ok"] * 3
    assert variants(sweep)["ray"].state == "not installed"
    assert 'Run: pip install "jupyter_serprof[ray]"' in variants(sweep)["ray"].reason


def test_cold_is_never_averaged_with_warm() -> None:
    """One cold point and one cold trace for each transport; the warm median is of warm runs."""
    sweep = run(RoundTrip({"a": np.zeros(1000)}, transports=LOCAL, repeat=4))

    for key in LOCAL:
        points = [point for point in sweep.points if point.variant == key]
        assert [point.cold for point in points] == [True, *[False] * 4]
        (cold,) = (t.trace for t in sweep.traces if t.variant == key and t.cold)
        (warm,) = (t.trace for t in sweep.traces if t.variant == key and not t.cold)
        assert cold.wall_ns == points[0].wall_ns
        assert warm.wall_ns == middle_ns(point.wall_ns for point in points[1:])
        assert all(sum(point.stages.values()) <= point.wall_ns for point in points)
        assert all({"pickle.dumps", "pickle.loads"} <= set(point.stages) for point in points)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, set_clock: Callable[[TickClock], None]) -> TickClock:
    """The clock of the recordings, and of all experiments."""
    made = TickClock()
    monkeypatch.setattr(recording, "Recorder", functools.partial(Recorder, clock=made))
    set_clock(made)
    return made


@pytest.mark.parametrize(
    ("seconds", "warm", "said"),
    [
        *(([[0.0]], [7], ""), ([[1.0]], [7], ""), ([[2.0]], [4], "3 of fake a")),
        ([[100.0]], [0], "7 of fake a"),
        # In turns while all fit, then what fits.
        ([[1.0], [1.0], [0.0]], [4, 4, 7], "3 of fake a and fake b"),
        # The cheapest first where they do not, and what takes no time at all in any case.
        ([[2.0], [3.5], [0.01]], [2, 0, 7], "7 of fake b, 5 of fake a"),
        ([[6.0], [7.0], [0.01]], [0, 0, 2], "7 of fake a and fake b, 5 of fake c"),
        # Two warm runs of a way before the next one: a single one is compared with nobody.
        ([[1.5], [1.6], [1.7]], [2, 1, 0], "7 of fake c, 6 of fake b, 5 of fake a"),
        # Of more than two warm runs the ones that are unsure come first, though they take longer.
        ([[1.1], [1.3, 2.0, 1.3]], [2, 3], "5 of fake a, 4 of fake b"),
    ],
)
def test_the_budget_is_kept(
    clock: TickClock, fakes: Fakes, seconds: list[list[float]], warm: list[int], said: str
) -> None:
    """All ways once cold, then warm what ends in time; one sentence says what was left out."""
    keys = ["a", "b", "c"][: len(seconds)]
    for key, each in zip(keys, seconds, strict=True):
        add_fake(fakes, key, *(functools.partial(clock.advance_ms, 1000 * one) for one in each))

    sweep = run(RoundTrip([1], transports=keys))

    counts = Counter(point.variant for point in sweep.points if not point.cold)
    assert [counts[key] for key in keys] == warm
    cold_s = sum(each[0] for each in seconds)
    assert clock.now_ns <= 1e9 * (max(ROUND_TRIP.budget_s, cold_s) + 0.02)
    notes = [note for note in sweep.quality.notes if "warm runs" in note]
    wanted = f"left out after 10 s, of 7 warm runs each: {said} (--repeat 7 makes them)"
    assert notes == [wanted] * bool(said)


@pytest.mark.parametrize(("seconds", "warm"), [(1.5, (2, 7, 2)), (2.0, (4, 7, -1))])
def test_of_two_ways_with_the_same_bytes_one_is_left_out_where_time_is_short(
    clock: TickClock, fakes: Fakes, seconds: float, warm: tuple[int, ...]
) -> None:
    """Unasked only: then the other one has its warm runs within the budget; the row says why."""
    same = fakes["cloudpickle"].same_as
    for key, each in zip(LOCAL, (seconds, 0.0, seconds), strict=True):
        add_fake(fakes, key, functools.partial(clock.advance_ms, 1000 * each))
    fakes["cloudpickle"].same_as = same

    sweep = run(RoundTrip([1]))

    counts = Counter(point.variant for point in sweep.points)
    assert tuple(counts[key] - 1 for key in LOCAL) == warm
    assert clock.now_ns <= 1e9 * (ROUND_TRIP.budget_s + 0.02)
    said = "skipped within 10 s: it copies what "
    assert (said in text(sweep)) == (-1 in warm)


def test_comparing_what_came_back_makes_no_run_long(clock: TickClock, fakes: Fakes) -> None:
    """What takes 10 ms has two warm runs, however long its result was looked at."""

    class Slow(Equal):
        def __eq__(self, _: object) -> bool:
            clock.advance_ms(6000)
            return True

        __hash__ = None

    add_fake(fakes, "a", functools.partial(clock.advance_ms, 7000))
    add_fake(fakes, "b", lambda: (clock.advance_ms(10), Slow())[1])  # type: ignore[func-returns-value]

    sweep = run(RoundTrip(Slow(), transports=["a", "b"]))

    assert [point.variant for point in sweep.points] == ["a", "b", "b", "b"]


@pytest.mark.parametrize("repeat", [0, -1, 1001, True, 2.5, "3"])
def test_repeat_is_bounded(repeat: Any) -> None:
    with pytest.raises(model.UsageError, match=r"from 1 to 1000, e\.g\. --repeat 5"):
        RoundTrip([1], repeat=repeat)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["pikle"], "did you mean pickle?"),
        (["pickle", "nope"], "'nope'"),
        ([], "there are: pickle, pickle-oob, cloudpickle, ray, dask, dask-scatter"),
    ],
)
def test_an_unknown_transport_is_refused_with_the_known_ones(keys: list[str], said: str) -> None:
    with pytest.raises(model.UsageError) as caught:
        RoundTrip([1], transports=keys)

    assert said in str(caught.value)
    assert f"there are: {', '.join(TRANSPORTS)}" in str(caught.value)


def test_one_transport_fails_and_what_was_measured_is_shown(fakes: Fakes) -> None:
    """A failure is a row with its reason; what the others measured, and it before, stays."""
    add_fake(fakes, "pickle-oob", ConnectionError("link down\nat /home/jane/x.py"))

    sweep = run(RoundTrip([1], repeat=1))

    rows = variants(sweep)
    assert [rows[key].state for key in LOCAL] == ["ok", "failed", "ok"]
    assert rows["pickle-oob"].reason == "ConnectionError: link down"
    assert {point.variant for point in sweep.points} == {"pickle", "cloudpickle"}
    add_fake(fakes, "pickle", long, long, OSError("full"))
    later = run(RoundTrip([1], transports=["pickle"], repeat=5))
    assert variants(later)["pickle"].state == "failed"
    assert [point.cold for point in later.points] == [True, False]


@pytest.mark.parametrize(
    ("part", "kind", "failed"), [([LOCK], "[0] (lock)", 3), (lambda: 1, " (function)", 2)]
)
def test_a_culprit_is_named_in_every_row_that_refuses_it(
    part: object, kind: str, failed: int
) -> None:
    """The path and the type; cloudpickle takes a lambda."""
    rows = moved({"a": {"f": part}})

    assert [rows[key].state for key in LOCAL] == (["failed"] * failed + ["ok"])[:3]
    assert all(f"value['a']['f']{kind}" in rows[key].reason for key in LOCAL[:failed])
    assert "0x" not in rows["pickle"].reason


def test_a_document_of_failures_only_is_whole() -> None:
    """It says when and on which machine nothing could move."""
    sweep = run(RoundTrip(LOCK, transports=LOCAL))

    assert variants(sweep)["pickle"].state == "failed"
    assert sweep.started
    assert sweep.producer
    assert text(sweep).count("as above") == len(LOCAL) - 1
    assert sweep.environment["python"]


@pytest.mark.parametrize(
    "value",
    [None, 1, "", b"", [], {}, "x" * 100_000, "\ud800", object, len, np.zeros(0), np.float64(1.5)],
)
def test_any_value_makes_a_valid_document(value: object) -> None:
    rows = moved(value)

    assert {row.state for row in rows.values()} <= {"ok", "failed"}
    assert rows["cloudpickle"].state == "ok"


def test_a_structure_that_contains_itself_travels() -> None:
    """Circles pickle; that equality cannot be told is not called a loss."""
    value: list[object] = [1]
    value.append(value)

    rows = moved(value)

    assert {row.state for row in rows.values()} == {"ok"}
    assert all(row.facts["equal"] is None for row in rows.values())
    assert all("not equal" not in note for row in rows.values() for note in row.notes)


def test_lost_state_and_another_type_are_reported(fakes: Fakes) -> None:
    lost, kept = moved(Forgets(5), "pickle"), moved(Equal(5), "pickle")

    assert lost["pickle"].facts["equal"] is False
    assert "what comes back is not equal to what was sent" in lost["pickle"].notes
    assert kept["pickle"].facts["equal"] is True
    assert kept["pickle"].notes == ()
    add_fake(fakes, "pickle", lambda: b"ab")
    row = moved(bytearray(b"ab"), "pickle")["pickle"]
    assert (row.facts["equal"], row.notes) == (True, ("a bytearray comes back as bytes",))


@pytest.mark.parametrize(
    ("value", "in_band", "out_of_band"),
    [
        (np.zeros(100_000), "a copy, writeable", ALIASES),
        ({"a": {"b": np.zeros(100_000)}, "c": [np.ones(100_000)]}, "a copy", ALIASES),
        (Holder(np.zeros(100_000)), "a copy", ALIASES),
        (Handed(bytearray(100_000)), "a copy", ALIASES),
        (pd.DataFrame({"a": np.zeros(100_000)}), "a copy", ALIASES),
        ([np.zeros(900_000, "u1"), b"x" * 100_000], "a copy", "90 % aliases the original"),
        ([np.zeros(100_000)[::2]], "a copy", "a copy"),
        ([0.5] * 10_000, "a new object", "a new object"),
        (5, "a new object", "a new object"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_results_say_whether_they_share_memory(
    value: object, in_band: str, out_of_band: str
) -> None:
    """By the addresses of what a value holds, whatever its class and however deep."""
    rows = moved(value)

    assert rows["pickle"].result == rows["cloudpickle"].result == in_band
    assert rows["pickle-oob"].result == out_of_band


def test_to_look_at_many_small_objects_takes_no_longer_than_to_measure_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was not found out is not told; that nothing went beside the pickle was measured."""
    monkeypatch.setattr(picklers, "_LOOK_S", -1.0)

    rows = moved([0.5] * 10_000).values()

    assert [(row.result, row.buffers) for row in rows] == [("a new object", ())] * 3
    assert [bool(row.unranked) for row in rows] == [False, True, False]


@pytest.mark.parametrize(
    "value", [["a" * 10_000], b"x" * 10_000, {"a": np.zeros(100_000)}, Holder(np.zeros(100_000))]
)
def test_what_comes_back_as_itself_was_not_moved(fakes: Fakes, value: object) -> None:
    """A worker in this process gives back the very object, whatever its class."""
    add_fake(fakes, "pickle", lambda: value)

    assert moved(value, "pickle")["pickle"].result == ALIASES


def test_buffers_are_listed_with_their_place() -> None:
    """Each large payload says whether it travelled inside the pickle or beside it."""
    rows = moved({"a": np.zeros(1_000_000, "u1"), "b": np.zeros(300_000, "u1")})

    sizes = (1_000_000, 300_000)
    assert rows["pickle"].buffers == tuple((size, "in-band") for size in sizes)
    assert rows["pickle-oob"].buffers == tuple((size, "out-of-band") for size in sizes)
    assert rows["pickle-oob"].facts["out_of_band_bytes"] == 1_300_000
    assert rows["pickle"].facts["out_of_band_bytes"] == 0
    # 100,000 characters of two bytes are 200,000 bytes.
    assert moved("\u00e9" * 100_000, "pickle")["pickle"].buffers == ((200_000, "in-band"),)


@pytest.mark.parametrize("key", LOCAL)
@pytest.mark.parametrize(
    ("value", "stage", "other"),
    [
        (SlowReducer(), "pickle.dumps", "pickle.loads"),
        (SlowState(), "pickle.loads", "pickle.dumps"),
    ],
    ids=["reduce", "setstate"],
)
def test_an_injected_delay_is_found_in_its_stage(
    monkeypatch: pytest.MonkeyPatch, key: str, value: object, stage: str, other: str
) -> None:
    """50 ms in __reduce__ are in Pickle, 50 ms in __setstate__ in Unpickle, of every run."""
    monkeypatch.setattr(recording, "Recorder", functools.partial(Recorder, clock=CLOCK))

    sweep = run(RoundTrip(value, transports=[key], repeat=1))

    for point in sweep.points:
        assert 50_000_000 <= point.stages[stage] < 50_001_000
        assert point.stages[other] < 1_000
        assert point.wall_ns < 50_010_000


def test_an_interrupt_passes_through_and_keeps_what_there_is(fakes: Fakes) -> None:
    """Ctrl-C in the middle: finished runs are points, the row and the rest say what happened."""
    add_fake(fakes, "pickle-oob", long, long, KeyboardInterrupt())
    trip = RoundTrip([1], repeat=3)

    with pytest.raises(KeyboardInterrupt):
        run(trip)
    sweep = trip.document

    rows = variants(sweep)
    assert [rows[key].state for key in LOCAL] == ["ok"] * 3
    counts = {key: [n for n in rows[key].notes if "interrupted" in n] for key in LOCAL}
    assert counts == {
        "pickle": ["interrupted after 3 runs"],
        "pickle-oob": ["interrupted after 2 runs"],
        "cloudpickle": ["interrupted after 2 runs"],
    }
    assert [p.cold for p in sweep.points if p.variant == "pickle-oob"] == [True, False]
    add_fake(fakes, "pickle-oob", KeyboardInterrupt())
    trip = RoundTrip([1], repeat=3)
    with pytest.raises(KeyboardInterrupt):
        run(trip)
    told = ["", "interrupted in its first run", "stopped before its turn"]
    assert [variants(trip.document)[key].reason for key in LOCAL] == told


def test_transports_run_in_turns_there_and_back(fakes: Fakes) -> None:
    """A machine that slows down meanwhile makes none of them the slower one."""
    # They may be named as behind --transports.
    order: list[str] = []

    def noted(key: str) -> object:
        order.append(key)
        return long()

    keys = ["pickle", "pickle-oob", "cloudpickle"]
    for key in keys:
        add_fake(fakes, key, functools.partial(noted, key))

    run(RoundTrip([1], transports=",".join(keys), repeat=2))

    assert order == [*keys, *keys[::-1], *keys]


def test_what_only_its_name_is_pickled_of_is_refused_by_cloudpickle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dask and Ray send a function of the notebook by value: its lock is the headline."""
    names: dict[str, Any] = {"__name__": "__main__", "guard": threading.Lock()}
    exec("def work(x):\n    with guard:\n        return x", names)  # noqa: S102  (as a cell)
    monkeypatch.setattr(sys.modules["__main__"], "work", names["work"], raising=False)

    trip = RoundTrip(names["work"], transports=["pickle", "cloudpickle"], repeat=2, name="work")
    sweep = run(trip)

    assert [variant.state for variant in sweep.variants] == ["ok", "failed"]
    assert sweep.summary
    assert sweep.summary.headline == "`guard` in `work` cannot be pickled by cloudpickle"
    assert sweep.findings[0].rule == "pickle.unpicklable"


def test_one_busy_moment_does_not_make_short_runs_lonely(fakes: Fakes) -> None:
    """The run that tells how many fit together may be held up: then the first one tells."""
    add_fake(fakes, "pickle", None, long, None)

    sweep = run(RoundTrip([1], transports=["pickle"], repeat=2))

    assert all((point.loops or 1) > 1 for point in sweep.points if not point.cold)


def test_runs_of_microseconds_are_made_many_in_one_recording() -> None:
    """The middle one is the row's: a trace of its own, whose stages add up to it."""
    sweep = run(RoundTrip("x" * 1000, transports=["pickle"], repeat=3))

    warm = [point for point in sweep.points if not point.cold]
    [shown] = [entry.trace for entry in sweep.traces if not entry.cold]
    assert [(point.loops or 1) > 1 for point in sweep.points] == [False, *[True] * 3]
    assert shown.wall_ns == sorted(point.wall_ns for point in warm)[1]
    assert [span.stage for span in shown.spans] == ["pickle.dumps", "pickle.loads"]
    assert all(sum(point.stages.values()) <= point.wall_ns for point in warm)


def test_a_transport_that_cannot_start_is_loud_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, fakes: Fakes
) -> None:
    """By name it is an error; what ran before it is in the partial document."""
    add_fake(fakes, "fake")

    def refuse(self: Transport) -> str:
        message = f"{self.key} is not there. Run: pip install it"
        raise model.ProbeUnavailable(message)

    monkeypatch.setattr(fakes["fake"], "start", refuse, raising=False)
    trip = RoundTrip([1], transports=["pickle", "fake"], repeat=1)

    with pytest.raises(model.ProbeUnavailable):
        run(trip)

    rows = variants(trip.document)
    assert {key: row.state for key, row in rows.items()} == {"pickle": "ok", "fake": "failed"}
    assert rows["fake"].reason == "fake is not there. Run: pip install it"
    assert len(trip.document.points) == 1


def test_results_are_freed_between_runs(fakes: Fakes) -> None:
    """At no time do two results exist, and none is left at the end."""
    alive: list[weakref.ref[Any]] = []
    most = 0

    def made() -> object:
        nonlocal most
        result = Equal()
        alive.append(weakref.ref(result))
        most = max(most, sum(ref() is not None for ref in alive))
        return result

    add_fake(fakes, "pickle", made)

    sweep = run(RoundTrip(Equal(), transports=["pickle"], repeat=4))

    assert sweep.points
    assert most == 1
    assert [ref for ref in alive if ref() is not None] == []


@pytest.mark.parametrize("key", LOCAL)
def test_the_peak_is_what_the_docstring_says(key: str) -> None:
    """Copies at the peak beside the value: pickle and result in-band, none out-of-band."""
    value = np.ones(20_000_000, "u1")
    run(RoundTrip(value[:1000], transports=[key], repeat=1))
    gc.collect()
    tracemalloc.start()

    trip = RoundTrip(value, transports=[key], repeat=3)
    run(trip)
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # The pickler grows its buffer by half in reserve, pages that are never touched.
    reserve = 0.6 if PEAK_COPIES[key] else 0.2
    assert PEAK_COPIES[key] - 0.1 <= peak / value.nbytes <= PEAK_COPIES[key] + reserve
    assert left < 0.1 * value.nbytes
    assert trip.document.points


class Registered:
    """Pickled by its name, whatever it holds."""

    def __init__(self) -> None:
        self.block = bytearray(2_000_000)

    def __reduce__(self) -> str:
        return "REGISTERED"


REGISTERED = Registered()


@pytest.mark.parametrize(
    ("value", "result"), [(REGISTERED, ALIASES), (Registered, "a new object"), (7, "a new object")]
)
def test_the_very_object_is_not_called_a_new_one(value: object, result: str) -> None:
    """A number and a name are one object wherever they are made: there was nothing to move."""
    (row,) = moved(value, "pickle").values()

    assert row.result == result
    assert bool(row.unranked) is (result == ALIASES)
