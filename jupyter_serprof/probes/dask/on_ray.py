"""Probe of Dask on Ray: Dask's steps up to the submission of tasks; Ray's probe sees the rest.

``ray_dask_get`` itself is held by Dask's configuration and by users, so what it calls is watched.
Source: Ray 2.60.0, ray/util/dask/scheduler.py:ray_dask_get, scheduler_utils.py:get_async.
"""

import sys

from jupyter_serprof.capture.hook import Place
from jupyter_serprof.model import ProbeReport
from jupyter_serprof.probes import Probe

_MODULE = "ray.util.dask"
#: How Dask on Ray names its tasks; their function is a wrapper, the same for all.
TASK_MARK = "dask:"


def task_prefix(name: str) -> str:
    """Return the prefix of Dask's key from the name of a Ray task.

    >>> task_prefix("dask:('sum-aggregate-0a1b2c3d4e5f60718293a4b5c6d7e8f9', 0, 1)")
    'sum-aggregate'
    """
    from dask.utils import key_split

    return str(key_split(name.removeprefix(TASK_MARK)))


class DaskRayProbe(Probe):
    """Sees a Dask graph on its way to Ray: order, states, submission of tasks, results.

    What it cannot see: what Ray does with the tasks (Ray's own probe does).

    Ray 2.60.0 with Dask 2026.8.0: ``ray_dask_get`` and ``enable_dask_on_ray`` work (the latter sets
    Dask's old name ``shuffle``, of which Dask warns); ``ray_dask_get_sync`` raises AttributeError,
    with a recording and without, because it takes the expression that Dask gives it for a dict.
    """

    name = "dask-ray"
    library = _MODULE

    def places(self) -> list[Place]:
        """Return the places of the scheduler that hands a graph to Ray."""
        scheduler, steps = f"{_MODULE}.scheduler", f"{_MODULE}.scheduler_utils"
        options = f"{scheduler}:_build_key_scoped_ray_remote_args"
        return [
            Place(f"{scheduler}:get_async", "dask.schedule", "dask.get:ray"),
            Place(options, "dask.schedule.state", "dask.options"),
            Place(f"{scheduler}:convert_legacy_graph", "dask.materialize", "dask.convert"),
            Place(f"{steps}:order", "dask.schedule.order", "dask.order"),
            Place(f"{steps}:start_state_from_dask", "dask.schedule.state", "dask.state"),
            Place(f"{steps}:queue_get", "dask.wait", "dask.ray.wait"),
            Place(f"{scheduler}:_rayify_task", "dask.dispatch", "dask.ray.submit"),
            Place(f"{scheduler}:ray_get_unpack", "dask.gather", "dask.ray.gather"),
        ]

    def level(self) -> str:
        """Return the rung: the steps, or results only."""
        return "results" if any(n.startswith("get_async") for n in self.missing) else "steps"

    def report(self) -> ProbeReport:
        """Say what was seen; to look for the module would import Ray."""
        if not self.was_armed:
            return ProbeReport(self.name, None, "not imported")
        version = getattr(sys.modules.get("ray"), "__version__", None)
        return ProbeReport(self.name, version, "armed", self.level(), tuple(self.unseen()))
