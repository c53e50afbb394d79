"""What does the line cost that is told while something runs? Run this file with `uv run python`.

Quotients of pairs with the line and without it in turns, beside pairs without it twice: wall time,
and time of the processor in this process; which part of it the thread had that tells.
"""

import json
import os
import sys
import time
from collections.abc import Callable

from bench import heading, spread, table
from distributed import Client

from jupyter_serprof.api import record
from jupyter_serprof.model.live import LiveFacts
from jupyter_serprof.views.notebook.live import _line

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 10


def once(run: Callable[[], object], word: str) -> tuple[float, float, float]:
    """Return wall time, time of the processor, and that of the line as a part of the first."""
    os.environ["SERPROF_LIVE"], own_s = word, [0.0]

    def tell(facts: LiveFacts) -> None:
        json.dumps(_line(facts, str(facts)))
        own_s.append(time.thread_time())

    with record("x", live=tell):
        start_s, cpu_s = time.perf_counter(), time.process_time()
        run()
        took_s = time.perf_counter() - start_s
        return took_s, time.process_time() - cpu_s, own_s[-1] / took_s


def row(name: str, run: Callable[[], object]) -> list[str]:
    """Return the quotients, with the line and without it, and the part of the line."""
    found: dict[str, list[list[float]]] = {"1": [], "0": []}
    for turn in range(PAIRS):
        for word, quotients in found.items():
            words = (word, "0") if turn % 2 else ("0", word)
            pair = [once(run, each) for each in words]
            there, without = pair if turn % 2 else pair[::-1]
            quotients.append([there[0] / without[0], there[1] / without[1], there[2]])
    told = [spread([each[at] for each in found[word]]) for at in range(2) for word in found]
    return [name, *told, f"{100 * max(each[2] for each in found['1']):.2f} %"]


def main() -> None:
    """Print the table."""
    heading(f"The line that is told: quotients of {PAIRS} pairs, median and quartiles")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:  # type: ignore[no-untyped-call]
        wait = lambda: client.gather(client.map(time.sleep, [0.004] * 600, pure=False))  # noqa: E731
        rows = [row("600 tasks of Dask", wait), row("a loop of Python", lambda: sum(range(10**8)))]
    table(["", "wall", "control", "processor", "control", "line, at most"], rows)


if __name__ == "__main__":
    main()
