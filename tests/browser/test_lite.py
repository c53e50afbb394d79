"""A site of the saved notebooks without a server: built by the command of notebooks/README.md."""

import functools
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browser.samples import write_notebooks
from browser.screen import Screen

BUILD = (sys.executable, "-m", "jupyterlite_core.app", "build", "--contents", "notebooks")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name there)
        """Write no log."""


@contextmanager
def files_at(folder: Path) -> Iterator[str]:
    """Serve the files of a folder on a free port of this machine."""
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.skipif(
    importlib.util.find_spec("jupyterlite_core") is None,
    reason="jupyterlite-core is not installed; run: uv sync --group lite",
)
def test_a_site_of_files_shows_the_profiles(screen: Screen, tmp_path: Path) -> None:
    """No server, no kernel: pictures are drawn from the saved notebook, asking only the site."""
    write_notebooks(tmp_path / "notebooks")
    built = subprocess.run(
        [*BUILD, "--output-dir", "site"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert built.returncode == 0, built.stderr[-2000:]

    with files_at(tmp_path / "site") as url:
        page = screen.page
        page.goto(f"{url}/lab/index.html?path=saved.ipynb")
        page.locator(".jp-Dialog .jp-mod-reject").click()
        page.get_by_title("Serialization profiles of this notebook").click()
        page.locator(".jsp-side-title").first.click()
        screen.drawn()
        screen.shoot()

        local = (url, "data:", "blob:")
        assert [asked for asked in screen.requests if not asked.startswith(local)] == []
