"""Each way to wait for remote work: the time has to belong to that work, so coverage counts."""

from __future__ import annotations

import asyncio
import io
import queue
import threading
import time
from concurrent import futures
from contextlib import redirect_stdout

import joblib
import ray
from distributed import as_completed, default_client, progress, wait
from ray import data
from ray.util import ActorPool
from ray.util.queue import Queue

from . import way_to_wait

API, ASYNC = "ray: ray-core/api/doc/", "ray: ray-core/actors/async_api#"
FUTURES, JOBLIB = "dask: futures#", "dask: joblib.readthedocs.io/parallel"


def tasks():
    """Start eight tasks of Ray."""
    return [ray.remote(lambda x: time.sleep(0.1) or x).remote(x) for x in range(8)]


def submitted():
    """Start eight tasks of Dask."""
    return default_client().map(lambda x: time.sleep(0.1) or x, range(8), pure=False)


@way_to_wait(API + "ray.get")
def ray_get():
    return ray.get(tasks())


@way_to_wait(API + "ray.wait")
def ray_wait_loop():
    refs = tasks()
    while refs:
        ready, refs = ray.wait(refs)
        ray.get(ready[0])


@way_to_wait(ASYNC + "objectrefs-as-asyncio-futures")
def await_references():
    async def all_of():
        return [await ref for ref in tasks()]

    return asyncio.run(all_of())


@way_to_wait(ASYNC + "objectrefs-as-asyncio-futures")
def asyncio_gather():
    async def all_of():
        return await asyncio.gather(*tasks())

    return asyncio.run(all_of())


@way_to_wait(ASYNC + "objectrefs-as-asyncio-futures")
def asyncio_wait():
    async def value(ref):
        return await ref

    async def all_of():
        return await asyncio.wait([asyncio.ensure_future(value(ref)) for ref in tasks()])

    return asyncio.run(all_of())


@way_to_wait("ray: ray-core/ray-generator")
def streaming_generator():
    @ray.remote(num_returns="streaming")
    def items():
        for x in range(8):
            time.sleep(0.08)
            yield x

    return [ray.get(ref) for ref in items.remote()]


@way_to_wait(API + "ray.util.ActorPool")
def actor_pool():
    actor = ray.remote(type("Worker", (), {"work": lambda _, x: time.sleep(0.1) or x}))
    pool = ActorPool([actor.remote(), actor.remote()])
    return list(pool.map(lambda worker, x: worker.work.remote(x), range(8)))


@way_to_wait(API + "ray.util.queue.Queue")
def ray_queue():
    @ray.remote
    def fill(target):
        for x in range(8):
            time.sleep(0.06)
            target.put(x)

    target = Queue()
    fill.remote(target)
    return [target.get() for _ in range(8)]


@way_to_wait(ASYNC + "objectrefs-as-concurrent-futures-futures")
def future_of_a_reference():
    return [one.result() for one in futures.as_completed([ref.future() for ref in tasks()])]


@way_to_wait(API + "ray.get")
def ray_thread_and_queue():
    done = queue.Queue()
    threading.Thread(target=lambda: [done.put(ray.get(ref)) for ref in tasks()]).start()
    return [done.get() for _ in range(8)]


@way_to_wait(API + "ray.get")
def ray_pool_of_threads():
    with futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(ray.get, tasks()))


@way_to_wait("ray: data/quickstart")
def ray_data():
    data.DataContext.get_current().enable_progress_bars = False
    made = data.range(800, override_num_blocks=8)
    return made.map_batches(lambda batch: time.sleep(0.05) or batch).count()


@way_to_wait(FUTURES + "as_completed")
def dask_as_completed():
    return [future.result() for future in as_completed(submitted())]


@way_to_wait(FUTURES + "wait")
def dask_wait():
    return wait(submitted())


@way_to_wait(FUTURES + "result")
def dask_result():
    return [future.result() for future in submitted()]


@way_to_wait(FUTURES + "gather")
def dask_gather():
    return default_client().gather(submitted())


@way_to_wait("dask: diagnostics-distributed#progress-bar")
def dask_progress():
    found = submitted()
    with redirect_stdout(io.StringIO()):
        progress(found, notebook=False)
    return default_client().gather(found)


@way_to_wait(FUTURES + "waiting-on-futures")
def dask_polling():
    found = submitted()
    while not all(future.done() for future in found):
        time.sleep(0.01)


@way_to_wait(JOBLIB)
def joblib_on_dask():
    with joblib.parallel_config(backend="dask"):
        return joblib.Parallel()(joblib.delayed(time.sleep)(0.1) for _ in range(8))


@way_to_wait("ray: joblib.readthedocs.io/parallel")
def joblib_on_ray():
    from ray.util.joblib import register_ray

    register_ray()
    with joblib.parallel_config(backend="ray", n_jobs=2):
        return joblib.Parallel()(joblib.delayed(time.sleep)(0.1) for _ in range(8))
