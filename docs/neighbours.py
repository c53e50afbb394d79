"""One cell under each tool, for docs/neighbours.md: what each prints of it, and two of their pages.

The command that runs it stands on that page.
"""

from __future__ import annotations

import contextlib
import cProfile
import html
import io
import json
import pstats
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, performance_report

import jupyter_serprof as sp


def cell(_: Client) -> float:
    """Compute what the first picture of the README is of."""
    table = np.ones((20_000, 1000))
    y = da.ones((8_000, 1000), chunks=1000).map_blocks(lambda block, t: block * t[0, 0], table)
    return float(y.sum().compute())


def said(title: str, text: str, most: int = 24) -> None:
    """Print the first lines of what a tool says."""
    lines = [line.rstrip()[:110] for line in text.splitlines() if line.strip()]
    print(f"\n== {title}", *lines[:most], sep="\n")


def drawn(page: Path, name: str, top: int, height: int, tab: str = "") -> None:
    """Draw a part of a page of theirs for docs/neighbours.md."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1000, "height": top + height})
        shown.goto(page.as_uri())
        if tab:
            shown.get_by_text(tab, exact=True).first.click()
        shown.wait_for_timeout(2_000)  # it fades in
        clip = {"x": 0, "y": top, "width": 1000, "height": height}
        shown.screenshot(path=Path(__file__).with_name("pictures") / f"{name}.png", clip=clip)


def by_cprofile(client: Client) -> None:
    profile, out = cProfile.Profile(), io.StringIO()
    profile.runcall(cell, client)
    pstats.Stats(profile, stream=out).strip_dirs().sort_stats("tottime").print_stats(6)
    said("cProfile (%prun)", out.getvalue())


def by_pyinstrument(client: Client, folder: Path) -> None:
    from pyinstrument import Profiler

    with Profiler() as profiler:
        cell(client)
    said("pyinstrument", profiler.output_text(unicode=False, color=False))
    path = folder / "pyinstrument.html"
    path.write_text(profiler.output_html(), "utf-8")
    drawn(path, "pyinstrument", 68, 250)


def by_viztracer(client: Client, folder: Path) -> None:
    from viztracer import VizTracer

    path = folder / "viztracer.json"
    with VizTracer(output_file=str(path), verbose=0):
        cell(client)
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("dur")]
    events.sort(key=lambda e: -e["dur"])
    longest = "\n".join(f"{e['dur'] / 1000:8.1f} ms  {e['name']}" for e in events[:8])
    said("viztracer", f"{len(events)} calls of this process, the longest:\n{longest}")


def by_memray(client: Client, folder: Path) -> None:
    import memray

    path = folder / "memray.bin"
    with memray.Tracker(path):
        cell(client)
    command = [sys.executable, "-m", "memray", "summary", "-r", "6", str(path)]
    said("memray", subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def by_dask(client: Client, folder: Path) -> None:
    path = folder / "report.html"
    with performance_report(str(path), mode="inline"):
        cell(client)
    text = re.sub(r"<[^>]+>|\\\\n", "\n", html.unescape(path.read_text("utf-8")))
    facts = re.findall(
        r"(?:Duration|number of tasks|compute time|transfer time|des\w+ time): .*", text
    )
    said("Dask's performance report", "\n".join(dict.fromkeys(facts)))
    drawn(path, "dask-report", 0, 560, "Task Stream")


def by_ray(folder: Path) -> None:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=str(folder))
    a = np.ones(10_000_000)
    ray.get(ray.put(a))
    said("ray timeline", f"of ray.get(ray.put(a)): {len(ray.timeline())} events")
    with sp.record("ray.get(ray.put(a))") as recording:
        ray.get(ray.put(a))
    said("jupyter_serprof", sp.to_markdown(recording.trace), 12)
    ray.shutdown()


def main() -> None:
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        cell(client)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with sp.record("y.sum().compute()") as recording:
                cell(client)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                sp.show(recording.trace)
            said("jupyter_serprof", out.getvalue(), 30)
            by_cprofile(client)
            by_pyinstrument(client, folder)
            by_viztracer(client, folder)
            by_memray(client, folder)
            by_dask(client, folder)
    with tempfile.TemporaryDirectory(prefix="r") as name:
        by_ray(Path(name))


if __name__ == "__main__":
    main()
