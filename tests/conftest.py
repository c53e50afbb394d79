"""What all tests share: hypothesis draws alike in each run and no clock is watched; one shell."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings
from IPython.core.interactiveshell import InteractiveShell
from shells import Ran
from traitlets.config import Config
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from jupyter_serprof.capture import freeze

if TYPE_CHECKING:
    from distributed import Client

# Under `uv run pytest` Ray would start each worker by `uv run` in a copy of this folder, and build
# the whole project there first (seen with ray 2.60, ray._private.worker:init).
os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
# What Ray puts in the place of `print` cannot be pickled.
os.environ.setdefault("RAY_TQDM_PATCH_PRINT", "0")

# Clusters may answer as late as a machine with far more work than cores lets them, s.
os.environ.setdefault("DASK_SERPROF__PATIENCE", "60")

# A few calls take a busy machine 0.1 ms to write down; their row is no part of what tests ask for.
freeze._LEAST_NS = 10_000_000

# Where nothing compiled may be kept, each process of Ray and Jupyter compiles all that it imports
# (10.4 s of CPU at the start of Ray, 4.1 s with it): it is kept inside the environment then.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(sys.prefix, "compiled"))
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": sys.pycache_prefix}

# A shell starts what it runs in the background with Ctrl-C ignored, and kernels inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without a database no folder appears beside the tests; with fixed draws a red run is red again.
settings.register_profile(
    "serprof",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
settings.load_profile("serprof")


@pytest.fixture(scope="module")
def only_shell() -> Iterator[InteractiveShell]:
    """The shell of this process; the interpreter is as before afterwards."""
    hooks = sys.displayhook, sys.excepthook, sys.modules["__main__"]
    config = Config(
        {"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}}
    )
    shell = InteractiveShell.instance(config=config)
    yield shell
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()  # type: ignore[no-untyped-call]
    InteractiveShell.clear_instance()
    sys.displayhook, sys.excepthook, sys.modules["__main__"] = hooks


@pytest.fixture
def bare(only_shell: InteractiveShell) -> Iterator[InteractiveShell]:
    """The shell without the extension and with nothing in its namespace."""
    known = set(only_shell.user_ns)
    cleanup, events = only_shell.input_transformers_cleanup, only_shell.events.callbacks
    kept = list(cleanup), {name: list(found) for name, found in events.items()}
    yield only_shell
    Ran(only_shell, "%unload_ext jupyter_serprof")
    cleanup[:] = kept[0]
    events.update(kept[1])
    for name in set(only_shell.user_ns) - known:
        del only_shell.user_ns[name]


@pytest.fixture
def shell(bare: InteractiveShell) -> InteractiveShell:
    """The shell with the extension loaded."""
    Ran(bare, "%load_ext jupyter_serprof\nimport pickle, threading")
    return bare


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], int]], None]:
    """Give the experiments a clock, ns; a live cluster in this process keeps its own."""

    def put(clock: Callable[[], int]) -> None:
        own = {"monotonic": lambda: clock() / 1e9, "perf_counter_ns": clock}
        made = SimpleNamespace(**{**vars(time), **own})
        for name, module in list(sys.modules.items()):
            if name.startswith("jupyter_serprof.experiments.") and vars(module).get("time") is time:
                monkeypatch.setattr(module, "time", made)

    return put


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    dasks = import_module("dasks")
    with dasks.started() as made:
        yield made


HERE = Path(__file__).parent
#: What starts something that lasts; the longest first, so that nobody waits for it at the end.
LONGEST = ("clusters", "browser", "kernels")
#: All tests of these folders share one process, and with it a cluster or a browser.
SHARED = LONGEST[:2]


class ByRoom(LoadScopeScheduling):  # type: ignore[misc]  # untyped, as said above
    """Each file to one process, and the folders that share something as one file."""

    # The groups of pytest-xdist are not read by pytest 9.2, which no longer asks for ``_nodeid``.

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        shared = (folder for folder in SHARED if f"/{folder}/" in path)
        return next(shared, path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByRoom:
    """Deal the tests out by room."""
    return ByRoom(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ask for what takes long and is not wanted every day."""
    parser.addoption("--faults", action="store_true", help="run the slow faults too")
    parser.addoption("--pictures", metavar="FOLDER", help="write what the browser shows there")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest; slow faults run when they are asked for."""
    if not config.getoption("faults"):
        slow = {item for item in items if item.get_closest_marker("slow_fault")}
        items[:] = (item for item in items if item not in slow)
        config.hook.pytest_deselected(items=list(slow))
    items.sort(key=lambda item: _turn(_folder(item)))


def pytest_collection_finish() -> None:
    """Take what was collected out of the collector's sight: it took a quarter of all time."""
    gc.collect()
    gc.freeze()


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(HERE).parts[0]


def _turn(folder: str) -> int:
    return LONGEST.index(folder) if folder in LONGEST else len(LONGEST)


@pytest.fixture(autouse=True)
def _no_loop_of_others(request: pytest.FixtureRequest) -> Iterator[None]:
    """Playwright leaves its event loop running in the thread: asyncio.run refuses to start then."""
    running = asyncio._get_running_loop()
    if running is None or "browser" in request.fixturenames:
        yield
        return
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)
