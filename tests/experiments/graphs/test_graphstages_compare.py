"""%graphstages --repeat, --compare and --fail-above, with a cluster in this process."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from dasks import forgotten, mapped, scheduler_tasks, small_array
from distributed import Client, wait
from made_runs import FAST_NS, made
from shells import Ran, Shell

import jupyter_serprof as sp
from jupyter_serprof.analysis.findings.dask_facts import task_count
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.model import Sweep, UsageError

#: Typed in part only.
dask: Any = import_module("dask")
db: Any = import_module("dask.bag")


@pytest.fixture
def user(
    shell: Shell, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    """A shell with an array, a bag and a client, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    shell.user_ns.update(x=small_array(), bag=db.range(9, npartitions=3), dask=dask, client=client)
    yield shell
    assert armed_places() == []


def dask_runs(wall_ns: int) -> Sweep:
    """Return a document of fifteen runs of a computation that nobody can meet."""
    runs = made(wall_ns)
    points = (replace(point, stages={"dask.execute": point.wall_ns}) for point in runs.points)
    return replace(runs, name="x.sum()", points=tuple(points))


# Many runs


@pytest.mark.parametrize(
    ("line", "count", "tasks"),
    [
        ("--repeat 3 x.sum()", 3, 5),
        # The same function and arguments have the same key: it is given back before the next run.
        ("--repeat 5 client.submit(len, [1, 2])", 5, 1),
        ("--repeat 2 y = x.sum().compute()", 2, 6),  # what it assigns is the user's
    ],
)
def test_every_run_computes_and_is_released(
    user: Shell, client: Client, line: str, count: int, tasks: int
) -> None:
    """One cold point and the warm ones, each with the tasks at work; nothing stays."""
    ran = Ran(user, f"%graphstages {line}")

    assert ran.result.success, ran.err
    assert [point.cold for point in ran.sweep.points] == [True, *[False] * count]
    assert all("dask.execute" in point.stages for point in ran.sweep.points)
    assert all(point.moved_bytes for point in ran.sweep.points)  # of the graph
    assert {task_count(entry.trace) for entry in ran.sweep.traces} == {tasks}
    assert float(user.user_ns.get("y", 32)) == 32.0
    assert forgotten(client)


def test_results_that_the_user_holds_are_computed_again_and_stay(
    user: Shell, client: Client
) -> None:
    """Else each run would find them on the cluster, and look faster than it is."""
    Ran(user, "kept = (x + 0).sum().persist()")
    wait(user.user_ns["kept"])  # type: ignore[no-untyped-call]  # in a cell Out would hold it

    ran = Ran(user, "%graphstages --repeat 2 (x + 0).sum()")

    assert all("dask.execute" in point.stages for point in ran.sweep.points)
    assert float(user.user_ns["kept"].compute()) == 32.0
    del user.user_ns["kept"]
    assert forgotten(client)


def test_a_statement_that_keeps_results_is_not_run_again(user: Shell, client: Client) -> None:
    """Another run would find them; the one run is shown, and what it assigned stays."""
    ran = Ran(user, "%graphstages --repeat 3 y = x.persist()")

    assert "y = x.persist() keeps results on the cluster" in ran.err
    assert "%graphstages --repeat 15 x" in ran.err
    assert ran.trace.name == "y = x.persist()"
    assert float(user.user_ns["y"].sum().compute()) == 32.0
    assert scheduler_tasks(client)
    del user.user_ns["y"]
    assert forgotten(client)


@pytest.mark.parametrize("is_early", [False, True])
def test_a_run_that_finds_results_is_no_measurement(
    user: Shell, client: Client, monkeypatch: pytest.MonkeyPatch, *, is_early: bool
) -> None:
    """Code that keeps what it persists is told so; the run that computed is shown."""
    # The client knows the results, so that such a run can be over before the scheduler has its
    # graph.
    loop, send = cast("Any", client.loop), vars(type(client))["_send_to_scheduler_safe"]
    graphs: list[object] = []
    held: list[object] = []

    def hold(message: dict[str, object]) -> None:
        graphs.extend([message] if message["op"] == "update-graph" else [])
        if not is_early or len(graphs) < 2:
            send(client, message)
        else:
            held.append(message)

    Ran(user, "kept = []\ndef keep(y): kept.append(y.persist()); return kept[-1]")

    with monkeypatch.context() as patched:
        patched.setattr(client, "_send_to_scheduler_safe", hold)
        ran = Ran(user, "%graphstages --repeat 3 keep(x)")

    assert "run 2 of keep(x) found its results on the cluster" in ran.err
    assert len(ran.sweep.points) == 1
    assert bool(held) is is_early
    for message in held:
        loop.add_callback(send, client, message)
    user.user_ns["kept"].clear()
    assert forgotten(client)


def test_an_error_in_a_later_run_keeps_those_before(user: Shell, client: Client) -> None:
    """The error is the user's own, and the document says what is missing."""
    user.user_ns["left"] = iter([1, 1, 1])

    ran = Ran(user, "%graphstages --repeat 5 x.sum() * next(left)")

    assert isinstance(ran.result.error_in_exec, StopIteration)
    assert "jupyter_serprof" not in ran.out
    assert len(ran.sweep.points) == 3
    assert "StopIteration after 2 warm runs of 5" in ran.sweep.variants[0].notes[0]
    assert forgotten(client)


def test_an_error_in_the_first_run_shows_it(user: Shell, client: Client) -> None:
    user.user_ns.update(mapped=mapped, failing=import_module("dasks").failing)

    ran = Ran(user, "%graphstages --repeat 5 mapped(failing)")

    assert isinstance(ran.result.error_in_exec, LookupError)
    assert ran.trace.outcome == "error"
    assert forgotten(client)


def test_a_program_repeats_and_compares(client: Client) -> None:
    """The keyword of the function has the name of the option."""
    before, after = (sp.graphstages(lambda: small_array().sum(), repeat=6) for _ in range(2))
    found = sp.compare(before, after)

    assert len(before.points) == 7
    (wall,) = [change for change in found.changes if not change.stage and not change.cold]
    assert (wall.before_runs, wall.after_runs, wall.low is None) == (6, 6, False)
    assert forgotten(client)


# Compared


def test_a_collection_is_compared_stage_by_stage_with_a_file(user: Shell, client: Client) -> None:
    """Saved before, run now; ratios with intervals, the noise of here, and the cluster empty."""
    saved = Ran(user, "%graphstages -q --repeat 8 --save before x.sum()")

    ran = Ran(user, "%graphstages --compare before --repeat 8 x.sum()")

    assert saved.result.success, saved.err
    assert ran.result.success, ran.err
    comparison = ran.sweep.comparison
    assert comparison is not None
    warm = {change.stage: change for change in comparison.changes if not change.cold}
    assert warm[""].low is not None
    assert warm["dask.execute"].ratio is not None
    assert comparison.noise_share is not None
    assert "compared with `x.sum()`" in ran.bundles[0]["text/plain"]
    assert forgotten(client)


def test_a_collection_that_was_cut_anew_is_the_same_computation(user: Shell) -> None:
    """That is what one wants to know; what differs in the graph is noted."""
    Ran(user, "%graphstages -q --repeat 2 --name total -o before x.map_blocks(abs).sum()")

    line = "%graphstages --compare before --repeat 2 {} x.rechunk(4).map_blocks(abs).sum()"
    refused, ran = Ran(user, line.format("")), Ran(user, line.format("--name total"))

    assert "after of x.rechunk(4).map_blocks(abs).sum(): not the same code" in refused.err
    assert ran.result.success, ran.err
    assert ran.sweep.comparison is not None
    assert ran.sweep.comparison.notes[0].startswith("the graph is another one: 5 tasks before, ")


def test_one_run_before_gives_a_ratio_and_no_verdict(user: Shell) -> None:
    """A single recording is a document too; what would give a verdict is said."""
    Ran(user, "%graphstages -q --save before x.sum()")

    ran = Ran(user, "%graphstages --compare before --repeat 3 x.sum()")

    comparison = ran.sweep.comparison
    assert comparison is not None
    assert comparison.changes[0].ratio is not None
    assert comparison.changes[0].verdict == "cannot tell"
    assert "Run each side again: --repeat 15" in comparison.changes[0].reason


def test_a_statement_is_compared(user: Shell) -> None:
    Ran(user, "%graphstages -q --repeat 2 -o before y = x.sum().compute()")

    ran = Ran(user, "%graphstages --compare before --repeat 2 y = x.sum().compute()")

    assert ran.sweep.comparison is not None
    assert ran.sweep.comparison.before == "y = x.sum().compute()"


def test_a_regression_stops_the_cell_after_the_document_is_shown(user: Shell) -> None:
    """Run All stops there; the numbers are on the screen, and in the variable."""
    user.user_ns["before"] = dask_runs(FAST_NS)

    ran = Ran(
        user, "%graphstages --compare before --repeat 8 --fail-above 10% -o now x.sum()\ngone = 1"
    )

    assert "RegressionError: slower by more than 10.0 %: Wall time" in ran.err
    assert "gone" not in user.user_ns
    assert ran.sweep.comparison == user.user_ns["now"].comparison


# Refused


@pytest.mark.parametrize(
    ("made_by", "said"),
    [
        ("%serprof -q -o before dumps(1)", "before is runs of code"),
        ("%graphstages -q --sweep chunk=2:4:2 --repeat 1 -o before x", "a sweep over chunk sizes"),
    ],
)
def test_a_document_of_something_else_is_refused_after_one_run(
    user: Shell, client: Client, made_by: str, said: str
) -> None:
    """What both are is said, and the one run that was made is shown."""
    user.user_ns["dumps"] = import_module("pickle").dumps
    Ran(user, f"{made_by}\nbefore = __import__('dataclasses').replace(before, name='x')")

    ran = Ran(user, "%graphstages --compare before x")

    assert "nothing can be compared: " in ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.sweep.points) == 1
    assert forgotten(client)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--compare nowhere x", "cannot read nowhere.serprof.json: No such file"),
        ("--compare x x", "Make one first: %graphstages --repeat 15 -o x CODE"),
        ("--repeat 3 y = 1", "nothing of Dask ran in y = 1"),
        ("--repeat 3 1 + 1", "1 + 1 gave an int, and nothing of Dask ran"),
    ],
)
def test_bad_lines_are_refused_with_a_line_to_paste(user: Shell, line: str, said: str) -> None:
    ran = Ran(user, f"%graphstages {line}")

    assert said in ran.err
    assert "Traceback" not in ran.out


@pytest.mark.parametrize("repeat", [0, 1.5, True])
def test_a_bad_number_of_runs_is_refused_before_anything_runs(repeat: Any) -> None:
    with pytest.raises(UsageError, match="repeat is"):
        sp.graphstages(lambda: pytest.fail("it ran"), repeat=repeat)
