"""Hypothesis strategies: any Trace or Sweep that a document can hold, and plain JSON data.

``traces()`` and ``sweeps()`` are consistent (rows add up, parents exist, variants are listed) and
canonical: they hold what a reader gets back, so that ``==`` states a round trip.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any, cast

from hypothesis import strategies as st

from jupyter_serprof import model
from jupyter_serprof.analysis.outline import outlined
from jupyter_serprof.model.sweep import BestSize

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

#: What a field of the model may hold, by its type.
FIELDS: Mapping[str, st.SearchStrategy[Any]] = {
    "str": texts,
    "bool": st.booleans(),
    "bool | None": st.none() | st.booleans(),
    "int": whole,
    "int | None": unknown_or_whole,
    "float | None": rates,
    "tuple[str, ...]": st.lists(texts, max_size=2).map(tuple),
    "Mapping[str, Scalar]": scalar_maps,
}


def built(kind: type[Any], /, **own: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw an object of the model: each field by its type, but those that are given."""
    known = {f.name: FIELDS[str(f.type)] for f in fields(kind) if f.name not in own}
    return st.builds(kind, **known, **own)


def some(one: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw a tuple of a few."""
    return st.lists(one, max_size=most).map(tuple)


stages = built(model.Stage, order=any_whole)
lanes = built(model.Lane, process=any_whole, clock_offset_ns=any_whole)
probe_reports = built(model.ProbeReport, version=st.none() | texts)
qualities = built(model.Quality, probes=some(probe_reports))
summaries = st.none() | built(model.Summary)
limits = built(model.Limits)


def findings(count: int) -> st.SearchStrategy[tuple[model.Finding, ...]]:
    """Draw findings that point at some of ``count`` spans."""
    pointed = st.lists(st.integers(0, count - 1), max_size=3) if count else st.just([])
    one = built(
        model.Finding,
        severity=st.sampled_from(["info", "warn"]),
        spans=pointed.map(tuple),
        measured=st.none() | st.dictionaries(texts, scalars, min_size=1, max_size=3),
        share=st.none() | st.floats(0, 1),
    )
    return some(one)


def spans(
    count: int, keys: list[str], lane_keys: list[str]
) -> st.SearchStrategy[tuple[model.Span, ...]]:
    """Draw ``count`` spans whose parents come before them, in the given stages and lanes."""
    drawn = (_span(index, keys, lane_keys) for index in range(count))
    return st.tuples(*drawn)


def _span(index: int, keys: list[str], lane_keys: list[str]) -> st.SearchStrategy[model.Span]:
    where = {"stage": st.sampled_from(keys), "lane": st.sampled_from(lane_keys)}
    parent = st.integers(-1, index - 1)
    known = {**where, "start_ns": any_whole, "parent": parent, "details": details}
    return st.builds(
        model.Span, **known, name=texts, duration_ns=whole, size_bytes=unknown_or_whole
    )


groups = some(built(model.Group, start_ns=any_whole, end_ns=any_whole))


@st.composite
def tables(draw: st.DrawFn) -> model.Table:
    """Draw a table whose rows are as long as it has columns."""
    columns = draw(some(built(model.TableColumn), 3))
    cells = st.tuples(*[scalars] * len(columns))
    return cast("model.Table", draw(built(model.Table, columns=st.just(columns), rows=some(cells))))


@st.composite
def anatomies(draw: st.DrawFn) -> model.Anatomy:
    """Draw an anatomy whose parts each stand behind the one that holds them."""
    parts: list[model.Part] = []
    for index in range(draw(st.integers(0, 4))):
        parent = draw(st.integers(0, index - 1)) if index else -1
        label = draw(texts)
        path = (parts[parent].path if index else "") + label
        given = {"label": label, "path": path, "parent": parent}
        exact = {key: st.just(value) for key, value in given.items()}
        parts.append(draw(built(model.Part, **exact)))
    made = draw(built(model.Anatomy, protocol=any_whole, parts=st.just(tuple(parts))))
    return cast("model.Anatomy", made)


VERDICTS = ["faster", "slower", "cannot tell", "only before", "only after"]
changes = some(built(model.Change, verdict=st.sampled_from(VERDICTS)))
comparisons = st.none() | built(model.Comparison, changes=changes)
known_by_all = {"summary": summaries, "comparison": comparisons, "limits": limits}
known_by_all["quality"] = qualities


def rows(
    keys: list[str], lane_keys: list[str], group_count: int = 0
) -> st.SearchStrategy[tuple[model.Row, ...]]:
    """Draw rows of a waterfall in the given stages and lanes; their sum stays within int64."""
    group_indices = st.integers(0, group_count - 1) if group_count else st.nothing()
    nanoseconds = st.integers(0, 2**40)
    one = built(
        model.Row,
        stage=st.sampled_from(keys),
        lane=st.sampled_from(lane_keys),
        start_ns=any_whole,
        self_ns=nanoseconds,
        pieces=some(st.tuples(any_whole, any_whole), 3),
        group=st.none() | group_indices,
    )
    return some(one, 3)


@st.composite
def traces(draw: st.DrawFn, max_spans: int = 6) -> model.Trace:
    """Draw a trace; stages and lanes may be met in spans and rows without being described."""
    described = draw(st.lists(stages, max_size=3, unique_by=lambda entry: entry.key))
    known_lanes = draw(st.lists(lanes, max_size=3, unique_by=lambda lane: lane.key))
    keys = [entry.key for entry in described] + ["ray.store", "ray.unpickle", "spark.shuffle"]
    lane_keys = [lane.key for lane in known_lanes] + ["client/main", "worker/1"]
    count = draw(st.integers(0, max_spans))
    drawn_groups = draw(groups)
    some_rows = rows(keys, lane_keys, len(drawn_groups))
    waterfall = draw(st.none() | st.builds(model.Waterfall, some_rows, st.integers(0, 2**40)))
    one = built(
        model.Trace,
        wall_ns=st.just(_wall_ns(waterfall)) if waterfall else whole,
        outcome=st.sampled_from(["ok", "error", "interrupted"]),
        stages=st.just(tuple(described)),
        lanes=st.just(tuple(known_lanes)),
        spans=spans(count, keys, lane_keys),
        waterfall=st.just(waterfall),
        findings=findings(count),
        groups=st.just(drawn_groups),
        tables=some(tables()),
        anatomies=some(anatomies()),
        **known_by_all,
    )
    trace: model.Trace = draw(one)
    return outlined(trace) if draw(st.booleans()) else trace


def _wall_ns(waterfall: model.Waterfall) -> int:
    return sum(row.self_ns for row in waterfall.rows) + waterfall.unaccounted_ns


sizes = st.integers(1, LARGEST)
fits = built(
    model.Fit,
    **dict.fromkeys(("from_bytes", "to_bytes"), sizes),
    growth=st.sampled_from(["constant", "linear", "cannot tell"]),
)
bests = built(BestSize, **dict.fromkeys(("size_bytes", "low_bytes", "high_bytes"), sizes))
crossings = built(model.Crossover, **dict.fromkeys(("from_bytes", "to_bytes"), sizes))


@st.composite
def sweeps(draw: st.DrawFn) -> model.Sweep:
    """Draw a sweep whose points and traces belong to variants that it lists."""
    keys = draw(st.lists(texts, min_size=1, max_size=3, unique=True))
    one = built(
        model.Sweep,
        kind=st.sampled_from(["roundtrip", "sweep", "chunks"]),
        variants=st.tuples(*map(_variants, keys)),
        points=some(_points(keys), 3),
        traces=some(_sweep_traces(keys)),
        fits=some(fits),
        crossovers=some(crossings),
        best=st.none() | bests,
        findings=findings(0),
        control=st.dictionaries(texts, some(whole, 3), max_size=3),
        **known_by_all,
    )
    return cast("model.Sweep", draw(one))


def _variants(key: str) -> st.SearchStrategy[model.Variant]:
    states = ["ok", "failed", "not installed", "not running", "skipped"]
    own = {"key": st.just(key), "state": st.sampled_from(states)}
    return built(model.Variant, **own, buffers=some(st.tuples(whole, texts)))


def _points(keys: list[str]) -> st.SearchStrategy[model.Point]:
    stages = st.dictionaries(texts, whole, max_size=3)
    loops = st.none() | st.integers(1, 1000)
    return built(model.Point, variant=st.sampled_from(keys), stages=stages, loops=loops)


def _sweep_traces(keys: list[str]) -> st.SearchStrategy[model.SweepTrace]:
    trace = traces(max_spans=2)
    return built(model.SweepTrace, variant=st.sampled_from(keys), trace=trace)


def described(trace: model.Trace) -> model.Trace:
    """Return what a reader gets: each stage and lane that is used also stands in its table."""
    # Tables keep their order; what only spans, then rows, use follows in the order of first use.
    used: list[model.Span | model.Row] = [
        *trace.spans,
        *(trace.waterfall.rows if trace.waterfall else ()),
    ]
    by_key: Mapping[str, model.Stage] = {entry.key: entry for entry in trace.stages}
    by_lane: Mapping[str, model.Lane] = {lane.key: lane for lane in trace.lanes}
    keys = dict.fromkeys([*by_key, *(item.stage for item in used)])
    lane_keys = dict.fromkeys([*by_lane, *(item.lane for item in used)])
    return replace(
        trace,
        stages=tuple(by_key.get(key) or _plain_stage(key) for key in keys),
        lanes=tuple(by_lane.get(key) or model.Lane(key) for key in lane_keys),
    )


def _plain_stage(key: str) -> model.Stage:
    return model.STAGES.get(key) or model.Stage(key, key, 80, "other")


def described_sweep(sweep: model.Sweep) -> model.Sweep:
    """Return what a reader of a sweep gets: its traces with complete tables."""
    traces_of = tuple(replace(entry, trace=described(entry.trace)) for entry in sweep.traces)
    return replace(sweep, traces=traces_of)


#: What a damaged, edited or hostile file may hold anywhere.
FOREIGN_VALUES: tuple[object, ...] = (
    *(None, True, -1, 1.0, 0.5, 10**30, -(2**63), float("nan"), float("inf"), "text", "\ud800", []),
    *(["text"], {}, {"unknown": [None]}),
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
