"""One small Ray and one small Dask for the session, and the promise that no hook stays behind."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from corpus.clusters import warm_ray

from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.probes.interpreter import PAUSES, InterpreterProbe
from jupyter_serprof.probes.pickle import pickle_places
from jupyter_serprof.probes.ray.driver import driver_places

if TYPE_CHECKING:
    from distributed import Client

_ABSENT = object()
#: How often the start of Ray is tried.
_STARTS = 6


@pytest.fixture(scope="package")
def cluster() -> Iterator[None]:
    """Give a local Ray of two cores, whose workers have paid for their first-use imports."""
    import ray

    # Ray's sockets live below this directory, and their paths may have 107 bytes.
    folder = tempfile.mkdtemp(prefix="sp")
    with _waited_for_processes(), pytest.MonkeyPatch.context() as patch:
        # Once a second else: each recording waits for what its workers report.
        patch.setenv("RAY_task_events_report_interval_ms", "100")
        _start(folder)
        warm_ray()
        yield
        ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


def _start(folder: str) -> None:
    import ray

    for left in reversed(range(_STARTS)):
        try:
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                object_store_memory=500_000_000,
                log_to_driver=False,
                _temp_dir=folder,
            )
        except Exception:
            # On a machine with more work than cores Ray's agents miss its own limit of 15 s.
            ray.shutdown()
            if not left:
                raise
        else:
            return


@contextmanager
def _waited_for_processes() -> Iterator[None]:
    """Wait for the processes that Ray starts: it stops them without, and Python warns of that."""
    from ray._private import services

    started: list[subprocess.Popen[bytes]] = []
    place: Any = services
    original = place.ConsolePopen

    def start(*args: object, **kwargs: object) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = original(*args, **kwargs)
        started.append(process)
        return process

    place.ConsolePopen = start
    try:
        yield
    finally:
        place.ConsolePopen = original
        patient_until = time.monotonic() + 30
        for process in started:
            _end(process, patient_until)


@pytest.fixture(scope="package")
def dask_client() -> Iterator[Client]:
    """Give a client of a cluster of two worker processes of one thread each, on loopback."""
    # Tasks run where they were sent: one that is stolen by an idle worker would be sent twice.
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(  # type: ignore[no-untyped-call]  # distributed is typed in part
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]  # as above
    ):
        client.wait_for_workers(2)
        yield client


def _end(process: subprocess.Popen[bytes], patient_until: float) -> None:
    try:
        process.wait(timeout=max(0.0, patient_until - time.monotonic()))
    except subprocess.TimeoutExpired:  # of a start that failed half-way
        process.kill()
        process.wait()


@pytest.fixture(autouse=True)
def _workers_may_report_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's workers report once a second, on a busy machine later: a test waits until they do."""
    monkeypatch.setattr("jupyter_serprof.probes.ray.tasks._PATIENCE_S", 60)
    monkeypatch.setattr("jupyter_serprof.probes.ray.tasks._NOTES_S", 4)
    monkeypatch.setattr("jupyter_serprof.probes.ray.tasks._HARDLY", 10**9)
    monkeypatch.setattr("jupyter_serprof.probes.ray.tasks._LITTLE_NS", 0)
    for name in ("_WAIT_S", "_WAITS_S"):
        monkeypatch.setattr(f"jupyter_serprof.probes.ray.agent.contact.{name}", 10)


@pytest.fixture(autouse=True)
def _everything_is_put_back() -> Iterator[None]:
    """After each test nobody listens, and every place holds the very object it held before."""
    before = {name: (owner, key, vars(owner).get(key, _ABSENT)) for name, owner, key in _places()}
    yield
    assert armed_places() == []
    changed = [
        name
        for name, (owner, key, value) in before.items()
        if vars(owner).get(key, _ABSENT) is not value
    ]
    assert changed == []


def _places() -> Iterator[tuple[str, object, str]]:
    places: list[Place] = [
        *driver_places(detail=False),
        *pickle_places("pickle"),
        *pickle_places("cloudpickle"),
        *pickle_places("cloudpickle.cloudpickle"),
        *InterpreterProbe().places(),
        *PAUSES,
        Place("ray:put", "ray.store"),
        Place("ray:get", "ray.fetch"),
        Place("ray:wait", "ray.wait"),
    ]
    for place in places:
        if place.path.partition(":")[0] in sys.modules:
            owner, attribute = place.owner()
            yield place.path, owner, attribute
