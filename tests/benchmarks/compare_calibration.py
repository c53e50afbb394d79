"""How often a comparison raises a false alarm, and how often it finds a true change.

Simulated documents of known truth, and pickles of one fixed object measured against themselves.
With ``apart``: real documents of one workload (dicts, bytes, loads), made in one process and in one
of their own, so many of the same code, beside so many busy neighbours; each against each.

Run: uv run python tests/benchmarks/compare_calibration.py
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

from bench import heading, table, timed_ns

from jupyter_serprof.experiments.compare.repeats import Repeats
from jupyter_serprof.experiments.compare.statistics import machine_between
from jupyter_serprof.experiments.compare.verdict import compare
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.model import Comparison, Point, Sweep, Variant, from_document, to_document

PAIRS = 200
RUNS = 15
NOISE_SHARE = 0.03
SHIFT_SHARE = 0.10
WALL_NS = 10_000_000
#: How the wall time is made up; what is missing is unaccounted.
STAGES = {"pickle.dumps": 0.5, "ray.store": 0.3, "pickle.loads": 0.15}

#: From (draw, count) to that many times, one after the other, as a share of the true one.
Noise = Callable[[random.Random, int], list[float]]


def lognormal(draw: random.Random, count: int) -> list[float]:
    """Noise of 3 %."""
    return [draw.lognormvariate(0, NOISE_SHARE) for _ in range(count)]


def heavy_tails(draw: random.Random, count: int) -> list[float]:
    """One run in seven takes half as long again, or more."""
    late = (draw.expovariate(2) if draw.random() < 0.15 else 0.0 for _ in range(count))
    return [base + more for base, more in zip(lognormal(draw, count), late, strict=True)]


def drift(draw: random.Random, count: int) -> list[float]:
    """All runs drift by up to 10 %, from the first before to the last after."""
    slope = draw.uniform(-0.1, 0.1) / count
    return [base * (1 + slope * at) for at, base in enumerate(lognormal(draw, count))]


def sweep(times: Sequence[float], draw: random.Random) -> Sweep:
    """Return a document of warm runs, whose stages have noise of their own."""
    points = tuple(_point(at, share, draw) for at, share in enumerate(times))
    steady = {"pickle": (WALL_NS,) * RUNS}
    code = (Variant("code", "f()"),)
    return Sweep(name="f()", started="", variants=code, points=points, control=steady)


def _point(at: int, share: float, draw: random.Random) -> Point:
    own = {
        key: round(WALL_NS * part * share * draw.lognormvariate(0, NOISE_SHARE / 2))
        for key, part in STAGES.items()
    }
    wall_ns = max(round(WALL_NS * share), sum(own.values()))
    return Point("code", None, at + 1, False, wall_ns, None, own)  # noqa: FBT003  (a column)


def found(comparison: Comparison) -> tuple[str, bool]:
    """Return the verdict on the wall time, and whether any stage has one."""
    wall, *stages = comparison.changes
    return wall.verdict, any(change.verdict in ("faster", "slower") for change in stages)


def simulated(noise: Noise, shift: float, runs: int, *, is_paired: bool) -> list[tuple[str, bool]]:
    """Return what seeded comparisons say of a change of this share."""
    verdicts = []
    for seed in range(PAIRS):
        draw = random.Random(f"{noise.__name__} {seed} {runs}")  # noqa: S311  (simulation)
        times = noise(draw, 2 * runs)
        one, other = (times[::2], times[1::2]) if is_paired else (times[:runs], times[runs:])
        changed = [time * (1 + shift) for time in other]
        pair = compare(
            sweep(one, draw), sweep(changed, draw), is_now=is_paired, is_paired=is_paired
        )
        verdicts.append(found(pair))
    return verdicts


#: The control of simulated documents, ns.
CONTROL_NS = {"pickle": 800_000, "copy": 250_000, "pages": 600_000}


def drifted(shift: float, machine: float, runs: int) -> list[tuple[str, bool]]:
    """Return what comparisons say where the machine of after is slower by a share, too."""
    verdicts = []
    for seed in range(PAIRS):
        draw = random.Random(f"drifted {seed} {runs}")  # noqa: S311  (simulation)
        sides = []
        for factor, other in ((1.0, 1.0), ((1 + shift) * (1 + machine), 1 + machine)):
            made = sweep([time * factor for time in lognormal(draw, runs)], draw)
            control = {
                kind: tuple(round(ns * other * share) for share in lognormal(draw, runs))
                for kind, ns in CONTROL_NS.items()
            }
            sides.append(replace(made, control=control))
        verdicts.append(found(compare(*sides)))
    return verdicts


def measured(runs: int, *, is_paired: bool) -> list[tuple[str, bool]]:
    """Return what comparisons say of pickles of one object against themselves."""
    value = [{"id": at, "name": f"row {at}"} for at in range(2_000)]
    draw = random.Random(0)  # noqa: S311  (simulation)

    def run() -> float:
        return timed_ns(lambda: pickle.loads(pickle.dumps(value))) / WALL_NS

    verdicts = []
    for _ in range(PAIRS):
        run()
        if is_paired:
            pairs = [(run(), run()) for _ in range(runs)]
            turned = [p if at % 2 else p[::-1] for at, p in enumerate(pairs)]
            one, other = [a for a, _ in turned], [b for _, b in turned]
        else:
            one, other = [run() for _ in range(runs)], [run() for _ in range(runs)]
        pair = compare(sweep(one, draw), sweep(other, draw), is_now=is_paired, is_paired=is_paired)
        verdicts.append(found(pair))
    return verdicts


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
    first = Recording("f()", detail=False)
    with first:
        call()
    return run(Repeats(call, "f()", traces=[first.trace], repeat=runs))


def apart(workload: str, each: int, busy: int) -> None:
    """Print what documents made apart say: all in this process, and each in one of its own.

    There are so many of the same code, and half as many of each change, in random order, beside so
    many busy neighbours.
    """
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


def row(name: str, verdicts: Sequence[tuple[str, bool]], wanted: str = "") -> list[str]:
    """Return how often the wall time has a verdict (or the wanted one), and any stage."""
    counted = Counter(verdict for verdict, _ in verdicts)
    told = counted[wanted] if wanted else counted["faster"] + counted["slower"]
    stages = sum(is_told for _, is_told in verdicts)
    return [name, f"{told / len(verdicts):.1%}", f"{stages / len(verdicts):.1%}"]


def main(runs: int) -> None:
    """Print false alarms and power."""
    for is_paired in (False, True):
        how = "in turns" if is_paired else "one document after the other"
        heading(f"{PAIRS} comparisons of {runs} + {runs} runs, {how}")
        rows = [
            row(f"A/A {noise.__name__}", simulated(noise, 0, runs, is_paired=is_paired))
            for noise in (lognormal, heavy_tails, drift)
        ]
        rows.append(row("A/A pickle, real", measured(runs, is_paired=is_paired)))
        rows += [
            row(
                f"{SHIFT_SHARE:.0%} slower, {noise.__name__}",
                simulated(noise, SHIFT_SHARE, runs, is_paired=is_paired),
                "slower",
            )
            for noise in (lognormal, heavy_tails, drift)
        ]
        table(["", "wall time told", "any stage told"], rows)
    heading(f"{PAIRS} comparisons of {runs} + {runs} runs apart, with fixed work beside them")
    rows = [
        row(name, drifted(shift, machine, runs), wanted)
        for name, shift, machine, wanted in (
            ("A/A, the same machine", 0.0, 0.0, ""),
            ("A/A, machine 30% slower", 0.0, 0.3, ""),
            ("50% slower, the same machine", 0.5, 0.0, "slower"),
            ("twice, machine 10% slower", 1.0, 0.1, "slower"),
        )
    ]
    table(["", "wall time told", "any stage told"], rows)
    print("bounds: A/A at most 1% apart and 2% in turns; 10% slower, lognormal, in turns: 90%")


if __name__ == "__main__":
    if sys.argv[1:2] == ["apart"]:
        apart(sys.argv[2], *map(int, sys.argv[3:5]))
    elif sys.argv[1:2] == ["document"]:
        print(json.dumps(to_document(in_here(sys.argv[2], float(sys.argv[3])))))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
