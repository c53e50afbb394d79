"""The split of one dumps and one loads: parts add up, nothing is invented, nothing is changed."""

import gc
import pickle
import re
import sys
import threading
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jupyter_serprof.analysis import analyse
from jupyter_serprof.experiments.split import passes as split_passes
from jupyter_serprof.experiments.split.words import (
    Half,
    Measured,
    Timed,
    cut_notes,
    parts_of,
    split_findings,
    split_summary,
    split_trace,
)
from jupyter_serprof.model import Limits, Trace, UsageError, from_document, to_document
from jupyter_serprof.objects import split_picklers
from jupyter_serprof.objects.picklers import CountingFile
from jupyter_serprof.objects.split_picklers import Block, watching
from jupyter_serprof.testing import TickClock, make_trace
from jupyter_serprof.views.waterfall.table import table_of

#: Time for every pass on the slowest machine.
split = partial(split_passes.split, budget_s=1e6)
WHOLES = ("pickle.dumps", "pickle.loads")
TIMES, TOLD = (6_946_000, 5_166_000), re.compile(r"(?:dumps|loads) ([\d.,]+ \w+)")
LEVELS = {
    "pickle.reduce": 10,
    "pickle.opcodes": 30,
    "pickle.copy": 60,
    "pickle.allocate": 100,
}


#: What passes measure with in the test of an injected delay.
CLOCK = TickClock(tick_ns=10)


class Slow:
    """An object whose reducer takes 1 ms."""

    def __reduce__(self) -> tuple[Any, ...]:
        CLOCK.advance_ms(1)
        return Slow, ()


class Mutating:
    """An object that writes into what it is given when it is made again."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["array"][:] = 0
        self.__dict__ |= state


LOOP: list[object] = [1]
LOOP.append(LOOP)


def half_of(
    cold: Timed, warm: Timed | None, levels: dict[str, int], whole: str = WHOLES[0]
) -> Half:
    """Return what was measured with one later run of the whole."""
    return Half(whole, cold, {"whole": [warm]} if warm else {}, levels)


def rows(trace: Trace, group: int) -> dict[str, int]:
    """Return what each stage owned in the first runs (0) or the warm ones (1)."""
    assert trace.waterfall
    return {row.stage: row.self_ns for row in trace.waterfall.rows if row.group == group}


def warm_total(trace: Trace, whole: str) -> int:
    """Return the duration of the second real run."""
    [_, span] = [span for span in trace.spans if span.stage == whole]
    return span.duration_ns


def test_parts_add_up_and_are_never_negative() -> None:
    """What a pass cannot explain stays with the whole; an unknown pass is skipped."""
    parts = dict(parts_of(100, LEVELS))
    late = dict(parts_of(20, LEVELS))

    assert parts == {
        "pickle.reduce": 10,
        "pickle.opcodes": 20,
        "pickle.copy": 30,
        "pickle.allocate": 40,
    }
    assert late == {
        "pickle.reduce": 10,
        "pickle.opcodes": 10,
        "pickle.copy": 0,
        "pickle.allocate": 0,
    }


def test_what_was_cut_is_said() -> None:
    """No number is scaled or cut in silence."""
    levels = {"pickle.reduce": 50, "pickle.opcodes": 30, "pickle.copy": 140}

    notes = list(cut_notes(half_of(Timed(100), Timed(100), levels)))

    assert len(notes) == 2
    assert notes[0].startswith("Opcodes and memo: its pass took 20 ns less")
    assert notes[1].startswith("Copy into the pickle: its pass took 40 ns longer")
    assert list(cut_notes(half_of(Timed(100), Timed(100), LEVELS))) == []


def test_the_document_adds_up_exactly() -> None:
    """First runs are not split, warm ones are; the parts of a whole are its time."""
    measured = Measured(
        half_of(Timed(500, 9), Timed(100, 0), LEVELS),
        half_of(Timed(300), Timed(80), {"unpickle.objects": 50}, "pickle.loads"),
        [1_000],
    )

    trace = analyse(split_trace(make_trace([], name="a"), measured))

    assert trace.wall_ns == 980
    assert rows(trace, 0) == {"pickle.dumps": 500, "pickle.loads": 300}
    warm = rows(trace, 1)
    assert sum(warm.values()) == 180
    assert warm["pickle.loads"] == 30  # not split
    assert warm["pickle.allocate"] == 40
    assert trace.waterfall
    assert trace.waterfall.unaccounted_ns == 0
    assert split_summary(trace, measured).headline.startswith("a (1.00 kB in-band): dumps 100 ns")


@pytest.mark.parametrize("warm", [None, Timed(1_234_567)], ids=["once", "again"])
def test_a_time_in_the_sentence_is_that_of_its_row(warm: Timed | None) -> None:
    """The column is rounded so that it adds up: of 5.166 ms it can print 5.16."""
    dumps, loads = (
        half_of(Timed(ns), warm, {}, key) for key, ns in zip(WHOLES, TIMES, strict=True)
    )
    measured = Measured(dumps, loads, [1_000])
    trace = analyse(split_trace(make_trace([], name="a"), measured))

    summary = split_summary(trace, measured)

    said = [text for fact in (summary.headline, summary.facts[0]) for text in TOLD.findall(fact)]
    table = table_of(trace)
    assert len(said) == 4
    assert set(said) <= {f"{line.self_text} {table.unit}" for line in table.lines}


def test_new_pages_in_every_run_are_not_a_matter_of_the_first() -> None:
    """To run it again does not help; a buffer that is kept does. Warm pages say nothing."""

    def found(warm_faults: int) -> list[str]:
        half = half_of(Timed(50_000_000, 3_000), Timed(50_000_000, warm_faults), LEVELS)
        measured = Measured(half, sizes=[8_192_000])
        limits = Limits(memcpy_bytes_per_s=1e10)
        trace = analyse(split_trace(make_trace([], name="a"), measured), limits)
        return [finding.rule for finding in split_findings(trace, measured)]

    assert found(1_000)[:1] == ["pickle.fresh-buffers"]
    assert "pickle.fresh-buffers" not in found(999)
    assert "memory.first-touch" not in found(2_000)


@pytest.mark.parametrize(
    "value",
    [
        np.arange(300_000.0),
        np.arange(300_000.0)[::2],
        [{"id": at, "x": at / 7} for at in range(3_000)],
        {"a": np.zeros(10), "text": "x" * 1_000, "n": None},
        LOOP,
        b"x" * 1_000_000,
        None,
    ],
    ids=["array", "strided", "dicts", "mixed", "cycle", "bytes", "none"],
)
def test_a_real_value_is_split_into_parts_that_add_up(value: object) -> None:
    """For real dumps and loads of arrays, many objects, bytes and nothing at all."""
    trace = split(value, name="v")

    warm = rows(trace, 1)
    own = {key: ns for key, ns in warm.items() if key.startswith("pickle.") and key != WHOLES[1]}
    assert sum(own.values()) == warm_total(trace, "pickle.dumps")
    assert own["pickle.dumps"] == 0
    assert sum(warm.values()) == sum(warm_total(trace, whole) for whole in WHOLES)
    assert from_document(to_document(trace)) == trace


def test_reducers_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty reducers that take 1 ms each own 20 ms of dumps, as a profiler would say."""
    clock = SimpleNamespace(perf_counter_ns=CLOCK, monotonic=time.monotonic)
    for module in (split_passes, split_picklers):
        monkeypatch.setattr(module, "time", clock)

    trace = split([Slow() for _ in range(20)])

    assert rows(trace, 1)["pickle.reduce"] == pytest.approx(20_000_000, abs=1_000)
    assert warm_total(trace, "pickle.dumps") == pytest.approx(20_000_000, abs=1_000)


def test_the_value_is_not_changed_by_its_own_setstate() -> None:
    """What a class does to its state when it is made again is done to copies."""
    value = Mutating(np.ones(50_000))

    trace = split(value)

    assert value.array.all()
    assert any("loads was not split" in note for note in trace.quality.notes)
    assert rows(trace, 1)["pickle.loads"] == warm_total(trace, "pickle.loads")


def test_a_function_is_split_with_cloudpickle() -> None:
    """What pickle refuses and cloudpickle takes is measured with cloudpickle."""
    captured = np.ones(1_000)

    trace = split(lambda: captured)

    assert sum(rows(trace, 1).values()) > 0


def test_a_function_of_the_notebook_is_split_with_what_it_carries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pickle would write only the name of it: 33 bytes, and no table."""
    table = np.ones(10_000)

    def price() -> float:
        return float(table[0])

    price.__module__, price.__qualname__ = "__main__", "price"
    monkeypatch.setattr(sys.modules["__main__"], "price", price, raising=False)
    named = len(pickle.dumps(price))

    trace = split(price, name="price")

    whole = next(span for span in trace.spans if span.stage == "pickle.dumps")
    assert named < 100
    assert whole.size_bytes is not None
    assert whole.size_bytes > table.nbytes


def test_an_unpicklable_member_is_named() -> None:
    """The message has the path to paste, not a traceback."""
    with pytest.raises(UsageError, match=r"v\['lock'\] \(lock\)"):
        split({"lock": threading.Lock()}, name="v")


def test_too_little_memory_is_said_before_anything_is_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two more copies of the data are needed; a kernel that dies explains nothing."""
    monkeypatch.setattr("jupyter_serprof.experiments.split.passes.available_bytes", lambda: 1_000)

    with pytest.raises(UsageError, match=r"takes 80[.0-9]* kB twice"):
        split(np.zeros(10_000))


def test_the_collector_is_as_it_was() -> None:
    """Paused while it measures, also where something fails."""
    was_enabled = gc.isenabled()

    split([1, 2, 3])

    assert gc.isenabled() == was_enabled


def test_picklers_of_passes_write_what_pickle_writes() -> None:
    """The block holds the very pickle; the watched pickler meets reducers and changes nothing."""
    value = [np.arange(20_000.0), {1: "a"}, len, Slow]
    expected = pickle.dumps(value, protocol=5)
    block = Block(len(expected))

    pickle.Pickler(block, protocol=5).dump(value)
    watched = watching(pickle.Pickler)(nowhere := CountingFile(), protocol=5)
    watched.dump(value)

    assert block.written() == expected
    assert nowhere.size_bytes == len(expected)
    assert watched.spent_ns > 0


def test_shares_of_the_sentence_are_no_more_than_all() -> None:
    levels = {"pickle.reduce": 45, "pickle.opcodes": 1_000}
    measured = Measured(half_of(Timed(3_000), Timed(1_000), levels), sizes=[1_000])
    trace = analyse(split_trace(make_trace([], name="a"), measured))

    said = split_summary(trace, measured).headline

    assert sorted(map(int, re.findall(r"(\d+) %", said))) in ([4, 96], [5, 95])
