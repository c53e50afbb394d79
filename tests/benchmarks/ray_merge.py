"""Notes of many nodes of Ray, of 16 workers each: what they weigh, and who takes how long.

On paper, of one function: a worker lays down at most 25 tasks and 200 windows of some 330 bytes, a
node sends as many for all of its workers, so 75 kB instead of 1.2 MB, four times a second at most;
of 1,000 nodes that is 75 MB and 4,000 writes a second, instead of 1.2 GB and 64,000. Measured, with
1,000 nodes of 300 tasks a worker on two busy cores: 57 kB a node, merged in 43 ms; all of them are
57 MB, put together in the driver in 4.5 s of CPU time, where they take 75 MB.
Run: uv run python tests/benchmarks/ray_merge.py [nodes] [workers] [tasks of each]
"""

import marshal
import sys
from resource import RUSAGE_SELF, getrusage
from statistics import median

from bench import heading, table, timed_ns

from jupyter_serprof.probes.ray.agent.notes import Errand, Ledger
from jupyter_serprof.probes.ray.agent.post import merged, packed
from jupyter_serprof.probes.ray.agents import Notes

#: Nodes whose merge is measured; there are no fewer.
MERGED = 10


def laid(worker: bytes, tasks: int) -> bytes:
    """Return what a worker lays down that has run short tasks in turn."""
    ledger = Ledger()
    for turn in range(tasks):
        errand = Errand(worker[-8:] + turn.to_bytes(16, "big"), "module.function", 0)
        begin = errand.begin = turn * 10**7
        errand.body, errand.end = begin + 50_000, begin + 1_000_000 + turn % 977
        errand.note("ray.task.get", begin + 100_000, begin + 300_000, 100)
        errand.returned = errand.end - 40_000
        errand.note("ray.outputs.pickle", errand.returned, errand.returned + 30_000, 100)
        ledger.take(errand.facts(worker))
    return marshal.dumps({**ledger.told(), "taken": {worker: 1}, "failures": 0, "missing": []})


def main(nodes: int = 100, workers: int = 16, tasks: int = 300) -> None:
    heading(f"{nodes:,} nodes of {workers} workers, {tasks} tasks each")
    took_ms, sent, sizes = list[float](), list[bytes](), list[int]()
    first = [laid(b"node%010d%014d" % (0, at), tasks) for at in range(workers)]
    for node in range(MERGED):
        there = [one.replace(b"node%010d" % 0, b"node%010d" % node) for one in first]
        sizes += map(len, there)
        took_ms.append(timed_ns(lambda: sent.append(packed(merged(there)))) / 1e6)  # noqa: B023
    for node in range(MERGED, nodes):  # each merges for itself
        sent.append(sent[0].replace(b"node%010d" % 0, b"node%010d" % node))
    noted, before = Notes(), getrusage(RUSAGE_SELF).ru_maxrss
    driver_ns = timed_ns(lambda: noted.add(map(marshal.loads, sent), lambda _: 0))
    assert noted.count == nodes * workers * tasks
    figures = {
        "a worker lays down, kB": median(sizes) / 1e3,
        "a node sends, kB": median(map(len, sent)) / 1e3,
        "its merge, ms": median(took_ms),
        "all nodes, MB": sum(map(len, sent)) / 1e6,
        "their merge in the driver, s": driver_ns / 1e9,
        "memory of the driver for that, MB": (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1e3,
    }
    table(("", ""), [(what, f"{value:,.1f}") for what, value in figures.items()])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
