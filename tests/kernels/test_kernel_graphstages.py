"""%graphstages in a real kernel with a cluster of processes: stopped, failed, awaited, killed."""

import json
from collections.abc import Callable, Iterator

import pytest
from kernels.conftest import Kernel

pytestmark = pytest.mark.notebook

_START = """
%load_ext jupyter_serprof
import asyncio, functools, logging, os, signal, sys, threading, time, traceback
import dask, dask.array as da, distributed, numpy as np
from distributed import Client, LocalCluster
logging.getLogger("distributed").setLevel(logging.CRITICAL)
cluster = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1",
                       dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL)
client = Client(cluster)
client.wait_for_workers(2)
turn = 0
x = da.ones((40, 40), chunks=10) + 1
counter = iter(range(1_000_000))

def wait_at_gate(turn, block):
    distributed.Event(f"arrived {turn}").set()
    distributed.Event(f"gate {turn}").wait(60)
    return block

def mapped(function):
    return (x + next(counter)).map_blocks(function, dtype=float, meta=np.ones((0, 0)))

def new_gate():
    global turn, held
    turn += 1  # a gate of its own: what still waits at an older one is not shut in again
    held = functools.partial(wait_at_gate, turn)

def open_gate():
    distributed.Event(f"gate {turn}").set()

def is_waiting():
    frame = sys._current_frames()[threading.main_thread().ident]
    calls = [(f.f_globals["__name__"], f.f_code.co_name) for f, _ in traceback.walk_stack(frame)]
    return ("distributed.utils", "sync") in calls

def when_arrived(call):
    arrived, end = distributed.Event(f"arrived {turn}"), time.monotonic() + 60

    def wait_and_call():
        arrived.wait(60)
        # Until it waits, the client holds futures that Dask does not give back after an interrupt.
        while not is_waiting() and time.monotonic() < end:
            time.sleep(0.01)
        call()

    threading.Thread(target=wait_and_call).start()

def forgotten():
    open_gate()
    end = time.monotonic() + 30
    while cluster.scheduler.tasks and time.monotonic() < end:
        client.run_on_scheduler(int)
    return len(cluster.scheduler.tasks)
"""
ANNOUNCE = "new_gate(); when_arrived(lambda: print('waiting'))\n"


@pytest.fixture(scope="module")
def dasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel with the extension and a cluster of two processes of one thread."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    made = Kernel(tmp_path_factory.mktemp("dask"))
    ran = made.run(_START)
    assert ran.status == "ok", ran.error
    yield made
    made.run("client.close(); cluster.close()")
    made.close()


def test_a_collection_goes_from_construction_to_the_workers(
    dasks: Kernel, record_property: Callable[[str, object], None]
) -> None:
    """One document with all lanes, and no name of the machine; the cluster is empty afterwards."""
    ran = dasks.run("%graphstages (x + x.T).sum()")

    assert ran.status == "ok", ran.error
    assert ran.stream("stderr") == ""
    assert ran.kinds == ["document"]
    assert {"dask.serialize", "dask.execute"} <= {span.stage for span in ran.trace.spans}
    assert {lane.key.split("/")[0].split(" ")[0] for lane in ran.trace.lanes} >= {
        "client",
        "scheduler",
        "worker",
    }
    assert "dask.tasks" in {table.key for table in ran.trace.tables}
    record_property("output_bytes", ran.written_bytes)
    record_property("saved_bytes", ran.saved_bytes)
    assert "127.0.0.1" not in json.dumps(ran.outputs)
    assert ran.names_of_the_machine() == []
    assert dasks.run("forgotten()").value == "0"


#: What is persisted here, by the code, or computed.
STOPPED = (
    "{}%graphstages mapped(held)",
    "{}%graphstages --compute mapped(held)",
    "{}%graphstages mapped(held).persist()",
    "{}%graphstages y = mapped(held).compute()",
    "%%graphstages\n{}mapped(held).compute()",
)


def test_an_interrupt_while_waiting_releases_the_futures(dasks: Kernel) -> None:
    """KeyboardInterrupt at once, what was measured is shown, the scheduler forgets the tasks."""
    # The signal reaches the workers too; they die of it where nobody has recorded for some seconds.
    workers = dasks.run("sorted(client.run(os.getpid).values())")
    for code in STOPPED:
        ran = dasks.run(code.format(ANNOUNCE), interrupt_at="waiting")
        left = dasks.run("forgotten()")

        assert ran.status == "error", code
        assert "KeyboardInterrupt" in ran.error
        assert "jupyter_serprof" not in ran.error
        assert ran.trace.outcome == "interrupted"
        assert ran.trace.wall_ns < 50 * 10**9
        assert "dask.serialize" in {span.stage for span in ran.trace.spans}, code
        assert left.value == "0", code
    dasks.run("print('waiting'); time.sleep(60)", interrupt_at="waiting")  # as while it is drawn
    assert dasks.run("sorted(client.run(os.getpid).values())").value == workers.value
    handler = "client.run(lambda: 'asyncio' in repr(signal.getsignal(signal.SIGINT)))"
    back = f"while set({handler}.values()) != {{True}}: time.sleep(0.1)"
    assert dasks.run(back).status == "ok"


def test_a_worker_that_is_killed_in_mid_run_costs_no_document(dasks: Kernel) -> None:
    """Dask runs its tasks again; the document is there, with the lanes that are left."""
    kill = (
        "new_gate()\npids = list(client.run(os.getpid).values())\n"
        "when_arrived(lambda: (os.kill(pids[0], signal.SIGKILL), open_gate()))\n"
    )

    ran = dasks.run(kill + "%graphstages mapped(held)")

    assert ran.status == "ok", ran.error
    assert ran.trace.outcome == "ok"
    assert "dask.serialize" in {span.stage for span in ran.trace.spans}
    assert dasks.run("client.wait_for_workers(2); forgotten()").value == "0"


def test_an_asynchronous_client_is_awaited_in_a_cell(dasks: Kernel) -> None:
    """The cell runs as it always does; a line would block the loop and says what to write."""
    dasks.run(
        "own = await Client(cluster.scheduler_address, asynchronous=True, set_as_default=True)"
    )

    line = dasks.run("%graphstages x.sum()")
    cell = dasks.run("%%graphstages\nvalue = await own.compute(x.sum())\nfloat(value)")
    dasks.run("await own.close()\ndel own")
    again = dasks.run("%graphstages x.sum()")

    assert line.status == "error"
    assert "the client is asynchronous" in line.stream("stderr")
    assert "%%graphstages\n    y = await client.compute(x.sum())" in line.stream("stderr")
    assert line.documents == []
    assert cell.status == "ok", cell.error
    assert cell.value == "3200.0"
    assert "dask.serialize" in {span.stage for span in cell.trace.spans}
    assert again.trace.outcome == "ok"


def test_a_sweep_over_chunks_is_one_document(
    dasks: Kernel, record_property: Callable[[str, object], None]
) -> None:
    """The picture grows and is replaced by the document; an interrupt keeps the sizes before it."""
    dasks.run("def make(chunk): return da.random.random((80, 80), chunks=chunk).sum()")
    stopped = (
        "def stopping(chunk):\n    if chunk == 10: print('waiting'); time.sleep(60)\n"
        "    return make(chunk)\n"
    )

    ran = dasks.run("%graphstages --sweep chunk=10:40:3 --repeat 2 make(chunk)")
    cut = dasks.run(
        stopped + "%graphstages --sweep chunk=10:40:3 --repeat 2 stopping(chunk)",
        interrupt_at="waiting",
    )

    assert ran.status == "ok", ran.error
    assert (ran.sweep.kind, ran.sweep.parameter) == ("chunks", "chunk")
    assert "dask.chunk-sweep" in {finding.rule for finding in ran.sweep.findings}
    record_property("output_bytes", ran.written_bytes)
    assert cut.status == "error"
    assert "KeyboardInterrupt" in cut.error
    assert "jupyter_serprof/" not in cut.error
    assert "sp.resume()" in cut.error
    assert {point.parameter for point in cut.sweep.points} == {20, 40}
    assert dasks.run("forgotten()").value == "0"
