"""The panel of ``%graphstages``: the Dask collections, their chunk sizes, and their stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jupyter_serprof.experiments.chunks.cut import chunk_subject
from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.experiments.engine.order import log_spaced
from jupyter_serprof.experiments.graphs.stages import GraphStages
from jupyter_serprof.experiments.graphs.values import list_collections
from jupyter_serprof.model import UsageError
from jupyter_serprof.panel.panel import Panel
from jupyter_serprof.panel.parts import Job, Plan, Scale, Source, Way, Words
from jupyter_serprof.panel.sizes import Keep, Namespace

_WORDS = Words(
    magic="%graphstages",
    source="Collection",
    sizes="Chunk sizes",
    ways="",
    nothing="There is no Dask collection among your variables.",
    extra="Show stages",
)
_STEPS = (1, 2, 5)
#: Of the longest axis: what is shorter makes too many tasks.
_SHORTEST_SHARE = 0.01
#: Chosen first: from so small a part of the longest axis on.
_FIRST_SHARE = 0.1
_MOST_PARTITIONS = 1000


@dataclass(frozen=True, slots=True)
class GraphOffer:
    """What the panel of ``%graphstages`` offers.

    Parameters
    ----------
    namespace
        Gives the variables of the user.
    """

    namespace: Namespace

    def sources(self) -> list[Source]:
        """Return the collections, those with tasks left first."""
        found = sorted(list_collections(self.namespace()), key=lambda one: bool(one.state))
        return [Source(one.name, f"{one.name}: {one.kind}") for one in found]

    def ways(self) -> list[Way]:
        """Return none: the scheduler is the one that there is."""
        return []

    def scale(self, source: str, ways: object) -> Scale:  # noqa: ARG002  (there are none)
        """Return the chunk sizes that a collection can be cut into."""
        collection = self.namespace().get(source)
        try:
            is_count = chunk_subject(collection).is_count
        except UsageError as error:
            return Scale((), 0, 0, f"{error}.")
        return _partitions(collection) if is_count else _lengths(collection)

    def start(self, plan: Plan) -> Job:
        """Return the chunk sweep."""
        if plan.low is None or plan.high is None:
            return self.stages(plan.source)
        return ChunkSweep(
            self._collection(plan.source),
            log_spaced(round(plan.low), round(plan.high), plan.count),
            name=plan.source,
            code=plan.source,
            repeat=plan.repeat,
            budget_s=plan.budget_s,
        )

    def stages(self, source: str) -> Job:
        """Return one run of a collection as it is."""
        collection = self._collection(source)
        return GraphStages(lambda: collection, source)

    def code(self, plan: Plan) -> str:
        """Return the line that does the same."""
        if plan.low is None or plan.high is None:
            return f"%graphstages {plan.source}"
        repeat = f" --repeat {plan.repeat}" if plan.repeat else ""
        wanted = f"{plan.low:.0f}:{plan.high:.0f}:{plan.count}"
        name = "npartitions" if self._is_count(plan.source) else "chunk"
        return f"%graphstages --sweep {name}={wanted}{repeat} {plan.source}"

    def _is_count(self, source: str) -> bool:
        return chunk_subject(self.namespace().get(source)).is_count

    def _collection(self, source: str) -> object:
        namespace = self.namespace()
        if source not in namespace:
            message = f"there is no variable {source} any more. Press Refresh"
            raise UsageError(message)
        return namespace[source]


def show_graph_panel(namespace: Namespace, keep: Keep) -> Panel:
    """Display the panel of ``%graphstages`` in the cell that runs now; as `show_size_panel`."""
    offer = GraphOffer(namespace)
    return Panel(offer, _WORDS, keep=keep, stages=offer.stages)


def _lengths(array: Any) -> Scale:  # noqa: ANN401  (an array of Dask)
    """Return lengths up to that of the longest axis."""
    known = [int(length) for length in array.shape if length == length and length > 0]  # noqa: PLR0124  (nan: unknown)
    longest = max(known, default=1)
    steps = _round_numbers(max(1, int(longest * _SHORTEST_SHARE)), longest)
    words = f"How long a chunk is along each axis; the longest axis has {longest:,}."
    return Scale(steps, _at(steps, longest * _FIRST_SHARE), len(steps) - 1, words)


def _partitions(frame: Any) -> Scale:  # noqa: ANN401  (a frame or bag of Dask)
    """Return numbers of partitions."""
    now = int(frame.npartitions)
    steps = _round_numbers(1, max(_MOST_PARTITIONS, now))
    words = f"Into how many partitions it is cut; now there are {now:,}."
    return Scale(steps, _at(steps, now / 4), _at(steps, now * 4), words)


def _round_numbers(low: int, high: int) -> tuple[tuple[str, float], ...]:
    """Return 1, 2 and 5 of each power of ten between two numbers, and these.

    >>> _round_numbers(80, 800)
    (('80', 80.0), ('100', 100.0), ('200', 200.0), ('500', 500.0), ('800', 800.0))
    """
    between = [
        times * 10**power
        for power in range(len(str(high)))
        for times in _STEPS
        if low < times * 10**power < high
    ]
    return tuple((f"{number:,}", float(number)) for number in sorted({low, *between, high}))


def _at(steps: tuple[tuple[str, float], ...], number: float) -> int:
    """Return the position of the last step that is not larger."""
    return max((at for at, (_, step) in enumerate(steps) if step <= number), default=0)
