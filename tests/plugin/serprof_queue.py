"""A probe of another package: put and get of multiprocessing.Queue, and its feeder's pickle."""

from collections.abc import Iterator

from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.model import Finding, Stage, Trace
from jupyter_serprof.probes import Probe

_QUEUE = "multiprocessing.queues:Queue."
_PICKLER = "multiprocessing.reduction:ForkingPickler.dumps"
_LARGE_BYTES = 1_000_000


def large_objects(trace: Trace) -> Iterator[Finding]:
    """Find large objects that the feeder thread pickled."""
    forked = [at for at, span in enumerate(trace.spans) if span.name == "ForkingPickler.dumps"]
    sizes = {at: trace.spans[at].size_bytes or 0 for at in forked}
    large = [at for at in forked if sizes[at] >= _LARGE_BYTES]
    if size := sum(sizes[at] for at in large):
        title = f"{size / 1e6:.1f} MB went through the pipe of a queue"
        evidence = {"size_bytes": size, "objects": len(large)}
        remedy = "block = multiprocessing.shared_memory.SharedMemory(create=True, size=a.nbytes)"
        yield Finding("queue.large-object", "warn", title, evidence, remedy, spans=tuple(large))


class QueueProbe(Probe):
    """Sees the queues of the standard library in this process; not the processes at the far end."""

    name = "queue"
    library = "multiprocessing.queues"
    stages = (
        Stage("queue.put", "Queue put", 41, "pickle", note="the feeder thread pickles later"),
        Stage("queue.get", "Queue get", 42, "move", waits=True, note="waits for the other end"),
    )
    rules = (large_objects,)

    def places(self) -> list[Place]:
        """Watch both ends, and the pickler that the feeder thread calls."""
        return [
            Place(f"{_QUEUE}put", "queue.put", "queue.put"),
            Place(f"{_QUEUE}get", "queue.get", "queue.get"),
            Place(_PICKLER, "pickle.dumps", "queue.dumps", after=lambda *end: len(end[3])),
        ]

    def refine(self, run: Page) -> None:
        """Turn what the hook noted into bytes."""
        for draft in (one for one in run.drafts if one.role == "queue.dumps"):
            draft.size_bytes = draft.extra
