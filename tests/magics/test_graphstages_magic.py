"""%graphstages and %%graphstages in a plain IPython shell, with a cluster in this process."""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from dasks import GATE, failing, forgotten, mapped, scheduler_tasks, small_array
from distributed import Client
from shells import Ran, Shell

from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.model import Trace

#: Typed in part only.
dask: Any = import_module("dask")


@pytest.fixture
def user(shell: Shell, client: Client) -> Iterator[Shell]:
    """A shell with an array, a client and the user's functions."""
    GATE.set()
    shell.user_ns.update(x=small_array(), dask=dask, client=client, mapped=mapped, failing=failing)
    yield shell
    assert armed_places() == []


def notes(trace: Trace) -> str:
    return " ".join(trace.quality.notes)


def stages(trace: Trace) -> set[str]:
    return {span.stage for span in trace.spans}


# A line


def test_a_collection_is_persisted_shown_and_released(user: Shell, client: Client) -> None:
    """One document named by the code; no value, nothing in Out, nothing on the cluster."""
    count = len(user.user_ns["Out"])

    ran = Ran(user, "%graphstages x.sum()")

    assert ran.result.success, ran.out
    assert ran.value is None
    assert len(user.user_ns["Out"]) == count
    assert (ran.trace.name, ran.trace.outcome) == ("x.sum()", "ok")
    assert {"dask.serialize", "dask.execute"} <= stages(ran.trace)
    assert "dask.gather" not in stages(ran.trace)
    assert forgotten(client)


def test_compute_gathers(user: Shell, client: Client) -> None:
    """--compute brings the result to the client, and drops it."""
    ran = Ran(user, "%graphstages --compute --timeout 60 x.sum()")

    assert "dask.gather" in stages(ran.trace)
    assert forgotten(client)


@pytest.mark.parametrize("code", ["x.sum().compute()", "client.submit(len, [1]).result()"])
def test_code_that_computes_by_itself_is_shown(user: Shell, code: str) -> None:
    ran = Ran(user, f"%graphstages {code}")

    assert ran.result.success, ran.err
    assert "dask.execute" in stages(ran.trace)


def test_a_statement_keeps_what_it_assigns(user: Shell, client: Client) -> None:
    """`y = x.persist()` stays on the cluster, and nobody waits for it."""
    ran = Ran(user, "%graphstages y = x.persist()")

    assert ran.trace.name == "y = x.persist()"
    assert "dask.serialize" in stages(ran.trace)
    assert float(user.user_ns["y"].sum().compute()) == 32.0
    assert scheduler_tasks(client)
    del user.user_ns["y"]
    assert forgotten(client)


def test_variables_of_a_function_are_seen(user: Shell) -> None:
    ran = Ran(user, "def f(z):\n    %graphstages z.sum()\nf(x)")

    assert ran.trace.outcome == "ok"


# A cell


def test_a_cell_is_as_without_the_magic(user: Shell) -> None:
    """Top-level await, magics, assignments and the last value all work."""
    cell = (
        "%%graphstages --name mine\nimport asyncio\nawait asyncio.sleep(0)\n"
        "y = (x + 1).sum().compute()\n%time z = 1\nfloat(y)"
    )

    ran = Ran(user, cell)

    assert ran.result.success, ran.out
    assert ran.value == 48.0
    assert user.user_ns["z"] == 1
    assert (ran.trace.name, ran.trace.outcome) == ("mine", "ok")
    assert {"dask.serialize", "dask.execute", "dask.gather"} <= stages(ran.trace)


def test_each_computation_of_a_cell_is_a_group(user: Shell) -> None:
    """Three computations, three blocks of rows, in their order."""
    ran = Ran(
        user, "%%graphstages\nx.sum().compute()\ndask.compute(x.max(), x.min())\ny = x.persist()"
    )

    titles = [group.title for group in ran.trace.groups]
    assert [title[:2] for title in titles] == ["1:", "2:", "3:"]
    assert ["compute" in title or "persist" in title for title in titles] == [True] * 3


@pytest.mark.parametrize(
    "code",
    [
        "%%graphstages\nmapped(failing).compute()",
        "%%time\n%%graphstages\nmapped(failing).compute()",
        "%graphstages mapped(failing)",
    ],
)
def test_a_task_that_raises_shows_its_own_error_and_the_picture(
    user: Shell, client: Client, code: str
) -> None:
    """The task's exception, one traceback without frames of ours, and what was measured."""
    ran = Ran(user, code)

    assert isinstance(ran.result.error_in_exec, LookupError)
    assert "jupyter_serprof" not in ran.out
    assert ran.out.count("Traceback (most recent call last)") == 1
    assert ran.trace.outcome == "error"
    assert "dask.serialize" in stages(ran.trace)
    assert forgotten(client)


# What is wrong


@pytest.mark.parametrize(
    "cell",
    [
        "%graphstages x.map_blocks(lambda block: (block, lock)[0], dtype=float)",
        "%graphstages y = x.map_blocks(lambda block: (block, lock)[0], dtype=float).compute()",
        "%%graphstages\nx.map_blocks(lambda block: (block, lock)[0], dtype=float).compute()",
    ],
    ids=["expression", "statement", "cell"],
)
def test_a_graph_that_cannot_be_pickled_names_the_path(user: Shell, cell: str) -> None:
    """The user's own error, and the path in the document."""
    Ran(user, "import threading\nlock = threading.Lock()")

    ran = Ran(user, cell)

    assert isinstance(ran.result.error_in_exec, TypeError)
    assert "Could not serialize" in ran.out
    assert "the graph was not sent. lambda-" in notes(ran.trace)
    assert "lock" in notes(ran.trace)


def test_a_timeout_is_one_line_and_a_picture(user: Shell, client: Client) -> None:
    """Run All stops; the partial picture says interrupted."""
    GATE.clear()
    user.user_ns["gated"] = import_module("dasks").gated

    ran = Ran(user, "%graphstages --timeout 0.05 mapped(gated)")
    GATE.set()

    assert not ran.result.success
    assert "mapped(gated) was not done after 0.05 s" in ran.err
    assert "Traceback" not in ran.out
    assert ran.trace.outcome == "interrupted"
    assert forgotten(client)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%graphstages 1 + 1", "1 + 1 gave an int, and nothing of Dask ran"),
        ("%graphstages [ran()]", "gave a list of 1"),
        ("%graphstages x = = 3", "SyntaxError: invalid syntax"),
        ("%graphstages await x", "Write %%graphstages on the first line"),
        ("%graphstages --compute y = x", "Run it first, then: %graphstages --compute NAME"),
        ("%%graphstages x\nran()", "the options of %%graphstages: x. Move it below"),
        ("%%time\n%%graphstages\nawait ran()", "Write %%graphstages on the first line"),
    ],
)
def test_what_is_wrong_is_one_line(user: Shell, line: str, said: str) -> None:
    """No traceback, no picture, and the names of the magic that was typed."""
    Ran(user, "def ran(): global has_run; has_run = True")

    ran = Ran(user, line)

    assert not ran.result.success
    assert said in ran.err
    assert "Traceback" not in ran.out
    assert ran.documents == []
    assert ("has_run" in user.user_ns) is ("[ran()]" in line)


def test_a_name_that_is_not_defined_is_only_that(user: Shell) -> None:
    ran = Ran(user, "%graphstages nowhere")

    assert isinstance(ran.result.error_in_exec, NameError)
    assert ran.documents == []


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            "%%graphstages\ny = 1",
            "nothing of Dask ran in it; to see pickle and Ray, write %%serprof",
        ),
        ("%graphstages y = 1", "write %serprof y = 1"),
    ],
)
def test_code_without_dask_is_told_so(user: Shell, cell: str, said: str) -> None:
    """It ran, and the document says what would show more."""
    ran = Ran(user, cell)

    assert ran.result.success
    assert user.user_ns["y"] == 1
    assert said in notes(ran.trace)
    assert said in ran.bundles[0]["text/plain"].replace("\n      ", " ")


@pytest.mark.parametrize(
    "cell", ["%graphstages ran()", "%%graphstages\nran()", "%%time\n%%graphstages\nran()"]
)
def test_without_dask_the_pip_line_is_told(
    user: Shell, monkeypatch: pytest.MonkeyPatch, cell: str
) -> None:
    Ran(user, "def ran(): global has_run; has_run = True")
    monkeypatch.setitem(sys.modules, "dask", None)

    ran = Ran(user, cell)

    assert 'Dask, which is not installed. Run: pip install "jupyter_serprof[dask]"' in ran.err
    assert "has_run" not in user.user_ns
    assert ran.documents == []


# Alone


def test_alone_it_lists_the_collections(user: Shell, client: Client) -> None:
    """A table of the user's variables, nothing computed, and how to go on."""
    Ran(user, "kept = x.persist()\n_hidden = x + 1")
    before = len(scheduler_tasks(client))
    kind = "Array float64 (4, 4) 4"

    ran = Ran(user, "%graphstages")

    assert ran.result.success
    lines = [line.split() for line in ran.out.splitlines() if line]
    assert lines[0] == ["name", "type", "partitions", "tasks", "layers", "results"]
    assert lines[1] == ["kept", *f"{kind} 4 1 on the cluster".split()]
    assert lines[2] == ["x", *f"{kind} 8 2".split()]
    assert "    %graphstages x\n" in ran.out
    assert "_hidden" not in ran.out
    assert len(scheduler_tasks(client)) <= max(before, 4)
    del user.user_ns["kept"]
    assert forgotten(client)


def test_alone_without_collections_it_shows_how_to_begin(user: Shell) -> None:
    del user.user_ns["x"]

    ran = Ran(user, "%graphstages")

    assert "There is no Dask collection" in ran.out
    assert "%graphstages (x + x.T).sum()" in ran.out
