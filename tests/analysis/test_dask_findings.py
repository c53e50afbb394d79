"""Findings about Dask: silent where all is well, and remedies that fit what they are about."""

import ast
from collections.abc import Callable
from dataclasses import replace

import pytest
from dask_golden import (
    ARRAY,
    DASK_GOLDEN,
    HASH,
    HEALTHY,
    computations_table,
    embedded,
    graph_table,
    repeats,
    run,
    tasks_table,
    tiny,
)

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.findings.dask_facts import prefix
from jupyter_serprof.model import Finding, Group, Table, Trace
from jupyter_serprof.testing import make_trace


def findings(trace: Trace, rule: str | None = None) -> list[Finding]:
    """Return the findings of a trace, of one rule or of all."""
    return [found for found in analyse(trace).findings if rule in {None, found.rule}]


def only(trace: Trace, rule: str) -> Finding:
    """Return the one finding of a rule."""
    (found,) = findings(trace, rule)
    return found


@pytest.mark.parametrize("make", HEALTHY.values(), ids=HEALTHY)
def test_nothing_is_found_where_nothing_should_be_done_differently(
    make: Callable[[], Trace],
) -> None:
    """A tool that always warns is not read: well made workloads are left alone."""
    assert findings(make()) == []


UNKNOWN = {
    "graph bytes": run(graph=None, out_of_band=None, dispatched=10**9),
    "dispatched bytes": run(dispatched=None),
    "tasks": run(tasks=None, schedule=60),
    "layers": run(layers=None),
    "functions": run(mains=None),
    "gathered bytes": run(gather=500, compute=300, gathered=None),
    "bytes of an object": embedded(None),
    "repeated tasks": repeats((100, None), (100, None)),
    "text for a number": repeats((100, "many"), (100, "many")),
    "truth for a number": run(layers=True, mains=True),
    "no time of tasks": run(tables=[tasks_table(("sum", 400, 0, None))]),
}


@pytest.mark.parametrize("trace", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_is_found_in_what_nobody_saw(trace: Trace) -> None:
    """Unknown is neither zero nor large: a rule without its numbers is silent."""
    assert findings(trace) == []


def test_the_tables_of_a_foreign_writer_do_no_harm() -> None:
    """Columns that are missing, and cells of other types, are unknown."""
    cut = [replace(entry, columns=entry.columns[:2]) for entry in embedded(10**8).tables]
    odd = [_odd_graph(), computations_table(), tasks_table()]

    assert findings(run(tables=cut)) == []
    assert findings(run(tables=odd)) == []


def _odd_graph() -> Table:
    known = graph_table(("f", ARRAY, 1, 1))
    return replace(known, rows=((7, None, ARRAY, "large", "most", 1.5, True),))


@pytest.mark.parametrize(
    ("layer", "name", "count", "said"),
    [
        ("mysum", ARRAY, 100, "a = client.scatter(a, broadcast=True)"),
        ("mysum", "pandas.DataFrame (10, 3)", 2, "pdf = client.scatter(pdf, broadcast=True)"),
        ("mysum", "dict", 2, "value = client.scatter(value, broadcast=True)"),
        ("mysum", ARRAY, 1, "a = dask.delayed(load)(path)"),
        ("array", ARRAY, 16, 'x = da.from_npy_stack("a")'),
        ("from_pandas", "pandas.DataFrame (10, 3)", 1, "df = dd.read_parquet("),
    ],
)
def test_the_remedy_fits_the_object_and_its_layer(
    layer: str, name: str, count: int, said: str
) -> None:
    """What is sliced is read by tasks, what many use is scattered, what one uses is loaded."""
    found = only(embedded(32_000_000, layer, name, count), "dask.large-object")

    assert found.remedy.startswith(said)
    assert found.title.startswith(f"{name} of 32.0 MB is embedded in the graph, layer {layer}")
    ast.parse(found.remedy)


def test_a_graph_without_layers_names_the_task() -> None:
    """client.submit sends tasks, not layers: what stands there instead is no name."""
    known = graph_table(("(low-level graph)", ARRAY, 32_000_000, 1))
    row = [
        "price-0a1b2c3d4e5f60718293a4b5c6d7e8f9" if at == 1 else cell
        for at, cell in enumerate(known.rows[0])
    ]

    found = only(run(tables=[replace(known, rows=(tuple(row),))]), "dask.large-object")

    assert found.title == f"{ARRAY} of 32.0 MB is embedded in the graph, layer price"


def test_without_a_scheduler_nothing_can_be_scattered() -> None:
    """Processes without a cluster get the object as a key of the graph."""
    sent = ("dask.serialize", "client/main", 0, 5, 32_000_000)
    trace = replace(make_trace([sent]), tables=embedded(32_000_000).tables)

    assert only(trace, "dask.large-object").remedy.startswith("a = dask.delayed(a)")


def test_what_is_embedded_costs_nothing_where_no_graph_is_pickled() -> None:
    """Threads of one process share the object."""
    trace = replace(make_trace([("dask.execute", "client/thread 1", 0, 5)]))

    assert findings(replace(trace, tables=embedded(32_000_000).tables)) == []


def test_the_largest_objects_are_told_with_what_crosses_to_workers() -> None:
    """Three of them; the last sentence says how many more there are."""
    rows = [(f"f{at}-{HASH}", ARRAY, 90_000_000 - at, 3) for at in range(5)]

    found = findings(run(tables=[graph_table(*rows)]), "dask.large-object")

    assert found[0].title == (
        f"{ARRAY} of 90.0 MB is embedded in the graph, layer f0, 3 tasks refer to it: "
        "270 MB go to workers"
    )
    assert found[0].evidence["crossing_bytes"] == 270_000_000
    assert len(found) == 3
    assert found[2].title.endswith("; 2 more like this")


def test_a_repeated_payload_names_the_object_that_crosses_most() -> None:
    """32 MB in the graph, 3.2 GB in the task specifications, and what it is."""
    known = graph_table((f"f-{HASH}", "dict", 10**6, 1), (f"g-{HASH}", ARRAY, 32_000_000, 100))

    trace = run(graph=32_000_000, dispatched=3_200_000_000, tasks=100, tables=[known])

    assert only(trace, "dask.repeated-payload").title == (
        "the graph was 32.0 MB, the task specifications that left the scheduler 3.20 GB, "
        f"most of them {ARRAY}: 100× as much"  # noqa: RUF001
    )


def test_bytes_are_read_from_the_table_where_no_span_has_them() -> None:
    """A lower rung of the probe knows sums only."""
    known = computations_table(("1: compute sum", "compute", 100, 0, 10**9))
    rows = tuple((*row[:6], 500_000_000, row[7]) for row in known.rows)

    trace = run(graph=None, dispatched=None, tasks=100, tables=[replace(known, rows=rows)])

    evidence = only(trace, "dask.repeated-payload").evidence
    assert (evidence["graph_bytes"], evidence["dispatched_bytes"]) == (90_000, 500_000_000)


def test_the_chunk_factor_leaves_the_scheduler_a_tenth_of_the_time() -> None:
    """Tasks k times as large: the workers need k times as long for each, the scheduler the same."""
    scheduled_ms, compute_ms, threads = 95 + 5, 100, 2

    found = only(tiny(tables=[tasks_table(("random", 300, 1, 1))]), "dask.tiny-tasks")
    plain = only(tiny(), "dask.tiny-tasks").evidence

    factor = plain["chunk_factor"]
    assert isinstance(factor, float)
    assert scheduled_ms / (scheduled_ms + compute_ms * factor) == pytest.approx(0.1)
    assert plain["edge_factor_2d"] == pytest.approx(factor**0.5, abs=0.1)
    assert plain["worker_threads"] == threads
    assert found.title.startswith("300 tasks (300 of them random) are too small")


def test_chunks_are_for_arrays_and_batches_for_futures() -> None:
    """What was submitted has no chunks."""
    mapped = computations_table(("1: map f", "map", 400, 0, 10**8))

    array = only(tiny(), "dask.tiny-tasks").remedy
    futures = only(tiny(tables=[mapped]), "dask.tiny-tasks").remedy

    assert array.startswith("chunks = tuple(int(n * 3) for n in x.chunksize)")
    assert "npartitions // 9" in array
    assert "%graphstages --sweep chunk=" in array
    assert futures.startswith("batches = [values[i:i + 9] for i in")


@pytest.mark.parametrize(("kind", "said"), [("compute", "dask.compute(a, b)"), ("persist", "x.")])
def test_what_is_repeated_is_computed_together_or_kept(kind: str, said: str) -> None:
    """Several computes can be one; what was persisted before cannot."""
    found = only(repeats((100, 0), (100, 60), kind=kind), "dask.recompute")

    assert said in found.remedy.partition("#")[0]


def test_computations_are_named_as_their_blocks_are() -> None:
    """The number tells apart what has one name; without blocks the name alone is there."""
    trace = repeats((100, 0), (100, 60))
    groups = tuple(Group(f"block {at}", at, at + 1) for at in range(2))

    blocks = only(replace(trace, groups=groups), "dask.recompute")
    assert blocks.title.startswith("block 1 repeats 60 of its 100 tasks")
    assert only(trace, "dask.recompute").title.startswith("2: compute mean repeats")


def test_a_small_repetition_is_said_quietly() -> None:
    """Tasks that were repeated in a hundredth of the time are worth knowing, not warning of."""
    loud, quiet = (
        only(repeats((10, 0), (10, 10), wall=wall), "dask.recompute") for wall in (3_000, 3_001)
    )

    assert (loud.severity, quiet.severity) == ("warn", "info")


def test_without_a_cluster_no_scheduler_is_to_blame() -> None:
    """Dask's own schedulers work in the process of the client, where nothing is sent."""
    steps = [("dask.schedule", "client/main", 0, 200), ("dask.execute", "client/thread 1", 200, 50)]

    assert findings(make_trace(steps)) == []


def test_where_no_graph_was_seen_the_wait_begins_with_the_scheduler() -> None:
    """An older Dask, or a lower rung of the probe."""
    trace = run(schedule=110, compute=100)
    fewer = [span for span in trace.spans if span.stage != "dask.serialize"]
    spans = tuple(span._replace(parent=-1) for span in fewer)

    found = only(replace(trace, spans=spans), "dask.scheduler-bound")
    assert found.evidence["after_sent_ns"] == 220_000_000


def test_only_code_before_the_first_computation_counts() -> None:
    """What the cell does after that, workers may be busy with."""
    trace = run(code=100, compute=100)
    late = make_trace([("python.code", "client/main", 200, 400)]).spans

    assert findings(replace(trace, spans=trace.spans + late, wall_ns=600_000_000)) == []


def test_each_computation_of_a_trace_counts_for_a_rule() -> None:
    """Rows of several groups are one stage: their bytes and times are added before judging."""
    first = run(gather=300, compute=200, gathered=600_000)
    again = [
        span._replace(start_ns=span.start_ns + first.wall_ns, parent=-1) for span in first.spans
    ]
    groups = HEALTHY["persist, then small results"]().groups[:2]
    both = replace(
        first,
        spans=first.spans + tuple(again),
        wall_ns=2 * first.wall_ns,
        groups=(
            replace(groups[0], end_ns=first.wall_ns),
            replace(groups[1], start_ns=first.wall_ns, end_ns=2 * first.wall_ns),
        ),
    )

    assert findings(first, "dask.large-gather") == []
    assert "1.20 MB were gathered" in only(both, "dask.large-gather").title


@pytest.mark.parametrize("rule", DASK_GOLDEN)
def test_titles_and_remedies_are_short_enough_to_be_read(rule: str) -> None:
    """A sentence and a line."""
    for _, above, _ in DASK_GOLDEN[rule]:
        for found in findings(above(), rule):
            assert len(found.title) <= 180
            assert len(found.remedy) <= 260


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
