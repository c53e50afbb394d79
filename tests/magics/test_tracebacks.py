"""What a user sees of an exception that passed through a hook: nothing of ours."""

import asyncio
import pickle
import traceback
from pathlib import Path

import pytest
from pythons import python
from shells import Ran, Shell

import jupyter_serprof as sp
from jupyter_serprof.capture.hook import Place, hook_for
from jupyter_serprof.capture.recorder import Recorder

OURS = str(Path(sp.__file__).parent)


def frames(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def test_a_traceback_through_an_armed_hook_has_no_frame_of_ours() -> None:
    """An exception of pickle reads as if nobody had watched."""
    with pytest.raises(TypeError) as bare:
        pickle.dumps(_unpicklable())

    with pytest.raises(TypeError) as watched, sp.record():
        pickle.dumps(_unpicklable())

    assert str(watched.value) == str(bare.value)
    assert [file for file in frames(watched.value) if file.startswith(OURS)] == []
    assert len(frames(watched.value)) == len(frames(bare.value))


def test_an_import_that_fails_shows_only_the_import_statement() -> None:
    """The seam of first-use imports does not show in tracebacks."""
    with pytest.raises(ModuleNotFoundError) as caught, sp.record():
        import a_module_that_is_not_there  # type: ignore[import-not-found]  # noqa: F401

    assert [file for file in frames(caught.value) if file.startswith(OURS)] == []


def test_an_awaited_failure_has_no_frame_of_ours() -> None:

    async def fails() -> None:
        message = "theirs"
        raise ValueError(message)

    hook = hook_for(fails, Place("somewhere:fails", "user"))
    hook.sinks = (Recorder([]),)

    with pytest.raises(ValueError, match="theirs") as caught:
        asyncio.run(hook())

    assert [file for file in frames(caught.value) if file.startswith(OURS)] == []


def _unpicklable() -> object:
    return (number for number in (1, 2))


def test_drawing_a_traceback_is_not_the_time_of_the_cell(tmp_path: Path) -> None:
    """What IPython imports to show an exception does not stand in the document of the cell."""
    (tmp_path / "only_for_drawing.py").write_text("")
    script = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell._showtraceback = lambda *args: __import__("only_for_drawing")
shell.run_line_magic("load_ext", "jupyter_serprof")
shell.run_cell("%%serprof -q -o trace\\n1/0")
trace = shell.user_ns["trace"]
assert "only_for_drawing" in sys.modules
print(trace.outcome, [span.name for span in trace.spans if "drawing" in span.name])
"""

    said = python(script, PYTHONPATH=str(tmp_path), IPYTHONDIR=str(tmp_path / "ipython"))

    assert said.split() == ["error", "[]"]


@pytest.mark.parametrize(
    "line", ["%serprof 1 + 1", "%serprof --repeat 2 1 + 1", "%%serprof\n1 + 1"]
)
def test_ctrl_c_before_anything_began_is_what_it_is(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """There is no document yet, and no error of ours in its place."""

    def pressed(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Recorder, "start", pressed)
    monkeypatch.setattr(Recorder, "stop", lambda *_: None)  # as of one that never began

    ran = Ran(shell, line)

    raised = ran.result.error_in_exec or ran.result.error_before_exec
    assert isinstance(raised, KeyboardInterrupt)
    assert "still runs" not in ran.err + ran.out
