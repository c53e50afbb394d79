"""A link of a known rate between client and scheduler, and what Graph communication says of it.

A scheduler and a worker run in a network namespace behind a pair of virtual devices; a token bucket
slows the way to them to a known rate. Prints the time in Graph communication with and without it,
beside what the bytes need at that rate. Needs root and the command ip; says so where not permitted.
Run: uv run python tests/benchmarks/dask_link.py [Mbit/s]
"""

# distributed is typed in part.
# mypy: disable-error-code="no-untyped-call, attr-defined"

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import heading

import jupyter_serprof as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
NAME = "serprof-bench"
OURS, THEIRS = "10.77.0.1", "10.77.0.2"
RATES = (100, 200)
ARRAY_BYTES = 20_000_000
BURST_BYTES = 262_125
#: Bytes on the wire for each one of the message: Ethernet, IP and TCP headers at 1,500 bytes.
HEADERS = 1514 / 1448
RUNS = 5


def ip(*arguments: str) -> None:
    """Run the command ip."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def namespace() -> Iterator[None]:
    """Make a namespace that is reached through a pair of virtual devices; remove both."""
    ip("netns", "add", NAME)
    try:
        ip("link", "add", "serprof0", "type", "veth", "peer", "name", "serprof1")
        ip("link", "set", "serprof1", "netns", NAME)
        ip("addr", "add", f"{OURS}/24", "dev", "serprof0")
        ip("link", "set", "serprof0", "up")
        for command in (
            f"addr add {THEIRS}/24 dev serprof1",
            "link set serprof1 up",
            "link set lo up",
        ):
            ip("-n", NAME, *command.split())
        yield
    finally:
        subprocess.run(["ip", "netns", "del", NAME], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", "serprof0"], check=False, capture_output=True)


@contextmanager
def slowed(mbit: int) -> Iterator[None]:
    """Let only so many Mbit/s through to the scheduler."""
    place = ["dev", "serprof0", "root"]
    bucket = ["tbf", "rate", f"{mbit}mbit", "burst", str(BURST_BYTES), "latency", "100ms"]
    subprocess.run(["tc", "qdisc", "add", *place, *bucket], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["tc", "qdisc", "del", *place], check=True, capture_output=True)


def communication_ms() -> float:
    """Return the time in Graph communication of one computation that sends 20 MB."""
    import dask
    import numpy as np

    task: Any = dask.delayed(len)(np.random.default_rng().random(ARRAY_BYTES // 8))
    with sp.record("link") as recording:
        task.compute()
    assert recording.trace.waterfall is not None
    rows = recording.trace.waterfall.rows
    return sum(row.self_ns for row in rows if row.stage.startswith("dask.communicate")) / 1e6


def main(rates: tuple[int, ...]) -> None:
    """Print one line for each rate."""
    from clusters.outside import outside_cluster
    from distributed import Client

    warnings.filterwarnings("ignore", message="Sending large graph")
    heading(f"Graph communication of {ARRAY_BYTES / 1e6:.0f} MB over a link of a known rate")
    within = ["ip", "netns", "exec", NAME]
    with (
        namespace(),
        tempfile.TemporaryDirectory() as folder,
        outside_cluster(Path(folder), 1, host=THEIRS, within=within) as cluster,
        Client(cluster.address) as client,
    ):
        client.wait_for_workers(1)
        communication_ms()
        free = statistics.median(communication_ms() for _ in range(RUNS))
        print(f"not slowed: {free:.0f} ms (median of {RUNS})")
        for mbit in rates:
            with slowed(mbit):
                found = statistics.median(communication_ms() for _ in range(RUNS))
            needed = (ARRAY_BYTES * HEADERS - BURST_BYTES) * 8 / mbit / 1e3
            print(
                f"{mbit} Mbit/s: {found:.0f} ms found, {needed:.0f} ms needed by the bytes, "
                f"ratio {found / needed:.3f}"
            )


if __name__ == "__main__":
    try:
        main(tuple(int(rate) for rate in sys.argv[1:]) or RATES)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        print(f"not permitted here: {error}")
