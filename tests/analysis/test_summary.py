"""The summary of a trace: one sentence with the cause, facts below it, strict and total shares."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from dask_golden import HEALTHY, computations_table, run, tasks_table, tiny
from goldens import check

from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import Group, Lane, Limits, Quality, Summary, Trace
from jupyter_serprof.model.trace import LOST
from jupyter_serprof.testing import make_trace

CALLER = "client/main"
STORED = ("ray.store", CALLER, 0, 80, 800_000_000, -1, {"copied_bytes": 800_000_000})
UNSEEN = [("ray.submit", CALLER, at, 1, None, -1, {"road": "unseen"}) for at in range(2)]
WATCHED = ("recording", CALLER, 100, 0, None, -1, {"taken_ns": {"": 80_000_000}})
DOUBLED = {"in_band_bytes": 10**7, "minor_faults": 5_000, "protocol": 4, "contiguous_bytes": 10**7}
DUMPED: tuple[Any, ...] = ("pickle.dumps", CALLER, 0, 1, None, -1)


def made(*spans: tuple[Any, ...], **options: Any) -> Trace:
    return make_trace(spans, name="f(a)", **options)


def results(*judged: tuple[object, int | None]) -> Trace:
    """Return gets, each with (is it zero-copy, bytes of its result)."""
    return made(
        (*DUMPED, {"in_band_bytes": 100, "out_of_band_bytes": 8_000_000, "buffers": 1}),
        *(
            ("ray.unpack", CALLER, at + 1, 1, None, -1, {"zero_copy": zero, "result_bytes": size})
            for at, (zero, size) in enumerate(judged)
        ),
    )


def tasks(*lanes: str) -> Trace:
    """Return a wait of the caller for work on these lanes."""
    stages = {"raylet": "ray.schedule"}
    return made(
        ("ray.fetch", CALLER, 0, 90),
        ("ray.unpickle", CALLER, 90, 10),
        *((stages.get(lane, "ray.execute"), lane, 0, 100) for lane in lanes),
    )


def parts(**owned_ms: float) -> Trace:
    """Return a wait of 100 ms in which the scheduler does these things one after the other."""
    ends = [sum(list(owned_ms.values())[:at]) for at in range(len(owned_ms) + 1)]
    spans = [
        (f"dask.{key.replace('_', '.')}", "scheduler", start, end - start)
        for key, (start, end) in zip(owned_ms, pairwise(ends), strict=True)
    ]
    return make_trace([("dask.wait", CALLER, 0, 100), *spans], wall_ms=100)


def one_after_the_other() -> Trace:
    """Return two computations whose rows are those of the same stages."""
    first = parts(optimize=40, schedule=25, spill=10)
    more = parts(optimize=5, schedule=10, schedule_order=15).spans
    late = (span._replace(start_ns=span.start_ns + 100_000_000) for span in more)
    groups = (Group("1: a", 0, 100_000_000), Group("2: b", 100_000_000, 150_000_000))
    return replace(first, spans=(*first.spans, *late), wall_ns=150_000_000, groups=groups)


def on_threads(*lanes: str) -> Trace:
    """Return work of Dask where there are these lanes of workers, too."""
    trace = run(compute=400, wall=1_000)
    return replace(trace, lanes=(*trace.lanes, *(Lane(lane, "worker") for lane in lanes)))


def beside_the_graph(size: int) -> Trace:
    """Return work of Dask beside which so many bytes are pickled."""
    noted = {"in_band_bytes": size, "out_of_band_bytes": 0, "buffers": 0}
    trace = run()
    return replace(trace, spans=trace.spans + make_trace([(*DUMPED, noted)]).spans)


TABLE = computations_table(("1: a", "compute", 9, 0, 1), ("2: b", "compute", 9, 0, 1))
SAMPLES = {
    "the largest stage with share, bytes, time and rate": made(
        STORED, ("ray.pickle", CALLER, 80, 20)
    ),
    "a copy that a remedy saves at most": made((*DUMPED, DOUBLED)),
    "a run that raised": made(STORED, outcome="error"),
    "a run that was interrupted": made(STORED, outcome="interrupted"),
    "your own code first, the largest stage second": made(
        ("ray.store", CALLER, 0, 20), wall_ms=100
    ),
    "what is next, below one percent": made(("pickle.dumps", CALLER, 0, 0.4), wall_ms=100),
    "Ray died": replace(
        made(("pickle.dumps", CALLER, 0, 0.4), wall_ms=100),
        quality=Quality(notes=("Ray's raylet died during the recording: run ray.shutdown()",)),
    ),
    "a scheduler that was too busy": replace(
        made(("dask.wait", CALLER, 0, 100)),
        quality=Quality(notes=("dask: the scheduler did not answer within 0.85 s",)),
    ),
    "a scheduler that was lost": replace(
        parts(serialize=20, schedule=25, wait=35, report=20),
        tables=(tasks_table(("f", 20, 800_000, 560)),),
        quality=Quality(notes=(f"dask: {LOST}",)),
    ),
    "threads beside your own code": made(("pickle.dumps", "client/thread 1", 0, 50), wall_ms=100),
    "no wall time, no shares": made(("ray.store", CALLER, 0, 0), wall_ms=0),
    "a get of tasks that were not seen": made(*UNSEEN, ("ray.fetch", CALLER, 2, 98)),
    "a wait for tasks that were not seen": made(*UNSEEN, ("ray.wait", CALLER, 2, 98)),
    "strict coverage leaves waits out": made(
        ("ray.fetch", CALLER, 0, 60),
        ("ray.execute", "worker/1", 10, 20),
        ("ray.unpickle", CALLER, 60, 30),
        wall_ms=100,
    ),
    "without waits the two shares are one": made(("ray.store", CALLER, 0, 50), wall_ms=100),
    "a mark has everything inside, once": made(
        ("user:load", CALLER, 0, 40),
        ("user:load", CALLER, 10, 20, None, 0),
        ("ray.store", CALLER, 12, 10, None, 1),
        ("user:load", CALLER, 50, 5),
    ),
    "of many marks the longest": made(*((f"user:{at}", CALLER, 9 * at, at + 1) for at in range(7))),
    "buffers summed over pickles": made(
        *[(*DUMPED, {"in_band_bytes": 100, "out_of_band_bytes": 10**6, "buffers": 2})] * 3
    ),
    "a pickle inside a pickle once; what was read was not written": made(
        ("pickle.dumps", CALLER, 0, 9, None, -1, {"in_band_bytes": 900}),
        ("pickle.dumps", CALLER, 1, 5, None, 0, {"in_band_bytes": 700}),
        ("pickle.loads", CALLER, 10, 5, None, -1, {"in_band_bytes": 900}),
    ),
    "only the inner pickle knows its bytes": made(
        ("ray.pickle", CALLER, 0, 9, None, -1, {"elements": 1}),
        ("ray.pickle", CALLER, 1, 5, None, 0, {"in_band_bytes": 700, "buffers": 0}),
    ),
    "zero-copy": results((True, 10**6), (True, 10**7)),
    "copied": results((False, 10**6)),
    "mixed": results((True, 10**6), (False, 10**6)),
    "without bytes or a verdict it does not count": results(
        (True, 10**6), (False, 0), (None, 10**6), (False, 8)
    ),
    "nothing judged, nothing told": results((None, 8), (True, 0), (False, None)),
    "no results": results(),
    "work on one other lane": tasks("worker/1"),
    "waits of other lanes are no work": tasks("worker/1", "worker/2", "raylet"),
    "the machine was measured": made(STORED, limits=Limits(12.9e9, 0.9e9)),
    # Of Dask: the cause with its parts, bytes both ways, workers, computations.
    "parts of a stage are one cause": parts(
        optimize=35, schedule_order=30, schedule_state=5, schedule_transitions=25
    ),
    "a small part is not named": parts(
        schedule=20, schedule_order=20, schedule_state=20, schedule_unpickle=20
    ),
    "tasks are counted": tiny(schedule=400),
    "no stage of Dask is half of it": replace(
        parts(serialize=20, schedule=25, worker=30, report=20),
        tables=(tasks_table(("f", 20, 800_000, 560)),),
    ),
    "no task ran": replace(
        parts(serialize=20, schedule=25, worker=30, report=20),
        tables=(tasks_table(("f", 20, 0, 560)),),
    ),
    "watching took most": made(("pickle.dumps", CALLER, 0, 10), WATCHED, wall_ms=100),
    "watching many short calls took most": made(
        (*DUMPED, {"calls": 199_990}), (*WATCHED[:6], {**WATCHED[6], "calls": 200_000}), wall_ms=100
    ),
    "there was only watching": made(WATCHED, wall_ms=100),
    "what was dispatched is not known": run(graph=32_000_000, dispatched=None),
    "a little less than twice": run(graph=32_000_000, dispatched=63_999_999),
    "twice the graph": run(graph=32_000_000, dispatched=64_000_000),
    "a hundred times the graph": run(graph=32_000_000, dispatched=3_200_000_000),
    "unknown is not zero": run(graph=None),
    "two threads, however many loops": on_threads("worker 1/loop", "worker 1/disk"),
    "threads that idle": on_threads("worker 3/thread 1", "worker 4/thread 1"),
    "one thread is not called threads": run(threads=1, wall=1_000),
    "what Dask pickles for itself": beside_the_graph(99_999),
    "what the user pickles": beside_the_graph(100_000),
    "the computation that took most": HEALTHY["persist, then small results"],
    "one stage of several computations": one_after_the_other(),
    "samples of code are no serialization": made(("python.code", CALLER, 0, 90), wall_ms=100),
    "bytes of a table where no span has them": run(graph=None, dispatched=None, tables=[TABLE]),
}


def summary(trace: Trace) -> Summary:
    found = analyse(trace).summary
    assert found is not None
    return found


def test_what_was_before_the_first_computation_is_not_its_own() -> None:
    """The one that took most is the one that lasted longest."""
    trace = made(("pickle.dumps", CALLER, 0, 80), ("ray.store", CALLER, 85, 15), wall_ms=100)
    edges = ((80_000_000, 85_000_000), (85_000_000, 100_000_000))
    groups = tuple(Group(name, *edge) for name, edge in zip("ab", edges, strict=True))
    facts = " ".join(summary(replace(trace, groups=groups)).facts)

    assert "of 2 computations b took most (15.0 ms, 15 %)" in facts


def test_the_cause_and_the_facts_are_told_in_words() -> None:
    found = {name: summary(trace) for name, trace in SAMPLES.items()}

    check("summaries", {name: "\n".join(_lines(each)) for name, each in found.items()})


def _lines(found: Summary) -> Iterator[str]:
    yield found.headline
    yield f"strict {found.strict_share}, total {found.total_share}"
    yield from (" · ".join(facts) for facts in (found.facts, found.details) if facts)


@pytest.mark.parametrize("outcome", ["ok", "error", "interrupted"])
@pytest.mark.parametrize("key", [None, "gc", "python.wait"])
def test_code_that_serializes_nothing_is_told_so(key: str | None, outcome: str) -> None:
    """Collections and waits are none; an interrupted pickle has no end and is not seen."""
    spans = [] if key is None else [(key, CALLER, 0, 90)]

    found = summary(made(*spans, wall_ms=100, outcome=outcome))

    is_cut = outcome == "interrupted"
    told = "no serialization had ended" if is_cut else "no serialization was seen"
    ended = {"ok": "", "error": " until the error", "interrupted": " until stopped"}
    titles = {None: "", "gc": "Garbage collection", "python.wait": "Wait in this process"}
    rest = f", 90 % {titles[key]}" if key else ""
    assert found.headline == f"100 ms{ended[outcome]}: {told}{rest}"


@pytest.mark.parametrize(("unaccounted_ms", "is_first"), [(33, False), (34, True)])
def test_a_small_rest_is_not_called_the_cause(unaccounted_ms: int, is_first: bool) -> None:
    """Below a third of the wall time the largest stage is named alone."""
    named = (100 - unaccounted_ms) / 4
    keys = ("ray.store", "ray.pickle", "ray.msgpack", "ray.submit")
    spans = [(key, CALLER, at * named, named) for at, key in enumerate(keys)]

    found = summary(made(*spans, wall_ms=100))

    assert ("outside the stages" in found.headline) is is_first


def test_a_pickle_that_failed_is_the_cause_and_explains_no_time() -> None:
    """It was said to take all of the time, above a row of 12 %."""
    spans = [("pickle.dumps", CALLER, 0, 12, None, -1, {"error": "TypeError"})]

    found = summary(made(*spans, wall_ms=100, outcome="error"))

    assert found.headline == "100 ms until the error: a pickle failed with `TypeError`"
