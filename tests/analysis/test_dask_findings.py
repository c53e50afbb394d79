"""Findings about Dask: silent where all is well; what they say is beside the other findings."""

from dataclasses import replace
from typing import Any

import dask.array as da
import pytest
from dask_golden import HASH, HEALTHY, apart, graph_table, repeats, run, tiny
from typed_code import DASK_CODE

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.findings import find
from jupyter_serprof.analysis.findings.dask_facts import prefix
from jupyter_serprof.analysis.findings.dask_tiny import larger_chunks
from jupyter_serprof.model import Finding, Trace
from jupyter_serprof.testing import make_trace


@pytest.mark.parametrize("trace", HEALTHY.values(), ids=HEALTHY)
def test_nothing_is_found_where_nothing_should_be_done_differently(trace: Trace) -> None:
    """A tool that always warns is not read: well made workloads are left alone."""
    assert analyse(trace).findings == ()


def test_the_chunk_factor_leaves_the_scheduler_a_tenth_of_the_time() -> None:
    """Tasks k times as large: the workers need k times as long for each, the scheduler the same."""
    scheduled_ms, compute_ms, threads = 95 + 5, 100, 2

    evidence = found(tiny(), "dask.tiny-tasks").evidence

    factor = evidence["chunk_factor"]
    assert isinstance(factor, float)
    assert scheduled_ms / (scheduled_ms + compute_ms * factor) == pytest.approx(0.1)
    assert evidence["edge_factor_2d"] == pytest.approx(factor**0.5, abs=0.1)
    assert evidence["worker_threads"] == threads


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("", ""),
        ("inc", "inc"),
        (f"from_pandas-{HASH}", "from_pandas"),
        (f"('sum-aggregate-{HASH}', 0, 1)", "sum-aggregate"),
        ("inc-0d1f2a3b-1111-2222-3333-0123456789ab", "inc"),
        ("my-own-key-1", "my-own-key-1"),
    ],
)
def test_names_are_told_without_their_hash(name: str, short: str) -> None:
    """People know their functions, not what Dask puts behind them."""
    assert prefix(name) == short


def found(trace: Trace, rule: str) -> Finding:
    told = analyse(replace(trace, name=DASK_CODE)).findings
    (known,) = (each for each in told if each.rule == rule)
    return known


@pytest.mark.parametrize(
    ("references", "said"),
    [
        ([12], "the same ndarray was sent with 12 tasks, 192 MB in all"),
        ([None], "the same ndarray was sent again and again, 192 MB in all"),
        ([], "the same data was sent again and again, 192 MB in all"),
    ],
)
def test_only_tasks_that_hold_an_object_are_said_to_have_it(
    references: list[int | None], said: str
) -> None:
    """12 of 312 tasks held 16 MB: it was told of all of them."""
    held = [graph_table(("f", "numpy.ndarray (2,)", 16_000_000, count)) for count in references]
    trace = run(graph=16_000_000, dispatched=192_000_000, tasks=312, tables=held)

    assert found(trace, "dask.repeated-payload").title == said


def test_calls_of_delayed_are_put_into_batches_as_they_have_no_chunks() -> None:
    """A layer for each task: what is proposed for arrays does not run there."""
    chunks, calls = (found(tiny(layers=n), "dask.tiny-tasks").remedy for n in (3, 400))

    assert "x.chunksize" in chunks
    assert "dask.delayed(lambda part: [work(x) for x in part])(rows[i:i + " in calls
    assert "chunksize" not in calls


def test_bytes_that_tasks_carry_are_not_the_time_of_small_tasks() -> None:
    """Dispatch counts where tasks are small, and not where it moves large objects."""
    sizes = (400_000, 200_000_000)
    traces = [tiny(encode=60, dispatched=size) for size in sizes]
    small, large = (found(trace, "dask.tiny-tasks").share or 0 for trace in traces)

    assert large < small


def test_computations_whose_tasks_run_side_by_side_are_a_loop_where_the_code_tells_it() -> None:
    trace = apart(4)

    assert analyse(replace(trace, name="peaks(fields)")).findings == ()
    (told,) = analyse(replace(trace, name="for f in fields: f.max().compute()")).findings
    assert told.rule == "dask.compute-in-loop"
    assert "dask.compute(*[f.max() for f in fields])" in told.remedy


def test_of_a_set_index_done_again_what_it_gives_is_persisted_not_what_it_is_given() -> None:
    trace = replace(
        repeats((9, 0), (9, 9)), name="[df.set_index(k).loc[at].compute() for at in xs]"
    )
    first = trace.spans[0]._replace(stage="dask.submit", details={"sorts": 1})

    (told,) = analyse(replace(trace, spans=(first, *trace.spans[1:]))).findings
    assert told.remedy.startswith("indexed = df.set_index(k).persist()")


@pytest.mark.parametrize("shape", [(40_000,), (400, 400)])
def test_chunks_as_printed_are_fewer_by_one_factor_in_each_number_of_dimensions(
    shape: tuple[int, ...],
) -> None:
    x = da.ones(shape, chunks=10)
    names: dict[str, Any] = {"x": x}

    exec(larger_chunks(make_trace([]), 2.0).split("\n")[-1].replace("<x>", "x"), names)  # noqa: S102

    made = da.ones(shape, chunks=names["chunks"])
    assert x.npartitions / made.npartitions == pytest.approx(2, rel=0.06)


@pytest.mark.parametrize("called", ["", "klient"])
def test_a_remedy_is_typed_with_the_client_of_the_notebook(called: str) -> None:
    held = graph_table(("f", "numpy.ndarray (2,)", 16_000_000, 12))
    trace = run(graph=16_000_000, dispatched=192_000_000, tasks=312, tables=[held])
    first = trace.spans[0]._replace(details={"client": called} if called else None)

    told = find(replace(trace, spans=(first, *trace.spans[1:])), name="table")

    assert f"({called or 'client'}.scatter([table]," in "".join(one.remedy for one in told)
