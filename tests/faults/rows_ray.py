"""Faults of Ray: processes that are killed or stand still, tasks and objects that are lost."""

from textwrap import indent

from .matrix import Fault

_HEAD = """
import ray
from ray.experimental import tqdm_ray

def start_ray(**more):
    for left in (3, 2, 1, 0):  # on a machine with more work than cores Ray misses its own limits
        try:
            ray.init(
                num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="critical",
                object_store_memory=100_000_000, _node_ip_address="127.0.0.1",
                _temp_dir=tempfile.gettempdir() + "/ray", **more,
            )
            break
        except Exception:
            ray.shutdown()
            if not left:
                raise
    tqdm_ray.instance()  # replaces print, at the first notice otherwise

def pid_of(name):
    (started,) = ray._private.worker._global_node.all_processes[name]
    return started.process.pid

def told(get):
    try:
        text = repr(get())[:40]
    except Exception as error:
        text = type(error).__name__ + " " + str(error).partition("\\n")[0][:40]
    sys.stdout.write(f"\\n{text}\\n")  # in one piece: Ray prints its lines and their ends apart

@ray.remote(max_retries=0)
def does(function, *arguments):
    return function(*arguments)

@ray.remote
class Actor:
    def does(self, function, *arguments):
        return function(*arguments)
    def puts(self):
        return [ray.put(bytes(2_000_000))]
"""
#: A worker has run, so that its first connection is no difference.
_START = """
start_ray()
print(ray.get([does.remote(abs, -n) for n in range(4)]))
"""
_END = "\nray.shutdown()\nprint('over')\n"
#: What differs from run to run by itself.
_DIFFERS = r"\[[^]\n]*\] core_worker\.cc.*\n|pid=\d+|ip=[0-9.]+|\b[0-9a-f]{16,}\b"


def _fault(
    name: str, program: str, says: str = "", *, start: str = _START, is_slow: bool = True
) -> Fault:
    """One row; its program runs with a Ray of its own."""
    code = _HEAD + start + program + _END
    return Fault(name, code, says, ("-u",), {}, _DIFFERS, is_slow, moment_s=20)


_RAISES = """
class Bad:
    def __reduce__(self): raise ValueError("mine")
with recorded():
    told(lambda: ray.put([Bad()]))
    told(lambda: does.remote(len, [Bad()]))
    told(lambda: ray.get(does.remote(lambda: Bad())))
    told(lambda: ray.get(ray.put([1])))
"""
_SIGNALLED = """
actor = Actor.remote()
worker = ray.get(actor.does.remote(os.getpid))
with recorded():
    os.kill(worker, signal.SIGSTOP)
    waits = actor.does.remote(abs, -5)
    told(lambda: ray.get(waits, timeout=1))
    told(lambda: ray.get(does.remote(abs, -6)))
    os.kill(worker, signal.SIGCONT)
    told(lambda: ray.get(waits))
"""
_DEAD = """
small = ray.put(7)
begin = time.monotonic()
with recorded():
    os.kill(pid_of({name!r}), signal.SIG{signal})
    {program}
print("prompt within 10 s:", time.monotonic() - begin < 10)
"""
_STANDS = """
small, stopped = ray.put(7), pid_of({name!r})
with recorded():
    os.kill(stopped, signal.SIGSTOP)
    child = subprocess.Popen(["sh", "-c", f"sleep 3; kill -CONT {{stopped}}"])
    told(lambda: ray.get(small))
    told(lambda: ray.get([does.remote(abs, -n) for n in range(4)]))
    child.wait()
"""
_TWO = """
code = '''
import ray, sys
ray.init(address=sys.argv[1], logging_level="critical", log_to_driver=False)
print(ray.get(ray.put(5)), flush=True)
sys.stdin.read()
'''
address = ray.get_runtime_context().gcs_address
run = [sys.executable, "-c", code, address]
with recorded():
    child = subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print(child.stdout.readline(), ray.get(does.remote(abs, -8)))
    child.{end}
    child.communicate()
    told(lambda: ray.get(does.remote(abs, -9)))
"""
#: Another node on this machine; of its processes only the raylet is killed, the others follow it.
_NODE = """
import psutil
address = ray.get_runtime_context().gcs_address
start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
start += [f"--address={address}", "--node-ip-address=127.0.0.1", '--resources={"far": 2}']
node = subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
held = does.options(resources={"far": 1}).remote(bytes, 2_000_000)
ray.wait([held], fetch_local=False)
(raylet,) = [one for one in psutil.Process(node.pid).children() if one.name() == "raylet"]
with recorded():
    raylet.kill()
    told(lambda: ray.get(held))
    told(lambda: ray.get(does.remote(abs, -3)))
node.wait()
"""

FAULTS = (
    _fault(
        "an exception in a task of Ray",
        "with recorded():\n    ray.get(does.remote(lambda: 1 / 0))",
        "error",
        is_slow=False,
    ),
    _fault("objects whose reducers raise, by Ray", _RAISES),
    _fault(
        "a worker of Ray that is killed in a task",
        "with recorded():\n"
        "    told(lambda: ray.get(does.remote(lambda: os.kill(os.getpid(), 9))))\n"
        "    told(lambda: ray.get(does.remote(abs, -5)))",
    ),
    _fault(
        "a task of Ray that ends in a segmentation fault, twice",
        "import ctypes\nwith recorded():\n    for _ in range(2):\n"
        "        told(lambda: ray.get(does.remote(lambda: ctypes.string_at(0))))",
    ),
    _fault(
        "a task of Ray that ends by sys.exit",
        "with recorded():\n    told(lambda: ray.get(does.remote(sys.exit, 3)))",
    ),
    _fault(
        "an actor of Ray that is killed",
        "actor = Actor.remote(); worker = ray.get(actor.does.remote(os.getpid))\n"
        "with recorded():\n    waits = actor.does.remote(time.sleep, 60)\n"
        "    os.kill(worker, signal.SIGKILL)\n"
        "    told(lambda: ray.get(waits))\n    told(lambda: ray.get(actor.does.remote(abs, 1)))",
    ),
    _fault(
        "an actor of Ray that is ended by ray.kill",
        "actor = Actor.remote()\nwith recorded():\n    print(ray.get(actor.does.remote(abs, -1)))\n"
        "    ray.kill(actor)\n    told(lambda: ray.get(actor.does.remote(abs, -2)))",
    ),
    _fault("a worker of Ray that stands still", _SIGNALLED),
    _fault(
        "the raylet is killed",
        _DEAD.format(
            name="raylet", signal="KILL", program="told(lambda: ray.get(small)); time.sleep(60)"
        ),
    ),
    _fault("the raylet stands still for 3 s", _STANDS.format(name="raylet")),
    _fault(
        "the GCS is killed",
        _DEAD.format(
            name="gcs_server",
            signal="KILL",
            program="print(ray.get([does.remote(abs, -n) for n in range(4)]))",
        ),
    ),
    _fault("the GCS stands still for 3 s", _STANDS.format(name="gcs_server")),
    _fault(
        "an object of Ray whose owner is gone",
        "actor = Actor.remote(); worker = ray.get(actor.does.remote(os.getpid))\n"
        "with recorded():\n    (lost,) = ray.get(actor.puts.remote())\n"
        "    os.kill(worker, signal.SIGKILL)\n    told(lambda: ray.get(lost))\n"
        "    time.sleep(2)  # until then it is a race whether Ray knows\n"
        "    told(lambda: ray.get(does.remote(len, lost)))",
    ),
    _fault(
        "an object of Ray whose node is gone",
        _NODE,
        start="os.environ |= {'RAY_health_check_period_ms': '500', "
        "'RAY_health_check_failure_threshold': '2'}\n" + _START,
    ),
    _fault(
        "a task of Ray that is killed for memory",
        "with recorded():\n    told(lambda: ray.get(does.remote(time.sleep, 60)))",
        start="os.environ |= {'RAY_memory_usage_threshold': '0.0', "
        "'RAY_memory_monitor_refresh_ms': '100'}\nstart_ray()\n",
    ),
    _fault(
        "a store of Ray that is full",
        "import numpy\nwith recorded():\n"
        "    kept = [ray.put(numpy.ones(5_000_000)) for _ in range(2)]\n"
        "    told(lambda: ray.put(numpy.ones(50_000_000)))\n"
        "    print([int(one.sum()) for one in ray.get(kept)])",
    ),
    _fault(
        "a ray.get that has a timeout",
        "late = does.remote(time.sleep, 3)\nwith recorded():\n"
        "    told(lambda: ray.get(late, timeout=0.2))\n    told(lambda: ray.get(late))",
    ),
    _fault(
        "a task of Ray that is cancelled, asked and by force",
        "with recorded():\n    for force in (False, True):\n"
        "        waits = does.remote(time.sleep, 8); time.sleep(0.5)\n"
        "        ray.cancel(waits, force=force); told(lambda: ray.get(waits))",
    ),
    _fault(
        "Ctrl-C in ray.get",
        "waits = does.remote(time.sleep, 60); child = None\ntry:\n    with recorded():\n"
        "        child = storm(signal.SIGINT, 1, 0.5)\n        ray.get(waits)\n"
        "except KeyboardInterrupt:\n    print('heard'); child.wait()",
        "interrupted",
    ),
    _fault(
        "ray.init inside of the block",
        "print(ray.get(does.remote(abs, -3)))",
        start="with recorded():\n" + indent(_START, "    ").strip("\n") + "\n",
    ),
    _fault(
        "ray.shutdown inside of the block",
        "with recorded():\n    print(ray.get(does.remote(abs, -3)))\n    ray.shutdown()\n"
        "    print(ray.is_initialized())",
    ),
    _fault(
        "ray.shutdown and ray.init inside of the block",
        "with recorded():\n    lost = ray.put(3)\n    ray.shutdown(); start_ray()\n"
        "    told(lambda: ray.get(does.remote(abs, -3)))\n    told(lambda: ray.get(lost))",
    ),
    _fault(
        "two drivers of one Ray, one ends",
        _TWO.format(end="stdin.close()").replace(".communicate()", ".wait()"),
    ),
    _fault("two drivers of one Ray, one is killed", _TWO.format(end="kill()")),
)
