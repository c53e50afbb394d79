"""One Chromium and one Jupyter server for all tests of the picture; each test has its own page."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NoReturn
from urllib.error import URLError

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from browser.samples import write_notebooks
from browser.screen import PATIENCE_MS, Screen

FOLDER = Path(__file__).parent
#: The headless shell first: the same engine without a window, and a third less CPU.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
START_S = 150
IS_RED = pytest.StashKey[bool]()
#: It asks whether to fetch news, in front of the picture.
NEWS = "@jupyterlab/apputils-extension:announcements"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name what needs a browser."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.ui)


def missing(what: str) -> NoReturn:
    """Skip with a reason; where everything was to be installed, fail with it."""
    reason = f"{what}; run: apt-get install chromium"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium of the system; Playwright downloads none."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing("no Chromium on PATH to draw with")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        with closing(launched):
            yield launched


@pytest.fixture(scope="session")
def pictures(pytestconfig: pytest.Config) -> Path | None:
    """Where screenshots go; they are looked at by people, no test compares pixels."""
    folder: str | None = pytestconfig.getoption("pictures")
    return folder if folder is None else Path(folder).absolute()


@pytest.fixture(scope="session")
def jupyter_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that belongs to the server; its notebooks are in ``root``."""
    return tmp_path_factory.mktemp("jupyter")


@pytest.fixture(scope="session")
def jupyter(jupyter_folder: Path) -> Iterator[str]:
    """Address of a server with JupyterLab and Notebook 7, and the notebooks of ``samples.py``."""
    with serving(jupyter_folder, disabled=(NEWS,)) as url:
        yield url


@pytest.fixture
def jupyter_root(jupyter: str, jupyter_folder: Path) -> Path:
    """Where the notebooks of the running server are."""
    assert jupyter
    return jupyter_folder / "root"


@pytest.fixture(scope="session")
def bare_jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server whose front ends do not load our extension."""
    folder = tmp_path_factory.mktemp("bare")
    with serving(folder, disabled=(NEWS, "jupyter-serprof")) as url:
        yield url


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One cache for all: JupyterLab's scripts are fetched and compiled once."""
    with closing(browser.new_context()) as made:
        made.set_default_timeout(PATIENCE_MS)
        yield made


@pytest.fixture(scope="session")
def labs() -> dict[str, Page]:
    """The window with JupyterLab that is left for the next test, for each server."""
    return {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep whether a test is red: its window is left to nobody."""
    report = yield
    item.stash[IS_RED] = item.stash.get(IS_RED, False) or report.failed
    return report


@pytest.fixture
def screen(
    context: BrowserContext,
    labs: dict[str, Page],
    pictures: Path | None,
    request: pytest.FixtureRequest,
) -> Iterator[Screen]:
    """Open a window of its own; an exception in the page fails the test."""
    name = request.node.name.removeprefix("test_").replace("[", "-").rstrip("]")
    opened = Screen(context, pictures and pictures / name, labs)
    yield opened
    try:
        opened.check()
    except AssertionError:
        opened.close(is_red=True)
        raise
    opened.close(is_red=request.node.stash[IS_RED])


@contextmanager
def serving(folder: Path, disabled: tuple[str, ...]) -> Iterator[str]:
    """Run a server with its own configuration, trust and run-time files; stop it by its handle."""
    root = folder / "root"
    write_notebooks(root)
    config = folder / "config/labconfig/page_config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"disabledExtensions": dict.fromkeys(disabled, True)}))
    own = {"CONFIG": "config", "DATA": "data", "RUNTIME": "runtime"}
    places = {f"JUPYTER_{key}_DIR": str(folder / name) for key, name in own.items()}
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            server_command(root),
            env={**os.environ, **places, "IPYTHONDIR": str(folder / "ipython")},
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=root,
        )
        try:
            yield address(folder / "runtime", server, log)
        finally:
            stop(server)


def stop(server: subprocess.Popen[bytes]) -> None:
    """Stop a server; one that waits for a kernel that starts or sleeps waits too long."""
    # Kernels that have lost their server end by themselves.
    server.terminate()
    try:
        server.wait(timeout=5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def server_command(root: Path) -> list[str]:
    """Return the command of a server on a free port of this machine only."""
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": "0",
        "ServerApp.root_dir": str(root),
        "ServerApp.open_browser": "False",
        "ServerApp.allow_root": "True",
        "IdentityProvider.token": "",
        "LabApp.expose_app_in_browser": "True",
        "LabApp.news_url": "",
        "JupyterNotebookApp.expose_app_in_browser": "True",
    }
    return [
        *(sys.executable, "-m", "jupyterlab"),
        *(f"--{name}={value}" for name, value in options.items()),
    ]


def address(runtime: Path, server: subprocess.Popen[bytes], log: Path) -> str:
    """Wait for the file in which a server writes its address, and for its first answer."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        for port in (line for file in runtime.glob("jpserver-*.json") for line in ports(file)):
            url = f"http://127.0.0.1:{port}"
            try:
                urllib.request.urlopen(f"{url}/api", timeout=5).close()  # noqa: S310  (loopback)
            except (URLError, OSError):
                continue
            return url
        time.sleep(0.05)  # polls a process, no picture
    message = f"the Jupyter server did not start:\n{log.read_text(errors='replace')[-3000:]}"
    raise RuntimeError(message)


def ports(file: Path) -> list[int]:
    """Return the port that a server has written down, if it has finished writing."""
    try:
        return [int(json.loads(file.read_text())["port"])]
    except (ValueError, KeyError):
        return []
