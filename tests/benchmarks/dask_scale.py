"""What the agent of Dask costs a scheduler: 10,000,000 transitions of 1,000 workers.

Prints ns for each transition, the blocks that are kept, the size of what is collected, and how far
the totals are from the truth. Run: uv run python tests/benchmarks/dask_scale.py [transitions]
"""

from __future__ import annotations

import gc
import pickle
import resource
import statistics
import sys
import time
from types import SimpleNamespace

from jupyter_serprof.probes.dask.agent import _plugin
from jupyter_serprof.probes.dask.agent.notes import Agent

TRANSITIONS = 10_000_000
WORKERS = 1_000
PREFIXES = 20
#: released -> waiting -> processing -> memory -> released -> forgotten
STEPS = (
    ("released", "waiting"),
    ("waiting", "processing"),
    ("processing", "memory"),
    ("memory", "released"),
    ("released", "forgotten"),
)


def peak_mb() -> float:
    """Return the most memory that this process has held, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(count: int) -> None:
    """Feed transitions to the plugin as a scheduler does, and read the clock each 100,000."""
    tasks = {
        f"key-{at}": SimpleNamespace(
            group=SimpleNamespace(name=f"group-{at}"),
            prefix=SimpleNamespace(name=f"prefix-{at}"),
            state="released",
        )
        for at in range(PREFIXES)
    }
    scheduler = SimpleNamespace(tasks=tasks, plugins={})
    agent = Agent(["client"], has_own_process=False)
    plugin = _plugin(agent, scheduler, "benchmark")
    plugin.update_graph(scheduler, client="client", keys=set(tasks), tasks=list(tasks))
    addresses = [f"tcp://10.0.0.{at}:1" for at in range(WORKERS)]
    clocks = [float(at) for at in range(WORKERS)]
    keys = list(tasks)
    gc.collect()
    before_mb, costs, expected_ns, task = peak_mb(), [], 0, 0
    for _ in range(0, count, 100_000):
        batch = []
        for number in range(100_000 // len(STEPS)):
            worker = (task + number) % WORKERS
            start = clocks[worker]
            clocks[worker] = stop = start + 0.001 + (number % 7) * 0.0005
            step = {"action": "compute", "start": start, "stop": stop}
            expected_ns += int(stop * 1e9) - int(start * 1e9)
            details = {
                "worker": addresses[worker],
                "thread": 1,
                "nbytes": 8,
                "startstops": [step],
            }
            batch.append((keys[number % PREFIXES], details))
        task += len(batch)
        begin = time.process_time_ns()
        for key, details in batch:
            for start_state, finish in STEPS:
                plugin.transition(key, start_state, finish, stimulus_id="", **details)
        costs.append((time.process_time_ns() - begin) / 100_000)
    report = agent.report()
    size = len(pickle.dumps(report))
    total_ns = sum(entry["total"] for entry in report["prefixes"].values())
    busy_ns = sum(block[7] for block in report["blocks"])
    print(f"{agent.transitions:,} transitions of {WORKERS} workers")
    print(f"{statistics.median(costs):.0f} ns each (median of {len(costs)}; most {max(costs):.0f})")
    print(f"{len(report['blocks']):,} blocks; collected {size / 1e6:.2f} MB")
    print(f"memory grew by {peak_mb() - before_mb:.0f} MB (the feed itself included)")
    print(f"totals off by {total_ns - expected_ns} ns, blocks off by {busy_ns - expected_ns} ns")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TRANSITIONS)
