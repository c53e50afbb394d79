"""The stages of one Dask computation: persisted or computed, waited for, recorded all the way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from traceback import walk_tb
from typing import Any

from jupyter_serprof.experiments.engine.experiment import Once, Steps
from jupyter_serprof.experiments.engine.order import check_above_0
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.graphs import values
from jupyter_serprof.model import SerprofError, Trace, UsageError
from jupyter_serprof.model.units import a_kind
from jupyter_serprof.objects.culprits import culprits_text, find_culprits
from jupyter_serprof.probes.dask.cluster import has_no_worker
from jupyter_serprof.probes.dask.graph.persisted import persisted_futures
from jupyter_serprof.probes.dask.graph.picklers import find_unpicklable
from jupyter_serprof.probes.dask.sampling import ConstructionSampler

_SECONDS = 2.0
#: Where Dask pickles what it sends, and what it calls that there (distributed 2024.8 to 2026.8).
_MODULE, _FUNCTION, _VALUE = "distributed.protocol.serialize", "serialize", "x"


def unpicklable_notes(error: BaseException) -> list[str]:
    """Return a sentence that names the object, none for any other error."""
    # The graph is found in the tracebacks of the causes (Dask shortens its own), so that also a
    # cell that computes by itself has its note. It takes 3 s at most; the graph is pickled into
    # nowhere, piece by piece, and nothing of it is kept.
    found = None
    for graph in islice(_unsent(error), 1):
        with suppress(UsageError):  # something else was sent
            found = find_unpicklable(graph, seconds=_SECONDS)
    if found is None:
        return []
    place = " -> ".join(step for step in (found.layer, found.key) if step)
    said = culprits_text(find_culprits(found.value, found.argument or "the value", is_careful=True))
    return [f"the graph was not sent. {place} {said or 'cannot be pickled'}"]


def _unsent(error: BaseException | None) -> Iterator[object]:
    """Yield what was being pickled when one of the causes was raised, the outermost first."""
    while error is not None:
        for frame, _ in walk_tb(error.__traceback__):
            is_place = frame.f_globals.get("__name__") == _MODULE
            if is_place and frame.f_code.co_name == _FUNCTION:
                yield frame.f_locals.get(_VALUE)
        error = error.__cause__


_SAID_CHARACTERS = 60
#: What only a computation of the caller has. A cluster is never quite silent: heartbeats of workers
#: and transitions of other people's tasks are stages too.
_COMPUTING = {
    *("dask.prepare", "dask.optimize", "dask.submit", "dask.serialize"),
    *("dask.scatter", "dask.execute", "dask.wait", "dask.gather"),
}


class ComputationTimeoutError(SerprofError):
    """A computation was given up because it took longer than was asked for."""


def stage_recording(
    name: str, *, detail: bool = False, kind: type[Recording] = Recording
) -> Recording:
    """Return a recording that also sees the construction of graphs."""
    return kind(name, detail=detail, also=(ConstructionSampler(),))


@dataclass(eq=False, slots=True)
class GraphStages(Once):
    """A computation from its graph to its end: an `Experiment` of one run.

    ``build``: Called inside the recording, so that construction is seen; returns the collection.
    ``compute``: Compute and gather instead of persisting.
    ``timeout_s``: Give up waiting after this time, s; None waits as long as it takes.
    ``began``: True once the computation was begun: an error before that is one of the code.
    """

    build: Callable[[], object]
    name: str
    compute: bool = False
    timeout_s: float | None = None
    detail: bool = False
    began: bool = field(default=False, init=False)
    is_done: bool = field(default=False, init=False)
    _recording: Recording = field(init=False)
    _notes: list[str] = field(default_factory=list, init=False)
    #: Futures that were made here, and are given back.
    _made: list[Any] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything runs."""
        values.require_dask()
        if self.timeout_s is not None:
            check_above_0("timeout", self.timeout_s)
        self._recording = stage_recording(self.name, detail=self.detail)

    def steps(self) -> Steps:
        """Build, compute and wait; an interrupt ends it. Results that were made are released.

        Raises ``UsageError``: If the value is nothing of Dask and nothing of Dask ran.
        Raises ``ComputationTimeoutError``: If it was not done in time.
        """
        __tracebackhide__ = True
        self._recording = stage_recording(self.name, detail=self.detail)
        self._notes.clear()
        try:
            with self._recording:
                described = self._see_through()
        except Exception as error:
            self._notes += unpicklable_notes(error)
            raise
        finally:
            values.release(self._made)
            self._made.clear()
        if described and not ran_dask(self.document):
            raise UsageError(_not_dask(self.name, described))
        self.is_done = True
        yield from ()

    @property
    def document(self) -> Trace:
        """The trace of what was measured so far."""
        return _with_notes(self._recording.trace, self._notes)

    @property
    def has_spans(self) -> bool:
        """Tell whether there is anything to show."""
        return self.began or self._recording.has_spans

    def _see_through(self) -> str:
        """Build the value and bring it to its end; describe it if it is nothing of Dask."""
        __tracebackhide__ = True
        with values.given_up_wholly():
            value = self.build()
        collections = values.collections_in(value)
        futures = persisted_futures(collections) if collections else values.futures_in(value)
        self.began = bool(collections or futures)
        if not self.began:
            return _described(value)
        has_results = futures is not None
        # Those of the value may be the user's, who keeps them, or only ours: then they must go
        # when this call is left, whatever keeps its frames. Own ones can be released in any case.
        self._made += values.same_futures(futures or ())
        del value, futures
        if not self._made:
            self._finish(collections, has_results=has_results)
            return ""
        if collections:
            self._notes.append(_persisted(self.name, self._made))
        collections.clear()
        self._wait(self._made)
        return ""

    def _finish(self, collections: Sequence[Any], *, has_results: bool) -> None:
        __tracebackhide__ = True
        if values.default_client(is_asynchronous=True) is not None:
            raise UsageError(_asynchronous(self.name))
        client = values.client_of(collections)
        if client is None:
            self._run_here(collections, has_results=has_results)
        elif self.compute and self.timeout_s is None:
            values.run_here(collections, compute=True)
        elif self.compute:
            self._made += client.compute(list(collections))
            self._wait(self._made)
            client.gather(self._made)
        else:
            persisted = values.run_here(collections, compute=False)
            self._made += persisted_futures(persisted) or ()
            self._wait(self._made)

    def _run_here(self, collections: Sequence[Any], *, has_results: bool) -> None:
        __tracebackhide__ = True
        if self.timeout_s is not None:
            message = (
                "a local scheduler runs in this process and cannot be given up after a time. "
                "Interrupt it, or use a cluster: from distributed import Client; client = Client()"
            )
            raise UsageError(message)
        if has_results:
            self._notes.append(f"{self.name} holds its results already: nothing is left to compute")
        values.run_here(collections, compute=self.compute)

    def _wait(self, futures: list[Any]) -> None:
        __tracebackhide__ = True
        if any(future.client.asynchronous for future in futures):
            raise UsageError(_asynchronous(self.name))
        try:
            values.wait_for(futures, self.timeout_s)
        except TimeoutError as error:
            if self.timeout_s is None or any(future.status == "error" for future in futures):
                raise  # one of the user's own tasks
            # A computation that was given up is shown as one that was interrupted.
            self._recording.stop(KeyboardInterrupt)
            raise ComputationTimeoutError(_late(self.name, futures, self.timeout_s)) from error


def ran_dask(trace: Trace) -> bool:
    """Tell whether something was computed, sent or waited for with Dask."""
    return any(span.stage in _COMPUTING for span in trace.spans)


def explained(trace: Trace, typed: str, error: BaseException | None = None) -> Trace:
    """Return the trace of code that ran as it is, with what a reader of it should know.

    ``typed``: What would show the rest where nothing of Dask ran: ``%%serprof`` for a cell.
    ``error``: What the code raised, if it did.
    """
    if error is not None:
        return _with_notes(trace, unpicklable_notes(error))
    if ran_dask(trace):
        return trace
    if any(span.stage == "dask.construct" for span in trace.spans):
        note = (
            "a graph was built, and nothing computed it: end the code with .compute() or "
            ".persist(), or let %graphstages NAME run the collection"
        )
    else:
        note = f"nothing of Dask ran in it; to see pickle and Ray, write {typed}"
    return _with_notes(trace, [note])


def _with_notes(trace: Trace, notes: Sequence[str]) -> Trace:
    if not notes:
        return trace
    return replace(trace, quality=replace(trace.quality, notes=(*notes, *trace.quality.notes)))


def _described(value: object) -> str:
    kind = a_kind(type(value).__name__)
    if isinstance(value, list | tuple | dict | set):
        return f"{kind} of {len(value)}"
    return "None" if value is None else kind


def _shown(name: str) -> str:
    return name if len(name) <= _SAID_CHARACTERS else name[: _SAID_CHARACTERS - 3] + "..."


def _not_dask(name: str, described: str) -> str:
    return (
        f"{_shown(name)} gave {described}, and nothing of Dask ran. Expected was a Dask collection "
        "(array, dataframe, bag, delayed), a future, or code that computes one, e.g. "
        f"%graphstages x.sum(). For pickle and Ray: %serprof {_shown(name)}"
    )


def _persisted(name: str, futures: Sequence[Any]) -> str:
    if left := sum(not future.done() for future in futures):
        return (
            f"{name} was persisted before: {left} of its {len(futures)} keys were still being "
            "computed, and this is the wait for them"
        )
    return (
        f"{name} was persisted before: its {len(futures)} keys are on the cluster, and nothing is "
        "left to compute. Show what is made of it, e.g. %graphstages x.sum()"
    )


def _asynchronous(name: str) -> str:
    return (
        "the client is asynchronous: waiting here would block the event loop that it runs in. "
        "Await it in a cell that begins with %%graphstages:\n"
        f"    %%graphstages\n    y = await client.compute({_shown(name)})"
    )


def _late(name: str, futures: Sequence[Any], timeout_s: float) -> str:
    done = sum(future.done() for future in futures)
    is_idle = any(has_no_worker(future.client) for future in futures[:1])
    more = f"Give it more time: --timeout {10 * timeout_s:g}"
    return (
        f"{_shown(name)} was not done after {timeout_s:g} s: {done} of {len(futures)} keys were in "
        "memory. Its futures were released. "
        f"{'No worker is there: client.cluster.scale(2)' if is_idle else more}"
    )
