"""Stages: the named steps on the road of a value, in the terms of the libraries' own documentation.

Keys are stable for ever; titles may change. The order is the order of the road: it sorts the rows
of a waterfall, and decides which remote stage owns an instant of waiting (the one furthest along).
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Stage:
    """A named step on the road.

    Attributes
    ----------
    key
        ``library.step``, stable for ever.
    title
        What people read; a term of the library's documentation.
    order
        Position on the road; smaller is earlier.
    family
        One of ``build``, ``pickle``, ``move``, ``schedule``, ``store``, ``execute``, ``other``; it
        gives the colour.
    waits
        True if the caller does nothing but wait in it.
    note
        What the number contains and what it does not.
    parent
        Key of the stage that this one is a part of; pictures draw its row under that one's.
    """

    key: str
    title: str
    order: int
    family: str = "other"
    waits: bool = False
    note: str = ""
    parent: str = ""


_ALL = (
    Stage("pickle.dumps", "Pickle", 10, "pickle", note="pickle or cloudpickle, called directly"),
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
    Stage(
        "python.code",
        "Your code",
        58,
        "execute",
        note="the code of the cell itself, outside the library; sampled every 5 ms",
    ),
    Stage(
        "dask.construct",
        "Graph construction",
        60,
        "build",
        note="calls of Dask that build the graph, named by the outermost one; sampled every 5 ms",
    ),
    Stage(
        "dask.prepare",
        "Find collections",
        61,
        "build",
        note="from compute or persist to the expression: which collections, which scheduler",
    ),
    Stage(
        "dask.optimize",
        "Graph optimization",
        62,
        "build",
        note="of expressions on the client; of arrays, bags and delayed on the scheduler, there "
        "with fusion and culling; the lane says where",
    ),
    Stage(
        "dask.materialize",
        "Materialize tasks",
        63,
        "build",
        parent="dask.optimize",
        note="from layers or expressions to single tasks; on the scheduler of a cluster",
    ),
    Stage(
        "dask.submit",
        "Create futures",
        64,
        "build",
        note="from the expression to the call that sends it, without its serialization",
    ),
    Stage(
        "dask.serialize",
        "Graph serialization",
        65,
        "pickle",
        note="pickling the graph with what is embedded in it, on the client",
    ),
    Stage(
        "dask.communicate",
        "Graph communication",
        66,
        "move",
        note="the graph on its way from client to scheduler",
    ),
    Stage(
        "dask.communicate.batch",
        "Batch wait",
        66,
        "move",
        waits=True,
        parent="dask.communicate",
        note="in the send buffer of the client, which is emptied every 2 to 10 ms",
    ),
    Stage(
        "dask.communicate.frames",
        "Encode frames",
        66,
        "pickle",
        parent="dask.communicate",
        note="from the message to frames, with compression",
    ),
    Stage(
        "dask.communicate.write",
        "Socket write",
        66,
        "move",
        parent="dask.communicate",
        note="until the socket of the client has taken all of it; the scheduler may read meanwhile",
    ),
    Stage(
        "dask.communicate.wire",
        "Wire",
        66,
        "move",
        parent="dask.communicate",
        note="from the frames made on the client until the scheduler sees the first byte: the "
        "network, and the scheduler being busy with something else",
    ),
    Stage(
        "dask.communicate.read",
        "Read",
        67,
        "move",
        parent="dask.communicate",
        note="on the scheduler, from the first byte to the last",
    ),
    Stage(
        "dask.communicate.decode",
        "Decode frames",
        67,
        "pickle",
        parent="dask.communicate",
        note="from frames to the message, on the scheduler; the graph in it stays pickled",
    ),
    Stage(
        "dask.schedule",
        "Scheduling",
        68,
        "schedule",
        note="on the scheduler: taking the graph in, and moving tasks from state to state",
    ),
    Stage(
        "dask.schedule.unpickle",
        "Unpickle graph",
        68,
        "pickle",
        parent="dask.schedule",
        note="pickle.loads of the graph on the scheduler",
    ),
    Stage(
        "dask.schedule.order",
        "Order tasks",
        69,
        "schedule",
        parent="dask.schedule",
        note="dask.order: which task goes first",
    ),
    Stage(
        "dask.schedule.state",
        "Create task states",
        70,
        "schedule",
        parent="dask.schedule",
        note="one TaskState for each task, annotations, priorities",
    ),
    Stage(
        "dask.schedule.transitions",
        "Transitions",
        71,
        "schedule",
        parent="dask.schedule",
        note="from state to state, with the choice of a worker for each task",
    ),
    Stage(
        "dask.queue",
        "Queued on workers",
        72,
        "schedule",
        waits=True,
        note="tasks were sent, and nothing else is known to happen: waiting for a free thread or "
        "for news of workers",
    ),
    Stage(
        "dask.report",
        "Task reports",
        73,
        "move",
        note="news of finished tasks on their way from workers to the scheduler: encode, wire, "
        "decode; without the 2 ms that workers collect them for",
    ),
    Stage(
        "dask.worker",
        "Worker event loop",
        73,
        "schedule",
        note="the state machine of a worker, and handing a task to its thread and back",
    ),
    Stage(
        "dask.dispatch",
        "Task dispatch",
        74,
        "move",
        note="task specifications on their way from the scheduler to workers",
    ),
    Stage(
        "dask.dispatch.encode",
        "Encode specifications",
        74,
        "pickle",
        parent="dask.dispatch",
        note="pickling task specifications on the scheduler, once for each task",
    ),
    Stage(
        "dask.dispatch.wire",
        "Specifications on the wire",
        75,
        "move",
        parent="dask.dispatch",
        note="from the frames made on the scheduler until the worker has read them",
    ),
    Stage(
        "dask.dispatch.decode",
        "Decode specifications",
        75,
        "pickle",
        parent="dask.dispatch",
        note="unpickling task specifications on the worker",
    ),
    Stage(
        "dask.transfer",
        "Transfer",
        76,
        "move",
        note="inputs of tasks from other workers",
    ),
    Stage(
        "dask.execute", "Execution", 78, "execute", note="the tasks themselves, on worker threads"
    ),
    Stage("dask.spill", "Spill to disk", 79, "store", note="writing to and reading from disk"),
    Stage(
        "dask.wait",
        "Wait for the cluster",
        80,
        "other",
        waits=True,
        note="the client waits and nothing that was seen happens elsewhere",
    ),
    Stage(
        "dask.gather",
        "Gather",
        82,
        "move",
        note="results back to the client, with their deserialization",
    ),
    Stage(
        "dask.scatter",
        "Scatter",
        64,
        "move",
        note="data from the client to workers, with its serialization",
    ),
    Stage("pickle.loads", "Unpickle", 90, "pickle", note="pickle or cloudpickle, called directly"),
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
    """Return the stage of a key; an unknown key (an additional probe's) gets a plain stage.

    >>> stage("ray.store").title
    'Store'
    """
    if key.startswith(MARK):
        return replace(STAGES["user"], key=key, title=key.removeprefix(MARK))
    return STAGES.get(key) or Stage(key, key, 80, "other")
