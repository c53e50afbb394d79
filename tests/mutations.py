"""Faults of one line that the tests have to find: each makes the tests named beside it red.

The project is copied to a folder of its own. There the tests are green first; then the text of one
line is replaced, and those beside it run until one is red. Nothing here is touched.

Run: uv run python tests/mutations.py [NAME ...]   (a part of the file's path)
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MODULES = "labextension/node_modules"
NO_CACHE = ("-p", "no:cacheprovider")
#: A plug-in of pytest, which ends with 9 if another package than the copy was tested.
PROOF = """
import pathlib, sys
def pytest_sessionfinish(session):
    place = pathlib.Path(sys.modules["jupyter_serprof"].__file__)
    session.exitstatus = session.exitstatus if place.is_relative_to(pathlib.Path.cwd()) else 9
"""
#: Two lines each: file and its tests (below ``tests``, ``labextension/test``); text => broken text.
TABLE = """
cli.py: magics/test_cli.py
_OK, _FAILED, _MISUSED, _INTERRUPTED = 0, 1 => _OK, _FAILED, _MISUSED, _INTERRUPTED = 0, 0
cli.py: magics/test_cli.py
last is not None and not body => last is not None
testing/__init__.py: capture/test_recorder.py
self.now_ns += self.tick_ns => self.now_ns -= self.tick_ns
magics/together.py: magics/test_together.py
bool(met) is not rule.is_needed => bool(met) is rule.is_needed
magics/options.py: magics/test_options.py
not 1 <= int(value) => not 0 <= int(value)
panel/runner.py: panel/test_panel.py
STOPPED if was_stopped else DONE => DONE if was_stopped else STOPPED
panel/sizes.py: panel/test_panel.py
min(_MOST_BYTES, guard.most_bytes => max(_MOST_BYTES, guard.most_bytes
api/documents.py: views/test_export.py
SUFFIX if "." not in name => "" if "." not in name
api/comparisons.py: magics/test_compare_magic.py
else limit_share(fail_above) => else None
experiments/blame/tree.py: experiments/blame/test_anatomy.py
- sum(s or 0 for s in sizes) - node.own_bytes => - node.own_bytes
experiments/chunks/best.py: experiments/chunks/test_chunks.py
len(self.sizes) - 1: "largest" => len(self.sizes): "largest"
experiments/compare/verdict.py: experiments/compare/test_compare.py
"slower" if shown.value > 0 => "slower" if shown.value < 0
experiments/engine/order.py: experiments/engine/test_sweep_passes.py experiments/sizes/test_sweep.py
self.total_s - self.used_s => self.total_s + self.used_s
experiments/graphs/values.py: experiments/graphs/test_graphstages.py
if not name.startswith("_") => if name
experiments/remedies/gain.py: experiments/remedies/test_remedies.py
math.exp(-shift.high), math.exp(-shift.low) => math.exp(-shift.low), math.exp(-shift.high)
experiments/roundtrip/trip.py: experiments/roundtrip/test_roundtrip.py
entry for entry in notes if entry => entry for entry in notes[2:] if entry
experiments/sizes/document.py: experiments/sizes/test_sweep.py experiments/sizes/test_sweep_parts.py
self.cold, self.skipped = None, reason => self.cold, self.skipped = None, ""
views/waterfall/table.py: views/test_table.py views/test_text.py
if row.copied_bytes == 0 => if row.copied_bytes != 0
views/flat.py: timelines/test_timelines.py
moved_ns = -min([0 => moved_ns = min([0
views/figure.py: views/test_figure.py views/test_sheet_sweep.py
key=lambda pair: -pair[1] => key=lambda pair: pair[1]
timelines/__init__.py: timelines/test_timelines.py
duration_ns=stop_ns - start_ns => duration_ns=stop_ns
timelines/__init__.py: timelines/test_timelines.py
start_ns <= around[at][1] => start_ns >= around[at][1]
probes/__init__.py: probes/test_probe_base.py
"not imported" if find_spec => "not installed" if find_spec
probes/interpreter.py: probes/test_interpreter_probe.py
self._callbacks.append(callback) => self._callbacks.count(callback)
probes/dask/computations.py: clusters/test_dask_client.py
if ended or not begins: => if not ended or not begins:
probes/dask/tasks.py: clusters/test_dask_client.py
if index in (SCHEDULER, OFFLOAD): => if index not in (SCHEDULER, OFFLOAD):
probes/ray/tasks.py: probes/test_ray_alive.py
except (ConnectionRefusedError, FileNotFoundError) => except FileNotFoundError
probes/dask/agent/totals.py: probes/test_dask_totals.py
last[6] + block[6] => last[6]
probes/dask/agent/totals.py: probes/test_dask_totals.py
duration < self.least => duration > self.least
analysis/waterfall.py: analysis/test_waterfall.py
return not remote.waits => return remote.waits
analysis/spans.py: analysis/test_waterfall.py analysis/test_summary.py
if is_begin and around[span.stage] == 1 => if is_begin and around[span.stage] >= 1
objects/ask.py: objects/test_sizes.py
index=True => index=False
objects/equality.py: objects/test_equality.py
equal_nan=before.dtype.kind in _WITH_NAN => equal_nan=False
capture/patching.py: capture/test_patching.py
left.remove(self.sink) => left.index(self.sink)
capture/recorder.py: capture/test_recorder.py
if len(page) < self.limit => if len(page) <= self.limit
model/sweep.py: model/test_times.py
method="inclusive" => method="exclusive"
model/document.py: model/test_document.py
-1 <= index < count => -1 <= index <= count
testing/__init__.py: analysis/test_waterfall.py
round(wall_ms * MS) => round(wall_ms / MS)
experiments/blame/node.py: experiments/blame/test_anatomy.py
2 if count <= _SHORT_TUPLE => 2 if count < _SHORT_TUPLE
experiments/chunks/words.py: experiments/chunks/test_chunks.py
there > here - _IDLER => there < here - _IDLER
experiments/compare/limit.py: experiments/compare/test_compare_limit.py
change.high > 1 + share => change.high < 1 + share
experiments/engine/experiment.py: experiments/engine/test_progress.py
start_s < self._next_s => start_s > self._next_s
experiments/graphs/stages.py: experiments/graphs/test_graphstages.py
name[0].lower() in "aeio" => name[0].lower() not in "aeio"
experiments/remedies/trial.py: experiments/remedies/test_remedies.py
_SHORT_NS // max(1, => _SHORT_NS * max(1,
experiments/roundtrip/transport.py: experiments/roundtrip/test_roundtrip.py
if wall_ns >= _SHORT_NS => if wall_ns < _SHORT_NS
experiments/sizes/sweep.py: experiments/sizes/test_sweep.py
abs(size / at - 1) > _OTHER_SIZE => abs(size / at - 1) < _OTHER_SIZE
views/kit/bars.py: views/test_text.py
min(1.0, row.self_ns / drawn_ns) => max(1.0, row.self_ns / drawn_ns)
views/kit/lines.py: views/test_export_found.py
max(_FEWEST_TICKS, longest + 1) => max(_FEWEST_TICKS, longest)
views/sweep/runs.py: views/test_text_sizes.py
low, max(low + 1, math.ceil( => low, max(low + 9, math.ceil(
views/sweep/runs.py: views/test_text.py
best = min(judged => best = max(judged
views/notebook/thin.py: views/test_bundle.py
first.trace.wall_ns < _NOTABLY => first.trace.wall_ns > _NOTABLY
views/notebook/widget.py: views/test_widget.py
"jupyter" if hasattr(shell, "kernel") else "terminal" => "terminal" if shell else "jupyter"
views/waterfall/table.py: views/test_export_found.py
else name if counts[name] == 1 => else name if counts[name] != 1
analysis/findings/pickle.py: analysis/test_findings.py
protocol > OLD_PROTOCOL => protocol >= OLD_PROTOCOL
analysis/findings/ray.py: analysis/test_findings.py
len(gets) < MANY_GETS => len(gets) <= MANY_GETS
analysis/sizes/crossovers.py: analysis/test_compression.py
saved / (added_ns / 1e9) => saved / (added_ns / 1e6)
analysis/sizes/fit.py: analysis/test_fit.py
if self_ns >= _STAGE_SHARE => if self_ns < _STAGE_SHARE
probes/dask/graph/graph.py: clusters/test_dask_graph.py::test_a_row_tells_what_an_object_costs
size / sent_bytes => sent_bytes / size
probes/dask/graph/picklers.py: clusters/test_dask_graph.py::test_a_good_graph_has_no_culprit
if _fails(value, kind) => if not _fails(value, kind)
probes/dask/local/columns.py: clusters/test_dask_local.py
at = start + sum( => at = start + max(
probes/dask/local/tables.py: clusters/test_dask_local.py
before |= mine_all => before &= mine_all
probes/ray/tasks.py: probes/test_ray_alive.py
== _DEAD != before.get(name) => == _DEAD == before.get(name)
lanes/tracks.ts: paint.test.ts
stage.waits === true => stage.waits === false
document/format.ts: format.test.ts
size: 1_000 ** at => size: 1_024 ** at
document/decode.ts: decode.test.ts
HIGH_HALF = 2 ** 32 => HIGH_HALF = 2 ** 31
"""


class Mutation(NamedTuple):
    """One line that is broken, and the tests that find it."""

    name: str
    tests: tuple[str, ...]
    text: str
    broken: str

    @property
    def is_front(self) -> bool:
        return self.name.endswith(".ts")


def mutations(chosen: Sequence[str]) -> Iterator[Mutation]:
    """Give the rows of the table whose name holds one of these texts; all without any."""
    lines = TABLE.strip().splitlines()
    for place, change in zip(lines[::2], lines[1::2], strict=True):
        name, tests = place.split(": ")
        if not chosen or any(part in name for part in chosen):
            yield Mutation(name, tuple(tests.split()), *change.split(" => "))


def copy(folder: Path) -> None:
    """Copy the project; bytecode would outlive the line that it was made of."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "node_modules")
    shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored)
    (folder / MODULES).symlink_to(ROOT / MODULES)
    (folder / "proof.py").write_text(PROOF)


def ran(folder: Path, tests: Sequence[str], *, is_front: bool) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy until one is red; what is returned is 0 if none is, 1 if one is."""
    pytest = (sys.executable, "-m", "pytest", "-n0", "-x", "-q", *("-p", "proof"), *NO_CACHE)
    vitest = (str(folder / MODULES / ".bin/vitest"), "run", "--bail=1")
    here, tool = (folder / "labextension", vitest) if is_front else (folder, pytest)
    files = [f"{'test' if is_front else 'tests'}/{test}" for test in dict.fromkeys(tests)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PATH": path}
    command, env = [*tool, *files], os.environ | own
    return subprocess.run(command, cwd=here, env=env, capture_output=True, text=True, check=False)


def result(folder: Path, mutation: Mutation) -> str:
    """Break the line, run its tests, mend it: ``red``, or what is wrong."""
    package = "labextension/src" if mutation.is_front else "jupyter_serprof"
    source = folder / package / mutation.name
    content = source.read_text() if source.is_file() else ""
    if (count := content.count(mutation.text)) != 1:
        return f"the line to be broken stands {count} times: {mutation.text}"
    source.write_text(content.replace(mutation.text, mutation.broken))
    ended = ran(folder, mutation.tests, is_front=mutation.is_front).returncode
    source.write_text(content)
    return {0: "NOT FOUND", 1: "red"}.get(ended, f"the tests ended with {ended}")


def main(chosen: Sequence[str]) -> int:
    """Break each line that is asked for; 1 if a fault is not found, or cannot be tried."""
    asked = list(mutations(chosen)) or sys.exit(f"no file of the table has {chosen} in its path")
    results = []
    with tempfile.TemporaryDirectory(prefix="mutations") as place:
        folder = Path(place).resolve() / "project"
        copy(folder)
        for is_front in sorted({each.is_front for each in asked}):
            tests = [test for each in asked if each.is_front == is_front for test in each.tests]
            if (unbroken := ran(folder, tests, is_front=is_front)).returncode:
                print(unbroken.stdout, unbroken.stderr, "not green before a line was broken")
                return 1
        for mutation in asked:
            began_s = time.monotonic()
            results.append(result(folder, mutation))
            took_s = time.monotonic() - began_s
            print(f"{mutation.name:30} {results[-1]:9} {took_s:4.0f} s", flush=True)
    return int(set(results) != {"red"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
