"""Faults of Dask's cluster: workers and schedulers that stand still or refuse."""

from functools import partial
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
    is_here = "inside" in sys.modules  # the process of the client keeps what it ships
    found = [name for name in sys.modules if name.startswith("_serprof_agent_") and not is_here]
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

def told(get):
    try:
        text = repr(get())[:40]
    except TimeoutError:  # with a text or without, as it comes
        text = "TimeoutError"
    except BaseException as error:
        text = type(error).__name__ + " " + str(error).partition("\\n")[0][:40]
    print(text)

def nap(seconds, *_):
    time.sleep(seconds)
    return seconds

def add(client, *where):
    return client.submit(operator.add, 1, 2, pure=False, workers=where or None).result()

@contextmanager
def cluster_of(workers_count=2):
    folder = Path(tempfile.mkdtemp())
    with outside_cluster(folder, workers_count) as cluster:
        with Client(cluster.address) as client:
            workers_count and client.wait_for_workers(workers_count)
            yield cluster, client, {{pid: at for at, pid in client.run(os.getpid).items()}}
"""
_WITH = "with cluster_of() as (cluster, client, at):\n"
_DEAD, _GONE = "did not answer", "left the cluster meanwhile"


def _fault(name: str, program: str, says: str = "", *, head: str = _WITH, **more: bool) -> Fault:
    """One row; its program runs with a cluster and a client, and tells what is left there."""
    inside = indent(program + "\nprint_left(client)", "    ") if head else program
    patience = {"DASK_SERPROF__PATIENCE": "0.9"}
    differs = r"0x[0-9a-f]+|tcp://[0-9.:]+|inproc://[0-9./]+|Dask-[A-Z].* \d+|\d{4}-.*ERROR.*\n"
    return Fault(name, _CLUSTER + head + inside, says, (), patience, differs, **more)


_slow = partial(_fault, is_slow=True)
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
import dask, logging; logging.getLogger("distributed.batched").setLevel(30)  # closing is a race
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
_WORKER_KILLED = """
first, second = cluster.workers
with recorded():
    waits = client.submit(nap, 2, workers=[at[first.pid]], allow_other_workers=True)
    time.sleep(0.5)
    first.{end}
    print(waits.result(), add(client, at[second.pid]))
"""
_SCHEDULER = """
future = client.submit(abs, -4)
print(future.result())
with recorded():
    cluster.scheduler.send_signal(signal.SIG{signal})
    time.sleep(1)
    told(lambda: client.submit(abs, -5).result(timeout=2))
    {then}
"""
_NO_MERCY = """
def strict(dask_scheduler):
    dask_scheduler.allowed_failures = 0
client.run_on_scheduler(strict)
"""
#: A worker below a nanny, both of them not of this process.
_NANNY = """
worker = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.address, "--nthreads", "1"]
worker += ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--name", "below"]
quiet = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
nanny = subprocess.Popen([*worker, "--local-directory", os.environ["HOME"] + "/nanny"], **quiet)
client.wait_for_workers({count})
(below,) = set(client.scheduler_info(n_workers=-1)["workers"]) - set(at.values())
with recorded():
    {program}
nanny.terminate(); nanny.wait()
"""
_RESTART = """print(add(client, below))
    client.restart()
    print(add(client))"""
_PAUSED = """
def limit(fraction, dask_worker):
    dask_worker.memory_manager.memory_pause_fraction = fraction
where = min(at.values())
with recorded():
    client.run(limit, 1e-9, workers=[where])
    time.sleep(0.5)
    paused = client.submit(abs, -5, workers=[where])
    told(lambda: paused.result(timeout=1))
    print(add(client, max(at.values())))
    client.run(limit, 0.8, workers=[where])
    told(lambda: paused.result(timeout=20))
"""
_ADAPTIVE = """
options = dict(n_workers=0, threads_per_worker=1, processes=False, dashboard_address=":0")
with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
    cluster.adapt(minimum=0, maximum=3, interval="100ms", wait_count=1)
    with recorded():
        print(sum(client.gather(client.map(nap, [0.2] * 12, range(12)))) > 2)
        time.sleep(1)
        print(add(client))
    print_left(client)
"""
_TLS = """
from distributed import Security
certify = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -subj /CN=localhost"
subprocess.run(certify.split(), check=True, capture_output=True)
files = {f"tls_{who}_{what}": what for who in ("client", "scheduler", "worker")
         for what in ("key", "cert")}
security = Security(tls_ca_file="cert", require_encryption=True, **files)
options = dict(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
options |= dict(security=security, protocol="tls", silence_logs=50)
with LocalCluster(**options) as cluster, Client(cluster) as client:
    with recorded():
        print(add(client), len(client.submit(bytes, 3_000_000).result()))
    print_left(client)
"""
#: The signal goes to all processes of the group, as a kernel's does.
_BUTTON = """
def main():
    options = dict(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the workers say much
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        press = ["sh", "-c", f"sleep 1; kill -INT -{os.getpgrp()}"]
        try:
            with recorded(looks=False):
                pressed = subprocess.Popen(press, start_new_session=True)
                client.submit(nap, 20).result()
        except KeyboardInterrupt:
            print("heard")
        pressed.wait()
        if IS_RECORDED:
            told(lambda: client.submit(abs, -5).result(timeout=20))
        else:
            print(5)  # bare, the workers got the signal, too: nothing runs any more
if __name__ == "__main__":
    main()
"""
_CLOSED = """
with recorded():
    print(add(client))
    client.close()
    told(lambda: add(client))
with Client(cluster.address) as other:
    print_left(other)
"""
_TWO_CLIENTS = """
with Client(cluster.address, set_as_default=False) as other:
    with recorded():
        print(add(client), add(other))
        other.close()
        print(add(client))
        told(lambda: add(other))
"""
_TWO_RECORDINGS = """
ends = threading.Barrier(2)
def works():
    with recorded(looks=False):
        print(add(client))
        ends.wait()
    print(add(client))
with recorded():
    threads = [threading.Thread(target=works) for _ in range(2)]
    for one in threads: one.start()
    for one in threads: one.join()
    print(add(client))
"""

FAULTS = (
    _slow(
        "a worker of Dask that stands still before and after",
        _STOPPED.format(before="", after="")
        .replace("first.send_signal(signal.SIGSTOP)", "")
        .replace("with rec", "first.send_signal(signal.SIGSTOP)\nwith rec"),
        _DEAD,
    ),
    _fault(
        "a worker of Dask that holds its interpreter for 3.4 s",
        "held = client.submit(hold, 3.4, workers=[min(at.values())])\n"
        "time.sleep(0.3)\nwith recorded():\n"
        "    print(add(client, max(at.values())))\nheld.result()",
        _DEAD,
    ),
    _slow("a client of Dask that is killed", _KILLED.format(signal="SIGKILL")),
    _slow("a client of Dask that stands still", _KILLED.format(signal="SIGSTOP")),
    _fault(
        "a scheduler of Dask that runs no functions",
        _NO_AGENT.format(who="scheduler", handlers=["run_function"]),
        "admits no agent",
        head="",
    ),
    _slow(
        "workers of Dask that run no functions",
        _NO_AGENT.format(who="worker", handlers=["run"]),
        _DEAD,
        head="",
    ),
    _slow("a worker of Dask that is killed in a task", _WORKER_KILLED.format(end="kill()"), _GONE),
    _slow(
        "a worker of Dask that is told to end in a task", _WORKER_KILLED.format(end="terminate()")
    ),
    _slow(
        "a task of Dask that kills its workers",
        _NO_MERCY + "with recorded():\n"
        "    told(lambda: client.submit(lambda: os.kill(os.getpid(), 9), key='kills').result())\n"
        "    print(len(client.scheduler_info()['workers']))",
        _GONE,
    ),
    _slow(
        "a worker of Dask that stands still in a task",
        _STOPPED.format(before="waits = client.submit(nap, 1, workers=[at[first.pid]])", after="")
        + "print(waits.result())",
        _DEAD,
    ),
    _slow(
        "a nanny of Dask that is killed",
        _NANNY.format(count=3, program="nanny.kill(); nanny.wait(); print(add(client))"),
    ),
    _slow(
        "a worker of Dask that its nanny starts again",
        _NO_MERCY
        + _NANNY.format(
            count=3,
            program="ends = client.submit(os._exit, 3, key='ends', workers=[below])\n"
            "    told(lambda: ends.result(timeout=30)); print(add(client))",
        ),
    ),
    _slow(
        "client.restart inside of the block",
        _NANNY.format(count=1, program=_RESTART),
        head="with cluster_of(0) as (cluster, client, at):\n",
    ),
    _slow(
        "the scheduler of Dask is killed",
        _WITH
        + indent(
            _SCHEDULER.format(signal="KILL", then="told(lambda: future.result(timeout=2))"), "    "
        ),
        head="",
    ),
    _slow(
        "the scheduler of Dask stands still",
        _SCHEDULER.format(signal="STOP", then="told(lambda: future.result(timeout=2))")
        + "cluster.scheduler.send_signal(signal.SIGCONT); print(add(client))",
    ),
    _slow("a worker of Dask that is paused for its memory", _PAUSED),
    _slow("a cluster of Dask that adapts", _ADAPTIVE, head=""),
    _slow("a cluster of Dask with TLS", _TLS, head=""),
    _slow("two clients of Dask, one is closed", _TWO_CLIENTS),
    _slow("recordings in three threads of one client of Dask", _TWO_RECORDINGS),
    _slow(
        "a cluster of Dask with no worker",
        "with recorded():\n    told(lambda: client.submit(abs, -1).result(timeout=1))\n"
        "if not IS_RECORDED:  # what only a recording tells\n"
        "    print('no worker: nothing can run; client.cluster.scale(2)', file=sys.stderr)",
        "no worker",
        head="with cluster_of(0) as (cluster, client, at):\n",
    ),
    _slow("Client.close inside of the block", _WITH + indent(_CLOSED, "    "), head=""),
    _slow(
        "futures of Dask that are cancelled",
        "with recorded():\n    futures = client.map(nap, [60, 61, 62])\n    time.sleep(0.3)\n"
        "    client.cancel(futures)\n    told(lambda: client.gather(futures))\n"
        "    told(lambda: futures[0].result())",
    ),
    _fault(
        "a task of Dask that raises",
        "with recorded():\n    client.submit(operator.truediv, 1, 0).result()",
        "error",
    ),
    _slow(
        "Ctrl-C while a result of Dask is waited for",
        "child = None\ntry:\n    with recorded():\n        waits = client.submit(nap, 3)\n"
        "        child = storm(signal.SIGINT, 1, 0.7)\n        waits.result()\n"
        "except KeyboardInterrupt:\n    print('heard'); child.wait()",
        "interrupted",
    ),
    _slow("the stop button while a LocalCluster works, whose workers are saved", _BUTTON, head=""),
)
