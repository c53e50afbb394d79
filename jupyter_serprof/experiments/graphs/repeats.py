"""The same Dask computation again and again: what a run made is gone before the next one."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from jupyter_serprof.analysis.findings.dask_facts import graph_bytes, task_count
from jupyter_serprof.experiments.compare.repeats import Repeats, checked_runs
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.runs import thin_trace
from jupyter_serprof.experiments.graphs import stages, values
from jupyter_serprof.model import Sweep, Trace, UsageError

#: Spans that are kept of the recording of a run, the longest; rows and tables are exact.
_MOST_SPANS, _MOST_PIECES = 5_000, 12
#: Levels of the probe of Dask's client that know of tasks.
_SEES_TASKS = {"scheduler and workers", "scheduler"}


@dataclass(eq=False)
class GraphRepeats(Repeats):
    """Runs of one Dask computation, the first one cold. An `Experiment`.

    ``call``: Called in each recording. Of a collection it returns that; a statement computes by
        itself.
    ``compute``, ``timeout_s``: As of `GraphStages`.
    ``is_statement``: Run it as it is.
    ``typed``: What messages name: the code.
    ``partial``: The recording of the run that failed.
    """

    compute: bool = False
    timeout_s: float | None = None
    is_statement: bool = False
    typed: str = ""
    partial: Trace | None = field(default=None, init=False)
    _graph_bytes: list[int | None] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything runs."""
        checked_runs(self.repeat)
        self._stages()

    @property
    def document(self) -> Sweep:
        """The document of the runs so far; at least one must have ended."""
        made = super().document
        points = zip(made.points, self._graph_bytes, strict=True)
        return replace(
            made,
            # What crosses is the graph; the few pickles of the client are not the payload.
            variants=tuple(replace(variant, facts={}) for variant in made.variants),
            points=tuple(replace(point, moved_bytes=sent) for point, sent in points),
        )

    def run_once(self) -> None:
        """Record one run more; after an exception `partial` is what there is to show.

        Raises ``UsageError``: If nothing of Dask ran, or if another run would find the results of
            this one.
        """
        __tracebackhide__ = True
        trace = self._run_statement() if self.is_statement else self._run_collection()
        reports, known = trace.quality.probes, self.traces
        level = next((report.level for report in reports if report.name == "dask"), "")
        # Tasks would have been seen and none was. A client that knows the results does not wait:
        # its scheduler may not have met the graph yet.
        has_found_results = level in _SEES_TASKS and not task_count(trace)
        if known and task_count(known[0]) and has_found_results:
            raise UsageError(_NOTHING_LEFT.format(self.typed or self.name, len(known) + 1))
        self._graph_bytes.append(graph_bytes(trace))
        is_long = len(trace.spans) > _MOST_SPANS
        known.append(
            thin_trace(trace, spans=_MOST_SPANS, pieces=_MOST_PIECES) if is_long else trace
        )

    def _run_collection(self) -> Trace:
        __tracebackhide__ = True
        used: list[Any] = [values.default_client()]

        def build() -> object:
            __tracebackhide__ = True
            value = self.call()
            collections = values.collections_in(value)
            client = values.client_of(collections) if collections else None
            used.append(client)
            return value if client is None else values.fresh(value, client)

        experiment = self._stages(build)
        try:
            trace = run(experiment)
        except UsageError:
            raise
        except BaseException as error:
            if experiment.has_spans or isinstance(error, KeyboardInterrupt):
                self.partial = experiment.document
            raise
        self._note_machines(used)
        for client in used:
            settle(client)
        return trace

    def _note_machines(self, clients: Iterable[Any]) -> None:
        if not self.traces:
            self.is_here = self.is_here and all(map(is_here, clients))

    def _stages(self, build: Callable[[], object] = lambda: None) -> stages.GraphStages:
        return stages.GraphStages(build, self.name, self.compute, self.timeout_s, self.detail)

    def _run_statement(self) -> Trace:
        __tracebackhide__ = True
        client = values.default_client()
        self._note_machines([client])
        known = held_keys(client)
        recording = stages.stage_recording(self.name, detail=self.detail)
        try:
            with recording:
                self.call()
        except BaseException as error:
            if recording.has_spans or isinstance(error, KeyboardInterrupt):
                self.partial = stages.explained(recording.trace, "", error)
            raise
        trace = recording.trace
        if not stages.ran_dask(trace):
            self.partial = stages.explained(trace, f"%serprof {self.typed}")
            raise UsageError(_NO_DASK.format(self.typed))
        if held_keys(client) - known:
            # An exception or a closure may hold them in a circle.
            gc.collect()
        if held_keys(client) - known:
            self.partial = trace
            raise UsageError(_KEPT.format(self.typed))
        return trace


_NOTHING_LEFT = (
    "run {1} of {0} found its results on the cluster, so that nothing was left to compute: "
    "something holds them. Release them (del NAME), and run it again"
)
_NO_DASK = (
    "nothing of Dask ran in {0}, so there are no stages to run again. Write code that computes "
    "something, e.g. y = x.sum().compute()"
)
_KEPT = (
    "{0} keeps results on the cluster, so that another run would find them and compute nothing. "
    "Run the collection itself, which is released after each run: %graphstages --repeat 15 x"
)


def is_here(client: Any) -> bool:  # noqa: ANN401
    """Tell whether all workers of a client run on this machine for sure; without one they do.

    No client joins a scheduler on loopback, or inside this process, from anywhere else. It is asked
    for its own address, because the client may reach it through a tunnel.

    Source: distributed 2026.8.0, client.py:Client.scheduler_info, scheduler.py:Scheduler.identity.
    """
    if client is None:
        return True
    try:
        address = str(client.scheduler_info()["address"])
    except Exception:  # noqa: BLE001  (it was closed meanwhile: the next run says so)
        return False
    scheme, _, place = address.partition("://")
    host = place.rpartition(":")[0].strip("[]")
    return scheme == "inproc" or host.startswith("127.") or host in {"localhost", "::1"}


def held_keys(client: Any) -> set[object]:  # noqa: ANN401
    """Return the keys of all results that a client holds."""
    settle(client)
    return set(getattr(client, "futures", {}))


def settle(client: Any) -> None:  # noqa: ANN401
    """Wait until a client has told its scheduler of every future that was given back.

    A future that is dropped is a message to the event loop of the client, which a turn of that loop
    comes behind; what the client tells its scheduler keeps its order, and arming the probes for the
    next run takes longer than the way there.

    Source: distributed 2026.8.0, client.py:Future.release.
    """
    if client is None or client.asynchronous or client.status != "running":
        return
    with suppress(Exception):  # it was closed meanwhile: the next run says so
        client.sync(asyncio.sleep, 0)
