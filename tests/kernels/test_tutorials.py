"""The tutorials: they run, and what is saved in them can be read by a stranger."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from jupyter_serprof.model import from_document
from jupyter_serprof.model.document import MIME_TYPE

FOLDER = Path(__file__).parents[2] / "notebooks"
TUTORIALS = sorted(FOLDER.glob("*.ipynb"))
#: What a saved notebook must not tell about the machine that it ran on.
PRIVATE = re.compile(r"/(home|root|work|Users|tmp)/|(?<!\d)192\.0\.|auth_token")
#: What stands in the place of the parameters; which sizes a tutorial has, and what an output of it
#: may take: thousands of tasks are more than the few rows of a round trip.
SMALL = {
    "01-ray-put-versus-cloudpickle": ("ROWS = 1_000", 45_000),
    "02-the-stages-of-a-dask-computation": (
        "SIDE, EDGE_CHUNKS = 600, 6\nDAYS = 3\nCALLS = 300\nPAYLOAD_BYTES, READERS = 2_000_000, 20",
        250_000,
    ),
    "03-sizes-and-crossovers": ("LARGEST, COUNT = 1e5, 4\nSIDE = 2_000", 250_000),
    "04-which-object-is-to-blame": (
        """WIDTH, BATCHES, ROWS = 40, 6, 2_000
TABLE_BYTES, TASKS = 1_000_000, 4
CURVE_BYTES, FRAMES = 1_200_000, 6""",
        65_000,
    ),
    "05-who-keeps-ray-waiting": (
        """TABLE_BYTES, LINK_MBIT = 20_000_000, 400
LINES, PARSE_S = 3, 0.1
DAYS, DAY_BYTES = 14, 10_000_000""",
        45_000,
    ),
    "06-what-rays-libraries-wait-for": (
        "BLOCKS = 2\nSTEPS, STEP_S = 1, 0.1\nCALLS, TABLE_BYTES = 4, 20_000_000",
        60_000,
    ),
}
#: Sizes that stand in lines of magics, which no parameter reaches.
FEWER = {
    "n=1e2:1e5:7 --repeat 3": "n=1e2:1e4:4 --repeat 1",
    "chunk=250:4000:5 --repeat 2": "chunk=250:2000:3 --repeat 1",
}


def read(path: Path) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def documents(notebook: nbformat.NotebookNode) -> list[Any]:
    found = (output.get("data", {}).get(MIME_TYPE) for output in outputs(notebook))
    return [document for document in found if document is not None]


def test_there_is_a_tutorial() -> None:
    """The parametrized tests below look at something."""
    assert {path.stem for path in TUTORIALS} == set(SMALL)


@pytest.mark.ray
@pytest.mark.notebook
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_from_top_to_bottom_at_a_small_size(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell works in a fresh kernel, including the assertions in the verdicts."""
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "150")  # two of them, on a busy machine
    notebook = read(path)
    if "serve" in notebook.cells[2].source:  # what it needs is in no group: "ray[serve,train]"
        pytest.importorskip("ray.serve", exc_type=ImportError)
    parameters = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", ())]
    parameters[0].source = SMALL[path.stem][0]
    for cell, (many, few) in product(notebook.cells, FEWER.items()):
        cell.source = cell.source.replace(many, few)

    NotebookClient(notebook, timeout=300, store_widget_state=False).execute()

    assert [output for output in outputs(notebook) if output.get("name") == "stderr"] == []
    assert len(documents(notebook)) == len(documents(read(path)))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_saved_tutorial_has_readable_outputs(path: Path) -> None:
    """Saved outputs carry text, picture and document: no errors, nothing private, under 1 MB."""
    # Sharing it stays cheap: text, picture and document of one output together have a bound.
    notebook = read(path)

    shown = [output for output in outputs(notebook) if MIME_TYPE in output.get("data", {})]

    sizes = [
        len(json.dumps(output["data"], separators=(",", ":"), ensure_ascii=False).encode())
        for output in shown
    ]
    assert 0 < max(sizes) <= SMALL[path.stem][1], sizes
    assert all({"text/plain", "image/png"} <= output["data"].keys() for output in shown)
    assert all(from_document(document) for document in documents(notebook))
    assert not any(output.output_type == "error" for output in outputs(notebook))
    assert PRIVATE.search(path.read_text("utf-8")) is None
    assert path.stat().st_size < 1_000_000
    assert "widgets" not in notebook.metadata
