"""Faults of the interpreter and of the machine."""

from dataclasses import replace

from .matrix import Fault

_PICKLE = "import pickle\n"
#: Work of some milliseconds, again and again, that is pickled.
_WORK = _PICKLE + "data = [{'a': i, 'b': str(i)} for i in range(20_000)]\n"
#: Programs that start processes are imported by them.
_MAIN = "\nif __name__ == '__main__':\n    main()\n"
_CELL_AFTER = "cell('import pickle; print(len(pickle.dumps([1])))')"

_ALL = (
    # The block ends otherwise than by its last line.
    Fault("an exception in the block", "with recorded():\n    1 / 0", says="error"),
    Fault(
        "exceptions with causes, notes and groups",
        """
import pickle
def inner(): raise ExceptionGroup("many", [ValueError(1), KeyError("two")])
with recorded():
    try:
        inner()
    except ExceptionGroup as error:
        error.add_note("a note"); raise RuntimeError("outer") from error
""",
        says="error",
    ),
    Fault("sys.exit in the block", "with recorded():\n    sys.exit(7)", says="error"),
    Fault(
        "sys.exit with a text in a cell", "cell('import sys; sys.exit(\"over\")')\n" + _CELL_AFTER
    ),
    Fault(
        "an exception in a cell", "cell('import pickle; pickle.dumps(lambda: 1)')\n" + _CELL_AFTER
    ),
    Fault("a syntax error in a cell", "cell('import pickle\\nx = = 1')\n" + _CELL_AFTER),
    Fault(
        "the interpreter ends in the block, by os._exit",
        "print(1, flush=True)\nwith recorded():\n    os._exit(3)",
    ),
    Fault(
        "the interpreter ends while a thread records",
        _PICKLE
        + """
def records():
    with recorded():
        pickle.dumps([1]); started.set(); threading.Event().wait()
started = threading.Event()
threading.Thread(target=records, daemon=True).start()
started.wait(); print("over")
""",
    ),
    Fault(
        "functions at exit run in their order, while a recording is on",
        _PICKLE
        + """
import atexit
for name in "abc":
    atexit.register(lambda name=name: print(name, len(pickle.dumps([name]))))
block = recorded(); block.__enter__(); pickle.dumps([1])
atexit.register(block.__exit__, None, None, None)
print("last line")
""",
    ),
    # What reducers raise and return.
    Fault(
        "exceptions in reducers",
        _PICKLE
        + """
class Bad:
    def __init__(self, error): self.error = error
    def __reduce__(self): raise self.error
import traceback
with recorded():
    for error in (ValueError("mine"), SystemExit(3), KeyboardInterrupt(), MemoryError()):
        try:
            pickle.dumps([Bad(error)])
        except BaseException as seen:
            print(seen is error, type(seen).__name__, seen); traceback.print_exc()
""",
    ),
    Fault(
        "a recursion without end in a reducer",
        _PICKLE
        + """
class Deep:
    def __reduce__(self): return Deep, (Deep(),)
with recorded():
    try:
        pickle.dumps(Deep())
    except RecursionError as error:
        print(str(error)[:40])
""",
    ),
    Fault(
        "SystemExit from __getattr__ of what is pickled",
        _PICKLE
        + """
class Proxy:
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        raise SystemExit(name)
    def __reduce__(self): return int, (5,)
with recorded():
    print(pickle.loads(pickle.dumps([Proxy(), bytearray(2_000_000)]))[0])
""",
    ),
    Fault(
        "objects that only count how often they are reduced",
        _PICKLE
        + """
class Ticket:
    used = 0
    def __reduce__(self):
        Ticket.used += 1; return int, (Ticket.used,)
with recorded(detail=True):
    print(pickle.loads(pickle.dumps([Ticket(), bytearray(9_000_000)], protocol=4))[0])
print(Ticket.used)
""",
    ),
    Fault(
        "a damaged pickle",
        _WORK
        + """
with recorded():
    for broken in (b"", b"\\x80\\x05", pickle.dumps(data)[:-9], b"cos\\nnothing\\n."):
        try:
            pickle.loads(broken)
        except Exception as error:
            print(type(error).__name__, error)
""",
    ),
    # Signals.
    Fault(
        "SIGTERM in the block",
        _WORK
        + """
with recorded():
    storm(signal.SIGTERM, 1, 0.1).args
    while True: pickle.dumps(data)
""",
    ),
    Fault(
        "SIGTERM with a handler of the user",
        _WORK
        + """
def over(number, frame): raise SystemExit(9)
signal.signal(signal.SIGTERM, over)
with recorded():
    storm(signal.SIGTERM, 1, 0.1).args
    while True: pickle.dumps(data)
""",
        says="error",
    ),
    Fault(
        "Ctrl-C in the block",
        _WORK
        + """
child = None
try:
    with recorded():
        child = storm(signal.SIGINT, 1, 0.2)
        while True: pickle.dumps(data)
except KeyboardInterrupt:
    print("heard"); child.wait()
""",
        says="interrupted",
    ),
    Fault(
        "ten Ctrl-C, each of them caught by the block",
        _WORK
        + """
heard, child = [], None
def handler(number, frame): heard.append(number)
signal.signal(signal.SIGINT, handler)
with recorded():
    child = storm(signal.SIGINT, 10, 0.02)
    while child.poll() is None: pickle.dumps(data)
print(len(heard) > 0, set(heard))
""",
    ),
    Fault(
        "an alarm of the user every 5 ms",
        _WORK
        + """
counts = []
signal.signal(signal.SIGALRM, lambda *_: counts.append(len(pickle.dumps([1]))))
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
with recorded():
    for _ in range(40): pickle.dumps(data)
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(counts) > 5, set(counts))
""",
    ),
    Fault("SIGKILL of itself", "with recorded():\n    os.kill(os.getpid(), signal.SIGKILL)"),
    Fault("a segmentation fault", "import ctypes\nwith recorded():\n    ctypes.string_at(0)"),
    Fault(
        "a segmentation fault under faulthandler",
        """
import ctypes
def f(): ctypes.string_at(0)
with recorded():
    f()
""",
        options=("-X", "faulthandler"),
        differs=r"\(most recent call first\):(.|\n)*",
    ),
    # Threads, tasks, generators.
    Fault(
        "two recordings in two threads",
        _WORK
        + """
def works(name):
    with recorded(looks=False):
        for _ in range(20): pickle.dumps(data)
    print("done")
def both():
    threads = [threading.Thread(target=works, args=(n,)) for n in range(2)]
    for one in threads: one.start()
    for one in threads: one.join()
with recorded():
    both()
""",
    ),
    Fault(
        "a recording in a recording",
        _WORK
        + """
with recorded():
    pickle.dumps(data)
    with recorded():
        pickle.dumps(data)
    print(len(pickle.loads(pickle.dumps(data))))
""",
    ),
    Fault(
        "fifty threads that pickle, one raises",
        _WORK
        + """
sizes = []
def works(n):
    sizes.append(len(pickle.dumps(data)))
    if n == 7: raise ValueError(n)
with recorded():
    threads = [threading.Thread(target=works, args=(n,), name=f"t{n}") for n in range(50)]
    for one in threads: one.start()
    for one in threads: one.join()
print(set(sizes), len(sizes))
""",
    ),
    Fault(
        "a thread that works on after the block",
        _WORK
        + """
go, sizes = threading.Event(), []
def works():
    go.wait(); sizes.append(len(pickle.dumps(data)))
with recorded():
    thread = threading.Thread(target=works); thread.start(); dumps = pickle.dumps
go.set(); thread.join(); print(sizes, len(dumps(data)))
""",
    ),
    Fault(
        "asyncio: tasks, a cancellation, a timeout",
        _WORK
        + """
import asyncio
async def works(n):
    await asyncio.sleep(0.01 * n)
    return len(pickle.dumps(data))
async def main():
    with recorded():
        long = asyncio.create_task(works(500))
        print(await asyncio.gather(*(works(n) for n in range(4))))
        long.cancel()
        try:
            await asyncio.wait_for(works(500), 0.02)
        except TimeoutError as error:
            print(type(error).__name__)
        return long.cancelled() or long.cancelling()
print(asyncio.run(main()))
""",
    ),
    Fault("await in a cell", "cell('import asyncio\\nprint(await asyncio.sleep(0.01, 5))')"),
    Fault(
        "a generator that is closed inside of the block",
        _WORK
        + """
def steps():
    try:
        with recorded():
            while True: yield len(pickle.dumps(data))
    finally:
        print("closed")
one = steps(); print(next(one), next(one)); one.close(); print(len(pickle.dumps(data)))
""",
    ),
    # Processes.
    Fault(
        "a fork in the block",
        _WORK
        + """
with recorded():
    pickle.dumps(data)
    child = os.fork()
    if child == 0:
        print(len(pickle.dumps(data)), threading.active_count(), flush=True); os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
    ),
    Fault(
        "a child of a fork that goes on to the end of the program",
        _WORK
        + """
child = -1
with recorded():
    child = os.fork()
    pickle.dumps(data)
    if child: os.waitpid(child, 0)
print("child" if child == 0 else "parent", flush=True)
""",
    ),
    *(
        Fault(
            f"a pool of multiprocessing, {way}",
            _WORK
            + f"""
import multiprocessing
def work(n):
    if n == 3: raise ValueError(n)
    return len(pickle.dumps(data[:n]))
def main():
    with recorded():
        with multiprocessing.get_context({way!r}).Pool(2) as pool:
            print(pool.map(work, range(3)))
            try:
                pool.map(work, range(5))
            except ValueError as error:
                print(error)
            pool.close(); pool.join()
"""
            + _MAIN,
            differs=r"(pymp|listener)-\w+",
        )
        for way in ("fork", "spawn", "forkserver")
    ),
    Fault(
        "a process pool whose worker is killed",
        """
from concurrent.futures import ProcessPoolExecutor
def dies(n): os.kill(os.getpid(), signal.SIGKILL)
def main():
    with recorded():
        with ProcessPoolExecutor(1) as pool:
            try:
                pool.submit(dies, 1).result()
            except Exception as error:
                print(type(error).__name__, error)
"""
        + _MAIN,
    ),
    Fault(
        "loky",
        """
from joblib import Parallel, delayed
def main():
    with recorded():
        print(Parallel(2)(delayed(lambda n: n * 2)(n) for n in range(4)))
        from joblib.externals.loky import get_reusable_executor
        get_reusable_executor().shutdown(wait=True)
"""
        + _MAIN,
    ),
    # The machine.
    Fault(
        "no memory: RLIMIT_AS",
        _WORK
        + """
import resource
with recorded():
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, -1))
    big = bytearray(40_000_000)
    try:
        pickle.dumps([big, bytes(big)])
    except MemoryError as error:
        print(type(error).__name__, error)
    del big
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
""",
    ),
    Fault(
        "no more open files",
        """
import resource
with recorded():
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 4096)); files = []
    try:
        while True: files.append(open("program.py"))
    except OSError as error:
        print(error.errno)
    files.clear(); resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 4096))
""",
    ),
    Fault(
        "a file that may not grow any more",
        """
limit = 20_000
import resource; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with recorded() as kept:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
    try:
        open("mine", "wb", buffering=0).write(bytes(limit * 2))
        open("mine", "ab", buffering=0).write(b"x")
    except OSError as error:
        print(error.errno)
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
""",
    ),
    Fault(
        "a home that cannot be written",
        _WORK
        + """
import stat
os.chmod(os.environ["HOME"], 0o500)
with recorded():
    print(len(pickle.dumps(data)))
os.chmod(os.environ["HOME"], 0o700)
"""
        + _CELL_AFTER,
    ),
    Fault(
        "a folder that is deleted under the program",
        _WORK
        + """
import shutil; os.mkdir("gone"); os.chdir("gone"); shutil.rmtree("../gone")
with recorded(reads=False):
    print(len(pickle.dumps(data)))
""",
    ),
    Fault(
        "closed output",
        _WORK
        + """
out = sys.stdout; sys.stdout.flush()
with recorded():
    os.close(1); sys.stderr.flush(); os.close(2)
    print(len(pickle.dumps(data)))
""",
    ),
    Fault(
        "sys.stdout is None",
        _WORK
        + """
out, sys.stdout, sys.stderr = sys.stdout, None, None
with recorded():
    pickle.dumps(data)
sys.stdout = out; print("over")
""",
    ),
    # The interpreter is used otherwise.
    Fault(
        "a trace function of the user",
        _PICKLE
        + """
seen = []
def note(frame, event, arg):
    if "jupyter_serprof" not in frame.f_code.co_filename and frame.f_code.co_name == "mine":
        seen.append((event, frame.f_lineno)); return note
def mine():
    a = pickle.dumps([1])
    return len(a)
with recorded():
    sys.settrace(note); print(mine()); sys.settrace(None)
print(seen)
""",
    ),
    Fault(
        "a profile function of the user",
        _PICKLE
        + """
import cProfile, io, pstats
profile = cProfile.Profile()
def mine(): return len(pickle.dumps([1]))
with recorded():
    profile.enable(); print(mine(), mine()); profile.disable()
stats = pstats.Stats(profile).stats
print([entry[0] for place, entry in stats.items() if place[2] == "mine"])
""",
    ),
    Fault(
        "warnings are errors",
        _WORK
        + """
import warnings
with recorded():
    print(len(pickle.dumps(data)))
    try:
        warnings.warn("mine", DeprecationWarning)
    except DeprecationWarning as error:
        print(error)
""",
        options=("-W", "error"),
    ),
    Fault(
        "every warning is shown",
        _WORK + "with recorded():\n    print(len(pickle.dumps(data)))",
        options=("-W", "always", "-X", "dev"),
    ),
    Fault(
        "without assertions and docstrings",
        _WORK
        + """
with recorded():
    assert False
    print(len(pickle.dumps(data)), os.path.join.__doc__)
""",
        options=("-OO",),
    ),
    Fault(
        "an isolated interpreter",
        _WORK + "with recorded():\n    print(len(pickle.dumps(data)))",
        options=("-I",),
    ),
    Fault(
        "without numpy, pandas, psutil",
        """
for name in ("numpy", "pandas", "pyarrow", "scipy", "matplotlib"):
    sys.modules[name] = None
import pickle
with recorded():
    print(len(pickle.dumps([1])))
    try:
        import numpy
    except ImportError as error:
        print(error)
""",
    ),
    Fault(
        "another tool patches pickle inside of the block",
        _PICKLE
        + """
original, calls = pickle.dumps, []
def theirs(*args, **kwargs):
    calls.append(1); return wrapped(*args, **kwargs)
with recorded():
    wrapped = pickle.dumps; pickle.dumps = theirs
    print(len(pickle.dumps([1])))
    pickle.dumps = wrapped
print(len(calls), pickle.dumps is original)
""",
    ),
    Fault(
        "another tool patches pickle and stays",
        _PICKLE
        + """
wrapped = None
def theirs(*args, **kwargs): return wrapped(*args, **kwargs)
with recorded():
    wrapped = pickle.dumps; pickle.dumps = theirs
print(pickle.dumps is theirs, len(pickle.dumps([1])))
""",
    ),
    Fault(
        "recursion to its very limit",
        _PICKLE
        + """
sys.setrecursionlimit(300)
def depth(n):
    try:
        pickle.dumps([n]); return depth(n + 1)
    except RecursionError:
        return n
with recorded():
    found = depth(0)
print(found > 250)
""",
    ),
    Fault(
        "functions taken from the block are pickled by name",
        _PICKLE
        + """
with recorded():
    taken, where = pickle.dumps, pickle.dumps([pickle.dumps, pickle.loads])
print(pickle.loads(where) == [pickle.dumps, pickle.loads], taken.__module__, len(taken([1])))
import inspect; print(inspect.signature(taken), inspect.isbuiltin(pickle.dumps))
""",
    ),
)
#: What is met every day; the others find what these do not, but seldom.
_DAILY = {
    *("an exception in the block", "sys.exit in the block", "an exception in a cell"),
    *("the interpreter ends while a thread records", "exceptions in reducers"),
    *("SystemExit from __getattr__ of what is pickled", "Ctrl-C in the block"),
    *("SIGTERM with a handler of the user", "a recording in a recording", "a fork in the block"),
    *("fifty threads that pickle, one raises", "asyncio: tasks, a cancellation, a timeout"),
    *("a pool of multiprocessing, fork", "no memory: RLIMIT_AS", "warnings are errors"),
    *("an isolated interpreter", "another tool patches pickle and stays"),
}
FAULTS = tuple(replace(fault, is_slow=fault.name not in _DAILY) for fault in _ALL)
