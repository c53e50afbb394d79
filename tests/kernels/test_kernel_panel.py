"""The panel in a real kernel: buttons are pressed as a front end presses them, by messages."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from kernels.conftest import Kernel

from jupyter_serprof.model import Sweep, Trace, from_document
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.panel.panel import PANEL_TYPE

pytestmark = pytest.mark.notebook

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
#: What may take that long on a slow machine before the test gives up.
PATIENCE_S = 120
#: Each row takes a twentieth of a second to pickle.
SLOW = """\
import time
class Slow:
    def __reduce__(self):
        time.sleep(0.05)
        return (Slow, ())
slow = [Slow() for _ in range(20)]"""


@dataclass
class FrontEnd:
    """What a front end knows of a panel: its widgets by label, and what its outputs show."""

    kernel: Kernel
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    printed: str = ""

    def run(self, cell: str) -> None:
        request = self.kernel.client.execute(cell)
        self.until(lambda message: _is_end(message, request))

    def until(self, is_it: Callable[[dict[str, Any]], bool]) -> None:
        """Take messages until one is the one that is waited for."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            message = self.kernel.client.get_iopub_msg(timeout=PATIENCE_S)
            self._take(message)
            if is_it(message):
                return
        pytest.fail("it did not happen")

    def _take(self, message: dict[str, Any]) -> None:
        content, kind = message["content"], message["msg_type"]
        if kind in ("display_data", "update_display_data"):
            handle = str(content["transient"].get("display_id"))
            self.outputs.setdefault(handle, []).append(content["data"])
        elif kind == "comm_open":
            self.states[content["comm_id"]] = dict(content["data"]["state"])
        elif kind == "comm_msg" and content["data"].get("method") == "update":
            self.states[content["comm_id"]].update(content["data"]["state"])
        elif kind == "stream":
            self.printed += content["text"]

    def labelled(self, label: str) -> str:
        return [key for key, state in self.states.items() if state.get("description") == label][-1]

    def press(self, label: str) -> None:
        self._send(self.labelled(label), {"method": "custom", "content": {"event": "click"}})

    def choose(self, label: str, wanted: str) -> None:
        """Choose an entry of a menu by a part of its text."""
        key = self.labelled(label)
        entries = self.states[key]["_options_labels"]
        index = next(at for at, entry in enumerate(entries) if wanted in entry)
        self._send(key, {"method": "update", "state": {"index": index}, "buffer_paths": []})
        self.states[key]["index"] = index

    def _send(self, comm: str, data: dict[str, object]) -> None:
        session = self.kernel.client.session
        self.kernel.client.shell_channel.send(
            session.msg("comm_msg", {"comm_id": comm, "data": data})
        )

    @property
    def status(self) -> str:
        found = [s for s in self.states.values() if s.get("_model_name") == "LabelModel"]
        return next(str(s["value"]) for s in found if s["value"] not in ("", "Transports"))

    def until_status(self, begin: str) -> None:
        self.until(lambda _: self.status.startswith(begin))

    def until_points(self, count: int) -> None:
        self.until(lambda _: self.point_count >= count)

    @property
    def point_count(self) -> int:
        found = re.search(r"(\d+) points?", self.status)
        return int(found[1]) if found else 0

    def until_document(self) -> Sweep | Trace:
        """Take messages until the place of the picture holds a document; return it."""
        self.until(lambda _: MIME_TYPE in self.place[-1])
        return from_document(self.place[-1][MIME_TYPE])

    @property
    def panel(self) -> list[dict[str, Any]]:
        return next(iter(self.outputs.values()))

    @property
    def place(self) -> list[dict[str, Any]]:
        return list(self.outputs.values())[1]


def _is_end(message: dict[str, Any], request: str) -> bool:
    is_mine = message["parent_header"].get("msg_id") == request
    return bool(is_mine and message["content"].get("execution_state") == "idle")


@pytest.fixture
def front(kernel: Kernel) -> Iterator[FrontEnd]:
    """A front end that shows a panel, above slow data."""
    kernel.run(SLOW)
    made = FrontEnd(kernel)
    made.run("%serprof -o doc")
    yield made
    made.press("Stop")
    kernel.run("del doc" if kernel.run("'doc' in globals()").value == "True" else "")


def test_alone_it_shows_controls_and_says_what_stands_there_without_a_kernel(
    front: FrontEnd,
) -> None:
    """Two outputs: widgets with a text for who cannot show them, and the place of the picture."""
    assert front.panel[0].keys() == {"text/plain", WIDGET_VIEW, PANEL_TYPE}
    assert "server" in front.panel[0]["text/plain"]
    assert "run this cell" in front.panel[0][PANEL_TYPE]["text/plain"]
    assert front.place == [{"text/plain": front.place[0]["text/plain"]}]
    menu = front.states[front.labelled("Measure")]["_options_labels"]
    assert menu[0].startswith("slow: list")
    assert "generated: list of dicts" in menu
    assert front.states[front.labelled("pickle in-band")]["value"]
    assert front.status == "Ready."
    assert len(str(front.states)) < 100_000  # a notebook that nobody looks at keeps all of it


def test_where_nobody_can_press_its_buttons_no_panel_is_opened(kernel: Kernel) -> None:
    """Papermill and ``nbconvert --execute`` would save 48 kB of widgets for nobody."""
    kernel.run("%load_ext jupyter_serprof")

    ran = kernel.follow(kernel.client.execute("%serprof", allow_stdin=False))

    assert ran.kinds == ["stream"]
    assert "%serprof ray.get(ray.put(a))" in ran.stream()


def test_a_sweep_grows_in_the_cell_and_ends_as_the_document(front: FrontEnd) -> None:
    """The same handle: a widget first, then what is saved; the variable has it, too."""
    front.choose("Measure", "generated: float64")
    front.choose("Ends by", "a number of")

    front.press("Sweep")
    front.until_status("Done.")
    sweep = front.until_document()

    assert isinstance(sweep, Sweep)
    waiting, growing, document = front.place
    assert waiting.keys() == {"text/plain"}
    assert growing.keys() == {"text/plain", WIDGET_VIEW}
    assert document.keys() == {"text/plain", "image/png", MIME_TYPE}
    assert len(sweep.points) == 8 * 3 * 4
    assert front.kernel.run("len(doc.points)").value == str(len(sweep.points))


def test_stop_works_while_it_runs_and_resume_goes_on(front: FrontEnd) -> None:
    """The kernel answers between two points, and runs other cells there."""
    front.choose("Measure", "slow: list")
    front.press("Sweep")
    front.until_points(2)

    front.run("print(6 * 7)")
    assert "42" in front.printed
    assert front.status.startswith("Measuring.")
    front.press("Stop")
    front.until_status("Stopped;")

    sweep = front.until_document()
    assert isinstance(sweep, Sweep)
    assert 2 <= len(sweep.points) < 60  # of 84 and more, in 40 s
    assert not front.states[front.labelled("Resume")]["disabled"]
    front.press("Resume")
    front.until_points(len(sweep.points) + 1)


def test_an_interrupt_of_the_kernel_leaves_what_was_measured(front: FrontEnd) -> None:
    """Ctrl-C stops the sweep and nothing else: the kernel goes on."""
    front.choose("Measure", "slow: list")
    front.press("Sweep")
    front.until_points(2)

    front.kernel.interrupt()
    front.until_status("Stopped;")

    sweep = front.until_document()
    assert len(sweep.points) >= 2  # type: ignore[union-attr]
    assert front.kernel.run("1 + 1").value == "2"


def test_the_panel_of_graphs_sweeps_chunks_and_shows_stages(new_kernel: Kernel) -> None:
    """The table as ever, then controls: chunk sizes of a collection, its stages in one click."""
    pytest.importorskip("dask", reason="Dask is not installed")
    new_kernel.run(
        "%load_ext jupyter_serprof\nimport dask, dask.array as da\n"
        "dask.config.set(scheduler='synchronous')\nx = da.ones((400, 400), chunks=200).sum()\n"
        "y = da.ones((400, 400), chunks=200)"
    )
    front = FrontEnd(new_kernel)

    front.run("%graphstages -o doc")

    assert "Array float64" in front.printed
    assert "x: Array" in front.states[front.labelled("Collection")]["_options_labels"][0]
    front.choose("Collection", "y: ")
    front.press("Show stages")
    assert isinstance(front.until_document(), Trace)
    front.choose("Ends by", "a number of")
    front.press("Sweep")
    front.until(lambda _: WIDGET_VIEW in front.place[-1])
    sweep = front.until_document()
    assert isinstance(sweep, Sweep)
    assert sweep.kind == "chunks"
    assert len({point.parameter for point in sweep.points}) >= 3
