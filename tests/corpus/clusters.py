"""One Ray and one cluster of Dask for all entries, each started when the first entry needs it."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

# As in conftest.py: no `uv run` for Ray's workers, and what is compiled is kept.
os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
os.environ.setdefault("DASK_SERPROF__PATIENCE", "60")
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(sys.prefix, "compiled"))
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": sys.pycache_prefix}


def start(cluster: str) -> None:
    """Start what is named ``ray`` or ``dask`` if it does not run yet."""
    if cluster in _STARTERS:
        _STARTERS[cluster]()


@cache
def _start_ray() -> None:
    import ray

    folder = tempfile.mkdtemp(prefix="sp")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(ray.shutdown)
    warm_ray()


def warm_ray() -> None:
    """Wait until two workers are there: an actor takes one along, and its like has to start."""
    import numpy as np
    import ray

    with tempfile.TemporaryDirectory(prefix="sp") as folder:

        @ray.remote
        def meet(me: int, value: object) -> object:
            Path(folder, f"here{me}").touch()
            while not Path(folder, f"here{1 - me}").exists():
                time.sleep(0.01)
            return value

        ray.get([meet.remote(me, np.zeros(100_000)) for me in range(2)])
    ray.get(ray.put(np.zeros(10)))


@cache
def _start_dask() -> None:
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.work-stealing": False})
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    client = Client(cluster)
    client.wait_for_workers(2)
    atexit.register(cluster.close)
    atexit.register(client.close)


_STARTERS = {"ray": _start_ray, "dask": _start_dask}


def settle(cluster: str) -> None:
    """Let go of what the run before has left, here and on the cluster."""
    gc.collect()
    if cluster == "dask":
        from distributed import default_client

        for _ in range(5):  # releases travel; an entry may hold data of its own
            default_client().run_on_scheduler(int)
