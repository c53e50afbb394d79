"""Record a picture of each finding that no entry of tests/corpus is about; pairs where a twin is.

uv run --group corpus python docs/programs.py [PARTS OF NAMES]    # writes documents, and pairs.md

Each program runs in a process of its own: some are about what only the first run pays.
"""

from __future__ import annotations

import argparse
import functools
import gc
import inspect
import io
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np

import jupyter_serprof as sp
from jupyter_serprof.api.recordings import stage_recording
from jupyter_serprof.model import Sweep, Trace, save_document
from tests import corpus

Shown = Callable[[], Trace | Sweep]
Twins = Callable[[], tuple[corpus.Run, corpus.Run]]
#: What is shown without a twin, by name: its finding, and the function that gives the document.
SHOWN: dict[str, tuple[str, Shown]] = {}
#: Programs with their faster twins, as those of the corpus.
ENTRIES: list[corpus.Entry] = []
PAIRS = 5
_TABLE = HERE / "pairs.md"
_HEAD = """# More pairs

Programs for the findings that no antipattern of [Causes](causes.md) is about, in the same columns:
`docs/programs.py`. *Faster* is the median of {pairs} alternating pairs. What names nothing is told
by `--try` only. Made by: `uv run --group corpus python docs/programs.py`.

| antipattern | page | finding | names | share | faster |
|---|---|---|---|---|---|
"""


def shown(rule: str) -> Callable[[Shown], Shown]:
    """Register a program that has a picture, and nothing that would be faster."""

    def register(make: Shown) -> Shown:
        SHOWN[make.__name__.replace("_", "-")] = rule, make
        return make

    return register


def twins(page: str, rule: str) -> Callable[[Twins], Twins]:
    """Register a program and what does the same faster."""

    def register(prepare: Twins) -> Twins:
        name, title = prepare.__name__.replace("_", "-"), inspect.getdoc(prepare) or ""
        ENTRIES.append(corpus.Entry(name, title, page, rule, prepare))
        return prepare

    return register


@twins("dask: generated/dask.array.reduction", "dask.chain")
def chain_of_sums():
    """Values added one after the other, where pairs of them can be added side by side."""
    import dask

    @dask.delayed
    def add(one, other):
        time.sleep(0.05)
        return one + other

    def in_pairs(values):
        while len(values) > 1:
            values = [add(*pair) for pair in zip(values[::2], values[1::2], strict=True)]
        return values[0]

    return (
        lambda: functools.reduce(add, range(16)).compute(),
        lambda: in_pairs(range(16)).compute(),
    )


@twins("dask: distributed/serialization", "dask.main-functions")
def function_of_the_notebook():
    """A function of the notebook, with an argument that takes long to pickle: twice."""
    from distributed import default_client

    client, rows = default_client(), [(float(at), str(at)) for at in range(150_000)]

    def count(given):
        return len(given)

    return (
        lambda: [client.submit(count, rows, pure=False).result() for _ in range(3)],
        lambda: [client.submit(len, rows, pure=False).result() for _ in range(3)],
    )


@twins("dask: docs.python.org/library/gc", "dask.scheduler-gc")
def small_lists_through_the_scheduler():
    """Hundreds of thousands of small lists in a graph: the scheduler makes all of them anew."""
    from distributed import default_client

    client = default_client()
    rows = [[at] for at in range(500_000)]
    table = np.array(rows)
    return (
        lambda: client.submit(len, rows, pure=False).result(),
        lambda: client.submit(len, table, pure=False).result(),
    )


@twins("ray: ray-core/objects/serialization#numpy-arrays", "pickle.in-band-copy")
def every_other_column():
    """A strided view: it is no block of memory that could be handed over."""
    import ray

    view = np.ones((2_000, 4_000))[:, ::2]
    block = np.ascontiguousarray(view)
    return (
        lambda: float(ray.get(ray.put(view)).sum()),
        lambda: float(ray.get(ray.put(block)).sum()),
    )


@twins("none: docs.python.org/library/pickle", "pickle.protocol-4")
def protocol_4():
    """An array by protocol 4, which is the default before Python 3.14."""
    a = np.ones(10_000_000)
    return (lambda: len(pickle.dumps(a, protocol=4)) * 0), (lambda: len(pickle.dumps(a, 5)) * 0)


@twins("none: docs.python.org/library/pickle", "pickle.small-objects")
def rows_as_tuples():
    """Rows as tuples of numbers, where an array has them in one block."""
    rows = [(float(at), at * 0.5) for at in range(300_000)]
    table = np.array(rows)
    return (lambda: len(pickle.dumps(rows, 5)) * 0), (lambda: len(pickle.dumps(table, 5)) * 0)


@twins("none: docs.python.org/library/pickle", "pickle.fresh-buffers")
def dumps_again_and_again():
    """A pickle into new memory each time, where one buffer can be kept."""
    a, buffer = np.ones(10_000_000), io.BytesIO()

    def into_new():
        return [len(pickle.dumps(a, protocol=5)) for _ in range(5)]

    def into_one():
        sizes = []
        for _ in range(5):
            buffer.seek(0)
            pickle.Pickler(buffer, protocol=5).dump(a)
            sizes.append(buffer.tell())
        return sizes

    return into_new, into_one


@twins("none: docs.python.org/library/gc", "python.gc")
def unpickled_while_collected():
    """Hundreds of thousands of small lists made anew, while Python's collector searches them."""
    data = pickle.dumps([[at] for at in range(600_000)])

    def without_collector():
        gc.disable()
        try:
            return len(pickle.loads(data))
        finally:
            gc.enable()

    return (lambda: len(pickle.loads(data))), without_collector


@twins("ray: numpy.org/numpy.stack", "ray.many-arrays")
def dict_of_small_arrays():
    """A dict of thousands of small arrays: each get makes all of them anew."""
    import ray

    columns = {at: np.full(8, float(at)) for at in range(20_000)}
    apart, stacked = ray.put(columns), ray.put(np.stack(list(columns.values())))
    return (
        lambda: sum(len(ray.get(apart)) for _ in range(3)),
        lambda: sum(len(ray.get(stacked)) for _ in range(3)),
    )


@twins("ray: ray-core/patterns/nested-ray-get", "ray.nested-get")
def references_inside_a_list():
    """References inside of a list: the task starts before they are there, and waits in a worker."""
    import ray

    @ray.remote
    def work(seconds):
        time.sleep(seconds)
        return seconds

    @ray.remote
    def total_of(refs):
        return sum(ray.get(refs))

    @ray.remote
    def total(*values):
        return sum(values)

    def refs():
        return [work.remote(seconds) for seconds in (0.1, 0.6)]

    return (lambda: ray.get(total_of.remote(refs()))), (lambda: ray.get(total.remote(*refs())))


@twins("none: docs.ray.io/object-spilling", "ray.spilling")
def references_that_are_kept():
    """References that are kept although nobody needs the objects: the store fills, and spills."""
    import ray

    ray.init(
        num_cpus=2,
        object_store_memory=100_000_000,
        include_dashboard=False,
        log_to_driver=False,
        _temp_dir=tempfile.mkdtemp(prefix="sp"),
    )
    block = np.ones(4_000_000)

    def kept():
        refs = [ray.put(block) for _ in range(8)]
        return len(refs)

    def let_go():
        count = 0
        for _ in range(8):
            ref = ray.put(block)
            count += 1
            del ref
        return count

    return kept, let_go


@shown("dask.chunk-sweep")
def sums_at_six_chunk_sizes() -> Sweep:
    """The same sum with chunks of six sizes."""
    import dask.array as da

    from tests.corpus.clusters import start

    start("dask")
    return sp.chunk_sweep(
        lambda chunk: (da.ones((6_000, 6_000), chunks=int(chunk)) + 1).sum(),
        [200, 400, 750, 1500, 3000, 6000],
        repeat=7,
        name="(da.ones((6000, 6000), chunks=chunk) + 1).sum()",
        parameter="chunk",
    )


@shown("dask.no-worker")
def cluster_without_workers() -> Trace:
    """A result of a cluster that has no worker, waited for three seconds."""
    import dask.array as da
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster, Client(cluster) as client:
        name = "client.compute(da.ones(100).sum()).result(timeout=3)"
        with suppress(TimeoutError), stage_recording(name) as recording:
            client.compute(da.ones(100).sum()).result(timeout=3)
    return recording.trace


class Model:
    """What holds a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@shown("pickle.unpicklable")
def model_with_a_lock() -> Trace:
    """A model that holds a lock, deep inside of what is pickled."""
    job = {"model": Model(), "rows": list(range(1000))}
    with suppress(TypeError), sp.record("pickle.dumps(job)") as recording:
        pickle.dumps(job)
    return recording.trace


@shown("plugin.failed-rule")
def rule_of_a_plug_in_that_raises() -> Trace:
    """A rule that expects a row that is not there, beside those that work."""
    from jupyter_serprof.analysis import findings

    def slow_queue(trace: Trace) -> list[object]:
        return [row for row in trace.waterfall.rows if row.stage == "queue.put"][0]  # noqa: RUF015

    findings.RULES = (*findings.RULES, slow_queue)
    with sp.record("pickle.dumps(list(range(300_000)))") as recording:
        pickle.dumps(list(range(300_000)))
    return recording.trace


@shown("pickle.fresh-buffers")
def remedies_of_an_array() -> Sweep:
    """What makes the pickle of an array of 80 MB faster, tried in pairs."""
    return sp.try_remedies(np.ones(10_000_000), now="pickle", name="a")


@shown("python.first-use-imports")
def frame_where_no_pandas_is_loaded() -> Trace:
    """A frame that is unpickled by a process that has not imported pandas before."""
    program = (
        "import pandas, pickle, sys;"
        "sys.stdout.buffer.write(pickle.dumps(pandas.DataFrame({'x': range(1000)})))"
    )
    data = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    with sp.record("pickle.loads(data)") as recording:
        pickle.loads(data)
    return recording.trace


@shown("ray.objects-kept")
def who_keeps_what() -> Trace:
    """Arrays in Ray's store: kept by a list of references, and by an array that was got."""
    import ray

    from tests.corpus.clusters import start

    start("ray")
    refs = [ray.put(np.ones(1_000_000)) for _ in range(3)]
    array = ray.get(ray.put(np.ones(2_000_000)))
    return sp.objects(names={"refs": refs, "array": array})


@shown("ray.deployment-calls")
def table_for_each_call_of_a_deployment() -> Trace:
    """A table that goes along with each call of a deployment; Ray Serve has to be installed."""
    from ray import serve

    from tests.corpus.clusters import start

    start("ray")
    lookup = serve.deployment(
        type("Lookup", (), {"__call__": lambda _, table, at: float(table[at])})
    )
    serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
    handle, table = serve.run(lookup.bind()), np.ones(2_000_000)
    handle.remote(table, 0).result()
    with sp.record("[handle.remote(table, at).result() for at in range(6)]") as recording:
        [handle.remote(table, at).result() for at in range(6)]
    serve.shutdown()
    return recording.trace


@shown("ray.worker-died")
def worker_that_exits() -> Trace:
    """A task whose process ends the first time; Ray runs it again."""
    import ray

    from tests.corpus.clusters import start

    start("ray")
    seen = Path(tempfile.mkdtemp(), "seen")

    @ray.remote(max_retries=1)
    def fragile() -> int:
        if not seen.exists():
            seen.touch()
            os._exit(1)
        return 1

    with sp.record("ray.get(fragile.remote())") as recording:
        ray.get(fragile.remote())
    return recording.trace


#: The findings of these programs.
RULES = {*(rule for rule, _ in SHOWN.values()), *(entry.rule for entry in ENTRIES)}


def keep(rule: str, name: str, doc: Trace | Sweep) -> None:
    """Write a document for its page, if it tells the finding; instead of any before."""
    from documents import HERE as FOLDER
    from documents import small

    if rule not in {finding.rule for finding in doc.findings}:
        print(f"{name}: no {rule}, but {[finding.rule for finding in doc.findings]}")
        return
    for old in FOLDER.glob(f"{rule}@*"):
        old.unlink()
    save_document(
        small(doc) if isinstance(doc, Trace) else doc, FOLDER / f"{rule}@{name}.serprof.json"
    )


def run(name: str) -> None:
    """Run one here: keep its document, print its line of the table."""
    from tests.corpus.__main__ import _line, run_entry

    if name in SHOWN:
        rule, make = SHOWN[name]
        keep(rule, name, make())
        return
    (entry,) = [entry for entry in ENTRIES if entry.name == name]
    row = run_entry(entry, PAIRS)
    if row.trace is None:
        sys.exit(f"{name}: {row.reason}")
    keep(entry.rule, name, row.trace)
    print(_line(row), end="")


def main(arguments: list[str]) -> None:
    """Run all whose names have one of these parts, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--one", help="run this one here")
    given = parser.parse_args(arguments)
    if given.one:
        warnings.simplefilter("ignore")
        run(given.one)
        return
    lines = _TABLE.read_text("utf-8").splitlines() if _TABLE.exists() else []
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("|")}
    for name in (*SHOWN, *(entry.name for entry in ENTRIES)):
        if not given.parts or any(part in name for part in given.parts):
            command = [sys.executable, __file__, "--one", name]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            print(f"{name}: {done.returncode} {done.stdout.strip()}", flush=True)
            told = (line for line in done.stdout.splitlines() if line.startswith("|"))
            rows |= {line.split("|")[1].strip(): line for line in told}
    titles = [entry.title for entry in ENTRIES]
    kept = [rows[title] for title in titles if title in rows]
    _TABLE.write_text(_HEAD.format(pairs=PAIRS) + "\n".join(kept) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
