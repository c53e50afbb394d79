"""The summary of a Dask trace: the cause with its parts, bytes both ways, workers, computations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from dask_golden import HEALTHY, computations_table, run, tiny

from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import Group, Lane, Summary, Trace
from jupyter_serprof.testing import make_trace

SCHEDULER = "scheduler"


def summary(trace: Trace) -> Summary:
    """Return the summary of a trace."""
    found = analyse(trace).summary
    assert found is not None
    return found


def fact(found: Summary, word: str) -> str | None:
    """Return the fact with a word in it; None if there is none."""
    return next((fact for fact in found.facts if word in fact), None)


def parts(*owned: tuple[str, float], wall: float = 100) -> Trace:
    """Return a wait in which the scheduler does these things one after the other."""
    spans: list[tuple[Any, ...]] = [("dask.wait", "client/main", 0, wall)]
    at = 0.0
    for key, length in owned:
        spans.append((key, SCHEDULER, at, length))
        at += length
    return make_trace(spans, wall_ms=wall)


def test_the_parts_of_a_stage_are_one_cause_together() -> None:
    """None of the parts is the largest row, and yet scheduling is what it was."""
    trace = parts(
        ("dask.optimize", 35),
        ("dask.schedule.order", 30),
        ("dask.schedule.state", 5),
        ("dask.schedule.transitions", 25),
    )

    assert summary(trace).headline == (
        "example took 100 ms: 60 % Scheduling (60.0 ms, 50 % of it Order tasks)."
    )


def test_a_part_that_is_small_is_not_named() -> None:
    """Of four equal parts none tells more than their sum."""
    keys = ("dask.schedule", "dask.schedule.order", "dask.schedule.state", "dask.schedule.unpickle")

    assert summary(parts(*((key, 20) for key in keys))).headline == (
        "example took 100 ms: 80 % Scheduling (80.0 ms)."
    )


def test_the_headline_counts_the_tasks_that_were_scheduled() -> None:
    """The number of tasks says more about scheduling than bytes do."""
    assert summary(tiny(schedule=400)).headline == (
        "example took 520 ms: 77 % Scheduling of 400 tasks (400 ms, 70 % of it Transitions)."
    )


@pytest.mark.parametrize(
    ("dispatched", "said"),
    [
        (None, "32.0 MB of graph sent"),
        (63_999_999, "32.0 MB of graph sent, 64.0 MB of task specifications dispatched"),
        (64_000_000, "32.0 MB of graph sent, 64.0 MB of task specifications dispatched (2.0×)"),  # noqa: RUF001
        (3_200_000_000, "32.0 MB of graph sent, 3.20 GB of task specifications dispatched (100×)"),  # noqa: RUF001
    ],
)
def test_bytes_are_told_both_ways(dispatched: int | None, said: str) -> None:
    """A graph of 32 MB can leave the scheduler as 3.2 GB; nothing else says so."""
    assert fact(summary(run(graph=32_000_000, dispatched=dispatched)), "graph sent") == said


def test_without_a_graph_no_bytes_are_told() -> None:
    """Unknown is not zero."""
    assert fact(summary(run(graph=None)), "graph sent") is None


@pytest.mark.parametrize(
    ("lanes", "said"),
    [
        ((), "2 worker threads computed for 800 ms: busy 40 % of the time"),
        (
            (Lane("worker 1/loop", "worker"), Lane("worker 1/disk", "worker")),
            "2 worker threads computed for 800 ms: busy 40 % of the time",
        ),
        (
            (Lane("worker 3/thread 1", "worker"), Lane("worker 4/thread 1", "worker")),
            "4 worker threads computed for 800 ms: busy 20 % of the time",
        ),
    ],
)
def test_the_workers_are_told_with_how_busy_they_were(lanes: Sequence[Lane], said: str) -> None:
    """Work hidden behind the scheduler is not forgotten; a thread that idles counts as well."""
    trace = run(compute=400, wall=1_000)

    found = summary(replace(trace, lanes=(*trace.lanes, *lanes)))

    assert fact(found, "worker thread") == said
    assert fact(found, "all lanes together") is None


@pytest.mark.parametrize(("size", "is_told"), [(99_999, False), (100_000, True)])
def test_small_messages_of_dask_are_not_told_beside_the_graph(size: int, is_told: bool) -> None:
    """What Dask pickles for itself is no news; what the user pickles is."""
    trace = run()
    noted = {"in_band_bytes": size, "out_of_band_bytes": 0, "buffers": 0}
    pickled = make_trace([("pickle.dumps", "client/main", 0, 1, None, -1, noted)]).spans

    assert (
        fact(summary(replace(trace, spans=trace.spans + pickled)), "in-band") is not None
    ) is is_told


def test_one_thread_is_not_called_threads() -> None:
    """A small thing, which everybody sees."""
    assert fact(summary(run(threads=1, wall=1_000)), "1 worker thread computed") is not None


def test_of_several_computations_the_one_that_took_most_is_named() -> None:
    """With what its rows own, which is the subtotal of its block."""
    found = summary(HEALTHY["persist, then small results"]())

    said = "of 3 computations 1: persist x took most (7.00 s, 86 %)"
    assert fact(found, "computations") == said
    assert fact(summary(run()), "computations") is None


def test_one_stage_of_several_computations_is_one_cause() -> None:
    """The headline is about the run; its rows are those of the computations."""
    trace = parts(("dask.optimize", 40), ("dask.schedule", 25), ("dask.spill", 10))
    more = parts(("dask.optimize", 5), ("dask.schedule", 10), ("dask.schedule.order", 15))
    late = (span._replace(start_ns=span.start_ns + 100_000_000) for span in more.spans)
    groups = (Group("1: a", 0, 100_000_000), Group("2: b", 100_000_000, 150_000_000))

    both = replace(trace, spans=(*trace.spans, *late), wall_ns=150_000_000, groups=groups)

    assert summary(both).headline == ("example took 150 ms: 33 % Scheduling (50.0 ms).")


def test_a_cell_without_dask_and_without_pickles_is_told_so() -> None:
    """Samples of the user's own code are no serialization."""
    trace = make_trace([("python.code", "client/main", 0, 90)], wall_ms=100)

    assert summary(trace).headline.endswith("nothing was serialized in it.")


def test_bytes_of_the_graph_come_from_the_table_where_no_span_has_them() -> None:
    """A lower rung of the probe knows the bytes of each computation."""
    known = computations_table(("1: a", "compute", 9, 0, 1), ("2: b", "compute", 9, 0, 1))

    found = summary(run(graph=None, dispatched=None, tables=[known]))

    assert fact(found, "graph sent") == (
        "180 kB of graph sent, 2.00 MB of task specifications dispatched (11.1×)"  # noqa: RUF001
    )
