"""Small Dask computations and an in-process cluster for the tests that need a real one."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

_PATIENCE_S = 60
_COUNT = itertools.count()
#: Opened by a test; tasks that wait for it are as long as the test wants.
GATE = threading.Event()
#: Set by a task that waits.
ARRIVED = threading.Event()


@contextmanager
def started() -> Iterator[Client]:
    """Run a cluster of two threads in this process."""
    with (
        LocalCluster(  # type: ignore[no-untyped-call]  # distributed
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


def scheduler_tasks(client: Client) -> dict[Any, Any]:
    cluster: Any = client.cluster
    found: dict[Any, Any] = cluster.scheduler.tasks
    return found


def forgotten(client: Client) -> bool:
    """Tell whether the scheduler comes to know no task any more: releases travel."""
    end = time.monotonic() + _PATIENCE_S
    while scheduler_tasks(client) and time.monotonic() < end:
        client.run_on_scheduler(int)  # type: ignore[no-untyped-call]  # a round trip, no pause
    return not scheduler_tasks(client)


def small_array() -> Any:
    """Return an array of four chunks whose computation takes nothing."""
    return da.ones((4, 4), chunks=2) + 1


def gated(value: Any) -> Any:
    ARRIVED.set()
    GATE.wait(_PATIENCE_S)
    return value


def failing(_: Any) -> Any:
    message = "of the user"
    raise LookupError(message)


def mapped(function: Any) -> Any:
    """Return a small array with a task of the user's for each chunk, with keys of its own."""
    own = small_array() + next(_COUNT)
    return own.map_blocks(function, dtype=float, meta=np.ones((0, 0)))
