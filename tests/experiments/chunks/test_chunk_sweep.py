"""chunk_sweep: what can be measured is, what cannot is said, and nothing stays behind."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from dasks import forgotten, small_array
from distributed import Client
from shells import Ran, Shell

import jupyter_serprof as sp
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.experiments.chunks import look as dask_chunk_bound
from jupyter_serprof.experiments.chunks.look import ChunkLook, LeftOutError, WorkerBound, look_at
from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.experiments.engine import experiment as engine
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.runs import thin_trace
from jupyter_serprof.experiments.graphs.values import fresh
from jupyter_serprof.model import Sweep, UsageError, from_document, load, to_document
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.text import text

#: Typed in part only.
dask: Any = import_module("dask")
da: Any = import_module("dask.array")
db: Any = import_module("dask.bag")

CHUNKS = (5, 10, 20)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each point be told."""
    for name in ("QUIET_S", "BETWEEN_S", "REST"):
        monkeypatch.setattr(engine, name, 0)


@pytest.fixture(autouse=True)
def _nothing_armed() -> Iterator[None]:
    yield
    assert armed_places() == []


def make(chunk: float) -> Any:
    return (da.ones((20, 20), chunks=chunk) + 1).sum()


def notes(sweep: Sweep) -> str:
    return " ".join(sweep.quality.notes)


# What is measured


def test_every_size_is_measured_cold_and_warm(client: Client) -> None:
    """A point for each run, with what was asked, the bytes and the stages; one recording a size."""
    sweep = sp.chunk_sweep(make, CHUNKS, repeat=2, seed=1)

    assert (sweep.kind, sweep.parameter, sweep.name) == ("chunks", "chunk", "make(chunk)")
    counted = {(point.parameter, point.repeat, point.cold) for point in sweep.points}
    assert counted == {(chunk, run, run == 0) for chunk in CHUNKS for run in range(3)}
    assert {point.parameter: point.size_bytes for point in sweep.points} == {
        chunk: chunk * chunk * 8 for chunk in CHUNKS
    }
    assert all("dask.serialize" in point.stages for point in sweep.points)
    assert sweep.findings[0].rule == "dask.chunk-sweep"
    graphs = {point.parameter: point.moved_bytes or 0 for point in sweep.points}
    assert graphs[5] > graphs[20] > 0
    assert [entry.cold for entry in sweep.traces] == [False] * len(CHUNKS)
    assert forgotten(client)


def test_large_chunks_come_first(client: Client) -> None:
    """Their graphs are cheap: the first point is there soon. Partitions go the other way."""
    called: list[tuple[str, float]] = []

    def parts(npartitions: float) -> Any:
        called.append(("parts", npartitions))
        return db.range(20, npartitions=int(npartitions))

    def noted(chunk: float) -> Any:
        called.append(("chunk", chunk))
        return make(chunk)

    run(ChunkSweep(noted, CHUNKS, repeat=1))
    run(ChunkSweep(parts, (2, 4), parameter="npartitions", repeat=1))

    assert called[:3] == [("chunk", 20), ("chunk", 10), ("chunk", 5)]
    assert called[6:8] == [("parts", 2), ("parts", 4)]
    assert forgotten(client)


def test_local_schedulers_need_no_cluster() -> None:
    with dask.config.set(scheduler="sync"):
        sweep = sp.chunk_sweep(make, CHUNKS, repeat=1, compute=True)

    assert len(sweep.points) == 6
    assert sweep.variants[0].title == "compute"


@pytest.mark.parametrize(
    ("collection", "values", "remedy"),
    [
        (small_array(), (1, 2, 4), r"x = x\.rechunk\(\d\)|--sweep chunk="),
        (
            db.from_sequence(range(40), npartitions=2),
            (2, 4, 8),
            r"x = x\.repartition|--sweep npart",
        ),
    ],
    ids=["array", "bag"],
)
def test_a_collection_is_cut_anew(
    client: Client, collection: Any, values: tuple[int, ...], remedy: str
) -> None:
    """An array is rechunked, a bag repartitioned; the line to paste does the same."""
    sweep = sp.chunk_sweep(collection, values, repeat=2, name="x")

    assert {point.parameter for point in sweep.points} == set(values)
    cuts = {point.parameter: point.moved_bytes for point in sweep.points}
    assert cuts[values[0]] != cuts[values[-1]]
    assert re.search(remedy, sweep.findings[0].remedy)
    assert forgotten(client)


def test_what_the_user_persisted_is_computed_again_and_stays(client: Client) -> None:
    """A function that makes what is on the cluster already would measure nothing."""
    kept = make(5).persist()
    before = {future.key for future in client.futures_of(kept)}  # type: ignore[no-untyped-call]

    again = fresh(make(5), client)
    sweep = sp.chunk_sweep(lambda _: make(5), [1], repeat=1)

    assert set(again.__dask_keys__()) & before == set()  # type: ignore[attr-defined]
    assert float(dask.compute(again)[0]) == 800.0
    assert all("dask.execute" in point.stages for point in sweep.points)
    assert float(kept.compute()) == 800.0
    del kept
    assert forgotten(client)


def test_results_that_it_begins_with_keep_their_names(client: Client) -> None:
    """What was persisted is not computed again; nothing is renamed where nothing is held."""
    kept = small_array().persist()
    lazy = kept.rechunk(4).sum()
    other = make(10)

    same = [fresh(value, client) is value for value in (lazy, other)]

    assert same == [True, True]
    del kept, lazy
    assert forgotten(client)


def test_sizes_that_no_bytes_tell_apart_are_rows_of_their_own() -> None:
    """Runs of different chunk sizes are never one median, where nobody knows their bytes."""
    with dask.config.set(scheduler="sync"):
        sweep = sp.chunk_sweep(lambda chunk: make(chunk).compute(), CHUNKS, repeat=2)

    assert [variant.title for variant in sweep.variants] == [
        "chunk = 5",
        "chunk = 10",
        "chunk = 20",
    ]
    assert {point.size_bytes for point in sweep.points} == {None}
    for variant in sweep.variants:
        own = [point for point in sweep.points if point.variant == variant.key]
        assert len(own) == 3
        assert len({point.parameter for point in own}) == 1
    assert {entry.variant for entry in sweep.traces} == {each.key for each in sweep.variants}
    assert "chunk = 10" in text(sweep)
    assert from_document(to_document(sweep)) == sweep


def test_a_size_that_failed_keeps_its_row_where_bytes_tell_nothing() -> None:
    def computed(chunk: float) -> Any:
        if chunk == 10:
            message = "ten"
            raise ValueError(message)
        return make(chunk).compute()

    with dask.config.set(scheduler="sync"):
        sweep = sp.chunk_sweep(computed, CHUNKS, repeat=1)

    states = [(variant.state, variant.reason) for variant in sweep.variants]
    assert states == [("ok", ""), ("failed", "ValueError: ten"), ("ok", "")]


# What is left out


def test_an_exception_at_one_size_leaves_the_others(client: Client) -> None:
    sweep = sp.chunk_sweep(lambda chunk: make(chunk) if chunk != 10 else 1 / 0, CHUNKS, repeat=1)

    assert {point.parameter for point in sweep.points} == {5, 20}
    assert sweep.variants[0].notes == ("failed at chunk = 10: ZeroDivisionError: division by zero",)
    assert forgotten(client)


def test_an_exception_at_every_size_is_the_users(client: Client) -> None:
    experiment = ChunkSweep(lambda chunk: chunk / 0, CHUNKS)

    with pytest.raises(ZeroDivisionError):
        run(experiment)

    assert experiment.document.variants[0].state == "failed"
    assert forgotten(client)


def test_a_function_that_ignores_its_argument_is_told(client: Client) -> None:
    """One clear message, and the one size that was measured."""
    experiment = ChunkSweep(lambda _: make(5), CHUNKS, repeat=1, name="make(5)")

    with pytest.raises(UsageError, match=r"make\(5\) gives .* all 3 values of chunk, 5 to 20"):
        run(experiment)

    assert len(experiment.document.points) == 1
    assert forgotten(client)


def test_sizes_with_the_same_chunks_are_measured_once(client: Client) -> None:
    sweep = sp.chunk_sweep(make, [5, 10, 20, 40], repeat=1)

    assert {point.parameter for point in sweep.points} == {5, 10, 40}
    assert "chunk = 20: the same chunks as chunk = 40, measured once" in notes(sweep)
    assert forgotten(client)


@pytest.mark.parametrize("value", [7, None, [1, 2]])
def test_something_else_than_a_collection_is_refused(client: Client, value: object) -> None:
    with pytest.raises(UsageError, match=r"nothing of Dask ran\. Expected was a Dask collection"):
        sp.chunk_sweep(lambda _: value, CHUNKS)

    assert forgotten(client)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (7, {}, "a value of type int has no chunks; sweep a function"),
        (dask.delayed(len)([1]), {}, "a Delayed has no chunks to choose"),
        (make, {"chunks": [0]}, "a size is 0"),
        (make, {"repeat": 0}, "repeat is 0"),
        (make, {"timeout": -1}, "timeout is -1"),
        (make, {"budget_s": "x"}, "budget_s is 'x'"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    given: object, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        sp.chunk_sweep(given, options.pop("chunks", CHUNKS), **options)


def test_chunks_that_fit_into_no_worker_are_left_out() -> None:
    """With the bound and where it comes from; a thread holds a chunk and what it makes of it."""
    bound = WorkerBound(1_000_000_000, 4, is_cluster=True)

    with pytest.raises(LeftOutError) as caught:
        bound.check(ChunkLook(largest_bytes=200_000_000, chunks=64))

    assert str(caught.value) == (
        "left out: the largest chunk has 200 MB; chunks up to 100 MB fit: a worker has 1.00 GB for "
        "4 threads, and each holds a chunk and what is made of it"
    )
    bound.check(ChunkLook(largest_bytes=100_000_000, chunks=64))
    bound.check(ChunkLook(largest_bytes=300_000_000, chunks=1))  # one thread holds it
    WorkerBound(None, 4, is_cluster=True).check(ChunkLook(largest_bytes=10**15))


def test_graphs_of_too_many_tasks_are_not_run(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_chunk_bound, "MOST_TASKS", 30)

    sweep = sp.chunk_sweep(make, CHUNKS, repeat=1)

    assert {point.parameter for point in sweep.points} == {10, 20}
    assert re.search(r"chunk = 5: left out: \d+ tasks, more than 30", notes(sweep))
    assert forgotten(client)


# Stopped


def test_what_would_exceed_the_budget_is_left_out(client: Client) -> None:
    """The first size runs whatever it takes; the document says what is missing."""
    sweep = sp.chunk_sweep(make, CHUNKS, budget_s=1e-6)

    assert {point.parameter for point in sweep.points} == {20}
    assert "the budget of 0 s is used up" in notes(sweep)
    assert forgotten(client)


# Parts


def test_the_largest_array_on_the_way_tells_the_chunks() -> None:
    """The end is one number; of equal arrays it is the last one."""
    ends = [make(10), da.ones((20, 20), chunks=10).rechunk((4, 20)), db.range(9, npartitions=3)]

    looks = [look_at([end]) for end in ends]

    assert [(look.chunk_bytes, look.chunks) for look in looks] == [(800, 4), (640, 5), (None, 3)]
    assert looks[0].tasks == len(make(10).__dask_graph__())


def test_lengths_that_nobody_knows_are_unknown() -> None:
    """After a selection by value."""
    array = da.ones(20, chunks=5)

    look = look_at([array[array > 0].map_blocks(lambda block: block)])

    assert look.result_bytes is None
    assert look.chunk_bytes is not None  # of the array before


def test_thinning_keeps_the_longest_spans_and_every_row() -> None:
    """Rows are stored results; a kept span points at what is left around it."""
    trace = make_trace(
        [
            ("dask.execute", "worker 0/thread 0", 0, 10),
            ("dask.execute", "worker 0/thread 0", 1, 1, None, 0),
            ("dask.execute", "worker 0/thread 0", 2, 5, None, 0),
        ]
    )

    kept = thin_trace(trace, spans=2, pieces=12)

    assert [span.duration_ns for span in kept.spans] == [10_000_000, 5_000_000]
    assert [span.parent for span in kept.spans] == [-1, 0]
    assert kept.waterfall == trace.waterfall


# The magic


@pytest.fixture
def user(shell: Shell, client: Client) -> Shell:
    """A shell with a function of the chunk size, an array and a client."""
    shell.user_ns.update(make=make, x=small_array(), client=client)
    return shell


def test_the_magic_sweeps_an_expression(user: Shell, client: Client, tmp_path: Path) -> None:
    """-o, --save and -q as everywhere; the name is the code."""
    path = tmp_path / "chunks.serprof.json"

    ran = Ran(
        user,
        f"%graphstages --sweep chunk=5:20:3 --repeat 1 -q -o sweep --save '{path}' make(chunk)",
    )

    assert ran.result.success, ran.err
    sweep = user.user_ns["sweep"]
    assert (sweep.kind, sweep.name, sweep.parameter) == ("chunks", "make(chunk)", "chunk")
    assert sorted({point.parameter for point in sweep.points}) == [5, 10, 20]
    assert "chunk" not in user.user_ns
    assert load(path) == sweep
    assert forgotten(client)


def test_the_magic_cuts_a_collection_anew(user: Shell, client: Client) -> None:
    """Code without the variable is the collection itself."""
    ran = Ran(user, "%graphstages --sweep chunk=1:4:3 --repeat 1 -q -o sweep --name mine x")

    assert ran.result.success, ran.err
    assert user.user_ns["sweep"].name == "mine"
    assert {point.size_bytes for point in user.user_ns["sweep"].points} == {8, 32, 128}
    assert forgotten(client)


def test_the_magic_shows_what_was_measured_before_an_error(user: Shell) -> None:
    """The document of the one size, and one line that says what is wrong."""
    ran = Ran(user, "%graphstages --sweep chunk=5:20:3 make(10)+0*chunk")

    assert not ran.result.success
    assert "gives the same chunks for all 3 values of chunk" in ran.err + ran.out
    assert len(ran.documents) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--sweep chunk=5:20:3", "%graphstages --sweep chunk=5:20:3 f(chunk)"),
        ("--sweep chunk=5:20:3 y = make(chunk)", "a function f of chunk, then"),
        ("--sweep chunk=5:20:3 7", "its value is of type int, no Dask collection"),
        ("--sweep chunk=5:20:3 chunk + 1", "gave an int, and nothing of Dask ran"),
        ("--sweep chunk=5 x", "'chunk=5' needs two numbers"),
    ],
)
def test_bad_lines_are_refused_with_a_line_to_paste(user: Shell, line: str, said: str) -> None:
    ran = Ran(user, f"%graphstages {line}")

    assert said in ran.err + ran.out
    assert ran.documents == []
