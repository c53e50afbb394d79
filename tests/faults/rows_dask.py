"""Faults of Dask's cluster: workers and schedulers that stand still or refuse."""

from __future__ import annotations

from textwrap import indent

from .matrix import ROOT, Fault

_CLUSTER = f"""
sys.path.append({str(ROOT / "tests")!r})
import operator
from textwrap import dedent
from clusters.outside import outside_cluster
from distributed import Client, LocalCluster, wait

def left(dask_scheduler=None):
    import importlib._bootstrap, sys
    from distributed import Worker
    from distributed.comm import tcp
    found = [name for name in sys.modules if name.startswith("_serprof_agent_")]
    found += [one for one in getattr(dask_scheduler, "plugins", ()) if "serprof" in one]
    if hasattr(dask_scheduler, "_broker"):
        kept = (*dask_scheduler.plugins, *dask_scheduler._broker._topics)
        found += [one for one in kept if one == "task-stream" or "serprof" in one]
    watched = importlib._bootstrap._find_and_load, Worker.execute, tcp.from_frames
    return found + [one.__name__ for one in watched if "_serprof" in one.__code__.co_filename]

def all_left(client):
    return sum(client.run(left).values(), []) + client.run_on_scheduler(left)

def print_left(client):
    # A lease is 8 s; a machine with more work than cores has it later.
    deadline = time.monotonic() + 30
    while (found := all_left(client)) and time.monotonic() < deadline:
        time.sleep(0.1)
    print("on the cluster:", found)

def hold(seconds):
    import ctypes
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # without letting go of the interpreter

def add(client, *where):
    return client.submit(operator.add, 1, 2, pure=False, workers=where or None).result()

@contextmanager
def cluster_of(workers_count=2):
    folder = Path(tempfile.mkdtemp())
    with outside_cluster(folder, workers_count) as cluster:
        with Client(cluster.address) as client:
            client.wait_for_workers(workers_count)
            yield cluster, client, {{pid: at for at, pid in client.run(os.getpid).items()}}
"""
_WITH = "with cluster_of() as (cluster, client, at):\n"
_DEAD = "did not answer"


def _fault(name: str, program: str, says: str = "", *, head: str = _WITH, **more: bool) -> Fault:
    """One row; its program runs with a cluster and a client, and tells what is left there."""
    inside = indent(program + "\nprint_left(client)", "    ") if head else program
    patience = {"DASK_SERPROF__PATIENCE": "0.9"}
    differs = r"0x[0-9a-f]+|tcp://[0-9.:]+|Dask-[A-Z].* \d+|\d{4}-.*ERROR.*\n"
    return Fault(name, _CLUSTER + head + inside, says, (), patience, differs, **more)


_STOPPED = """
first, second = cluster.workers
with recorded():
    {before}
    first.send_signal(signal.SIGSTOP)
    print(add(client, at[second.pid]))
    {after}
first.send_signal(signal.SIGCONT)
"""
_KILLED = """
code = '''
import os, signal, sys
from distributed import Client
client = Client(sys.argv[1])
if sys.argv[2] == "1":
    import jupyter_serprof as sp
    sp.record().start()
client.submit(abs, -1).result()
print("ready", flush=True)
signal.pause()
'''
run = [sys.executable, "-c", dedent(code), cluster.address, str(int(IS_RECORDED))]
child = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)
assert child.stdout.readline() == "ready\\n"
child.send_signal(signal.{signal})
print_left(client)
child.kill()
child.wait()
child.stdout.close()
"""
_NO_AGENT = """
import dask
refused = {{"distributed.{who}.blocked-handlers": {handlers}}}
options = dict(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
options["silence_logs"] = 50
with dask.config.set(refused), LocalCluster(**options) as cluster, Client(cluster) as client:
    client.wait_for_workers(2)
    add(client)
    plugins = set(cluster.scheduler.plugins)
    with recorded():
        print(add(client))
    print(set(cluster.scheduler.plugins) == plugins)
    print([topic for topic in cluster.scheduler._broker._topics if "serprof" in topic])
"""

FAULTS = (
    _fault(
        "a worker of Dask that stands still before and after",
        _STOPPED.format(before="", after="")
        .replace("first.send_signal(signal.SIGSTOP)", "")
        .replace("with rec", "first.send_signal(signal.SIGSTOP)\nwith rec"),
        _DEAD,
        is_slow=True,
    ),
    _fault(
        "a worker of Dask that holds its interpreter for 3.4 s",
        "held = client.submit(hold, 3.4, workers=[min(at.values())])\n"
        "time.sleep(0.3)\nwith recorded():\n"
        "    print(add(client, max(at.values())))\nheld.result()",
        _DEAD,
    ),
    _fault("a client of Dask that is killed", _KILLED.format(signal="SIGKILL"), is_slow=True),
    _fault("a client of Dask that stands still", _KILLED.format(signal="SIGSTOP"), is_slow=True),
    _fault(
        "a scheduler of Dask that runs no functions",
        _NO_AGENT.format(who="scheduler", handlers=["run_function"]),
        "admits no agent",
        head="",
    ),
    _fault(
        "workers of Dask that run no functions",
        _NO_AGENT.format(who="worker", handlers=["run"]),
        _DEAD,
        head="",
        is_slow=True,
    ),
)
