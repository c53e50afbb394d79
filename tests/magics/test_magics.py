"""The magics in a plain IPython shell: loading, unloading, completion, cells without a kernel."""

import pickle
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from interrupts import pressed
from IPython.core.completer import provisionalcompleter
from shells import Ran, Shell

from jupyter_serprof.api import resume
from jupyter_serprof.capture import patching, recorder
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.capture.recorder import active_recorders
from jupyter_serprof.experiments.engine import recording
from jupyter_serprof.magics import run as lines
from jupyter_serprof.magics import typed
from jupyter_serprof.magics.options import SERPROF
from jupyter_serprof.model import Trace, load, to_document
from jupyter_serprof.model.document import MIME_TYPE


def parts(shell: Shell) -> dict[str, list[object]]:
    """Return everything that an extension could have added to."""
    return {
        "line": sorted(shell.magics_manager.magics["line"]),
        "cell": sorted(shell.magics_manager.magics["cell"]),
        "cleanup": list(shell.input_transformers_cleanup),
        "post": list(shell.input_transformers_post),
        "ast": list(shell.ast_transformers),
        **{f"event {name}": list(found) for name, found in shell.events.callbacks.items()},
        "matchers": list(shell.Completer.custom_matchers),
        "attributes": [name for name in vars(shell) if "serprof" in name],
    }


# Loading and unloading


def test_unloading_takes_everything_away(bare: Shell) -> None:
    """After %unload_ext the shell's lists are what they were before, to the last entry."""
    before = parts(bare)

    Ran(bare, "%load_ext jupyter_serprof")
    loaded, magics = parts(bare), bare.magics_manager.magics["line"]
    assert "--compute" in (magics["graphstages"].__doc__ or "")
    Ran(bare, "%unload_ext jupyter_serprof")

    changed = {name for name in before if loaded[name] != before[name]}
    assert {"line", "cell", "cleanup", "event pre_run_cell", "matchers"} <= changed
    assert parts(bare) == before


def test_a_document_draws_itself_without_the_extension(bare: Shell) -> None:
    """What a function returned is drawn as a last value, and never printed as its fields."""
    code = "import jupyter_serprof as sp; sweep = sp.roundtrip([1], repeat=1)\n"

    drawn, printed = Ran(bare, code + "sweep"), Ran(bare, "[sweep]")

    assert "pickle in-band takes " in drawn.out
    assert MIME_TYPE in bare.display_formatter.format(bare.user_ns["sweep"])[0]  # type: ignore[union-attr]
    assert "[<Sweep value>]" in printed.out


def test_remedies_have_the_names_of_a_cell_that_the_document_does_not_keep(shell: Shell) -> None:
    ran = Ran(shell, "%%serprof\njob = lambda: 1\ndata = pickle.dumps(job)")

    assert ran.trace.name == "cell"
    assert "data = cloudpickle.dumps(job)" in ran.trace.findings[0].remedy
    assert "lambda: 1" not in str(to_document(ran.trace))


@pytest.mark.parametrize("again", ["%load_ext jupyter_serprof", "%reload_ext jupyter_serprof"])
def test_loading_again_changes_nothing(shell: Shell, again: str) -> None:
    """One transformer, one pair of events, one matcher, however often it is loaded."""
    before = {name: len(found) for name, found in parts(shell).items()}

    ran = Ran(shell, again)

    assert ran.result.success
    assert {name: len(found) for name, found in parts(shell).items()} == before
    assert Ran(shell, "%%serprof\npickle.dumps(1)").trace.outcome == "ok"


@pytest.mark.parametrize("command", ["%unload_ext jupyter_serprof", "%reload_ext jupyter_serprof"])
def test_unloading_inside_a_recording_shows_what_there_is(shell: Shell, command: str) -> None:
    """A recording that runs is stopped, removed and shown; the cell goes on."""
    ran = Ran(shell, f"%%serprof\npickle.dumps(1)\n{command}\ny = 2")

    assert ran.result.success
    assert shell.user_ns["y"] == 2
    assert "pickle.dumps" in {span.stage for span in ran.trace.spans}
    assert armed_places() == []
    assert ("serprof" in shell.magics_manager.magics["line"]) is ("reload" in command)


def test_unloading_survives_a_shell_that_was_reset(shell: Shell) -> None:
    """Callbacks and transformers that somebody else removed are no error."""
    shell.events.callbacks["post_run_cell"].clear()
    shell.input_transformers_cleanup.clear()

    ran = Ran(shell, "%unload_ext jupyter_serprof")

    assert ran.result.success
    assert "serprof" not in shell.magics_manager.magics["line"]


# Cells


def test_a_cell_is_as_without_the_magic(shell: Shell) -> None:
    """Top-level await, shell commands, magics, assignments and the last value all work."""
    cell = (
        "%%serprof --name mine\nimport asyncio\nawait asyncio.sleep(0)\nx = pickle.dumps([1])\n"
        "!echo from the shell\n%time y = 1\nlen(x)"
    )

    ran = Ran(shell, cell)

    assert ran.result.success
    assert ran.value == len(pickle.dumps([1]))
    assert shell.user_ns["x"] == pickle.dumps([1])
    assert shell.user_ns["y"] == 1
    assert "from the shell" in ran.out
    assert "Wall time" in ran.out
    assert ran.trace.name == "mine"
    assert "pickle.dumps" in {span.stage for span in ran.trace.spans}


@pytest.mark.parametrize(
    "cell",
    [
        "\n\n%%serprof\npickle.dumps(1)",
        "   \n%%serprof\npickle.dumps(1)",
        "  %%serprof\n  pickle.dumps(1)",
        "%%serprof\t--name x\npickle.dumps(1)",
        "%%serprof   \npickle.dumps(1)\n\n\n",
        "In [1]: %%serprof\n   ...: pickle.dumps(1)",
        "%%time\n%%serprof\nx = pickle.dumps(1)\nx",
        "%%serprof\n%%time\nx = pickle.dumps(1)\nx",
    ],
)
def test_what_stands_around_the_magic_does_not_matter(shell: Shell, cell: str) -> None:
    """A cell is recorded once, or not at all; never run without its recording."""
    ran = Ran(shell, cell)

    assert ran.value == pickle.dumps(1)
    assert ran.trace.outcome == "ok"


@pytest.mark.parametrize(
    ("cell", "at"),
    [
        ("%%serprof\npickle.dumps(1)\n\n1/0", "----> 4 1/0"),
        ("%%time\n%%serprof\npickle.dumps(1)\n1/0", "----> 2 1/0"),
        ("def f():\n    pickle.dumps(1)\n    return 1/0\n%serprof f()", "----> 3     return 1/0"),
    ],
    ids=["cell", "below another magic", "line"],
)
def test_what_raises_shows_its_line_and_its_picture(shell: Shell, cell: str, at: str) -> None:
    """One traceback, at the right line, without frames of ours; what was measured is shown."""
    ran = Ran(shell, cell)

    assert isinstance(ran.result.error_in_exec, ZeroDivisionError)
    assert ran.out.count("Traceback (most recent call last)") == 1
    assert at in ran.out
    assert "jupyter_serprof" not in ran.out
    assert ran.trace.outcome == "error"


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "asyncio.CancelledError"])
def test_an_interrupted_cell_says_so(shell: Shell, error: str) -> None:
    """Ctrl-C passes through, also as a kernel interrupts an await: by cancelling it."""
    ran = Ran(shell, f"%%serprof\nimport asyncio\npickle.dumps(1)\nraise {error}")

    assert type(ran.result.error_in_exec).__name__ == error.rpartition(".")[2]
    assert ran.trace.outcome == "interrupted"


@pytest.mark.parametrize("cell", ["%%serprof -q\npickle.dumps(1)", "%serprof -q pickle.dumps(1)"])
def test_an_interrupt_at_any_line_of_ours_ends_the_cell_and_leaves_nothing(
    shell: Shell, cell: str
) -> None:
    """It is heard, once, as Ctrl-C; nothing is armed any more, and the next cell is recorded."""
    before = parts(shell)
    files = [str(one.__file__) for one in (lines, typed, recording, recorder, patching)]
    cells: list[Ran] = []

    for line in (round(20 * 1.2**step) for step in range(45)):
        was_pressed = pressed(lambda: cells.append(Ran(shell, cell)), line, *files)
        ran = cells[-1]
        assert (armed_places(), active_recorders(), parts(shell)) == ([], (), before), line
        assert "Error in callback" not in ran.out, line
        error = ran.result.error_in_exec or ran.result.error_before_exec
        assert isinstance(error, KeyboardInterrupt) == was_pressed, line
        assert ("KeyboardInterrupt" in ran.out) == was_pressed, line
        if not was_pressed:
            break

    assert len(cells) > 10
    assert not was_pressed
    assert Ran(shell, "%%serprof\npickle.dumps(1)").trace.outcome == "ok"


@pytest.mark.parametrize(
    ("cell", "error", "said"),
    [
        ("%%serprof\nx = = 3", SyntaxError, "line 2"),
        ("%serprof nope", NameError, "name 'nope' is not defined"),
    ],
)
def test_an_error_before_anything_was_serialized_is_only_that(
    shell: Shell, cell: str, error: type[Exception], said: str
) -> None:
    """Nothing was measured, so there is no picture."""
    ran = Ran(shell, cell)

    assert isinstance(ran.result.error_before_exec or ran.result.error_in_exec, error)
    assert ran.documents == []
    assert said in ran.out


@pytest.mark.parametrize(
    ("cell", "option"),
    [
        ("%%serprof -h\nran = True", "--transports LIST"),
        ("%serprof", "--transports LIST"),
        ("%serprof --sweep n=1e3:1e5:5 --help", "--transports LIST"),
        ("%graphstages -h", "--timeout SECONDS"),
        ("%%graphstages --help\nran = True", "--timeout SECONDS"),
    ],
)
def test_help_is_printed_and_nothing_runs(shell: Shell, cell: str, option: str) -> None:
    """-h anywhere, also beside a sweep of nothing, and %serprof alone."""
    ran = Ran(shell, cell)

    assert ran.result.success
    assert "Options, before the code:" in ran.out
    assert option in ran.out
    assert ran.err == ""
    assert "ran" not in shell.user_ns


def test_a_silent_cell_shows_nothing(shell: Shell) -> None:
    """A front end that asks silently gets no picture, and the code runs."""
    ran = Ran(shell, "%%serprof\nx = 5", silent=True)

    assert (ran.documents, ran.out, ran.err) == ([], "", "")
    assert shell.user_ns["x"] == 5
    assert Ran(shell, "%%serprof\npickle.dumps(1)").trace.outcome == "ok"


def test_await_below_another_magic_is_refused_with_the_remedy(shell: Shell) -> None:
    """The event loop is busy there: the message says where %%serprof belongs."""
    ran = Ran(shell, "%%time\n%%serprof\nimport asyncio\nran = 1\nawait asyncio.sleep(0)")

    assert "Write %%serprof on the first line" in ran.err
    assert "ran" not in shell.user_ns


def test_a_cell_run_by_a_cell_is_recorded_once(shell: Shell) -> None:
    """run_cell inside a cell: one picture, and the result's value."""
    ran = Ran(shell, "r = get_ipython().run_cell('%%serprof\\npickle.dumps(1)\\n7')")

    assert shell.user_ns["r"].result == 7
    assert ran.trace.outcome == "ok"


@pytest.mark.parametrize("inside", ["1/0", "", "pass"])
def test_a_cell_inside_does_not_end_the_recording(shell: Shell, inside: str) -> None:
    """A cell that runs others, also empty ones and those that raise, is recorded to its end."""
    ran = Ran(shell, f"%%serprof\nr = get_ipython().run_cell('{inside}')\npickle.dumps(1)")

    assert ran.result.success
    assert ran.trace.outcome == "ok"
    assert [s.stage for s in ran.trace.spans if "pickle" in s.stage] == ["pickle.dumps"]


def test_a_line_inside_a_cell_has_its_own_picture(shell: Shell) -> None:
    """A profile inside a profile: the inner one is shown first, the outer one contains it."""
    ran = Ran(shell, "%%serprof\npickle.dumps(1)\n%serprof pickle.dumps(2)")

    inner, outer = ran.documents
    assert isinstance(inner, Trace)
    assert isinstance(outer, Trace)
    assert (inner.name, outer.name) == ("pickle.dumps(2)", "cell")
    assert sum(span.stage == "pickle.dumps" for span in outer.spans) == 2
    assert ran.value is None


def test_a_terminal_waits_for_the_end_of_the_cell(shell: Shell) -> None:
    """As with every cell magic, Enter after the first statement does not run the cell."""
    text = "%%serprof\nx = 1"

    first, last = shell.check_complete(text), shell.check_complete(text + "\ny = 2\n\n")

    assert first[0] == "incomplete"
    assert last[0] == "complete"


def test_history_keeps_what_was_typed(shell: Shell) -> None:
    """Arrow up brings the magic back, not a comment."""
    raw: list[str] = shell.history_manager.input_hist_raw  # type: ignore[union-attr]

    Ran(shell, "%%serprof --name x\npickle.dumps(1)", store_history=True)

    assert raw[-1] == "%%serprof --name x\npickle.dumps(1)"


# Lines


def test_a_value_makes_the_round_trip(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """What serializes nothing is sent through every transport."""
    monkeypatch.setitem(sys.modules, "distributed", None)

    ran = Ran(shell, "a = [1, 2]\n%serprof a")

    assert ran.sweep.name == "a"
    assert [v.key for v in ran.sweep.variants] == ["pickle", "pickle-oob", "cloudpickle", "ray"]
    assert {"text/plain", "image/png", MIME_TYPE} == set(ran.bundles[0])


def test_none_is_shown_as_a_run(shell: Shell) -> None:
    """An expression that returns None has nothing to send: its own time is shown."""
    ran = Ran(shell, "%serprof print('x')")

    assert ran.trace.name == "print('...')"  # a literal may be a password
    assert ran.out == "x\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = pickle.dumps(1)", pickle.dumps(1)),
        ("x = 1; x = x + 1", 2),
        ("x = '--name; \"quoted\"'", '--name; "quoted"'),
        *(("(x := -1)", -1), ("--name n x = 3", 3), ("-- x = 4", 4), ("for x in [1, 2]: pass", 2)),
    ],
)
def test_statements_assign(shell: Shell, code: str, expected: object) -> None:
    """Assignments land in the namespace, whatever stands in the code."""
    ran = Ran(shell, f"%serprof {code}")

    assert ran.result.success
    assert shell.user_ns["x"] == expected


@pytest.mark.parametrize("code", ["-1 * 3", "-(1 + 2)", "--  -x"])
def test_code_may_begin_with_a_minus(shell: Shell, code: str) -> None:
    """A negative number is a value and makes its round trip."""
    ran = Ran(shell, f"x = 5\n%serprof {code}")

    assert ran.sweep.variants[0].facts["equal"] is True


def test_variables_of_a_function_are_seen(shell: Shell) -> None:
    """Inside a function the code sees its locals, also from comprehensions and lambdas."""
    cell = (
        "def f(local):\n"
        "    %serprof --name direct pickle.dumps(local)\n"
        "    %serprof --name inner [pickle.dumps(local + i) for i in range(2)]\n"
        "f(1)"
    )

    ran = Ran(shell, cell)

    assert ran.result.success
    assert [document.name for document in ran.documents] == ["direct", "inner"]


def test_shell_syntax_works_in_the_code(shell: Shell) -> None:
    """!command and %magic behind %serprof mean what they mean elsewhere."""
    ran = Ran(shell, "%serprof x = !echo hello\n%serprof %time pickle.dumps(1)")

    assert list(shell.user_ns["x"]) == ["hello"]
    assert "Wall time" in ran.out


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%serprof x = = 3", "SyntaxError: invalid syntax\n    x = = 3\n        ^"),
        ("%serprof await f()", "Write %%serprof on the first line"),
        ("%serprof [i async for i in f()]", "Write %%serprof on the first line"),
        ("%serprof --tansports ray ran()", "did you mean --transports?"),
        ("%serprof --transports nope ran()", "'nope'"),
        ("%serprof --transports pikle ran()", "did you mean pickle?"),
        ("%serprof --transports pickle x = ran()", "the code is a statement"),
        ("%serprof --repeat 0 ran()", "from 1 to 1000"),
        ("%serprof -o class ran()", "needs the name of a variable"),
        ("%serprof --sweep n=1e3:1e5:3 --transports pickel ran()", "did you mean pickle?"),
        ("%serprof --sweep n=1e3:1e5:3 ran(", "SyntaxError"),
        ("%serprof ran --blame", "--blame stands behind the code; options go before it"),
        ("%serprof --sweep n=1e3:1e5:3 y = ran()", "the code is a statement"),
        ("%serprof --save before", "the code to run is missing: %serprof --save before CODE"),
        ("%serprof --blame", "the code to run is missing: %serprof --blame CODE"),
        ("%serprof -q --compare x", "is missing: %serprof -q --compare x CODE"),
        ("%serprof --sweep n=1e3:1e5:5", "is missing: %serprof --sweep n=1e3:1e5:5 f(n)"),
        ("%graphstages --repeat 3", "is missing: %graphstages --repeat 3 CODE"),
        ("%%serprof --tansports ray\nran()", "did you mean --transports?"),
        ("%%serprof --repeat 3\nran()", "--repeat does not go with a whole cell"),
        ("%%serprof --compare x\nran()", "with a whole cell. Put the code into a function f"),
        ("%%serprof --name\nran()", "--name needs a value"),
        ("%%serprof x = 1\nran()", "Move it below"),
    ],
)
def test_what_is_wrong_is_one_message_and_nothing_runs(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, cell: str, said: str
) -> None:
    """Said before any code runs, without a traceback, in place of a panel or the help."""
    calls: list[int] = []
    shell.user_ns["ran"] = lambda: calls.append(1)
    monkeypatch.setattr("jupyter_serprof.api.Live.is_seen", True)

    ran = Ran(shell, cell)

    assert not ran.result.success
    assert said in ran.err
    assert len(ran.err.splitlines()) == (3 if "SyntaxError" in ran.err else 1)
    assert (ran.out, ran.documents, calls) == ("", [], [])


@pytest.mark.parametrize("options", ["", "--repeat 3 "])
def test_an_interrupted_line_is_always_shown(shell: Shell, options: str) -> None:
    """Waiting until Ctrl-C is an answer, also where nothing was serialized."""

    def wait() -> None:
        raise KeyboardInterrupt

    shell.user_ns["wait"] = wait

    ran = Ran(shell, f"%serprof {options}wait()")

    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert ran.trace.outcome == "interrupted"


@pytest.mark.parametrize(
    ("count", "points", "told"),
    [
        (0, 0, "interrupted in its first run"),
        (1, 1, "interrupted before its result was looked at"),
        (2, 1, "interrupted in its first run"),
        (3, 2, "interrupted before its result was looked at"),
        (4, 2, "interrupted after 1 run"),
    ],
)
def test_an_interrupted_round_trip_shows_what_there_is(
    shell: Shell, count: int, points: int, told: str
) -> None:
    """The rows that are done, also where Ctrl-C fell behind their runs, and what was left out."""
    cell = (
        "class Interrupts:\n"
        "    left = COUNT\n"
        "    def __reduce__(self):\n"
        "        if not Interrupts.left: raise KeyboardInterrupt\n"
        "        Interrupts.left -= 1\n"
        "        return (Interrupts, ())\n"
        "%serprof --name x --transports pickle,cloudpickle --repeat 2 Interrupts()"
    )

    ran = Ran(shell, cell.replace("COUNT", str(count)))

    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert len(ran.sweep.points) == points
    said = str(ran.bundles[0]["text/plain"])
    assert told in said
    assert ("no transport could move it" in said) is (points == 0)
    assert ("stopped before its turn" in said) is (count < 2)


def test_repeat_runs_cold_once_and_warm_so_often(shell: Shell) -> None:
    """--repeat 3: four runs of the code, the first one apart."""
    calls: list[int] = []
    shell.user_ns["f"] = lambda: calls.append(len(pickle.dumps(1)))

    ran = Ran(shell, "%serprof --repeat 3 f()")

    assert [point.cold for point in ran.sweep.points] == [True, False, False, False]
    assert len(calls) == 4
    trip = Ran(shell, "%serprof --repeat 2 --transports pickle,cloudpickle [1, 2]").sweep
    assert [point.variant for point in trip.points] == ["pickle"] * 3 + ["cloudpickle"] * 3


def test_o_name_and_q(shell: Shell) -> None:
    """The document in a variable, under its own name, and nothing on the screen."""
    ran = Ran(shell, "%serprof -o trace --name 'my run' -q pickle.dumps(1)")

    assert isinstance(shell.user_ns["trace"], Trace)
    assert shell.user_ns["trace"].name == "my run"
    assert (ran.out, ran.err, ran.documents) == ("", "", [])


@pytest.mark.parametrize("cell", ["%serprof {} pickle.dumps(1)", "%%serprof {}\npickle.dumps(1)"])
@pytest.mark.parametrize("ending", [".serprof.json", ".png", ".svg"])
def test_save_writes_the_file(shell: Shell, tmp_path: Path, cell: str, ending: str) -> None:
    """All that are named, one with spaces in quotes; the picture is shown as well."""
    file = tmp_path / f"my run{ending}"

    ran = Ran(shell, cell.format(f"--save '{file}' --save {tmp_path}/x.md"))

    assert ran.result.success
    assert len(ran.documents) == 1
    assert file.stat().st_size > 500
    assert (tmp_path / "x.md").exists()
    if ending == ".serprof.json":
        assert load(file) == ran.trace


@pytest.mark.parametrize(
    "cell", ["%serprof {} pickle.dumps(customers)", "%%serprof {}\npickle.dumps(customers)"]
)
def test_a_private_file_has_no_name_and_the_cell_has(
    shell: Shell, tmp_path: Path, cell: str
) -> None:
    """What is shown and stored stays as it is: the file is what is given away."""
    shell.user_ns["customers"] = [1]

    ran = Ran(shell, cell.format(f"-o kept --name 'our customers' --private --save {tmp_path}/x"))
    refused = Ran(shell, cell.format("--private"))

    assert "customers" not in (tmp_path / "x.serprof.json").read_text("utf-8")
    assert shell.user_ns["kept"].name == ran.trace.name == "our customers"
    assert "--private is about a file: %serprof --private --save" in refused.err


@pytest.mark.parametrize(
    "cell",
    [
        "%serprof --name {} pickle.dumps([1])",
        "%%serprof --name {}\npickle.dumps([1])",
        "get_ipython().run_cell_magic('serprof', '--name {}', 'pickle.dumps([1])')",
    ],
    ids=["line", "cell", "called"],
)
def test_ctrl_c_while_the_document_is_made_keeps_what_was_measured(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, cell: str, request: pytest.FixtureRequest
) -> None:
    """Also of a cell in a cell, as `%%time` runs it."""
    name = request.node.callspec.id
    with monkeypatch.context() as patched:
        patched.setattr("jupyter_serprof.analysis.analyse", Mock(side_effect=KeyboardInterrupt))
        ran = Ran(shell, cell.format(name))

    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    kept = resume()
    assert isinstance(kept, Trace)
    assert (kept.name, kept.outcome) == (name, "ok")
    assert "pickle.dumps" in {span.stage for span in kept.spans}


@pytest.mark.parametrize("cell", ["%serprof {} f()", "%%serprof {}\nf()"])
@pytest.mark.parametrize("raised", [False, True])
def test_a_file_that_cannot_be_written_costs_no_result(
    shell: Shell, tmp_path: Path, cell: str, *, raised: bool
) -> None:
    """The picture and the variable are there, one line says what is wrong, Run All stops."""
    # Of two errors both are said; what propagates is the code's own.
    Ran(shell, f"def f():\n    pickle.dumps(1)\n    return 1 / {1 - raised}")

    ran = Ran(shell, cell.format(f"-o kept --save {tmp_path}/no/x.png"))

    assert len(ran.documents) == 1
    assert isinstance(shell.user_ns["kept"], Trace)
    assert "cannot write x.png" in ran.err
    assert ran.err.count("\n") == 1
    assert "Error in callback" not in ran.out + ran.err
    assert not ran.result.success
    assert isinstance(ran.result.error_in_exec, ZeroDivisionError) is raised


@pytest.mark.parametrize("cell", ["%serprof {} f()", "%%serprof {}\nf()", "%graphstages {} f()"])
def test_a_name_that_cannot_be_saved_is_refused_before_anything_runs(
    shell: Shell, cell: str
) -> None:
    """Nobody waits for a measurement whose file has an ending of others."""
    Ran(shell, "ran = []\ndef f():\n    ran.append(1)")

    refused = Ran(shell, cell.format("--save x.pdf"))

    assert "cannot tell how to save 'x.pdf'" in refused.err
    assert not refused.result.success
    assert shell.user_ns["ran"] == []


def test_a_transport_by_name_that_is_missing_is_loud(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with what to type; what ran before is shown."""
    monkeypatch.setitem(sys.modules, "ray", None)

    ran = Ran(shell, "%serprof --repeat 1 --transports pickle,ray [1]")

    assert "ProbeUnavailable: the transport ray needs Ray." in ran.err
    assert 'Run: pip install "jupyter_serprof[ray]"' in ran.err
    assert [v.state for v in ran.sweep.variants] == ["ok", "failed"]


def test_nothing_is_kept_in_out(shell: Shell) -> None:
    """Neither Out nor _ nor a hidden name holds what was profiled."""
    before = dict(shell.user_ns["Out"])

    Ran(shell, "%serprof b'x' * 1000", store_history=True)

    assert shell.user_ns["Out"] == before
    assert b"x" * 1000 not in [v for v in shell.user_ns.values() if isinstance(v, bytes)]


# Completion


def completed(shell: Shell, line: str) -> set[str]:
    completer = shell.Completer
    assert completer is not None
    completer.use_jedi = False
    with provisionalcompleter():
        return {c.text for c in completer.completions(line, len(line)) if c.type == "option"}


LONG_FLAGS = {flag for flag in SERPROF.flags if flag.startswith("--")}
GRAPH_CELL_FLAGS = {"--name", "--detail", "--blame", "--save", "--private", "--help"}
GRAPH_FLAGS = GRAPH_CELL_FLAGS | {
    *("--compute", "--timeout", "--sweep", "--repeat", "--try", "--compare", "--fail-above")
}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("%serprof --tr", {"--transports", "--try"}),
        ("%serprof --tra", {"--transports"}),
        ("%serprof --re", {"--repeat"}),
        ("%%serprof --na", {"--name"}),
        ("%serprof --detail --sa", {"--save"}),
        ("%serprof --name 'a b' --sa", {"--save"}),
        ("%serprof --", LONG_FLAGS),
        ("%%serprof --", LONG_FLAGS - set(SERPROF.line_only)),
        *(("%serprof f(x) --tr", set()), ("%serprof -o --tr", set()), ("%time --tr", set())),
        *(("x = 1 --tr", set()), ("graphstages --c", set())),
        ("%graphstages --t", {"--timeout", "--try"}),
        ("%graphstages --timeout 3 --c", {"--compute", "--compare"}),
        ("%graphstages --", GRAPH_FLAGS),
        ("%%graphstages --", GRAPH_CELL_FLAGS),
    ],
)
def test_options_are_completed_where_they_may_stand(
    shell: Shell, line: str, offered: set[str]
) -> None:
    """Tab offers what fits, before the code and nowhere else."""
    assert completed(shell, line) == offered


@pytest.mark.filterwarnings("ignore:`Completer.complete` is pending deprecation")
def test_the_simple_completion_agrees(shell: Shell) -> None:
    """Front ends that ask the old way get the same words."""
    text, matches = shell.complete("--tra", "%serprof --tra", len("%serprof --tra"))

    assert text == "--tra"
    assert matches == ["--transports"]
