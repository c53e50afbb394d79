"""The core flows, each a cell in a kernel: every magic, option, function and picture.

Run by ``matrix.py`` with the Python and the libraries of a pair. A cell of ``pickle.ipy``,
``ray.ipy`` or ``dask.ipy`` asserts what is true of its documents; one that kills its kernel is red.
"""

import base64
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from browser.screen import Screen
from kernels.conftest import Kernel, Ran
from PIL import Image

pytest_plugins = ("browser.conftest",)
FOLDER = Path(__file__).parent
LIBRARIES = ("pickle", "ray", "dask")
#: Between two cells, as editors know it.
_CELL = "\n# %% "
_STRICT = re.compile(r"^strict ([01]\.\d+)$", re.MULTILINE)
#: How a failure of ours is told in the quality of a document.
_FAILED = ("failed", "Error")


class Flow(NamedTuple):
    """A cell; what its first line (else its output) says, and the error of the user that it raises.

    ``says`` is a regular expression.
    """

    library: str
    name: str
    cell: str
    says: str
    error: str


def cells_of(library: str) -> tuple[str, list[Flow]]:
    """Return the cell that starts a library, and its flows."""
    start, *cells = (FOLDER / f"{library}.ipy").read_text("utf-8").split(_CELL)
    return start, [_flow(library, cell) for cell in cells]


def setup_of(library: str) -> str:
    """Return what runs in a kernel before the flows of a library."""
    return (FOLDER / "setup.ipy").read_text("utf-8") + cells_of(library)[0]


def _flow(library: str, text: str) -> Flow:
    name, *lines = text.strip().splitlines()
    heads = dict.fromkeys(("# says ", "# raises "), "")
    for head in heads:
        if lines[0].startswith(head):
            heads[head] = lines.pop(0).removeprefix(head)
    return Flow(library, name, "\n".join(lines), *heads.values())


FLOWS = [flow for library in LIBRARIES for flow in cells_of(library)[1]]


class Kernels:
    """A kernel for each library; all start together, and one again after its death."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kernels: dict[str, Kernel] = {}
        self._begun: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        for library in LIBRARIES:
            self._begin(library)

    def _begin(self, library: str) -> None:
        made = self._kernels[library] = Kernel(self._folder)
        self._begun[library] = made.client.execute(setup_of(library))

    def of(self, library: str) -> Kernel:
        if not self._kernels[library].is_alive:
            self._begin(library)
        kernel = self._kernels[library]
        if library in self._begun:
            ran = kernel.follow(self._begun.pop(library))
            again = kernel.start_ray(setup_of(library)) if ran.error else ran
            self._failed[library] = again.error
        assert not self._failed[library], last(self._failed[library])
        return kernel

    def close(self) -> None:
        for kernel in self._kernels.values():
            if kernel.is_alive:
                kernel.run("stop()")
            kernel.close()


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    """The kernels of all flows, in a folder with a short name: Ray's sockets lie in it."""
    folder = tempfile.mkdtemp(prefix="sp")
    made = Kernels(Path(folder))
    yield made
    made.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("flow", FLOWS, ids=[f"{flow.library}: {flow.name}" for flow in FLOWS])
def test_flow(kernels: Kernels, flow: Flow, record_property: Callable[[str, object], None]) -> None:
    """What a cell says is true, in the text, the picture and the document."""
    ran = kernels.of(flow.library).run(flow.cell)
    if not flow.error and not re.search(flow.says, said(ran)):  # another program had the machine
        ran = kernels.of(flow.library).run(flow.cell)
    for share in _STRICT.findall(ran.stream()):
        record_property(f"{flow.library}: {flow.name}", f"{float(share):.1%}")

    assert flow.error in last(ran.error), last(ran.error)
    assert bool(flow.error) == bool(ran.error), last(ran.error)
    assert "Exception ignored" not in ran.stream("stderr")
    assert re.search(flow.says, said(ran)), said(ran)[:500]
    check_pictures(ran)


def last(error: str) -> str:
    """Return the line of a traceback that says what happened."""
    return "\n".join(reversed([line for line in error.splitlines() if line.strip()][-12:]))


def said(ran: Ran) -> str:
    """Return the first line of the first document, else what was printed."""
    return ran.texts[0].splitlines()[0] if ran.texts else ran.stream() + ran.stream("stderr")


def check_pictures(ran: Ran) -> None:
    """Open each PNG; no document notes a failure of our own."""
    for output in ran.outputs:
        if png := output.get("data", {}).get("image/png"):
            with Image.open(io.BytesIO(base64.b64decode(png))) as picture:
                picture.load()
                assert min(picture.size) > 100
    for document in ran.documents:
        notes = document.quality.notes
        assert [note for note in notes if any(word in note for word in _FAILED)] == []


def test_labextension_is_found() -> None:
    """JupyterLab of this environment lists the renderer, and finds nothing wrong with it."""
    command = [sys.executable, "-m", "jupyter", "labextension", "list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if "serprof" in line]

    assert "enabled" in line
    assert "OK" in line


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_picture_is_drawn(screen: Screen, jupyter: str, host: str) -> None:
    """Saved outputs are drawn by the labextension in JupyterLab and in Notebook 7."""
    (screen.open_lab if host == "lab" else screen.open_notebook)(jupyter, "saved.ipynb")

    assert "84 %" in screen.drawn(3).first.inner_text()
