"""Each way to wait for remote work: the time has to belong to that work, so coverage counts."""

from __future__ import annotations

import asyncio
import io
import queue
import threading
import time
from concurrent import futures
from contextlib import redirect_stdout
from functools import partial

import ray
from distributed import as_completed, default_client, progress, wait
from ray.util import ActorPool
from ray.util.queue import Queue

from . import ENTRIES, Entry

JOBLIB = "joblib.readthedocs.io/parallel"


def tasks():
    return [ray.remote(lambda x: time.sleep(0.1) or x).remote(x) for x in range(8)]


def submitted():
    return default_client().map(lambda x: time.sleep(0.1) or x, range(8), pure=False)


def ray_wait_loop():
    refs = tasks()
    while refs:
        ready, refs = ray.wait(refs)
        ray.get(ready[0])


async def await_references():
    return [await ref for ref in tasks()]


async def asyncio_gather():
    return await asyncio.gather(*tasks())


async def asyncio_wait():
    async def value(ref):
        return await ref

    return await asyncio.wait([asyncio.ensure_future(value(ref)) for ref in tasks()])


def streamed():
    @ray.remote(num_returns="streaming")
    def items():
        for x in range(8):
            time.sleep(0.08)
            yield x

    return items.remote()


def streaming_generator():
    return [ray.get(ref) for ref in streamed()]


async def async_generator():
    return [await ref async for ref in streamed()]


def ray_polling():
    refs = tasks()
    while len(ray.wait(refs, num_returns=len(refs), timeout=0)[0]) < len(refs):
        time.sleep(0.005)


def actor_pool():
    actor = ray.remote(type("Worker", (), {"work": lambda _, x: time.sleep(0.1) or x}))
    pool = ActorPool([actor.remote(), actor.remote()])
    return list(pool.map(lambda worker, x: worker.work.remote(x), range(8)))


def ray_queue():
    @ray.remote
    def fill(target):
        for x in range(8):
            time.sleep(0.06)
            target.put(x)

    target = Queue()
    fill.remote(target)
    return [target.get() for _ in range(8)]


def ray_thread_and_queue():
    done = queue.Queue()
    threading.Thread(target=lambda: [done.put(ray.get(ref)) for ref in tasks()]).start()
    return [done.get() for _ in range(8)]


def ray_pool_of_threads():
    with futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(ray.get, tasks()))


def ray_data():
    from ray import data  # it replaces `print`

    data.DataContext.get_current().enable_progress_bars = False
    made = data.range(800, override_num_blocks=8)
    return made.map_batches(lambda batch: time.sleep(0.05) or batch).count()


def dask_progress():
    found = submitted()
    with redirect_stdout(io.StringIO()):
        progress(found, notebook=False)
    return default_client().gather(found)


def dask_polling():
    found = submitted()
    while not all(future.done() for future in found):
        time.sleep(0.01)


def on_joblib(backend):
    import joblib
    from ray.util.joblib import register_ray

    register_ray()
    with joblib.parallel_config(backend=backend, n_jobs=2):
        return joblib.Parallel()(joblib.delayed(time.sleep)(0.1) for _ in range(8))


def threads_of_joblib():
    import joblib

    with joblib.parallel_config(backend="threading", n_jobs=2):
        return joblib.Parallel()(joblib.delayed(ray.get)(ref) for ref in tasks())


def _of_loop(coroutine):
    return lambda: asyncio.run(coroutine())


WAYS = {
    "ray-get": ("ray: ray-core/api/doc/ray.get", lambda: ray.get(tasks())),
    "ray-wait-loop": ("ray: ray-core/api/doc/ray.wait", ray_wait_loop),
    "ray-await": ("ray: ray-core/actors/async_api", _of_loop(await_references)),
    "ray-asyncio-gather": ("ray: ray-core/actors/async_api", _of_loop(asyncio_gather)),
    "ray-asyncio-wait": ("ray: ray-core/actors/async_api", _of_loop(asyncio_wait)),
    "ray-polling": ("ray: ray-core/api/doc/ray.wait", ray_polling),
    "ray-async-generator": ("ray: ray-core/ray-generator", _of_loop(async_generator)),
    "ray-streaming-generator": ("ray: ray-core/ray-generator", streaming_generator),
    "ray-actor-pool": ("ray: ray-core/api/doc/ray.util.ActorPool", actor_pool),
    "ray-queue": ("ray: ray-core/api/doc/ray.util.queue.Queue", ray_queue),
    "ray-future": (
        "ray: ray-core/actors/async_api#objectrefs-as-concurrent-futures-futures",
        lambda: [one.result() for one in futures.as_completed([r.future() for r in tasks()])],
    ),
    "ray-thread-and-queue": ("ray: ray-core/api/doc/ray.get", ray_thread_and_queue),
    "ray-pool-of-threads": ("ray: ray-core/api/doc/ray.get", ray_pool_of_threads),
    "ray-threads-of-joblib": (f"ray: {JOBLIB}", threads_of_joblib),
    "ray-data": ("ray: data/quickstart", ray_data),
    "ray-joblib": (f"ray: {JOBLIB}", partial(on_joblib, "ray")),
    "dask-as-completed": (
        "dask: futures#as_completed",
        lambda: [future.result() for future in as_completed(submitted())],
    ),
    "dask-wait": ("dask: futures#wait", lambda: wait(submitted())),
    "dask-result": ("dask: futures#result", lambda: [one.result() for one in submitted()]),
    "dask-gather": ("dask: futures#gather", lambda: default_client().gather(submitted())),
    "dask-progress": ("dask: diagnostics-distributed#progress-bar", dask_progress),
    "dask-polling": ("dask: futures#waiting-on-futures", dask_polling),
    "dask-joblib": (f"dask: {JOBLIB}", partial(on_joblib, "dask")),
}


def _both(run):
    return lambda: (run, run)


ENTRIES += [Entry(name, "", page, "", _both(run)) for name, (page, run) in WAYS.items()]
