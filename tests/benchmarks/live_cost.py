"""Does the picture that grows disturb what is measured? Run this file with `uv run python`.

In a real kernel, runs of a round trip: the time of an update of the picture, and the ratio of the
runs after one and before it (pairs in changing order), beside a control in which neither has one.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jupyter_client.manager import run_kernel

FOLDER = Path(__file__).parent
#: Runs in the kernel, where ``api.Live`` has somebody to talk to.
MEASURE = f"""\
import sys
sys.path.insert(0, {str(FOLDER)!r})
import live_cost
live_cost.measure()"""
VALUES: dict[str, Callable[[], object]] = {
    "ten integers": lambda: list(range(10)),
    "100,000 texts": lambda: [str(i) for i in range(100_000)],
    "bytes, 32 MB": lambda: b"x" * 32_000_000,
}
PAIRS = 40


def measure() -> None:
    """Print the table; to be called in a kernel."""
    from bench import heading, quartiles, ratios, table

    from jupyter_serprof import api
    from jupyter_serprof.experiments.engine.recording import Recording
    from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS

    heading("What an update of the live picture costs, and whether the next run feels it: ratios")
    sweep = api.run(api.RoundTrip([1], transports=["pickle", "pickle-oob", "cloudpickle"]))
    transport = TRANSPORTS["pickle"]()
    rows = []
    for name, make in VALUES.items():
        value = make()
        live = api.Live()
        updates_ns: list[int] = []

        def run(value: object = value) -> int:
            with Recording("x", detail=False) as recording:
                transport.round_trip(value)
            return recording.trace.wall_ns

        def drawn(live: api.Live = live, updates_ns: list[int] = updates_ns) -> int:
            start_ns = time.perf_counter_ns()
            live.show(sweep)
            updates_ns.append(time.perf_counter_ns() - start_ns)
            return run()

        drawn()
        run()
        control, disturbed = ratios(run, run, PAIRS), ratios(run, drawn, PAIRS)
        live.replace(sweep)
        texts = [" ".join(f"{each:.3f}" for each in quartiles(r)) for r in (control, disturbed)]
        cost = f"{updates_ns[0] / 1e6:.0f}", f"{quartiles(updates_ns[1:])[1] / 1e6:.1f}"
        rows.append([name, *cost, *texts])
    columns = ["value", "first update, ms", "others, ms", "without: q1 q2 q3", "after: q1 q2 q3"]
    table(columns, rows)


def said(message: Mapping[str, Any]) -> None:
    content = message["content"]
    print(content.get("text", "") or "\n".join(content.get("traceback", ())), end="")


def main() -> None:
    """Start a kernel, measure in it, print what it printed."""
    with run_kernel(cwd=str(FOLDER)) as client:
        client.execute_interactive(MEASURE, output_hook=said)  # type: ignore[attr-defined]  # it blocks


if __name__ == "__main__":
    main()
