"""``python -m jupyter_serprof``: the main job without IPython, in the manner of timeit."""

import os
import pty
import subprocess
import sys
import termios
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_runs import CODE, FAST_NS, SLOW_NS, made

from jupyter_serprof import api
from jupyter_serprof.cli import main
from jupyter_serprof.experiments.engine import live
from jupyter_serprof.model import Sweep, Trace, load, save_document
from jupyter_serprof.views.kit.lines import width as columns_of

RUN = ["-s", "import pickle", CODE]


def run(*arguments: str) -> int:
    """Run the command in this process, in a namespace of its own."""
    return main(arguments, {"__name__": "__main__"})


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    command = [sys.executable, "-m", "jupyter_serprof", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


def test_a_statement_is_shown_and_saved_without_ipython(folder: Path) -> None:
    """Several -s and several statements are lines; classes of the setup can be pickled by name."""
    ran = python(
        folder,
        *("-s", "import pickle, sys", "-s", "class A:\n    pass"),
        *("--save", "x.md", "--save", "x.serprof.json", "a = A()", "pickle.dumps(a)"),
        "assert 'IPython' not in sys.modules",
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Pickle" in ran.stdout
    assert isinstance(load(folder / "x.serprof.json"), Trace)
    assert (folder / "x.md").exists()


def test_what_repeats_take_is_told_from_the_first_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one of them: else what is left would follow from runs that took no time."""
    said, told = threading.Semaphore(0), list[float]()
    monkeypatch.setattr(live, "AFTER_S", 0.0)
    monkeypatch.setattr(live, "EVERY_S", 0.01)

    def tell(_: api.Live, facts: Any) -> None:
        told.append(facts.ran_s)
        said.release()

    monkeypatch.setattr(api.Live, "tell", tell)

    assert (
        main(["--repeat", "2", "for _ in range(9): said.acquire(timeout=30)"], {"said": said}) == 0
    )
    assert told == sorted(told)


@pytest.mark.parametrize("columns", [60, 140])
def test_a_terminal_is_used_to_its_width_and_not_beyond(columns: int) -> None:
    """A real one, whose size nobody but the terminal says."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    command = [sys.executable, "-m", "jupyter_serprof", *RUN]
    known = {key: value for key, value in os.environ.items() if key != "COLUMNS"}

    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=known)
    os.close(theirs)
    said = b""
    with suppress(OSError):  # so Linux says that the other end is closed
        while part := os.read(ours, 65_536):
            said += part
    os.close(ours)

    assert process.wait(60) == 0
    widths = {columns_of(line.rstrip()) for line in said.decode().splitlines()}
    assert min(columns, 100) - 25 < max(widths) <= columns
    assert "Wall time" in said.decode()


@pytest.mark.parametrize("end", ["", "1 / 0"])
def test_a_terminal_has_a_line_while_a_program_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Until there is the picture, or the error of the program, on a line of its own."""
    monkeypatch.setattr(live, "AFTER_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "argv", sys.argv[:])
    waits = "import sys\nwhile 'Running' not in sys.stderr.getvalue(): ...\n"
    (folder / "x.py").write_text(waits + end)

    code = run(str(folder / "x.py"))

    line, _, rest = capsys.readouterr().err.partition("\r\x1b[Kreading what was measured\r\x1b[K")
    assert (code, line.startswith("\r\x1b[KRunning, 0.")) == (int(bool(end)), True)
    assert ("Traceback" if end else ": no serialization was seen") in rest.partition("\n")[0]


def test_a_private_file_has_no_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file there is nothing that could be private."""
    code = run(
        "--private", "--save", "x", "-s", "import pickle; rates = [1]", "pickle.dumps(rates)"
    )
    refused = run("--private", "1")

    assert (code, refused) == (0, 2)
    assert "rates" not in (folder / "x.serprof.json").read_text("utf-8")
    said = capsys.readouterr()
    assert "17 B in-band" in said.out
    assert said.err == "--private is about a file: --private --save run.serprof.json\n"


def test_a_regression_gives_the_exit_code_of_a_failed_test(folder: Path) -> None:
    """Nothing else is needed in CI: the table on stdout, the reason on stderr, 1."""
    save_document(made(FAST_NS), folder / "before.serprof.json")

    ran = python(folder, "--compare", "before", "--fail-above", "10%", *RUN)

    assert ran.returncode == 1
    assert ran.stderr.startswith("RegressionError: slower by more than 10.0 %: Wall time")
    assert "slower: " in ran.stdout
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (made(SLOW_NS), ""),
        (
            replace(made(FAST_NS), control={"pickle": (10**15,) * 10}),
            "cannot tell whether it is slower by more than 10.0 %: Wall time",
        ),
    ],
    ids=["faster", "cannot tell"],
)
def test_what_is_not_slower_passes_and_what_nobody_can_tell_says_why(
    folder: Path, capsys: pytest.CaptureFixture[str], before: Sweep, said: str
) -> None:
    """The exit code is 0, -q keeps quiet, and CI shows why on stderr."""
    save_document(before, folder / "before.serprof.json")

    code = run("-q", "--compare", "before", "--fail-above", "10%", "--save", "after", *RUN)

    out, err = capsys.readouterr()
    assert (code, out, bool(err)) == (0, "", bool(said))
    assert err.startswith(said)
    assert isinstance(load(folder / "after.serprof.json"), Sweep)


def test_a_value_makes_the_round_trip(folder: Path) -> None:
    code = run("-q", "--transports", "pickle", "-n", "2", "--save", "x.serprof.json", "[1, 2]")

    sweep = load(folder / "x.serprof.json")
    assert code == 0
    assert isinstance(sweep, Sweep)
    assert [point.variant for point in sweep.points] == ["pickle"] * 3
    assert run("-q", "--save", "code", "x = [1, 2]", "x") == 0
    assert isinstance(load(folder / "code.serprof.json"), Trace)  # behind a statement it is code


def test_help_shows_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    code = run("-h")

    out = capsys.readouterr().out
    assert code == 0
    assert "--fail-above PERCENT" in out
    assert "python -m jupyter_serprof --compare" in out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "the following arguments are required: script.py or STATEMENT"),
        (["--unknown", "1"], 2, "unrecognized arguments: --unknown"),
        (["-n", "0", "1"], 2, "a number of warm runs from 1 to 1000, not '0'"),
        (["x ="], 2, "SyntaxError: invalid syntax"),
        (["a\0b"], 2, "null"),
        (["--compare", "missing", "1"], 2, "cannot read missing.serprof.json"),
        (["--fail-above", "10%", "1"], 2, "--fail-above needs something to compare with"),
        (["--transports", "pickle", "a = 1"], 2, "--transports sends a value"),
        (["--transports", "pikle", "1"], 2, "unknown transport 'pikle'; did you mean pickle?"),
        (["--save", "x.doc", "import pickle; pickle.dumps(1)"], 2, "cannot tell how to save"),
        (["1 / 0"], 1, "ZeroDivisionError: division by zero"),
        (["-s", "1 / 0", "1"], 1, 'File "<setup>", line 1'),
        (["raise KeyboardInterrupt"], 130, "interrupted"),
    ],
)
def test_bad_input_has_a_sentence_and_a_code(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], code: int, said: str
) -> None:
    """2 for a command that cannot be understood, 1 for a program that raised; no frames of ours."""
    given = run(*arguments)

    err = capsys.readouterr().err
    assert given == code
    assert said in err
    assert "cli.py" not in err
    assert list(folder.iterdir()) == []
