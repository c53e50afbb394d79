"""Larger chunks, tried: the same computation with each, in rounds against its present ones."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from jupyter_serprof.experiments.graphs.fresh import under_new_names
from jupyter_serprof.experiments.graphs.values import graph_of, release, wait_for
from jupyter_serprof.experiments.remedies.cuts import Cut, Cuts, collection_of, leaves
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.rounding import same_or_rounded
from jupyter_serprof.experiments.remedies.table import REMEDIES
from jupyter_serprof.experiments.remedies.trial import Tried
from jupyter_serprof.experiments.remedies.ways import Trip, Watch
from jupyter_serprof.model.units import format_bytes, format_count
from jupyter_serprof.objects.culprits import told

BASELINE = "its present chunking"
#: Fewer pairs have no interval of 95 %.
FEWEST_PAIRS = 6
#: More is not brought to the client for the check.
GATHERED_BYTES = 200_000_000
_NS = 1e9
_RATHER_MORE = 1.5


class Outcome(NamedTuple):
    """What a run gave; ``tasks`` is how many the scheduler was given, after optimization."""

    result: Any = None
    tasks: int | None = None


@dataclass(slots=True)
class _Running:
    """A cut that is tried."""

    tried: Tried
    run: Persisted

    @property
    def pair_ns(self) -> tuple[int, int]:
        """The latest pair."""
        before, after = self.tried.trips
        return before[-1].wall_ns, after[-1].wall_ns


@dataclass(frozen=True, slots=True)
class ChunkTrials:
    """Rounds of runs: the collection as it is and each cut of it once, then in reverse order.

    A run of a cut and that of the same round with the chunks as they are, are a pair.
    """

    client: Any
    collection: Any
    cuts: Cuts
    name: str

    def run(self, deadline: float, most: int, tried: list[Tried], notes: list[str]) -> None:
        """Run what fits until the deadline; ``tried`` and ``notes`` grow meanwhile."""
        __tracebackhide__ = True
        now = Persisted(self.client, self.collection)
        start_s = time.monotonic()
        running = self._first_runs(now, deadline, tried, notes)
        if not running:
            return
        for number in range(most):
            if number and time.monotonic() > deadline:
                break
            _round(now, running, is_reversed=number % 2 == 1)
            running = [each for each in running if not each.tried.reason]
            if not number:
                running = _fitting(running, deadline, notes)
        pairs = max((each.tried.trial.pairs for each in running), default=FEWEST_PAIRS)
        if pairs < FEWEST_PAIRS:
            spent_s = time.monotonic() - start_s
            more_s = _RATHER_MORE * spent_s * FEWEST_PAIRS / max(1, pairs)
            notes.append(
                f"fewer than {FEWEST_PAIRS} pairs tell nothing, and each takes long. With more "
                f"time: sp.try_remedies({self.name}, budget_s={10 * math.ceil(more_s / 10)})"
            )

    def _first_runs(
        self, now: Persisted, deadline: float, tried: list[Tried], notes: list[str]
    ) -> list[_Running]:
        """Run all once, cold, and compare the results; keep what is equal."""
        __tracebackhide__ = True
        running: list[_Running] = []
        first: tuple[Trip, Outcome] | None = None
        for cut in self.cuts.found:
            if running and time.monotonic() > deadline:
                notes.append(f"there was no time left for {_title(cut.key)}")
                continue
            row = Tried(BASELINE, Trial(cut.key))
            tried.append(row)
            try:
                first = first or now(gathers=True)
                run = Persisted(self.client, cut.collection)
                trip, outcome = run(gathers=True)
            except Exception as error:  # noqa: BLE001  (one size fails in its row, others go on)
                row.reason = told(error)
                if first is None:
                    break
                continue
            row.cold = first[0], trip
            row.trial = trial_of(cut, self.cuts, first[1], outcome)
            if row.trial.equal is False:
                break  # larger ones would give another result as well
            running.append(_Running(row, run))
        return running


def _fitting(running: list[_Running], deadline: float, notes: list[str]) -> list[_Running]:
    """Leave the slowest out until enough rounds of the others fit; the fastest one stays."""
    left_ns = _NS * (deadline - time.monotonic())
    kept = sorted(running, key=lambda each: each.pair_ns[1])
    while len(kept) > 1:
        round_ns = kept[0].pair_ns[0] + sum(each.pair_ns[1] for each in kept)
        if (FEWEST_PAIRS - 1) * round_ns <= left_ns:
            break
        title = _title(kept.pop().tried.trial.key)
        notes.append(f"of {title} there was no time for more than one pair")
    return kept


def _round(now: Persisted, running: list[_Running], *, is_reversed: bool) -> None:
    """Run each once; a pair is kept where both of it are complete."""
    __tracebackhide__ = True
    base: Trip | None = None
    trips: dict[int, Trip] = {}
    places = [-1, *range(len(running))]
    for at in reversed(places) if is_reversed else places:
        if at < 0:
            base = now()[0]
            continue
        try:
            trips[at] = running[at].run()[0]
        except Exception as error:  # noqa: BLE001  (a worker that ran out of memory, say)
            running[at].tried.reason = told(error)
    for at, trip in trips.items():
        if base is not None:
            before, after = running[at].tried.trips
            before.append(base)
            after.append(trip)
            running[at].tried.count()


def _title(key: str) -> str:
    return REMEDIES[key].title


@dataclass(frozen=True, slots=True)
class Persisted:
    """Persists a collection under new names, waits, and releases what was made.

    Calling it returns the trip and its `Outcome`, which is empty unless ``gathers``.
    """

    client: Any
    collection: Any

    def __call__(self, *, gathers: bool = False) -> tuple[Trip, Outcome]:
        """Run once."""
        from distributed import futures_of

        __tracebackhide__ = True
        collection: Any = _renamed(self.collection)
        watch = Watch()
        if graph_of(collection) is None:
            # As its own `persist` does: a result may have more partitions afterwards.
            collection = collection.optimize()
            watch.stage("dask.optimize")
        with warnings.catch_warnings():
            # A large graph is what may be tried.
            warnings.filterwarnings("ignore", "Sending large graph")
            made = self.client.persist(collection)
        futures = futures_of(made)  # type: ignore[no-untyped-call]  # distributed
        try:
            watch.stage("dask.submit")
            wait_for(futures, None)
            watch.stage("dask.wait")
            outcome = self._outcome(made, futures) if gathers else Outcome()
        finally:
            release(futures)
        return Trip(watch.stages, None, None), outcome

    def _outcome(self, made: Any, futures: list[Any]) -> Outcome:  # noqa: ANN401
        """Gather what is small enough, as one array or frame; None else."""
        tasks = _latest_tasks(self.client)
        sizes = self.client.run_on_scheduler(result_bytes, keys=[f.key for f in futures])
        if sizes > GATHERED_BYTES:
            return Outcome(None, tasks)
        return Outcome(self.client.compute(made, sync=True), tasks)


def _renamed(collection: Any) -> object:  # noqa: ANN401
    """Return the same computation under names that no cluster knows."""
    if graph_of(collection) is not None:
        return under_new_names(collection)
    expression = collection.expr
    for node in {node._name: node for node in leaves(expression)}.values():  # noqa: SLF001  (its key)
        held = node.operand("frame")
        data = type(held)(held._data)  # noqa: SLF001  (the frame itself, not copied)
        # Its name is made of this, which otherwise is a hash of the frame.
        vars(data)["_token"] = uuid4().hex
        other = node.substitute_parameters({"frame": data})
        expression = expression.substitute(node, other)
    made: object = collection_of(expression)
    return made


def _latest_tasks(client: Any) -> int | None:  # noqa: ANN401
    """Return the tasks of the graph that this client sent last, after optimization."""
    events = client.get_events(client.id)
    counts = [
        event["metrics"].get("tasks")
        for _, event in events
        if isinstance(event, dict) and event.get("action") == "update-graph" and "metrics" in event
    ]
    return counts[-1] if counts else None


def result_bytes(dask_scheduler: Any, keys: list[Any]) -> int:  # noqa: ANN401
    """Ask the scheduler how large results are."""
    tasks = (dask_scheduler.tasks.get(key) for key in keys)
    return sum(task.nbytes for task in tasks if task is not None and task.nbytes > 0)


def trial_of(cut: Cut, cuts: Cuts, before: Outcome, after: Outcome) -> Trial:
    """Return the trial of a cut before its pairs: equality, the tasks of both, what to paste."""
    verdict = same_or_rounded(before.result, after.result)
    notes = [f"{_tasks(before.tasks)} before, {_tasks(after.tasks)} after"]
    if verdict.equal is False:
        notes.append(
            "NOT equal to what it gives now: a step depends on how it is cut, no pairs ran"
        )
    if cut.joined:
        notes.append(
            f"the parts of {', '.join(dict.fromkeys(cut.joined))} are made as before and put "
            "together in one task, so that the values stay: the gain without that copy is larger"
        )
    return Trial(
        cut.key,
        equal=verdict.equal,
        changes=(*notes, *verdict.changes),
        cause=(
            f"{_chunks(cuts.chunks, cuts.chunk_bytes)} make {_tasks(before.tasks)}; "
            f"{_chunks(cut.chunks, cut.chunk_bytes)} make {_tasks(after.tasks)}"
        ),
        code=cut.code,
        evidence={
            "chunks_before": cuts.chunks,
            "chunks_after": cut.chunks,
            "tasks_before": before.tasks,
            "tasks_after": after.tasks,
            "chunk_bytes_before": cuts.chunk_bytes,
            "chunk_bytes_after": cut.chunk_bytes,
        },
    )


def _tasks(count: int | None) -> str:
    return "tasks that nobody counted" if count is None else f"{format_count(count)} tasks"


def _chunks(count: int | None, size_bytes: int | None) -> str:
    size = "" if size_bytes is None else f" of {format_bytes(size_bytes)}"
    return f"{format_count(count or 0)} chunk{'' if count == 1 else 's'}{size}"
