"""The functions of the package: what the magics call, for programs."""

import pickle
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pythons import python

import jupyter_serprof as sp
from jupyter_serprof import Sweep, Trace
from jupyter_serprof.model import DocumentError, UsageError

MAGIC_BYTES = {".png": b"\x89PNG", ".svg": b"<?xml", ".serprof.json": b'{"format"'}


@pytest.fixture(scope="module")
def trace() -> Trace:
    return sp.profile(pickle.dumps, [1, 2, 3])[1]


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    return sp.roundtrip([1, 2, 3], ["pickle"], 1, name="three")


def test_profile_returns_result_and_trace() -> None:
    """Arguments and keywords reach the function, which is itself watched; its name is the title."""
    result, trace = sp.profile(pickle.dumps, [1], protocol=2)

    assert result == pickle.dumps([1], protocol=2)
    assert (trace.name, trace.spans[0].stage) == ("dumps", "pickle.dumps")


class Job:
    """Something that holds a lock."""

    def __init__(self) -> None:
        self.lock = Lock()


class Asking(Job):
    """Something that notes each time it is asked to pickle itself."""

    asked: ClassVar[list[int]] = []

    def __reduce__(self) -> str:
        self.asked.append(1)
        raise TypeError


def test_what_could_not_be_pickled_is_named_and_let_go() -> None:
    """The first line names the part, no reducer runs for it, and nothing of it is kept alive."""
    job = Job()
    watched = weakref.ref(job)
    with suppress(TypeError), sp.record("job") as recording:
        pickle.dumps([1, job])
    del job
    with suppress(TypeError), sp.record("asking") as other:
        pickle.dumps([Asking()])

    assert watched() is None
    assert "`job.lock` cannot be pickled" in str(recording.trace.summary)
    assert (other.trace.findings[0].rule, Asking.asked) == ("pickle.unpicklable", [1])


def test_an_exception_passes_through_profile() -> None:
    """The program sees what it would see without us."""
    with pytest.raises(pickle.UnpicklingError):
        sp.profile(pickle.loads, b"x")

    with sp.record() as recording:
        pass
    assert not recording.has_spans


def test_roundtrip_gives_a_sweep() -> None:
    """Transports in the order given, named once each, cold and warm."""
    sweep = sp.roundtrip({"a": 1}, ["cloudpickle", "pickle", "cloudpickle"], 2, name="d")

    assert [variant.key for variant in sweep.variants] == ["cloudpickle", "pickle"]
    assert [point.cold for point in sweep.points] == [True, False, False] * 2
    assert sweep.name == "d"


@pytest.mark.parametrize("ending", MAGIC_BYTES)
def test_save_writes_what_the_ending_says(
    trace: Trace, sweep: Sweep, tmp_path: Path, ending: str
) -> None:
    """One word decides: document, picture for pages, picture for print."""
    for document in (trace, sweep):
        file = tmp_path / f"x{ending}"

        sp.save(document, file)

        assert file.read_bytes().startswith(MAGIC_BYTES[ending])
        assert [entry.name for entry in tmp_path.iterdir()] == [file.name]
        file.unlink()


def test_a_saved_document_loads(trace: Trace, tmp_path: Path) -> None:
    sp.save(trace, str(tmp_path / "X.SERPROF.JSON"))

    assert sp.load(tmp_path / "X.SERPROF.JSON") == trace


@pytest.mark.parametrize("name", ["x.pdf", "x.json.gz", "x.svg.gz", "png"])
def test_another_ending_is_refused_with_the_known_ones(
    trace: Trace, tmp_path: Path, name: str
) -> None:
    """No guessing: the message shows the three endings, and no folder of the machine."""
    with pytest.raises(UsageError) as caught:
        sp.save(trace, tmp_path / name)

    assert repr(name) in str(caught.value)
    assert all(ending in str(caught.value) for ending in MAGIC_BYTES)
    assert ".md, .csv or .trace.json" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", MAGIC_BYTES)
def test_a_folder_that_is_not_there_is_said(trace: Trace, tmp_path: Path, ending: str) -> None:
    """A document error with the file's name, whatever the kind of file."""
    with pytest.raises(DocumentError, match=f"cannot write x{ending}"):
        sp.save(trace, tmp_path / "no" / f"x{ending}")


def test_show_prints_text_without_a_shell(
    trace: Trace, sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a program the picture is text on standard output."""
    sp.show(trace)
    sp.show(sweep)
    sp.show(sp.blame({"a": [1] * 1000, "b": 2}))

    out, err = capsys.readouterr()
    assert 'it["a"]' in out
    assert "Pickle" in out
    assert "pickle in-band" in out
    assert err == ""


@pytest.mark.parametrize("given", [5, None, "x.serprof.json", [1], sp.Trace])
@pytest.mark.parametrize("call", [sp.show, lambda doc: sp.save(doc, "x.png")])
def test_what_is_no_document_is_a_type_error_in_words(
    given: object, call: Callable[[Any], object]
) -> None:
    """It names what was given and what it takes; both kinds of except meet it."""
    with pytest.raises(TypeError) as caught:
        call(given)

    assert isinstance(caught.value, UsageError)
    assert type(given).__name__ in str(caught.value)
    assert "sp.sweep(" in str(caught.value) or "sp.roundtrip(" in str(caught.value)


def test_an_anatomy_that_is_the_value_of_a_cell_is_drawn(shell: InteractiveShell) -> None:
    """As what ``--blame`` shows: picture, document and text."""
    data, _ = shell.display_formatter.format(sp.blame([b"x" * 10_000]))  # type: ignore[union-attr]  # it has one

    assert sorted(data) == ["application/vnd.jupyter-serprof.v1+json", "image/png", "text/plain"]
    assert "no stage" not in data["text/plain"]


@pytest.mark.parametrize("path", ["", "folder/", b"", b"x.pdf"])
def test_a_name_that_is_none_is_refused(trace: Trace, tmp_path: Path, path: str | bytes) -> None:
    """Nothing is written under a name that is an ending only."""
    folder = str(tmp_path) + "/"
    (tmp_path / "folder").mkdir()

    with pytest.raises(UsageError, match=r"cannot tell how to save|name of a file"):
        sp.save(trace, folder + path if isinstance(path, str) else folder.encode() + path)

    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_what_is_given_without_a_name_has_that_of_the_notebook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line to paste that says `value` names nobody's variable."""
    rows = [[1], {"a": 2}]
    monkeypatch.setattr(sys.modules["__main__"], "rows", rows, raising=False)

    names = (
        sp.roundtrip(rows, ["pickle"], repeat=1).name,
        sp.try_remedies(rows, budget_s=0.01, pairs=1).name,
        sp.blame(rows).name,
        sp.roundtrip([2], ["pickle"], repeat=1).name,
    )

    assert names == ("rows", "rows", "rows", "value")


def test_in_a_browser_everything_works_but_pictures_and_sweeps() -> None:
    """As in Pyodide: no thread, no clock of threads, no psutil, no numpy, no matplotlib."""
    program = """
import _thread, sys, time
def start_new_thread(*_): raise RuntimeError("can't start new thread")
_thread.start_new_thread = start_new_thread
del time.thread_time_ns
sys.modules |= dict.fromkeys(("psutil", "numpy", "matplotlib", "PIL", "pillow"))
import pickle
import jupyter_serprof as sp
rows = [{"id": at} for at in range(1000)]
with sp.record("mine", live=print, blame=True) as recording:
    pickle.loads(pickle.dumps(rows))
made = [recording.trace, sp.roundtrip(rows, repeat=2), sp.blame(rows), sp.try_remedies(rows)]
made.append(sp.compare(lambda: pickle.dumps(rows), lambda: pickle.dumps(rows, 0), repeat=2))
told = [bool(sp.to_markdown(doc)) for doc in (made[0], made[1], made[3], made[4])]
print(told, recording.trace.quality.notes)
"""

    assert python(program).strip() == "[True, True, True, True] ()"


@pytest.mark.parametrize("live", [1, "x"])
def test_who_is_told_has_to_be_callable(live: Any) -> None:
    with pytest.raises(UsageError, match="function of one argument"):
        sp.record("x", live=live)
