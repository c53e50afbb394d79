"""Who holds what in Ray's object stores: each leak has its reason, and looking holds nothing."""

import ast
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray

import jupyter_serprof as sp
from clusters.seen import column, remote, table, until
from jupyter_serprof.model import ProbeUnavailable, Trace, UsageError
from jupyter_serprof.probes.ray import holders, stores
from jupyter_serprof.views.text import text

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

_COUNT = 200_000
#: Of an array of so many floats in a store: with what Ray writes beside it.
_BYTES = 8 * _COUNT + 251


def _array(count: int = _COUNT) -> Any:
    return np.ones(count)


def _core() -> Any:
    worker: Any = ray._private.worker.global_worker
    return worker.core_worker


def _kept(document: Trace) -> dict[str, tuple[int, str]]:
    columns = (column(document, "ray.holders", key) for key in ("name", "count", "code"))
    return {name: (count, code) for name, count, code in zip(*columns, strict=True)}


def _row(document: Trace, path: str) -> dict[str, Any]:
    found = table(document, "ray.objects")
    [line] = [line for line in found.rows if line[0] == path]
    return dict(zip((entry.key for entry in found.columns), line, strict=True))


def _told(names: Mapping[str, object], wanted: Callable[[Trace], object]) -> Trace:
    """Return what is told once it is as wanted: workers report their references a little later."""
    return until(wanted, lambda: sp.objects(names=names))


_OTHERS: list[str] = []


@pytest.fixture(autouse=True)
def _empty_store() -> None:
    """Other tests' objects have gone when a test begins: none could be told apart from ours."""
    gc.collect()
    if _OTHERS or _told({}, lambda told: not told.anatomies).anatomies:
        _OTHERS.append("objects of other tests stay in this cluster: run this file by itself")
        pytest.skip(_OTHERS[0])


def _list() -> tuple[dict[str, object], str, str]:
    make = remote(lambda: np.ones(_COUNT), num_cpus=0)
    refs = [make.options(name="make").remote() for _ in range(2)]
    ray.wait(refs, num_returns=2)
    return {"refs": refs}, "by variable refs", "del refs"


def _value() -> tuple[dict[str, object], str, str]:
    return {"arr": ray.get(ray.put(_array()))[5:]}, "by value arr", "del arr"


def _values() -> tuple[dict[str, object], str, str]:
    values = ray.get([ray.put(_array()) for _ in range(3)])
    return {"values": values}, "by value values", "del values"


def _inside() -> tuple[dict[str, object], str, str]:
    return {"box": ray.put([ray.put(_array())])}, "inside box", "del box"


def _attribute() -> tuple[dict[str, object], str, str]:
    job, ref = type("Job", (), {})(), ray.put(_array())
    job.parts = defaultdict(list, a=partial(print, lambda: ref))
    return {"job": job}, "by variable job", "del job"


def _both() -> tuple[dict[str, object], str, str]:
    ref = ray.put(_array())
    return {"ref": ref, "arr": ray.get(ref)}, "by variable ref and by value arr", "del arr, ref"


@pytest.mark.parametrize("make", [_list, _value, _values, _inside, _attribute, _both])
def test_what_variables_keep_is_named_and_the_remedy_lets_it_go(
    make: Callable[[], tuple[dict[str, object], str, str]],
) -> None:
    """A list of references, an array that was got without a copy, one that is in another object."""
    names, reason, remedy = make()

    document = sp.objects(names=names)
    kept = _kept(document)

    assert kept[reason][1] == remedy
    exec(remedy, names)  # noqa: S102  (as who pastes it)
    gone = _told(names, lambda told: not told.anatomies)
    assert gone.summary is not None
    assert gone.summary.headline == "no object is in Ray's object stores"


def _holder() -> Any:
    """Return an actor that keeps what it is given; its class travels by value."""

    class Holder:
        def refer(self, refs: Any) -> None:
            self.kept = refs

        def use(self, refs: Any) -> None:
            self.kept = ray.get(refs)

    return remote(Holder, num_cpus=0).remote()


@pytest.mark.parametrize("method", ["refer", "use"])
def test_what_an_actor_keeps_is_told_by_its_class(method: str) -> None:
    """References, and values that it got; nothing of the notebook would let them go."""
    actor = _holder()
    ray.get(getattr(actor, method).remote([ray.put(_array())]))

    document = _told({"actor": actor}, lambda told: list(_kept(told)) == ["by actor Holder"])

    assert _kept(document) == {"by actor Holder": (1, "")}
    assert [finding.remedy for finding in document.findings] == [""]
    assert "the actor has to drop it, or to end" in text(document)
    ray.kill(actor)


def test_an_argument_of_a_task_that_is_not_over_is_told_with_the_task(tmp_path: Path) -> None:
    """Also what was given by value (ray#25779): it goes when the task is over."""
    go = tmp_path / "go"

    def await_go(_: object) -> None:
        while not go.exists():
            time.sleep(0.01)

    ref = remote(await_go, num_cpus=0).remote(_array())
    named = "as argument of await_go"
    document = _told({"ref": ref}, lambda told: named in _kept(told))
    go.touch()
    ray.get(ref)

    assert _kept(document) == {named: (1, "")}
    assert not _told({}, lambda told: not told.anatomies).anatomies


def test_a_loop_of_puts_and_gets_keeps_its_last_turn() -> None:
    """The program of ray#31421: what its variables name is all that there is."""
    process = remote(lambda _: np.ones(_COUNT), num_cpus=0)
    for _ in range(3):
        data = ray.put(_array())
        ref = process.remote(data)
        ray.get(ref)
    reasons = {"by variable data": (1, "del data"), "by variable ref": (1, "del ref")}

    document = _told({"data": data, "ref": ref}, lambda told: _kept(told) == reasons)

    assert _kept(document) == reasons
    assert _row(document, "data")["nodes"] == "this node"


def test_makers_sizes_and_lines_are_told() -> None:
    """By its id an object says who made it; by a recording of it where that was typed."""

    def putter() -> list[Any]:
        return [ray.put(np.ones(200_000))]

    make = remote(putter, num_cpus=0)
    earlier = ray.put(_array())
    with sp.record():
        ref = ray.put(_array())
        outer = make.remote()
    names: dict[str, Any] = {"ref": ref, "outer": outer, "inner": ray.get(outer)}
    names["earlier"] = earlier

    document = sp.objects(names=names)

    row, inner = _row(document, "ref"), _row(document, "inner[0]")
    assert (row["task"], row["bytes"], row["spilled"]) == ("put here", _BYTES, "no")
    assert row["code"].startswith("test_ray_objects.py:")
    assert (inner["task"], inner["bytes"]) == ("put in putter", _BYTES)
    assert inner["why"] == "by variable inner and inside outer"
    assert _row(document, "earlier")["code"] == "before the recording"
    assert document.anatomies[0].total_bytes == 3 * _BYTES


def test_looking_changes_no_count_and_keeps_nothing() -> None:
    """The object of a variable goes when the variable goes, whoever looked before."""
    refs = [ray.put(_array()) for _ in range(3)]
    before = _core().get_all_reference_counts()

    document = sp.objects(names={"refs": refs})
    with pytest.raises(UsageError, match="no reference of Ray"):
        sp.objects(5, names={"refs": refs})

    assert _core().get_all_reference_counts() == before
    refs.clear()
    assert _core().get_all_reference_counts() == {}
    assert document.summary is not None
    assert len(document.summary.headline) <= 90


def test_only_what_is_asked_for_is_told() -> None:
    """A reference, a container of references, or a value that was got."""
    refs = [ray.put(_array(1_000 * (at + 1))) for at in range(3)]
    value = ray.get(refs[2])
    names = {"refs": refs, "value": value}

    told = [sp.objects(of, names=names) for of in (refs[0], refs[:2], value)]

    assert [column(one, "ray.objects", "path") for one in told] == [
        ["refs[0]"],
        ["refs[1]", "refs[0]"],
        ["refs[2]"],
    ]


def test_of_many_objects_few_are_rows_and_all_are_counted() -> None:
    """The others are folded by who made and who keeps them."""
    refs = [ray.put(at) for at in range(500)]

    document = sp.objects(names={"refs": refs})

    sizes = column(document, "ray.objects", "bytes")
    assert column(document, "ray.holders", "count") == [500]
    assert column(document, "ray.objects", "path")[-1] == "420 more objects"
    assert sum(sizes) == column(document, "ray.holders", "bytes")[0]
    assert len(document.anatomies[0].parts) < 20
    assert sum(part.self_bytes for part in document.anatomies[0].parts) == sum(sizes)


def test_without_answers_or_grpcio_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """One remedy each, and no traceback from inside of Ray."""
    monkeypatch.setattr(stores, "is_alive", lambda: False)
    with pytest.raises(ProbeUnavailable, match=r"ray\.shutdown\(\), then ray\.init\(\)"):
        sp.objects()
    monkeypatch.setattr(stores, "find_spec", lambda _: None)
    with pytest.raises(ProbeUnavailable, match='pip install "grpcio"'):
        sp.objects()


def test_the_lines_that_are_noted_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "_MOST_LINES", 3)
    for at in range(5):
        holders.note_line(bytes([0, at]))

    assert [key[0] for key in holders._LINES][-3:] == [2, 3, 4]


_SPILLS = """
import os, signal, threading, time
import numpy as np, psutil, ray
from ray.cluster_utils import Cluster
import jupyter_serprof as sp
from jupyter_serprof.experiments.engine import live
from jupyter_serprof.probes.ray import looks
node, slow = {"num_cpus": 1, "object_store_memory": 80_000_000}, os.environ["RAY_TMPDIR"] + "/slow"
nodes = Cluster(True, head_node_args={**node, "include_dashboard": False})
second = nodes.add_node(**node, resources={"far": 1})
ray.init(nodes.address, log_to_driver=False)
there = ray.remote(resources={"far": 1})
make = there(lambda: time.sleep(3 * os.path.exists(slow)) or np.ones(5_000_000))
ray.get(make.remote())
size = there(lambda table: table.nbytes)
table = ray.put(np.ones(3_000_000))
before = len(os.listdir("/proc/self/fd")), threading.active_count()
with sp.record("pull") as recording:
    ray.get(size.remote(table))
pulls = [s for s in recording.trace.spans if s.stage == "ray.arguments.pull"]
left = len(os.listdir("/proc/self/fd")), threading.active_count()
print(repr(([(s.name, s.size_bytes - 24_000_000 < 1_000) for s in pulls], left == before)))
del table
keep = []
with sp.record("fill") as recording:
    for at in range(12):
        keep.append(ray.put(np.full(1_250_000, at)))
found = [one for one in recording.trace.findings if one.rule == "ray.spilling"]
waits = [(s.details or {}).get("spilled_ns", 0) for s in recording.trace.spans]
files = [s.duration_ns for s in recording.trace.spans if s.stage.startswith("ray.spill.")]
now = sp.objects()
print(repr([(one.because, one.remedy, one.share) for one in found]))
print(repr((max(waits) / recording.trace.wall_ns, sum(files) / sum(waits), now.summary.headline)))
print(repr([row[-1] for row in now.tables[1].rows].count("yes")))
far = make.remote()
ray.wait([far], fetch_local=False)
told = {}
for ref in (*keep, far):  # of what is on disk some may be in memory still
    with sp.record("get") as recording:
        ray.get(ref)
    row = max(recording.trace.waterfall.rows, key=lambda row: row.self_ns)
    told[row.stage.rpartition(".")[0]] = row.copied_bytes
print(repr(("ray.restore" in told, told["ray"] // 10**7)))
live.AFTER_S, live.STILL_S, looks._EVERY_S, heard = 0.1, 0.3, 0.3, [""]
def tell(facts):
    heard[-1] += str(facts)
    if " from another node" in heard[-1]:
        raylet.send_signal(signal.SIGCONT)
ours = [one for one in psutil.Process().children(recursive=True) if one.is_running()]
for reader in [one for one in ours if "RestoreWorker" in "".join(one.cmdline())]:
    reader.suspend()
    threading.Timer(3, reader.resume).start()
with sp.record("disk", live=tell):
    ray.get(keep)
heard.append("")
raylet = second.all_processes["raylet"][0].process
del keep[:], ref
for get in (lambda far: ray.get(ray.remote(lambda one: one.size).remote(far)), ray.get, ray.get):
    far = make.remote()
    ray.wait([far], fetch_local=False)
    if len(heard) < 4:
        raylet.send_signal(signal.SIGSTOP)
    else:
        open(slow, "w").close()
        nodes.remove_node(second)
        nodes.add_node(**node, resources={"far": 1})
    with sp.record("far", live=tell):
        get(far)
    heard.append("")
print(repr(heard))
ray.shutdown()
nodes.shutdown()
"""


def test_a_store_that_is_full_tells_who_fills_it() -> None:
    """Puts and gets that wait for a disk; a get and an argument that come from another node."""
    own = {**os.environ, "RAY_TMPDIR": tempfile.mkdtemp(prefix="sp")}
    run = [sys.executable, "-c", _SPILLS]

    ran = subprocess.run(run, env=own, capture_output=True, text=True, check=False, timeout=200)

    lines = [one for one in ran.stdout.splitlines() if one and (one[0] in "[(" or one.isdigit())]
    assert len(lines) == 6, ran.stderr[-2_000:]
    pulled, told, (waited, parts, headline), spilled, got, heard = map(ast.literal_eval, lines)
    assert "0.0 MB" in heard[0].partition(" being restored from disk, ")[2]
    assert "; 1 argument object is being fetched from another node, 40.0 MB" in heard[1]
    assert "; 1 object is being fetched from another node, 40.0 MB" in heard[2]
    assert ", in attempt 2: its result was lost" in heard[3]
    assert pulled == ([("<lambda>", True)], True)
    assert headline == "120 MB of 160 MB: 12 objects put here are kept by the variable `keep`"
    assert got == (True, 4)
    assert parts == pytest.approx(1, abs=0.05)  # the start and the file are all that is waited for
    assert spilled > 0
    assert waited > 1 / 3
    [(because, remedy, share)] = told
    kept = "12 objects of 120 MB kept by variable keep"
    assert because == f"the object store was full: {kept}"
    assert remedy == "del keep   # as soon as nothing needs it"
    assert share > 1 / 3


#: Two nodes on another machine, between which the link is slow; and a store here that is full.
_FAR = """
import ctypes, os, subprocess, sys, time
import numpy as np, psutil, ray
import jupyter_serprof as sp
from jupyter_serprof.probes.ray import tasks
tasks._NOTES_S = 4
has_net = not ctypes.CDLL(None).unshare(0x40000000)
away = ["unshare", "-n", "-T", "--monotonic", "5000", "sleep", "170"]  # another clock, too
far = subprocess.Popen(away, **dict.fromkeys(("stdout", "stderr"), -3))
there = ["nsenter", "-t", str(far.pid), "-n", f"--time=/proc/{far.pid}/ns/time_for_children"]
while os.readlink(f"/proc/{far.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
    time.sleep(0.01)
own = "link set lo up", f"link add near type veth peer name far netns {far.pid}"
own += "addr add 10.78.0.1/24 dev near", "link set near up"
theirs = "link set lo up", "addr add 10.78.0.2/24 dev far", "link set far up"
runs = [["ip", *line.split()] for line in own] + [[*there, "ip", *one.split()] for one in theirs]
slow = "tc qdisc add dev lo root tbf rate 400mbit burst 256kb latency 100ms"
if not has_net or any(map(subprocess.call, [*runs, [*there, *slow.split()]])):
    far.kill()
    sys.exit("no namespaces")
store = 80_000_000
for _ in range(3):  # a raylet whose agents need more than 15 s on a busy machine gives up
    try:
        ray.init("local", num_cpus=1, resources={"n0": 9}, include_dashboard=False,
                 log_to_driver=False, _temp_dir=os.environ["RAY_TMPDIR"],
                 _node_ip_address="10.78.0.1", object_store_memory=store)
        break
    except Exception:
        ray.shutdown()
start = [*there, sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
start += ["--address", ray.get_runtime_context().gcs_address, "--node-ip-address=10.78.0.2"]
nodes = []
for at in (1, 2):
    own = [f'--resources={{"n{at}": 9}}', f"--object-store-memory={store}"]
    while len([one for one in ray.nodes() if one["Alive"]]) <= at:
        if len(nodes) < at or nodes[-1].poll() is not None:
            nodes[at - 1 :] = [subprocess.Popen([*start, *own], stdout=-3, stderr=-3)]
        time.sleep(0.1)
on = [ray.remote(resources={f"n{at}": 1}, num_cpus=0) for at in (0, 1, 2)]
make = on[1](lambda: np.ones(2_500_000))
sizes = [one(lambda table: getattr(table, "nbytes", 0)) for one in on]
nest = on[1](lambda: ray.get(sizes[2].remote(ray.put(np.ones(2_500_000)))))
ray.get([one.remote(0) for one in sizes])
with sp.record() as recording:
    ray.get(sizes[2].remote(0))
    time.sleep(1)  # whoever begins to measure has begun
    tables = [make.remote() for _ in range(2)]
    ray.wait(tables, num_returns=2, fetch_local=False)
    ray.get([sizes[2].remote(one) for one in tables])
    ray.get(nest.remote())
stages = "ray.arguments.pull", "ray.arguments.queue"
legs = [s for s in recording.trace.spans if s.stage in stages]
print(repr([(s.stage[14:], s.size_bytes, s.duration_ns // 10**6) for s in legs]), flush=True)
keep = [ray.put(np.ones(2_500_000)) for _ in range(6)]
with sp.record() as recording:
    ray.get([sizes[0].remote(one) for one in keep])
print(repr([s.stage for s in recording.trace.spans if s.stage.startswith("ray.arguments.")]))
with sp.record() as recording:
    ray.get(sizes[2].remote(0))
lanes = [one for one in recording.trace.lanes if one.clock_error_ns]
known = [abs(one.clock_offset_ns) <= one.clock_error_ns for one in lanes]  # the days agree
pings = [one for one in tasks._reader()() if one.task_info.name == "jupyter_serprof.ping"]
here = {s.name for s in recording.trace.spans if s.stage == "ray.execute"}
there = {one.state_updates.node_id for one in pings} - {b""}
print(repr([known, len(there), here]))
ray.shutdown()
for one in [each for node in nodes for each in psutil.Process(node.pid).children(True)]:
    one.kill()
for node in nodes:
    node.wait()
far.kill()
"""


def test_what_comes_to_other_machines_is_measured_there() -> None:
    """Also what a task sends to a task; the second of two pulls is behind the first one."""
    own = {"RAY_TMPDIR": tempfile.mkdtemp(prefix="sp"), "RAY_raylet_start_wait_time_s": "25"}
    run, env = [sys.executable, "-c", _FAR], {**os.environ, **own}

    ran = subprocess.run(run, env=env, capture_output=True, text=True, check=False, timeout=170)

    if "no namespaces" in ran.stderr:
        pytest.skip("networks are for root on Linux to make")
    lines = [one for one in ran.stdout.splitlines() if one.startswith("[")]
    assert len(lines) == 3, ran.stderr[-2_000:]
    legs, restored, (known, pinged, drawn) = map(ast.literal_eval, lines)
    pulls = [(size // 10**7, ms) for stage, size, ms in legs if stage == "pull"]
    assert [size for size, _ in pulls] == [2, 2, 2]
    assert all(300 < ms < 3_000 for _, ms in pulls)  # 50 MB/s at most, or a busy machine
    assert "queue" in {stage for stage, *_ in legs}
    assert {"ray.arguments.restore.start", "ray.arguments.restore"} <= {*restored}
    assert "ray.arguments.pull" not in restored
    assert (known, pinged, drawn) == ([True], 2, {"<lambda>"})  # of few tasks the clock is asked
