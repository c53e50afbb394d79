"""The stages of Dask in the order of the road, as its documentation names them.

The page "Stages of Computation" of Dask's documentation has construction, optimization,
serialization, communication, scheduling and execution; the parts are those of Dask 2026.8.0.
"""

from __future__ import annotations

from jupyter_serprof.model.trace import Stage

DASK_STAGES = (
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
)


SPLIT_OF_DUMPS = (
    Stage(
        "pickle.reduce",
        "Reducers",
        11,
        "pickle",
        note="__reduce_ex__, __getstate__ and registered reducers, and those of cloudpickle for "
        "classes and functions written by value; a lower bound: what it costs to watch them is "
        "taken off",
        parent="pickle.dumps",
    ),
    Stage(
        "pickle.opcodes",
        "Opcodes and memo",
        12,
        "pickle",
        note="visiting every object, writing its opcodes and remembering it in the memo",
        parent="pickle.dumps",
    ),
    Stage(
        "pickle.copy",
        "Copy into the pickle",
        14,
        "pickle",
        note="copying buffers and opcodes into memory that is known already",
        parent="pickle.dumps",
    ),
    Stage(
        "pickle.allocate",
        "Allocate and touch pages",
        15,
        "pickle",
        note="making the bytes object grow: new pages, page faults",
        parent="pickle.dumps",
    ),
)
SPLIT_OF_LOADS = (
    Stage(
        "unpickle.objects",
        "Build objects",
        91,
        "pickle",
        note="reading opcodes, building objects, __setstate__; without the bytes of large buffers",
        parent="pickle.loads",
    ),
    Stage(
        "unpickle.copy",
        "Copy out of the pickle",
        92,
        "pickle",
        note="copying the large buffers into memory that is known already",
        parent="pickle.loads",
    ),
    Stage(
        "unpickle.allocate",
        "Allocate and touch pages",
        93,
        "pickle",
        note="memory for the large buffers: new pages, page faults",
        parent="pickle.loads",
    ),
)
