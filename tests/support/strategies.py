"""Hypothesis strategies: any Trace or Sweep that a document can hold, and plain JSON data.

``traces()`` and ``sweeps()`` are consistent (rows add up, parents exist, variants are listed) and
canonical: they hold what a reader gets back, so that ``==`` states a round trip.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from hypothesis import strategies as st

from jupyter_serprof.analysis.outline import outline_of
from jupyter_serprof.model import (
    STAGES,
    Anatomy,
    Change,
    Comparison,
    Crossover,
    Finding,
    Fit,
    Group,
    Holdout,
    Lane,
    Limits,
    Part,
    Point,
    Prediction,
    ProbeReport,
    Quality,
    Row,
    Span,
    Stage,
    Summary,
    Sweep,
    SweepTrace,
    Table,
    TableColumn,
    Trace,
    Variant,
    Waterfall,
)
from jupyter_serprof.model.trace import VERDICTS

LARGEST = 2**63 - 1

#: Any text that Python holds, lone surrogates included: a span's name comes from the user's code.
texts = st.text(st.characters(), max_size=8)
whole = st.integers(0, LARGEST)
any_whole = st.integers(-LARGEST, LARGEST)
unknown_or_whole = st.none() | whole
rates = st.none() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | any_whole | texts | rates
scalar_maps = st.dictionaries(texts, scalars, max_size=3)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
details = st.none() | st.dictionaries(texts, json_values, min_size=1, max_size=3)

stages = st.builds(
    Stage,
    key=texts,
    title=texts,
    order=any_whole,
    family=texts,
    waits=st.booleans(),
    note=texts,
    parent=texts,
)
lanes = st.builds(
    Lane,
    key=texts,
    kind=texts,
    process=any_whole,
    clock_offset_ns=any_whole,
    clock_error_ns=whole,
)
probe_reports = st.builds(
    ProbeReport,
    name=texts,
    version=st.none() | texts,
    state=texts,
    level=texts,
    unseen=st.lists(texts, max_size=2).map(tuple),
)
qualities = st.builds(
    Quality,
    spans_dropped=whole,
    span_cost_ns=unknown_or_whole,
    clock_error_ns=whole,
    probes=st.lists(probe_reports, max_size=2).map(tuple),
    notes=st.lists(texts, max_size=2).map(tuple),
)
summaries = st.none() | st.builds(
    Summary,
    headline=texts,
    facts=st.lists(texts, max_size=2).map(tuple),
    strict_share=rates,
    total_share=rates,
)
limits = st.builds(Limits, memcpy_bytes_per_s=rates, first_touch_bytes_per_s=rates)


def findings(count: int) -> st.SearchStrategy[tuple[Finding, ...]]:
    """Draw findings that point at some of ``count`` spans."""
    pointed = st.lists(st.integers(0, count - 1), max_size=3) if count else st.just([])
    one = st.builds(
        Finding,
        rule=texts,
        severity=st.sampled_from(["info", "warn"]),
        title=texts,
        evidence=scalar_maps,
        remedy=texts,
        gain=rates,
        spans=pointed.map(tuple),
        measured=st.none() | st.dictionaries(texts, scalars, min_size=1, max_size=3),
    )
    return st.lists(one, max_size=2).map(tuple)


def spans(count: int, keys: list[str], lane_keys: list[str]) -> st.SearchStrategy[tuple[Span, ...]]:
    """Draw ``count`` spans whose parents come before them, in the given stages and lanes."""
    drawn = (_span(index, keys, lane_keys) for index in range(count))
    return st.tuples(*drawn)


def _span(index: int, keys: list[str], lane_keys: list[str]) -> st.SearchStrategy[Span]:
    return st.builds(
        Span,
        stage=st.sampled_from(keys),
        name=texts,
        lane=st.sampled_from(lane_keys),
        start_ns=any_whole,
        duration_ns=whole,
        size_bytes=unknown_or_whole,
        parent=st.integers(-1, index - 1),
        details=details,
    )


groups = st.lists(
    st.builds(Group, title=texts, start_ns=any_whole, end_ns=any_whole), max_size=2
).map(tuple)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw a table whose rows are as long as it has columns."""
    columns = draw(st.lists(st.builds(TableColumn, key=texts, title=texts, unit=texts), max_size=3))
    cells = st.tuples(*[scalars] * len(columns))
    return Table(
        key=draw(texts),
        title=draw(texts),
        columns=tuple(columns),
        rows=tuple(draw(st.lists(cells, max_size=2))),
        note=draw(texts),
    )


@st.composite
def anatomies(draw: st.DrawFn) -> Anatomy:
    """Draw an anatomy whose parts each stand behind the one that holds them."""
    parts: list[Part] = []
    for index in range(draw(st.integers(0, 4))):
        parent = draw(st.integers(0, index - 1)) if index else -1
        label = draw(texts)
        parts.append(
            Part(
                label=label,
                path=(parts[parent].path if index else "") + label,
                kind=draw(texts),
                parent=parent,
                self_bytes=draw(whole),
                in_band_bytes=draw(whole),
                out_of_band_bytes=draw(whole),
                duration_ns=draw(unknown_or_whole),
                count=draw(whole),
                state=draw(texts),
                note=draw(texts),
            )
        )
    return Anatomy(
        name=draw(texts),
        pickler=draw(texts),
        protocol=draw(any_whole),
        in_band_bytes=draw(whole),
        out_of_band_bytes=draw(whole),
        plain_bytes=draw(unknown_or_whole),
        duration_ns=draw(unknown_or_whole),
        is_complete=draw(st.booleans()),
        parts=tuple(parts),
        notes=tuple(draw(st.lists(texts, max_size=2))),
    )


predictions = st.none() | st.builds(
    Prediction,
    size_bytes=whole,
    bandwidth_bytes_per_s=rates,
    low_ns=unknown_or_whole,
    high_ns=unknown_or_whole,
    holdout_bytes=unknown_or_whole,
    error_share=rates,
    straight_error_share=rates,
    assumptions=st.lists(texts, max_size=2).map(tuple),
)
comparisons = st.none() | st.builds(
    Comparison,
    before=texts,
    after=texts,
    changes=st.lists(
        st.builds(
            Change,
            stage=texts,
            title=texts,
            before_ns=rates,
            after_ns=rates,
            verdict=st.sampled_from(VERDICTS),
            ratio=rates,
            low=rates,
            high=rates,
            before_runs=whole,
            after_runs=whole,
            variant=texts,
            size_bytes=unknown_or_whole,
            cold=st.none() | st.booleans(),
            reason=texts,
        ),
        max_size=2,
    ).map(tuple),
    noise_share=rates,
    is_paired=st.booleans(),
    method=texts,
    notes=st.lists(texts, max_size=2).map(tuple),
)


def rows(
    keys: list[str], lane_keys: list[str], group_count: int = 0
) -> st.SearchStrategy[tuple[Row, ...]]:
    """Draw rows of a waterfall in the given stages and lanes; their sum stays within int64."""
    group_indices = st.integers(0, group_count - 1) if group_count else st.nothing()
    nanoseconds = st.integers(0, 2**40)
    one = st.builds(
        Row,
        stage=st.sampled_from(keys),
        lane=st.sampled_from(lane_keys),
        start_ns=any_whole,
        self_ns=nanoseconds,
        busy_ns=whole,
        size_bytes=unknown_or_whole,
        count=whole,
        copied_bytes=unknown_or_whole,
        minor_faults=unknown_or_whole,
        pieces=st.lists(st.tuples(any_whole, any_whole), max_size=3).map(tuple),
        group=st.none() | group_indices,
    )
    return st.lists(one, max_size=3).map(tuple)


@st.composite
def traces(draw: st.DrawFn, max_spans: int = 6) -> Trace:
    """Draw a trace; stages and lanes may be met in spans and rows without being described."""
    described = draw(st.lists(stages, max_size=3, unique_by=lambda entry: entry.key))
    known_lanes = draw(st.lists(lanes, max_size=3, unique_by=lambda lane: lane.key))
    keys = [entry.key for entry in described] + ["ray.store", "ray.unpickle", "spark.shuffle"]
    lane_keys = [lane.key for lane in known_lanes] + ["client/main", "worker/1"]
    count = draw(st.integers(0, max_spans))
    drawn_groups = draw(groups)
    some_rows = rows(keys, lane_keys, len(drawn_groups))
    waterfall = draw(st.none() | st.builds(Waterfall, some_rows, st.integers(0, 2**40)))
    trace = Trace(
        name=draw(texts),
        started=draw(texts),
        wall_ns=_wall_ns(waterfall) if waterfall else draw(whole),
        outcome=draw(st.sampled_from(["ok", "error", "interrupted"])),
        producer=draw(texts),
        stages=tuple(described),
        lanes=tuple(known_lanes),
        spans=draw(spans(count, keys, lane_keys)),
        waterfall=waterfall,
        summary=draw(summaries),
        findings=draw(findings(count)),
        groups=drawn_groups,
        tables=draw(st.lists(tables(), max_size=2).map(tuple)),
        anatomies=tuple(draw(st.lists(anatomies(), max_size=2))),
        prediction=draw(predictions),
        comparison=draw(comparisons),
        limits=draw(limits),
        quality=draw(qualities),
        environment=draw(scalar_maps),
    )
    return outlined(trace) if draw(st.booleans()) else trace


def outlined(trace: Trace) -> Trace:
    """Return a trace whose waterfall says what stands below what."""
    if trace.waterfall is None:
        return trace
    outline = outline_of(trace.waterfall.rows, trace)
    return replace(trace, waterfall=replace(trace.waterfall, outline=outline))


def _wall_ns(waterfall: Waterfall) -> int:
    return sum(row.self_ns for row in waterfall.rows) + waterfall.unaccounted_ns


sizes = st.integers(1, LARGEST)
fits = st.builds(
    Fit,
    variant=texts,
    cold=st.booleans(),
    from_bytes=sizes,
    to_bytes=sizes,
    growth=st.sampled_from(["constant", "linear", "superlinear", "sublinear", "cannot tell"]),
    stage=texts,
    **dict.fromkeys(("fixed_ns", "ns_per_byte", "fixed_low", "fixed_high", "low", "high"), rates),
    **dict.fromkeys(("exponent", "exponent_low", "exponent_high"), rates),
    cause=texts,
    holdout=st.none() | st.builds(Holdout, sizes, rates.filter(lambda rate: rate is not None)),
)
crossings = st.builds(
    Crossover,
    title=texts,
    cold=st.booleans(),
    faster=texts,
    slower=texts,
    from_bytes=st.none() | sizes,
    to_bytes=st.none() | sizes,
)


@st.composite
def sweeps(draw: st.DrawFn) -> Sweep:
    """Draw a sweep whose points and traces belong to variants that it lists."""
    keys = draw(st.lists(texts, min_size=1, max_size=3, unique=True))
    return Sweep(
        name=draw(texts),
        started=draw(texts),
        kind=draw(st.sampled_from(["roundtrip", "sweep", "chunks"])),
        parameter=draw(texts),
        producer=draw(texts),
        variants=tuple(draw(_variants(key)) for key in keys),
        points=tuple(draw(st.lists(_points(keys), max_size=3))),
        traces=tuple(draw(st.lists(_sweep_traces(keys), max_size=2))),
        fits=tuple(draw(st.lists(fits, max_size=2))),
        crossovers=tuple(draw(st.lists(crossings, max_size=2))),
        summary=draw(summaries),
        findings=draw(findings(0)),
        comparison=draw(comparisons),
        control=draw(st.dictionaries(texts, st.lists(whole, max_size=3).map(tuple), max_size=3)),
        limits=draw(limits),
        quality=draw(qualities),
        environment=draw(scalar_maps),
    )


def _variants(key: str) -> st.SearchStrategy[Variant]:
    return st.builds(
        Variant,
        key=st.just(key),
        title=texts,
        state=st.sampled_from(["ok", "failed", "not installed", "not running", "skipped"]),
        reason=texts,
        result=texts,
        facts=scalar_maps,
        buffers=st.lists(st.tuples(whole, texts), max_size=2).map(tuple),
        notes=st.lists(texts, max_size=2).map(tuple),
    )


def _points(keys: list[str]) -> st.SearchStrategy[Point]:
    return st.builds(
        Point,
        variant=st.sampled_from(keys),
        size_bytes=unknown_or_whole,
        repeat=whole,
        cold=st.booleans(),
        wall_ns=whole,
        moved_bytes=unknown_or_whole,
        stages=st.dictionaries(texts, whole, max_size=3),
        minor_faults=unknown_or_whole,
        parameter=rates,
    )


def _sweep_traces(keys: list[str]) -> st.SearchStrategy[SweepTrace]:
    return st.builds(
        SweepTrace, st.sampled_from(keys), unknown_or_whole, st.booleans(), traces(max_spans=2)
    )


def described(trace: Trace) -> Trace:
    """Return what a reader gets: each stage and lane that is used also stands in its table.

    Tables keep their order; what only spans, then rows, use follows in the order of first use.
    """
    used: list[Span | Row] = [*trace.spans, *(trace.waterfall.rows if trace.waterfall else ())]
    by_key: Mapping[str, Stage] = {entry.key: entry for entry in trace.stages}
    by_lane: Mapping[str, Lane] = {lane.key: lane for lane in trace.lanes}
    keys = dict.fromkeys([*by_key, *(item.stage for item in used)])
    lane_keys = dict.fromkeys([*by_lane, *(item.lane for item in used)])
    return replace(
        trace,
        stages=tuple(by_key.get(key) or _plain_stage(key) for key in keys),
        lanes=tuple(by_lane.get(key) or Lane(key) for key in lane_keys),
    )


def _plain_stage(key: str) -> Stage:
    return STAGES.get(key) or Stage(key, key, 80, "other")


def described_sweep(sweep: Sweep) -> Sweep:
    """Return what a reader of a sweep gets: its traces with complete tables."""
    traces_of = tuple(replace(entry, trace=described(entry.trace)) for entry in sweep.traces)
    return replace(sweep, traces=traces_of)


#: What a damaged, edited or hostile file may hold anywhere.
FOREIGN_VALUES: tuple[object, ...] = (
    None,
    True,
    -1,
    1.0,
    0.5,
    10**30,
    -(2**63),
    float("nan"),
    float("inf"),
    "text",
    "\ud800",
    [],
    ["text"],
    {},
    {"unknown": [None]},
)


def positions(value: object) -> list[tuple[str | int, ...]]:
    """Return the path of every value inside a JSON value, outermost first."""
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    inside = [(key, *rest) for key, item in items for rest in [(), *positions(item)]]
    return sorted(inside, key=len)


def changed(document: object, path: tuple[str | int, ...], value: object) -> dict[str, object]:
    """Return a copy of a document with one value replaced or added."""
    copy, holder = _holder(document, path)
    holder[path[-1]] = value
    return copy


def without(document: object, path: tuple[str | int, ...]) -> dict[str, object]:
    """Return a copy of a document with one value taken away."""
    copy, holder = _holder(document, path)
    del holder[path[-1]]
    return copy


def _holder(document: object, path: tuple[str | int, ...]) -> tuple[dict[str, object], Any]:
    copy = cast("dict[str, object]", deepcopy(document))
    holder: Any = copy
    for step in path[:-1]:
        holder = holder[step]
    return copy, holder


@st.composite
def mutated(draw: st.DrawFn, document: object, values: st.SearchStrategy[object]) -> object:
    """Draw a copy of a document with one or two values replaced, taken away or added."""
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(positions(document)))
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove":
            document = without(document, path)
        elif action == "replace" or isinstance(path[-1], int):
            document = changed(document, path, draw(values))
        else:
            document = changed(document, (*path[:-1], "unknown"), draw(values))
    return document
