"""A cluster as others run it: scheduler and workers as processes without this package."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

#: Runs a command of distributed where importing this package fails.
_WITHOUT_US = (
    "import sys; sys.modules['jupyter_serprof'] = None; "
    "from distributed.cli.dask_{kind} import main; main({arguments!r})"
)
_PATIENCE_S = 60


@dataclass(slots=True)
class Outside:
    """The processes of a cluster; each is stopped by its own handle."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)


@contextmanager
def outside_cluster(
    folder: Path, workers_count: int = 2, *, host: str = "127.0.0.1", within: Sequence[str] = ()
) -> Iterator[Outside]:
    """Start a scheduler and workers of one thread each; end them afterwards.

    ``within``: A command that runs commands, such as ``ip netns exec NAME``.
    """
    note = folder / "scheduler.json"
    common = ["--scheduler-file", str(note), "--dashboard-address", "127.0.0.1:0"]
    scheduler = _start(within, "scheduler", ["--host", host, "--port", "0", *common])
    workers: list[subprocess.Popen[bytes]] = []
    try:
        address = _address(note)
        arguments = [address, "--host", host, "--nthreads", "1", "--no-nanny"]
        arguments += ["--dashboard-address", "127.0.0.1:0"]
        workers += [
            _start(within, "worker", [*arguments, "--local-directory", str(folder / str(number))])
            for number in range(workers_count)
        ]
        yield Outside(address, scheduler, workers)
    finally:
        # Asked politely, a worker waits long for a scheduler that is going away too.
        for process in [*workers, scheduler]:
            process.kill()
        for process in [*workers, scheduler]:
            process.wait()


def _start(within: Sequence[str], kind: str, arguments: list[str]) -> subprocess.Popen[bytes]:
    code = _WITHOUT_US.format(kind=kind, arguments=arguments)
    return subprocess.Popen(
        [*within, sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _address(note: Path) -> str:
    """Return the address that the scheduler writes down when it listens."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            address: str = json.loads(note.read_text("utf-8"))["address"]
        except (OSError, ValueError):  # not there, or half written
            time.sleep(0.05)
        else:
            return address
    message = "the scheduler did not start"
    raise TimeoutError(message)
