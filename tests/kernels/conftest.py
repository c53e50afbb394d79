"""A real kernel, driven as a front end does: cells in, messages out, interrupts in between."""

import getpass
import json
import queue
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager
from shells import Shown

from jupyter_serprof.model import Sweep, Trace, from_document
from jupyter_serprof.model.document import MIME_TYPE

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
#: Pictures and columns in base64, in which any short word may stand.
_PACKED = re.compile(r'"(?:iVBOR|eA)[\w+/=\\]*"')
#: What a cell may take on a slow machine before the test gives up.
_PATIENCE_S = 120


@dataclass
class Ran(Shown):
    """What one cell gave, in the order of the notebook."""

    status: str
    outputs: list[dict[str, Any]] = field(default_factory=list)

    def update(self, content: dict[str, Any]) -> None:
        """Replace what a display handle shows, as a notebook does."""
        mine = content["transient"]
        for output in self.outputs:
            if output.get("transient") == mine:
                output.update(content)

    @property
    def kinds(self) -> list[str]:
        return ["document" if _document(o) else str(o["output_type"]) for o in self.outputs]

    @property
    def documents(self) -> list[Trace | Sweep]:  # type: ignore[override]  # read anew each time
        return [from_document(found) for o in self.outputs if (found := _document(o))]

    def names_of_the_machine(self) -> list[str]:
        written = _PACKED.sub("", json.dumps(self.outputs))
        private = {getpass.getuser(), socket.gethostname(), str(Path.home()), str(Path.cwd())}
        return [word for word in private if f'"{word}' in written or f"/{word}/" in written]

    @property
    def texts(self) -> list[str]:
        return [str(o["data"]["text/plain"]) for o in self.outputs if _document(o)]

    def stream(self, name: str = "stdout") -> str:
        return "".join(o["text"] for o in self.outputs if o.get("name") == name)

    @property
    def value(self) -> str | None:
        shown = [o for o in self.outputs if o["output_type"] == "execute_result"]
        return str(shown[-1]["data"]["text/plain"]) if shown else None

    @property
    def error(self) -> str:
        """The traceback without colours; empty without an error."""
        lines = [line for o in self.outputs for line in o.get("traceback", ())]
        return _COLOURS.sub("", "\n".join(lines))

    @property
    def written_bytes(self) -> int:
        """What the data of our documents take as the kernel sends them."""
        data = [o["data"] for o in self.outputs if _document(o)]
        return sum(
            len(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode())
            for entry in data
        )

    @property
    def saved_bytes(self) -> int:
        """What the outputs take in a saved notebook, where each number has a line of its own."""
        return len(json.dumps([[[self.outputs]]], ensure_ascii=False, indent=1).encode())


def _document(output: dict[str, Any]) -> dict[str, object] | None:
    found: dict[str, object] | None = output.get("data", {}).get(MIME_TYPE)
    return found


class Kernel:
    """An ipykernel of this environment."""

    def __init__(self, folder: Path) -> None:
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel(cwd=str(folder))
        self.client: Any = self._manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=_PATIENCE_S)

    def run(self, cell: str, *, interrupt_at: str = "", silent: bool = False) -> Ran:
        """Run a cell; interrupt the kernel when it prints a given text."""
        return self.follow(self.client.execute(cell, silent=silent), interrupt_at)

    def follow(self, request: str, interrupt_at: str = "") -> Ran:
        """Wait for a cell that was sent."""
        ran = Ran("")
        while True:
            message = self._message()
            content = message["content"]
            if message["parent_header"].get("msg_id") != request:
                continue
            if content.get("execution_state") == "idle":
                break
            if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
                ran.outputs.append({"output_type": message["msg_type"], **content})
            if message["msg_type"] == "update_display_data":
                ran.update(content)
            if interrupt_at and interrupt_at in content.get("text", ""):
                self.interrupt()
        ran.status = self._reply(request)["status"]
        return ran

    def _message(self) -> dict[str, Any]:
        """Return the next message; a kernel that died sends none, and is not waited for."""
        for _ in range(_PATIENCE_S):
            try:
                message: dict[str, Any] = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                if self.is_alive:
                    continue
                process: Any = self._manager.provisioner
                died = f"the kernel died, exit code {process.process.returncode}"
                raise RuntimeError(died) from None
            return message
        late = f"the kernel said nothing for {_PATIENCE_S} s"
        raise TimeoutError(late)

    @property
    def is_alive(self) -> bool:
        return bool(self._manager.is_alive())

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def start_ray(self, cell: str) -> Ran:
        """Run a cell that starts Ray, up to three times if it could not."""
        # The raylet of Ray 2.60 gives up after 15 s without its agent ("Timed out waiting for file
        # .../metrics_agent_port" in raylet.err), which a busy machine needs longer to start.
        for _ in range(3):
            ran = self.run(cell)
            if ran.status == "ok":
                break
        return ran

    def complete(self, text: str) -> dict[str, Any]:
        return self._reply(self.client.complete(text))

    def is_complete(self, text: str) -> str:
        return str(self._reply(self.client.is_complete(text))["status"])

    def _reply(self, request: str) -> dict[str, Any]:
        while True:
            message = self.client.get_shell_msg(timeout=_PATIENCE_S)
            if message["parent_header"].get("msg_id") == request:
                content: dict[str, Any] = message["content"]
                return content

    def close(self) -> None:
        """End the kernel and everything that it started."""
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel with the extension, without Ray."""
    made = Kernel(tmp_path_factory.mktemp("kernel"))
    made.run("%load_ext jupyter_serprof\nimport pickle, threading, time")
    yield made
    made.close()


@pytest.fixture
def new_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel of its own for one test, with nothing in it."""
    made = Kernel(tmp_path_factory.mktemp("new"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def ray_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel with the extension and a small Ray of its own."""
    pytest.importorskip("ray", reason="Ray is not installed")
    # Sockets lie in it, and their paths must be short.
    folder = tempfile.mkdtemp(prefix="ray")
    made = Kernel(tmp_path_factory.mktemp("ray"))
    ran = made.start_ray(
        "%load_ext jupyter_serprof\nimport pickle, threading, time, numpy as np, ray\n"
        "_ = ray.init(num_cpus=2, include_dashboard=False, object_store_memory=300_000_000,"
        f" log_to_driver=False, _temp_dir={folder!r})"
    )
    assert ran.status == "ok", ran.error
    yield made
    made.run("ray.shutdown()")
    made.close()
    shutil.rmtree(folder, ignore_errors=True)
