"""Serve what was built on this machine, until Ctrl-C."""

from __future__ import annotations

import contextlib
import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def show(folder: Path, page: str = "") -> None:
    """Serve a folder, at 8000 or where there is room, and say where a page of it is."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", 8000), handler)
    except OSError:  # another one is there
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"http://127.0.0.1:{server.server_port}/{page} (Ctrl-C ends it)", flush=True)
        server.serve_forever()
