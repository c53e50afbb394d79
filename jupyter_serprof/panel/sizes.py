"""The offers of the panels: values, sizes and transports, Dask collections and chunk sizes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.api.sweeps import size_sweep
from jupyter_serprof.experiments.chunks.look import chunk_subject
from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.experiments.engine.machine import MemoryGuard
from jupyter_serprof.experiments.engine.order import log_spaced
from jupyter_serprof.experiments.graphs.stages import GraphStages
from jupyter_serprof.experiments.graphs.values import list_collections
from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS, RoundTrip
from jupyter_serprof.experiments.sizes.subject import GENERATORS, Data, data_of, list_data
from jupyter_serprof.model import UsageError
from jupyter_serprof.model.units import format_bytes
from jupyter_serprof.panel.panel import Keep, Panel
from jupyter_serprof.panel.runner import Job, Plan, Scale, Source, Way, Words

Namespace = Callable[[], Mapping[str, object]]


def _value_of(namespace: Namespace, name: str) -> object:
    known = namespace()
    if name not in known:
        message = f"there is no variable {name} any more. Press Refresh"
        raise UsageError(message)
    return known[name]


_GENERATED, _VARIABLE = "generator:", "variable:"
_LEAST_BYTES, _MOST_BYTES = 1_000, 1_000_000_000
#: Chosen first: large enough to see how it grows, small enough to be done soon.
_FIRST_HIGH_BYTES = 10_000_000
_WORDS = Words("%serprof", "Measure", "Sizes", "Transports", "There is nothing to measure.")


@dataclass(frozen=True, slots=True)
class SizeOffer:
    """What the panel of ``%serprof`` offers.

    ``namespace``: Gives the variables of the user.
    """

    namespace: Namespace

    def sources(self) -> list[Source]:
        """Return the variables that are data, then the generators."""
        mine = []
        for data in list_data(self.namespace()):
            size = "" if data.size_bytes is None else f", {format_bytes(data.size_bytes)}"
            mine.append(Source(f"{_VARIABLE}{data.name}", f"{data.name}: {data.kind}{size}"))
        made = [
            Source(f"{_GENERATED}{key}", f"generated: {generator.title}", generator.state()[1])
            for key, generator in GENERATORS.items()
        ]
        return [*mine, *made]

    def ways(self) -> list[Way]:
        """Return every transport; those that cannot run here with the reason."""
        made = [kind() for kind in TRANSPORTS.values()]
        # Without the option that only a line can have.
        reasons = [way.state()[1].partition(", or ask for it")[0] for way in made]
        both = zip(made, reasons, strict=True)
        return [Way(way.key, way.title, why, way.is_asked() and not why) for way, why in both]

    def scale(self, source: str, ways: Sequence[str]) -> Scale:
        """Return the sizes that fit into the memory, or into the variable."""
        guard = MemoryGuard(tuple(ways))
        data = self._data(source)
        if data is not None and data.rows is None:
            words = "It has no rows to take fewer of: it makes the round trip as it is."
            return Scale((), 0, 0, words)
        if data is not None:
            return _rows_scale(data, guard) if data.size_bytes else _counts_scale(data.rows or 1)
        most = min(_MOST_BYTES, guard.most_bytes or _MOST_BYTES)
        if most < _MOST_BYTES:
            words = f"Bounded by the memory: {guard.bound}."
        else:
            words = f"Up to 1 GB; {guard.bound}." if guard.bound else "Up to 1 GB."
        return _bytes_scale(most, words)

    def start(self, plan: Plan) -> Job:
        """Return the sweep, or the round trip of what has one size."""
        if plan.source.startswith(_GENERATED):
            return self._sweep(plan, plan.source.removeprefix(_GENERATED))
        name = plan.source.removeprefix(_VARIABLE)
        value = _value_of(self.namespace, name)
        if plan.low is None:
            return RoundTrip(value, name=name, transports=plan.ways, repeat=plan.repeat)
        return self._sweep(plan, value, name)

    def _sweep(self, plan: Plan, make: object, name: str | None = None) -> Job:
        sizes, budget_s = self._sizes(plan), plan.budget_s
        return size_sweep(make, sizes, plan.ways, plan.repeat, budget_s=budget_s, name=name)

    def code(self, plan: Plan) -> str:
        """Return the call that does the same; a magic for what has one size."""
        if plan.low is None:
            repeat = f" --repeat {plan.repeat}" if plan.repeat else ""
            name = plan.source.removeprefix(_VARIABLE)
            return f"%serprof --transports {','.join(plan.ways)}{repeat} {name}"
        is_made = plan.source.startswith(_GENERATED)
        key = plan.source.removeprefix(_GENERATED).removeprefix(_VARIABLE)
        ends = f"repeat={plan.repeat}" if plan.repeat else f"budget_s={plan.budget_s:g}"
        sizes = ", ".join(f"{size:_}" for size in self._sizes(plan))
        what = repr(key) if is_made else key
        return f"sp.sweep({what}, [{sizes}], {list(plan.ways)}, {ends})"

    def _data(self, source: str) -> Data | None:
        if not source.startswith(_VARIABLE):
            return None
        name = source.removeprefix(_VARIABLE)
        return data_of(name, self.namespace().get(name))

    def _sizes(self, plan: Plan) -> tuple[int, ...]:
        """Return bytes for a generator, rows for a variable; round numbers read better."""
        low, high = plan.low or _LEAST_BYTES, plan.high or _LEAST_BYTES
        data = self._data(plan.source)
        if data is not None and data.rows:
            each = data.size_bytes / data.rows if data.size_bytes else 1.0
            low = max(1, math.ceil(low / each))
            high = min(data.rows, max(low, math.floor(high / each)))
        if low == high:
            return (round(low),)
        sizes = log_spaced(round(low), round(high), plan.count)
        rounded = {int(float(f"{size:.2e}")) for size in sizes[1:-1]}  # to three digits
        return tuple(sorted(rounded | {round(low), round(high)}))


def show_panel(namespace: Namespace, keep: Keep, *, is_graph: bool) -> Panel:
    """Display the panel of ``%serprof`` or of ``%graphstages`` in the cell that runs now.

    ``namespace``: Gives the variables of the user, whenever they are looked at.
    ``keep``: Called at the end of each sweep with its document, and with what shows it in the cell.
    """
    if is_graph:
        offer = GraphOffer(namespace)
        return Panel(offer, _GRAPH_WORDS, keep=keep, stages=offer.stages)
    return Panel(SizeOffer(namespace), _WORDS, keep=keep)


def _bytes_scale(most_bytes: float, words: str) -> Scale:
    ladder = _steps(_LEAST_BYTES, _MOST_BYTES, format_label)
    steps = tuple(step for step in ladder if step[1] <= most_bytes) or ladder[:1]
    return Scale(steps, 0, _at(steps, _FIRST_HIGH_BYTES), words)


def _rows_scale(data: Data, guard: MemoryGuard) -> Scale:
    size, rows = data.size_bytes or 1, data.rows or 1
    fits = _bytes_scale(min(size, guard.most_bytes or size), "")
    below = [step for step in fits.steps if size / rows <= step[1] < size]
    is_whole = guard.most_bytes is None or size <= guard.most_bytes
    last = [(f"all, {format_bytes(size)}", float(size))] if is_whole or not below else []
    steps = (*below, *last)
    words = f"Its leading rows are taken: up to all {rows:,} of them, {format_bytes(size)}."
    if not is_whole:
        words = f"Its leading rows are taken. Bounded by the memory: {guard.bound}."
    return Scale(steps, 0, len(steps) - 1, words)


def _counts_scale(rows: int) -> Scale:
    steps = _steps(1, rows, "{:,} rows".format)
    words = f"Its leading rows are taken: up to all {rows:,} of them."
    return Scale(steps, 0, len(steps) - 1, words)


def format_label(size_bytes: float) -> str:
    """Return a round size without digits that say nothing.

    >>> format_label(1000), format_label(500_000_000)
    ('1 kB', '500 MB')
    """
    number, unit = format_bytes(size_bytes).split(" ")
    return f"{float(number):g} {unit}"


_GRAPH_WORDS = Words(
    magic="%graphstages",
    source="Collection",
    sizes="Chunk sizes",
    ways="",
    nothing="There is no Dask collection among your variables.",
    extra="Show stages",
)
#: Of the longest axis: what is shorter makes too many tasks.
_SHORTEST_SHARE = 0.01
#: Chosen first: from so small a part of the longest axis on.
_FIRST_SHARE = 0.1
_MOST_PARTITIONS = 1000


@dataclass(frozen=True, slots=True)
class GraphOffer:
    """What the panel of ``%graphstages`` offers.

    ``namespace``: Gives the variables of the user.
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
        return ChunkSweep(
            _value_of(self.namespace, plan.source),
            log_spaced(round(plan.low or 1), round(plan.high or 1), plan.count),
            name=plan.source,
            code=plan.source,
            repeat=plan.repeat,
            budget_s=plan.budget_s,
        )

    def stages(self, source: str) -> Job:
        """Return one run of a collection as it is."""
        collection = _value_of(self.namespace, source)
        return GraphStages(lambda: collection, source)

    def code(self, plan: Plan) -> str:
        """Return the line that does the same."""
        if plan.low is None or plan.high is None:
            return f"%graphstages {plan.source}"
        repeat = f" --repeat {plan.repeat}" if plan.repeat else ""
        wanted = f"{plan.low:.0f}:{plan.high:.0f}:{plan.count}"
        is_count = chunk_subject(self.namespace().get(plan.source)).is_count
        name = "npartitions" if is_count else "chunk"
        return f"%graphstages --sweep {name}={wanted}{repeat} {plan.source}"


def _lengths(array: Any) -> Scale:  # noqa: ANN401  (an array of Dask)
    known = [int(length) for length in array.shape if length == length and length > 0]  # noqa: PLR0124  (nan: unknown)
    longest = max(known, default=1)
    steps = _steps(max(1, int(longest * _SHORTEST_SHARE)), longest)
    words = f"How long a chunk is along each axis; the longest axis has {longest:,}."
    return Scale(steps, _at(steps, longest * _FIRST_SHARE), len(steps) - 1, words)


def _partitions(frame: Any) -> Scale:  # noqa: ANN401  (a frame or bag of Dask)
    now = int(frame.npartitions)
    steps = _steps(1, max(_MOST_PARTITIONS, now))
    words = f"Into how many partitions it is cut; now there are {now:,}."
    return Scale(steps, _at(steps, now / 4), _at(steps, now * 4), words)


def _steps(
    low: int, high: int, label: Callable[[float], str] = "{:,}".format
) -> tuple[tuple[str, float], ...]:
    return tuple((label(number), float(number)) for number in _round_numbers(low, high))


def _round_numbers(low: int, high: int) -> list[int]:
    """Return 1, 2 and 5 of each power of ten between two numbers, and these."""
    known = (times * 10**power for power in range(len(str(high))) for times in (1, 2, 5))
    return sorted({low, high, *(number for number in known if low < number < high)})


def _at(steps: tuple[tuple[str, float], ...], number: float) -> int:
    return max((at for at, (_, step) in enumerate(steps) if step <= number), default=0)
