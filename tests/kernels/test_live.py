"""The picture that grows while a round trip runs, in a real kernel; in a terminal there is none."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser.samples import code_cell, write_notebook
from kernels.conftest import Kernel

from jupyter_serprof.model import from_document
from jupyter_serprof.model.document import MIME_TYPE

pytestmark = pytest.mark.notebook

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
#: Its runs take a quarter of a second; the given one raises what it is given.
SLOW = """\
class Slow:
    runs, bad, error = 0, None, None
    def __init__(self): self.x = 1
    def __reduce__(self):
        Slow.runs += 1
        if Slow.runs == Slow.bad: raise Slow.error
        time.sleep(0.25)
        return (Slow, ())"""


@pytest.fixture
def slow(kernel: Kernel) -> Kernel:
    """A kernel with a value that is slow to pickle, and that draws after each of its runs."""
    # How long a picture took decides when the next one is drawn; on a busy machine that is late,
    # and a line that tells of the first run comes before it.
    kernel.run(
        f"{SLOW}\nfrom jupyter_serprof.experiments.engine import experiment, live\n"
        "experiment.REST, live.AFTER_S = 0, 99"
    )
    return kernel


def messages(kernel: Kernel, cell: str, *, allow_stdin: bool = True) -> list[dict[str, Any]]:
    """Run a cell; return what the kernel published, with the buffers."""
    request = kernel.client.execute(cell, allow_stdin=allow_stdin)
    seen: list[dict[str, Any]] = []
    while True:
        message = kernel.client.get_iopub_msg(timeout=120)
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["content"].get("execution_state") == "idle":
            return seen
        seen.append(message)


def kinds(seen: list[dict[str, Any]]) -> list[str]:
    drawn = ("display_data", "update_display_data", "comm_open", "comm_msg", "comm_close", "error")
    all_kinds = [m["msg_type"] for m in seen if m["msg_type"] in drawn]
    return [kind for at, kind in enumerate(all_kinds) if all_kinds[at - 1 : at] != [kind]]


def of_kind(seen: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [message for message in seen if message["msg_type"] == kind]


GROWN = ["comm_open", "display_data", "comm_msg", "update_display_data", "comm_msg", "comm_close"]


def test_a_round_trip_is_shown_while_it_runs_and_ends_as_the_document(slow: Kernel) -> None:
    """A widget through a display handle; the same handle is given what is saved."""
    seen = messages(slow, "%serprof --transports pickle,cloudpickle --repeat 3 Slow()")

    assert kinds(seen) == GROWN
    (shown,), (last,) = of_kind(seen, "display_data"), of_kind(seen, "update_display_data")
    assert shown["content"]["data"].keys() == {"text/plain", WIDGET_VIEW}
    assert last["content"]["data"].keys() == {"text/plain", "image/png", MIME_TYPE}
    assert shown["content"]["transient"] == last["content"]["transient"] != {}
    assert len(from_document(last["content"]["data"][MIME_TYPE]).points) == 8  # type: ignore[union-attr]
    assert len(of_kind(seen, "comm_msg")) >= 3
    kept: dict[str, dict[str, Any]] = {}  # as nbclient does, which hears of no close
    for message in seen:
        if state := message["content"].get("data", {}).get("state"):
            kept.setdefault(message["content"]["comm_id"], {}).update(state)
    assert sum(len(json.dumps(state)) for state in kept.values()) < 3_000


def test_an_error_leaves_the_document(slow: Kernel) -> None:
    """What was measured before stands where the picture was; then the error."""
    seen = messages(slow, "Slow.runs, Slow.bad, Slow.error = 0, 6, ValueError('no')\n"
                          "%serprof --repeat 9 pickle.dumps(Slow())")  # fmt: skip

    assert kinds(seen) == [*GROWN, "error"]
    (last,) = of_kind(seen, "update_display_data")
    assert len(from_document(last["content"]["data"][MIME_TYPE]).points) == 5  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("cell", "is_watched"), [("--repeat 2 [1]", True), ("-q Slow()", True), ("Slow()", False)]
)
def test_trips_that_nobody_looks_at_draw_nothing(slow: Kernel, cell: str, is_watched: bool) -> None:
    """No widget for what is short, nor where nbclient executes: a notebook would keep it."""
    # A busy machine needs more than the half second that counts as a moment.
    slow.run(
        f"kept, Slow.bad, experiment.QUIET_S = experiment.QUIET_S, None, {600 * ('[' in cell)}"
    )

    seen = messages(slow, f"%serprof --transports pickle {cell}", allow_stdin=is_watched)
    slow.run("experiment.QUIET_S = kept")

    assert kinds(seen) == ([] if "-q" in cell else ["display_data"])


def test_a_terminal_prints_the_end_only() -> None:
    """IPython without a kernel: text, no widget, ipywidgets is not even loaded."""
    watch = (
        "from jupyter_serprof.experiments.engine.experiment import Telling\n"
        "Telling.update = lambda *_: print('made for nobody')\n"
    )
    program = f"{watch}{SLOW}\n%serprof --transports pickle --repeat 3 Slow()\nprint('end')\n"
    check = "import sys; print('widgets', 'ipywidgets' in sys.modules)"

    flags = "--no-banner --colors=NoColor --simple-prompt"
    command = [sys.executable, "-m", "IPython", *flags.split()]
    typed = f"%load_ext jupyter_serprof\nimport time, pickle\n{program}{check}\n"
    said = subprocess.run(
        [*command, "-c", f"get_ipython().run_cell({typed!r})"],
        check=True, capture_output=True, text=True, timeout=120,
    ).stdout  # fmt: skip

    assert said.count("Slow()") == 1
    assert "widgets False" in said
    assert "made for nobody" not in said


def test_papermill_keeps_the_end_only(tmp_path: Path) -> None:
    """It writes the notebook down while a cell runs: nobody looks, so there is no line in it."""
    papermill = pytest.importorskip("papermill")
    slow = "%serprof --repeat 2 (pickle.dumps([1]), time.sleep(1.2))"
    cell = code_cell(f"%load_ext jupyter_serprof\nimport pickle, time\n{slow}")
    read, written = tmp_path / "in.ipynb", tmp_path / "out.ipynb"
    write_notebook(read, [cell])

    made = papermill.execute_notebook(read, written, kernel_name="python3", progress_bar=False)

    (output,) = made.cells[0].outputs
    assert output.data.keys() == {"text/plain", "image/png", MIME_TYPE}
    assert "widgets" not in made.metadata
