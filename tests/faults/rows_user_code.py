"""Code of the user that a recording must not run, and objects that it must let go."""

from .matrix import Fault

_NOSY = """
from nosy import ASKED, Nosy
import pickle, cloudpickle, threading
def told():
    print(sorted(ASKED.items()))
"""
#: Pickled, captured, refused: what happens in one block to an object that notes each question.
_PICKLES = """
data = pickle.dumps([value, {"a": value}]); back = pickle.loads(data)
data = cloudpickle.dumps((lambda: value, value), buffer_callback=[].append)
try:
    pickle.dumps({"rows": value, "lock": threading.Lock()})
except TypeError as error:
    print(error)
"""
_CLUSTER = """
import dask, warnings
from dask.distributed import Client
warnings.simplefilter("ignore")
client = Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
"""
#: Each 2 MB: large enough to be looked at in a graph.
_GRAPHS = """
print(client.submit(len, big).result())
print(client.gather(client.map(len, [big])))
print(dask.compute(dask.delayed(len)(big), dask.delayed(lambda: len(big))()))
held = dask.persist(dask.delayed(len)(big)); print(held[0].compute())
try:
    client.submit(len, [value, threading.Lock()]).result()
except Exception as error:
    print(type(error).__name__)
"""
_LOCAL = """
import dask
print(dask.delayed(lambda x: 1)(value).compute(scheduler="sync"))
print(dask.delayed(lambda x: value)(1).compute(scheduler="threads") is value)
print(dask.compute(dask.delayed(list)([value, 1]), scheduler="sync")[0][0] is value)
print(dask.delayed(lambda x: 1)(value).compute(scheduler="processes", num_workers=1))
"""
_RAY = """
import ray
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
@ray.remote
def takes(x): return 3
@ray.remote
def captures(): return len(str(type(value)))
@ray.remote
class Actor:
    def takes(self, x): return 4
ray.get(takes.remote(1))
with recorded():
    print(ray.get(ray.put([value, bytearray(2_000_000)]))[0], ray.get(takes.remote(value)))
    print(ray.get(takes.remote([value, bytearray(2_000_000)])))
    print(ray.get(captures.remote()), ray.get(Actor.remote().takes.remote(value)))
    try:
        ray.put([value, threading.Lock()])
    except TypeError as error:
        print(type(error).__name__)
ray.shutdown()
told()
"""
#: Objects whose deaths can be watched; their reducer is counted.
_MORTAL = """
import pickle, threading, weakref, gc
class Big:
    reduced = 0
    def __init__(self): self.data = bytearray(2_000_000)
    def __len__(self): return 7
    def __reduce__(self):
        Big.reduced += 1
        return bytearray, (self.data,)
"""
FAULTS = (
    Fault(
        "an object that notes what it is asked, pickled in a block",
        _NOSY + f"value = Nosy()\nwith recorded():\n    exec({_PICKLES!r})\ntold()",
    ),
    Fault(
        "an object that notes what it is asked, pickled in a cell",
        _NOSY + "cell('from nosy import *; import pickle, cloudpickle, threading; value = Nosy()')"
        f"\ncell({_PICKLES!r})\ntold()",
    ),
    Fault(
        "an object that notes what it is asked, on Dask's own schedulers",
        f"{_NOSY}value = Nosy()\nif __name__ == '__main__':\n    with recorded():"
        f"\n        exec({_LOCAL!r})\n    told()",
    ),
    Fault(
        "an object that notes what it is asked, in Dask graphs",
        f"{_NOSY}{_CLUSTER}value = Nosy(); big = [value, bytearray(2_000_000)]\n"
        f"with recorded():\n    exec({_GRAPHS!r})\nclient.close(); told()",
    ),
    Fault(
        "an object that notes what it is asked, by Ray",
        _NOSY + "value = Nosy()" + _RAY,
        "",
        is_slow=True,
    ),
    Fault(
        "objects that were pickled die after the block",
        _MORTAL
        + """
with recorded(reads=False) as kept:
    big = Big(); seen = [weakref.ref(big)]; data = pickle.dumps([big])
    try:
        pickle.dumps([big, threading.Lock()])
    except TypeError:
        pass
    try:
        other = Big(); seen.append(weakref.ref(other)); pickle.dumps(other); 1 / 0
    except ZeroDivisionError:
        pass
del big, data, other
print([one() is None for one in seen], Big.reduced)
""",
    ),
    Fault(
        "objects that were sent to Dask die after the block, and are pickled no more",
        _MORTAL
        + _CLUSTER
        + """
seen = []
def big():
    made = Big(); seen.append(weakref.ref(made)); return made
def sends():
    print(client.submit(len, big()).result(), client.gather(client.map(len, [big()])))
    print(dask.delayed(len)(big()).compute(), dask.delayed(len)(big()).persist().compute())
with recorded(reads=False) as kept:
    sends()
print([is_gone(one) for one in seen], Big.reduced)
if IS_RECORDED:
    kept.trace
client.close()
print(Big.reduced)
""",
    ),
    Fault(
        "tickets that can be used once, in a graph that is large",
        _CLUSTER
        + """
class Ticket:
    left = 1
    def __init__(self): self.more = bytearray(3_000_000)
    def __reduce__(self):
        Ticket.left -= 1
        if Ticket.left < 0: raise RuntimeError("used twice")
        return bytearray, (self.more,)
with recorded():
    print(client.submit(len, Ticket()).result(), Ticket.left)
print(Ticket.left)
client.close()
""",
    ),
)
