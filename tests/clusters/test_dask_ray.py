"""Dask on Ray: Dask's steps up to the submission, then Ray's tasks, in one document."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from ray.util import dask as dask_on_ray

from clusters import seen
from clusters.seen import has_row, row, self_ns, spans, without
from jupyter_serprof.model import Trace, from_document, to_document
from jupyter_serprof.probes.dask.local.probe import DaskLocalProbe
from jupyter_serprof.probes.dask.on_ray import DaskRayProbe, task_prefix
from jupyter_serprof.probes.ray.driver import RayDriverProbe

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

DELAY_S = 0.3
GET: Any = dask_on_ray.ray_dask_get


def watched(
    function: Callable[[], Any], probe: DaskRayProbe | None = None
) -> tuple[Any, Trace, DaskRayProbe]:
    """Call a function while Dask's and Ray's probes listen."""
    probe = probe or DaskRayProbe()
    result, trace = seen.watched(function, DaskLocalProbe(), probe, RayDriverProbe())
    return result, trace, probe


def test_both_roads_are_in_one_document() -> None:
    """Find, optimize, order, submit; then Ray's schedule, execution and outputs; then the get."""
    x = da.ones((40, 40), chunks=(20, 20))

    result, trace, probe = watched(lambda: (x + x.T).sum().compute(scheduler=GET))

    assert result == 3200
    assert probe.level() == "steps"
    assert probe.unseen() == []
    for key in ("dask.prepare", "dask.optimize", "dask.schedule.order", "dask.schedule.state"):
        assert self_ns(trace, key) > 0
    for key in ("ray.submit", "ray.execute", "ray.outputs"):
        assert row(trace, key).busy_ns > 0
    assert has_row(trace, "dask.gather")
    assert from_document(to_document(trace)) == trace


def test_the_tasks_of_ray_have_the_names_of_dask() -> None:
    """Not that of the one wrapper that runs them all."""
    x = da.ones((40,), chunks=10)

    _, trace, _ = watched(lambda: (x + 1).sum().compute(scheduler=GET))

    names = {span.name for span in spans(trace, "ray.execute")}
    assert "sum-aggregate" in names
    assert "dask_task_wrapper" not in names


def test_a_slow_task_is_ray_execution() -> None:
    """The caller's wait for it belongs to the work on the worker."""

    def slow(value: int) -> int:  # in here it travels by value: workers do not have this file
        time.sleep(DELAY_S)
        return value + 1

    task = dask.delayed(slow)(1)

    def owns_the_wait() -> bool:
        result, trace, _ = watched(lambda: task.compute(scheduler=GET))
        assert result == 2
        (span,) = spans(trace, "ray.execute", "slow")
        assert span.duration_ns >= 0.999 * DELAY_S * 1e9  # Ray measures with the time of day
        return self_ns(trace, "ray.execute") >= 0.9 * DELAY_S * 1e9

    assert any(owns_the_wait() for _ in range(8))  # a caller may be late for its wait


def test_the_configured_scheduler_is_seen_too() -> None:
    """``enable_dask_on_ray`` holds the function; what it calls is watched."""
    x = da.ones((40,), chunks=10)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Ray 2.60 sets Dask's old name of shuffle
        with dask_on_ray.enable_dask_on_ray():
            result, trace, _ = watched(lambda: x.sum().compute())

    assert result == 40
    assert spans(trace, "dask.schedule", "get_async")


def test_a_missing_name_takes_its_part_away_and_no_more() -> None:
    """Another Ray may have other names; the result and the rest stay."""
    older = without(DaskRayProbe, ":get_async", ":order")
    x = da.ones((40,), chunks=10)

    result, trace, probe = watched(lambda: x.sum().compute(scheduler=GET), older)

    assert result == 40
    assert probe.unseen() == [
        "get_async_gone (not in this version)",
        "order_gone (not in this version)",
    ]
    assert probe.level() == "results"
    assert not has_row(trace, "dask.schedule.order")
    assert has_row(trace, "dask.schedule.state")


def test_without_dask_on_ray_the_probe_says_so_and_imports_nothing() -> None:
    assert DaskRayProbe().report().state == "not imported"


def test_prefixes_come_from_names_of_tasks() -> None:
    assert task_prefix("dask:('sum-aggregate-0a1b2c3d4e5f60718293a4b5c6d7e8f9', 0)") == (
        "sum-aggregate"
    )
    assert task_prefix("dask:slow-5f0e7d2c-8b1a-4c3d-9e2f-0a1b2c3d4e5f") == "slow"
