"""Stages: the named steps on the road of a value, in the terms of the libraries' own documentation.

Keys are stable for ever; titles may change. The order is the order of the road: it sorts the rows
of a waterfall, and decides which remote stage owns an instant of waiting (the one furthest along).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_serprof.model.stages_dask import DASK_STAGES, SPLIT_OF_DUMPS, SPLIT_OF_LOADS
from jupyter_serprof.model.trace import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_serprof.model.trace import Trace

_ALL = (
    Stage("pickle.dumps", "Pickle", 10, "pickle", note="pickle or cloudpickle, called directly"),
    *SPLIT_OF_DUMPS,
    Stage(
        "ray.export",
        "Function export",
        20,
        "pickle",
        note="pickling a remote function or actor class with what it captures, and publishing it; "
        "happens once for each function and job",
    ),
    Stage(
        "ray.submit",
        "Submit",
        22,
        "schedule",
        note="from .remote() to its return, without export and serialization of arguments; "
        "contains storing small arguments in the task specification",
    ),
    Stage(
        "ray.msgpack",
        "msgpack walk",
        24,
        "pickle",
        note="Ray's envelope: one Python callback for each element that msgpack does not know; "
        "measured as a difference, without the pickle inside",
    ),
    Stage(
        "ray.pickle",
        "Pickle 5",
        26,
        "pickle",
        note="the protocol-5 pickle inside Ray; out-of-band buffers are announced, not copied",
    ),
    Stage(
        "ray.store",
        "Store",
        28,
        "store",
        note="create, copy and seal in the object store as one stage: Ray does it in one call; "
        "waiting for spilling is inside",
    ),
    Stage("ray.spill", "Spill", 30, "store", note="spilling share of Store, by node counters"),
    Stage(
        "ray.schedule",
        "Schedule",
        40,
        "schedule",
        waits=True,
        note="from submission until the worker begins: lease, queue, pull of arguments",
    ),
    Stage(
        "ray.arguments",
        "Deserialize arguments",
        42,
        "pickle",
        note="on the worker; the first task of a worker pays its imports here",
    ),
    Stage("ray.execute", "Execute", 44, "execute", note="the body of the task, on the worker"),
    Stage(
        "ray.outputs",
        "Store outputs",
        46,
        "store",
        note="serialization of the result and its copy into the store, on the worker",
    ),
    Stage(
        "memory.move",
        "Move",
        48,
        "move",
        note="one copy of everything that was written into memory that is known already, as a "
        "store or a socket makes",
    ),
    Stage(
        "network.wire",
        "Wire",
        49,
        "move",
        note="predicted only: bytes over the bandwidth that was asked for, without latency",
    ),
    Stage(
        "ray.wait",
        "Wait for producer",
        50,
        "other",
        waits=True,
        note="the object did not exist yet; seen apart only with --detail",
    ),
    Stage(
        "ray.fetch",
        "Wait + pull + map",
        51,
        "move",
        waits=True,
        note="ray.get before deserialization, not split; --detail splits it",
    ),
    Stage(
        "ray.pull",
        "Pull from node",
        52,
        "move",
        waits=True,
        note="transfer or restore into the store of this node; seen apart only with --detail",
    ),
    Stage("ray.restore", "Restore from disk", 54, "store", note="by node counters"),
    Stage("ray.map", "Map", 56, "store", note="mapping shared memory into this process"),
    Stage(
        "ray.unpack",
        "msgpack unpack",
        57,
        "pickle",
        note="Ray's envelope on the way back, without the pickle inside",
    ),
    Stage("ray.unpickle", "Unpickle in get", 58, "pickle", note="pickle.loads inside ray.get"),
    *DASK_STAGES,
    Stage("pickle.loads", "Unpickle", 90, "pickle", note="pickle or cloudpickle, called directly"),
    *SPLIT_OF_LOADS,
    Stage(
        "python.wait",
        "Wait for threads",
        95,
        "other",
        waits=True,
        note="Thread.join or Future.result in this process",
    ),
    Stage(
        "import",
        "First-use imports",
        96,
        "other",
        note="modules loaded while the code ran; paid once for each process",
    ),
    Stage("gc", "Garbage collection", 97, "other", note="runs of Python's cycle collector"),
    Stage("user", "Marked by you", 98, "execute", note="with sp.span(...)"),
)

#: Begins the keys of the user's own marks, which are titled by their names.
MARK = "user:"
STAGES: dict[str, Stage] = {entry.key: entry for entry in _ALL}


def stage(key: str) -> Stage:
    """Return the stage of a key; a key that nobody has described gets a plain stage.

    >>> stage("ray.store").title
    'Store'
    """
    if key.startswith(MARK):
        return replace(STAGES["user"], key=key, title=key.removeprefix(MARK))
    return STAGES.get(key) or Stage(key, key, 80, "other")


def describe(stages: Iterable[Stage]) -> None:
    """Make the stages of an additional probe known; what is described already stays as it is."""
    for entry in stages:
        STAGES.setdefault(entry.key, entry)


class _Described(dict[str, Stage]):
    """Stages by key, as a document describes them; else as they are known here."""

    def __missing__(self, key: str) -> Stage:
        return stage(key)


def stages_of(*traces: Trace) -> Mapping[str, Stage]:
    """Return the stage of any key, as the traces describe it.

    A document carries the title, order, family and note of the stages of a plug-in probe, so that
    it is drawn alike where that probe is not installed.
    """
    described = [entry for trace in traces for entry in trace.stages]
    return _Described({entry.key: entry for entry in reversed(described)})
