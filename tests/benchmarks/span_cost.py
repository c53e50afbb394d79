"""Cost of one span, of an idle hook, of page fault counters, and of ``%load_ext``.

Run: uv run python tests/benchmarks/span_cost.py
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Literal

from bench import heading, quartiles, table

from jupyter_serprof.capture.hook import Hook, Place, hook_for
from jupyter_serprof.capture.recorder import Recorder

CALLS, ROUNDS = 2_000, 60
STARTS = 7
HEAVY = ("ray", "dask", "distributed", "matplotlib", "numpy", "pandas", "pyarrow", "scipy")


def main() -> None:
    """Print the cost of a call in its kinds, then of loading the extension."""
    heading(f"cost of one call beyond the bare call: {ROUNDS} rounds of {CALLS} calls")
    kinds: list[tuple[str, Literal["", "thread", "process"]]] = [
        ("span", ""),
        ("span + faults of the thread", "thread"),
        ("span + faults of the process", "process"),
    ]
    rows = [_row("idle hook", _hook("", listening=False), "0.3")]
    rows += [_row(name, _hook(faults, listening=True), "1.5") for name, faults in kinds]
    rows += [_row("control: bare", _nothing, "")]
    table(["", "lower quartile", "median", "upper quartile", "bound, us"], rows)
    _load_ext()


def _nothing() -> None:
    return None


def _hook(faults: Literal["", "thread", "process"], *, listening: bool) -> Callable[[], object]:
    hook = hook_for(_nothing, Place("bench:nothing", "user", faults=faults))
    if listening:
        recorder = Recorder([])
        PAGES.append(recorder)
        hook.sinks = (recorder,)
    return hook


PAGES: list[Recorder] = []


def _row(name: str, call: Callable[[], object], bound: str) -> list[str]:
    differences = []
    for turn in range(ROUNDS):
        if isinstance(call, Hook):
            call.left = CALLS  # a hook stops noting faults of short calls
        if turn % 2:
            bare, own = _round_ns(_nothing), _round_ns(call)
        else:
            own, bare = _round_ns(call), _round_ns(_nothing)
        differences.append((own - bare) / CALLS / 1_000)
        for recorder in PAGES:
            recorder.page.clear()
    return [name, *(f"{value:.2f} us" for value in quartiles(differences)), bound]


def _round_ns(call: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return time.perf_counter_ns() - start


_LOAD = """
import sys, time
import ipykernel.kernelapp
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
start = time.perf_counter_ns()
shell.run_line_magic("load_ext", "jupyter_serprof")
print((time.perf_counter_ns() - start) / 1e6)
new = set(sys.modules) - before
print(" ".join(sorted(set(HEAVY) & {name.partition(".")[0] for name in new})) or "none")
print(len(new))
"""


def _load_ext() -> None:
    heading(f"%load_ext jupyter_serprof in {STARTS} new processes (bound: 20 ms)")
    code = f"HEAVY = {HEAVY!r}\n{_LOAD}"
    with tempfile.TemporaryDirectory() as compiled:
        # As after the first use of an installation: modules are compiled, whatever is set here.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = compiled
        answers = [_answer(code, environment) for _ in range(1 + STARTS)][1:]
    times = [float(answer[0]) for answer in answers]
    spread = f"{min(times):.1f} to {max(times):.1f}"
    print(f"median {statistics.median(times):.1f} ms ({spread}); {answers[0][2]} new modules")
    print(f"heavy libraries imported by it: {answers[0][1]}")


def _answer(code: str, environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.splitlines()[-3:]


if __name__ == "__main__":
    main()
