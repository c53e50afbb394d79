"""How often a comparison raises a false alarm, and how often it finds a true change.

Real code of one workload (dicts, bytes, loads) against itself and against more of it, beside so
many busy neighbours: so many comparisons in turns, or documents made apart, each against each.

Run: uv run python tests/benchmarks/compare_calibration.py turns dicts 50 0
Run: uv run python tests/benchmarks/compare_calibration.py apart dicts 25 0
"""

import json
import pickle
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, product
from statistics import quantiles

from bench import heading, table

from jupyter_serprof.experiments.compare.repeats import Repeats
from jupyter_serprof.experiments.compare.runs import Pairs
from jupyter_serprof.experiments.compare.statistics import machine_between
from jupyter_serprof.experiments.compare.verdict import compare
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Sweep, from_document, to_document

RUNS = 15

#: Bursts of memory and computing with pauses, until its parent ends it.
_NEIGHBOUR = """
import random, time
block = bytearray(24_000_000)
while True:
    end = time.time() + random.uniform(0.05, 1.5)
    while time.time() < end:
        bytes(block)
        sum(range(100_000))
    time.sleep(random.uniform(0, 0.7))
"""
CHANGES = {"A/A": 1.0, "50% slower": 1.5, "twice": 2.0}
IN_TURNS = {"A/A": 1.0, "10% slower": 1.1, "30% slower": 1.3, "twice": 2.0}
TOLD = ("faster", "slower")


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Keep so many processes busy."""
    made = [subprocess.Popen([sys.executable, "-c", _NEIGHBOUR]) for _ in range(count)]
    try:
        time.sleep(0.5 if made else 0.0)
        yield
    finally:
        for process in made:
            process.kill()
            process.wait()


def workloads() -> dict[str, Callable[[float], Callable[[], object]]]:
    """Return code that takes so many times as long, because it has so many times as much to do."""

    def rows(factor: float) -> Callable[[], object]:
        value = [{"a": at, "b": float(at)} for at in range(round(20_000 * factor))]
        return lambda: pickle.dumps(value)

    def block(factor: float) -> Callable[[], object]:
        value = [bytearray(round(3_000_000 * factor))]
        return lambda: pickle.dumps(value)

    def loaded(factor: float) -> Callable[[], object]:
        data = pickle.dumps([{"a": at, "b": float(at)} for at in range(round(15_000 * factor))])
        return lambda: pickle.loads(data)

    return {"dicts": rows, "bytes": block, "loads": loaded}


def document(call: Callable[[], object], runs: int) -> Sweep:
    """Return the document of a cold run and so many warm ones, as ``--repeat`` makes it."""
    with Recording("f()", detail=False) as first:
        call()
    return run(Repeats(call, "f()", traces=[first.trace], repeat=runs))


def apart(workload: str, each: int, busy: int) -> None:
    """Print what documents made apart say: all in this process, and each in one of its own."""
    # There are so many of the same code, and half as many of each change, in random order, beside
    # so many busy neighbours.
    changes = [change for change in CHANGES for at in range(each) if change == "A/A" or at % 2]
    random.Random(0).shuffle(changes)  # noqa: S311  (an order)
    known: dict[tuple[str, str], list[Sweep]] = {}
    with neighbours(busy):
        for place, change in product(("one", "own"), changes):
            make = own_process if place == "own" else in_here
            known.setdefault((place, change), []).append(make(workload, CHANGES[change]))
    heading(f"{workload}: {each} documents of {RUNS} runs of each place, {busy} neighbours")
    lines = [
        _told(f"{change}, {first} and {second}", known[first, "A/A"], known[second, change])
        for change in CHANGES
        for first, second in (("one", "one"), ("own", "own"), ("one", "own"))
    ]
    table(["", "pairs", "faster", "slower", "had to exceed (quartiles)"], lines)


def in_here(workload: str, factor: float) -> Sweep:
    """Return a document that this process makes."""
    return replace(document(workloads()[workload](factor), RUNS), traces=())


def own_process(workload: str, factor: float) -> Sweep:
    """Return a document that a process of its own makes."""
    command = [sys.executable, __file__, "document", workload, str(factor)]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = from_document(json.loads(made))
    assert isinstance(found, Sweep)
    return found


def _told(name: str, before: Sequence[Sweep], after: Sequence[Sweep]) -> list[str]:
    """Return how often the wall time has a verdict."""
    is_same = before is after
    pairs = list(combinations(before, 2)) if is_same else list(product(before, after))
    counted = Counter(_warm(*pair) for pair in pairs)
    shares = [f"{counted[verdict] / len(pairs):.1%}" for verdict in ("faster", "slower")]
    machines = [machine_between(*pair) for pair in pairs]
    reaches = [machine.reach for machine in machines if machine]
    return [name, str(len(pairs)), *shares, " ".join(f"{q:.2f}" for q in quantiles(reaches))]


def _warm(before: Sweep, after: Sweep) -> str:
    changes = compare(before, after).changes
    return next(c.verdict for c in changes if not c.stage and not c.cold)


def turns(workload: str, each: int, busy: int) -> None:
    """Print what so many comparisons say of code in turns, beside so many busy neighbours."""
    same = workloads()[workload](1.0)
    lines = []
    with neighbours(busy):
        for change, factor in IN_TURNS.items():
            other = workloads()[workload](factor)
            made = [Pairs([same, other], ["f", "g"], repeat=RUNS) for _ in range(each)]
            found = [one.changes for pairs in made if (one := run(pairs).comparison)]
            told = [[c for c in changes if c.verdict in TOLD and not c.cold] for changes in found]
            walls = sum(any(not change.stage for change in changes) for changes in told)
            lines.append([change, str(each), str(walls), str(sum(map(bool, told)))])
    heading(f"{workload}: {each} comparisons of {RUNS} pairs in turns, {busy} neighbours")
    table(["", "comparisons", "wall time told", "anything told"], lines)
    print("bound: at most 1 in 50 of the same code")


if __name__ == "__main__":
    if sys.argv[1:2] == ["document"]:
        print(json.dumps(to_document(in_here(sys.argv[2], float(sys.argv[3])))))
    else:
        print_told = {"apart": apart, "turns": turns}[(sys.argv[1:2] or ["turns"])[0]]
        workload, each, busy = sys.argv[2:5] + ["dicts", "50", "0"][len(sys.argv[2:5]) :]
        print_told(workload, int(each), int(busy))
