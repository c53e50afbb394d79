"""Documents: what is written comes back, for ever; whatever is damaged is named with a remedy."""

import json
import re
from dataclasses import asdict, replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import getitem
from pathlib import Path
from pprint import pformat
from typing import Any, cast

import numpy as np
import pytest
from goldens import check
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from strategies import (
    FOREIGN_VALUES,
    changed,
    described,
    described_sweep,
    json_values,
    mutated,
    positions,
    sweeps,
    traces,
    without,
)

from jupyter_serprof import model
from jupyter_serprof.model.codec import PLAIN_LIMIT

DATA = Path(__file__).parents[1] / "data"
REMEDIES = ("Take an undamaged copy", "Open a file", "Run: pip install")


def golden(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / f"{name}.serprof.json").read_bytes())
    return data


TRACE = golden("trace.v1")
SWEEP = golden("sweep.v1")


def small(**parts: Any) -> model.Trace:
    return model.Trace(name="x", started="2026-11-21T08:00:00.000Z", wall_ns=9, **parts)


def travelled(doc: model.Trace | model.Sweep) -> dict[str, Any]:
    """Return the document of a trace or sweep after its journey through strict JSON."""
    data: dict[str, Any] = json.loads(json.dumps(model.to_document(doc), allow_nan=False))
    return data


def complaint(document: object) -> str:
    """Return the message with which a document is refused; it must carry a remedy."""
    with pytest.raises(model.DocumentError) as caught:
        model.from_document(document)
    message = str(caught.value)
    assert any(remedy in message for remedy in REMEDIES), message
    assert len(message) < 500
    return message


# Round trips


@given(traces() | sweeps())
@settings(max_examples=80, phases=[Phase.generate])  # to shrink traces within sweeps takes minutes
def test_a_document_comes_back_with_its_stages_and_lanes_described(
    doc: model.Trace | model.Sweep,
) -> None:
    """Every field is equal after saving, and each stage and lane in use is in its table."""
    document = travelled(doc)

    read = model.from_document(document)

    assert read == (described_sweep(doc) if isinstance(doc, model.Sweep) else described(doc))
    assert travelled(read) == document


@given(traces().filter(lambda trace: trace.spans))
@settings(max_examples=5, phases=[Phase.generate])  # to shrink thousands of spans takes minutes
def test_a_trace_above_the_packing_limit_comes_back(trace: model.Trace) -> None:
    """Large traces travel packed; no value changes, unknown sizes stay unknown."""
    many = replace(trace, spans=trace.spans * (PLAIN_LIMIT // len(trace.spans) + 1))
    document = travelled(many)

    read = model.from_document(document)

    assert {type(column) for column in document["spans"].values()} == {dict}
    assert read == described(many)
    assert travelled(read) == document


def test_a_lane_or_stage_given_twice_does_not_move_the_others() -> None:
    """Tables are keyed; the first of two equal keys counts, and every index still fits."""
    twice = small(
        stages=(model.stage("ray.store"), model.stage("ray.store"), model.stage("gc")),
        lanes=(model.Lane("a"), model.Lane("a"), model.Lane("b")),
        spans=(model.Span("gc", "collect", "b", 0, 5), model.Span("import", "numpy", "c", 0, 5)),
    )

    read = model.from_document(travelled(twice))

    assert isinstance(read, model.Trace)
    assert read.spans == twice.spans
    assert [lane.key for lane in read.lanes] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("odd", "written"),
    [
        *((float("nan"), None), (float("-inf"), None), (2**63, None), (np.int64(3), 3)),
        *((np.float32(0.5), 0.5), (Fraction(1, 2), 0.5), (Decimal(1), None), (b"bytes", None)),
        *(({1, 2}, None), (object(), None), ((1, 2), [1, 2]), ({1: "a"}, {"1": "a"})),
        (np.zeros(3), None),
    ],
)
def test_a_detail_that_json_cannot_hold_is_unknown_and_loses_nothing_else(
    odd: object, written: object
) -> None:
    """One odd value from a probe costs that value, not the measurement."""
    span = model.Span("user", "mine", "client/main", 0, 5, details={"odd": odd, "good": [1, "a"]})

    document = travelled(small(spans=(span,)))

    assert document["details"] == {"0": {"odd": written, "good": [1, "a"]}}
    assert isinstance(model.from_document(document), model.Trace)


def test_a_number_of_numpy_is_written_as_the_number() -> None:
    """Sizes often come from ``np.geomspace``; a document of them can be saved."""
    point = model.Point("a", 10, 0, True, 5, None, {}, parameter=np.float64(1e3))  # noqa: FBT003
    sweep = model.Sweep(name="x", started="", variants=(model.Variant("a", "a"),), points=(point,))

    written = model.to_document(sweep)

    assert written["points"][0]["parameter"] == 1e3  # type: ignore[index]  # a list of points


def test_a_rate_that_is_no_number_is_written_as_unknown() -> None:
    """Unknown is null in a document; NaN and infinity are not JSON."""
    trace = small(limits=model.Limits(float("nan"), float("inf")))

    read = model.from_document(travelled(trace))

    assert isinstance(read, model.Trace)
    assert read.limits == model.Limits(None, None)


@pytest.mark.parametrize("circular", [True, False])
def test_details_without_bottom_are_cut(circular: bool) -> None:
    """A detail that contains itself, or is nested without end, does not take the stack."""
    deep: dict[str, object] = {}
    inner = deep
    for _ in range(1 if circular else 100_000):
        inner["deeper"] = deep if circular else {}
        inner = cast("dict[str, object]", inner["deeper"])
    span = model.Span("user", "mine", "client/main", 0, 5, details={"deep": deep})

    read = model.from_document(travelled(small(spans=(span,))))

    assert isinstance(read, model.Trace)
    assert str(read.spans[0].details).count("deeper") < 50
    while not circular and deep:  # taken apart by hand: the interpreter frees it recursively
        deep = cast("dict[str, object]", deep.pop("deeper", None))


# Golden files


def test_version_1_documents_load_for_ever() -> None:
    """What the first version saved means the same to every later one, whole; packed or plain."""
    packed, plain = model.from_document(golden("trace.v1.packed")), model.from_document(TRACE)

    assert isinstance(packed, model.Trace)
    assert isinstance(plain, model.Trace)
    read = {
        "trace": asdict(plain),
        "sweep": asdict(cast("model.Sweep", model.from_document(SWEEP))),
    }
    check("version-1", {name: pformat(fields) for name, fields in read.items()})
    assert packed.spans == plain.spans


@pytest.mark.parametrize("document", [TRACE, SWEEP], ids=["trace", "sweep"])
def test_golden_documents_are_written_as_they_were_read(document: dict[str, Any]) -> None:
    """This version still writes what version 1 is, key for key, but for what says nothing."""
    read = model.from_document(document)

    written = travelled(read)

    assert written == speaking(document)
    assert model.from_document(written) == read


def speaking(data: object) -> object:
    """Leave out of golden data what a reader assumes anyway: empty values and lone pieces."""
    if isinstance(data, list):
        return [speaking(item) for item in data]
    if not isinstance(data, dict):
        return data
    kept = {key: speaking(value) for key, value in data.items()}
    if "format" in data:  # a whole document, also inside a sweep, writes all of its keys
        return kept
    alone = [[kept.get("start_ns"), kept.get("self_ns")]]
    return {key: value for key, value in kept.items() if not is_silent(key, value, alone)}


def is_silent(key: str, value: object, alone: object) -> bool:
    """Tell whether a key may be missing; those that the schema requires may not."""
    if key == "pieces":
        return value == alone
    required = {"size_bytes", "moved_bytes", "evidence", "remedy", "stages", "lane"}
    zeros = {"waits", "process", "clock_offset_ns", "clock_error_ns", "spans_dropped"}
    is_zero = key in zeros and not value
    return key not in required and (is_zero or value in (None, "", [], {}))


@pytest.mark.parametrize("file", sorted(DATA.glob("*.json")), ids=lambda file: file.name)
def test_golden_files_name_no_person_host_or_path(file: Path) -> None:
    """Documents are private by default, and so are the examples of them."""
    text = re.sub(r'"data": "[^"]*"', "", file.read_text("utf-8"))
    # Addresses that are reserved for examples (RFC 5737), in timelines made by hand.
    text = re.sub(r"(tcp://)?192\.0\.2\.\d+", "", text)

    found = re.findall(r"/home|/root|/tmp|/Users|\w:\\|://|\w@\w|localhost|(?:\d+\.){3}\d+", text)

    assert found == []


# Other versions


DATA_KEYS = {"details", "evidence", "environment", "facts", "fits", "crossovers", "stages"}


def with_unknown_keys(value: object, name: str = "") -> object:
    """Return JSON data with an additional key in every object whose keys are not data."""
    if isinstance(value, list):
        return [with_unknown_keys(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: with_unknown_keys(item, key) for key, item in value.items()}
    is_data = name in DATA_KEYS and "key" not in value
    return value if is_data else {**inner, "from_the_future": {"text": [1, None]}}


@pytest.mark.parametrize("document", [TRACE, SWEEP], ids=["trace", "sweep"])
def test_unknown_keys_are_ignored_everywhere(document: dict[str, Any]) -> None:
    """Additive keys do not change the version: an older reader still reads the rest."""
    extended = with_unknown_keys(document)

    read = model.from_document(extended)

    assert json.dumps(extended).count("from_the_future") >= 20
    assert read == model.from_document(document)


def optional_keys(document: dict[str, Any]) -> list[tuple[str | int, ...]]:
    from jupyter_serprof.model.schema import validate

    def is_optional(path: tuple[str | int, ...]) -> bool:
        try:
            validate(without(document, path), f"{document['format'][8:]}.v1.json")
        except model.DocumentError:
            return False
        return isinstance(path[-1], str)

    return [path for path in positions(document) if is_optional(path)]


@pytest.mark.parametrize("document", [TRACE, SWEEP], ids=["trace", "sweep"])
def test_whatever_the_schema_calls_optional_may_be_missing(document: dict[str, Any]) -> None:
    """A writer that fills only the required keys makes documents that load."""
    paths = optional_keys(document)

    read = [model.from_document(without(document, path)) for path in paths]

    assert len(paths) > 40
    assert all(isinstance(doc, model.Trace | model.Sweep) for doc in read)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (TRACE, ("version",)),
        (SWEEP, ("version",)),
        (SWEEP, ("traces", 0, "trace", "version")),
        # A future format is newer first of all, not damaged.
        ({"format": "serprof.trace", "chapters": []}, ("version",)),
    ],
    ids=["trace", "sweep", "trace-inside-a-sweep", "nothing-else-fits"],
)
@pytest.mark.parametrize("version", [2, 2.0, 17])
def test_a_newer_version_asks_for_an_upgrade(
    document: dict[str, Any], path: tuple[str | int, ...], version: float
) -> None:
    newer = changed(document, path, version)

    message = complaint(newer)

    assert f"version {version}" in message
    assert "reads up to 1" in message
    assert "Run: pip install --upgrade jupyter_serprof" in message


# Foreign and damaged data


def nested(levels: int, inside: object = None) -> object:
    for _ in range(levels):
        inside = [inside]
    return inside


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        pytest.param({}, "None", id="empty"),
        pytest.param([], "None", id="list"),
        pytest.param(None, "None", id="null"),
        pytest.param(5, "None", id="number"),
        pytest.param("serprof.trace", "None", id="text"),
        pytest.param({"traceEvents": [], "displayTimeUnit": "ms"}, "None", id="chrome-trace"),
        pytest.param({"cells": [], "nbformat": 4}, "None", id="notebook"),
        pytest.param({"format": "speedscope"}, "'speedscope'", id="another-format"),
        pytest.param({"format": ["serprof.trace"]}, "list", id="format-in-a-list"),
        pytest.param({"format": "x" * 10_000}, "...", id="endless-format"),
        pytest.param({"format": 10**5000}, "integer", id="huge-format"),
        pytest.param({"format": nested(5000)}, "list", id="nested-format"),
    ],
)
def test_foreign_data_is_not_a_document(data: object, shown: str) -> None:
    """JSON of another program is called foreign, with the format that was seen."""
    message = complaint(data)

    assert "not a jupyter_serprof document" in message
    assert shown in message


ROW = ("waterfall", "rows", 0)
DAMAGED_TRACES = [
    (("wall_ns",), "fast", "document.wall_ns should be integer, it is 'fast'"),
    (("wall_ns",), -5, "document.wall_ns should be at least 0, it is -5"),
    (("wall_ns",), True, "document.wall_ns should be integer, it is True"),
    (("wall_ns",), 1, "add up to 6412300 ns, not 1 ns"),
    (("wall_ns",), 10**30, "document.wall_ns"),
    (("wall_ns",), 2.0**63, "beyond int64"),
    (("version",), 0, "document.version should be at least 1, it is 0"),
    (("version",), "1", "document.version should be integer, it is '1'"),
    (("name",), None, "document.name should be string, it is None"),
    (("outcome",), "maybe", "document.outcome should be one of"),
    (("stages",), {}, "document.stages should be array, it is dict"),
    (("stages", 1), "ray.put", "document.stages[1] should be object, it is 'ray.put'"),
    (("stages", 1, "order"), 1.5, "document.stages[1].order should be integer, it is 1.5"),
    (("strings", 0), 7, "document.strings[0] should be string, it is 7"),
    (("strings",), [], "index 0 points outside a table of 0"),
    (("stages",), [], "index 2 points outside a table of 0"),
    (("spans", "stage"), [2, 0, 9, 3, 4], "index 9 points outside a table of 5"),
    (("spans", "stage"), [2, 0, -1, 3, 4], "index -1 points outside a table of 5"),
    (("spans", "stage"), [2, 0, None, 3, 4], "index None points outside a table of 5"),
    (("spans", "lane"), [0, 0, 1, 0, 0], "index 1 points outside a table of 1"),
    (("spans", "name"), [0, 1, 2, 3, 5], "index 5 points outside a table of 5"),
    (("spans", "parent"), [-1, 0, 1, -1, 5], "parent 5 of 5 spans"),
    (("spans", "parent"), [-2, 0, 1, -1, 3], "parent -2 of 5 spans"),
    (("spans", "parent"), [None, 0, 1, -1, 3], "parent None of 5 spans"),
    (("spans", "parent"), [0, 0, 1, -1, 3], "span 0 is inside itself"),
    (("spans", "parent"), [-1, 2, 1, -1, 3], "is inside itself"),
    (("spans", "start_ns"), [None] * 5, "a span has no time"),
    (("spans", "duration_ns"), [1, 2], "span columns have lengths [2, 5]"),
    (("spans", "size_bytes"), [1, 2, 3, 4, 10**30], "int64"),
    (("spans", "size_bytes"), ["a"] * 5, "document.spans.size_bytes"),
    (("spans", "size_bytes"), {"enc": "zip"}, "document.spans.size_bytes"),
    (("details",), [], "document.details should be object, it is list"),
    (("details", "5"), {"a": 1}, "details of span '5', there are 5 spans"),
    (("details", "-1"), {"a": 1}, "details of span '-1', there are 5 spans"),
    (("details", "02"), {"a": 1}, "details of span '02', there are 5 spans"),
    (("details", "2"), {"a": nested(200)}, "deep"),
    (("details", "2"), {"a": float("nan")}, "document.details.2.a"),
    (("details", "2"), {"a": {1: 2}}, "document.details.2.a"),
    (("details", "2"), {"a": {1}}, "set"),
    ((*ROW, "self_ns"), 90_001, "add up to 6412301 ns, not 6412300 ns"),
    (("waterfall", "unaccounted_ns"), 0, "add up to 6200000 ns"),
    ((*ROW, "stage"), 5, "index 5 points outside a table of 5"),
    ((*ROW, "lane"), 1, "index 1 points outside a table of 1"),
    ((*ROW, "pieces"), [[1]], "document.waterfall.rows[0].pieces[0] has 1 items"),
    (("findings", 0, "spans"), [5], "a finding points at span 5 of 5"),
    (("findings", 0, "severity"), "loud", "document.findings[0].severity"),
    (("findings", 0, "gain"), float("inf"), "document.findings[0].gain is inf"),
    (("findings", 0, "evidence", "x"), [], "document.findings[0].evidence.x"),
    (("limits", "memcpy_bytes_per_s"), float("nan"), "document.limits.memcpy_bytes_per_s is nan"),
    (("environment", "cores"), 10**5000, "document.environment.cores"),
    (("waterfall", "outline"), [0, 0], "not have each of its 5 rows once"),
    (("waterfall", "outline"), [0, 99], "not have each of its 5 rows once"),
    (("waterfall", "outline"), [{"stage": 0, "self_ns": 5, "inside": [0]}], "says 5 ns"),
    (("waterfall", "outline"), [{"group": 0, "self_ns": 0, "inside": []}], "group 0 of 0"),
    (("waterfall", "outline"), [{"stage": 99, "self_ns": 0, "inside": []}], "index 99"),
    (("waterfall", "outline"), [{"self_ns": 0, "inside": []}], "each of its 5 rows once"),
    (("waterfall", "outline"), [None], "document.waterfall.outline[0] should be integer"),
    (("quality", "probes", 0, "unseen"), [None], "document.quality.probes[0].unseen[0]"),
]
DAMAGED_SWEEPS = [
    (("variants", 0, "buffers"), [["in-band", 8]], "buffers[0][0] should be integer"),
    (("variants", 0, "buffers"), [[8, 8]], "buffers[0][1] should be string"),
    (("variants", 0, "state"), "great", "document.variants[0].state should be one of"),
    (("points", 0, "variant"), "spark", "'spark'"),
    (("points", 0, "stages", "gc"), -1, "document.points[0].stages.gc should be at least 0"),
    (("traces", 0, "variant"), "spark", "'spark'"),
    (("traces", 0, "trace"), TRACE | {"wall_ns": 5}, "not 5 ns"),
    (("traces", 0, "trace"), SWEEP, "document.traces[0].trace"),
    (("fits", 0, "fixed_ns"), {}, "document.fits[0].fixed_ns"),
    (("fits", 0, "growth"), "wild", "document.fits[0].growth should be one of"),
    (("fits", 0, "to_bytes"), 0, "document.fits[0].to_bytes should be at least 1"),
    (("crossovers", 0, "from_bytes"), "x", "document.crossovers[0].from_bytes should be"),
    (("kind",), "walk", "document.kind should be one of"),
]


@pytest.mark.parametrize(
    ("document", "path", "value", "words"),
    [
        pytest.param(document, *case, id=f"{'.'.join(map(str, case[0]))}: {case[2]}")
        for document, cases in ((TRACE, DAMAGED_TRACES), (SWEEP, DAMAGED_SWEEPS))
        for case in cases
    ],
)
def test_a_damaged_value_is_named_with_its_place(
    document: dict[str, Any], path: tuple[str | int, ...], value: object, words: str
) -> None:
    damaged = changed(document, path, value)

    message = complaint(damaged)

    assert "the document is damaged" in message
    assert words in message


@pytest.mark.parametrize("key", ["format", "wall_ns", "strings", "spans", "lanes"])
def test_a_missing_required_key_is_named(key: str) -> None:
    cut = without(TRACE, (key,))

    assert key in complaint(cut)


def survives(document: object) -> bool:
    """Return whether a document loads (then it can be written again) or is complained of."""
    try:
        doc = model.from_document(document)
    except model.DocumentError as error:
        message = str(error)
    else:
        assert model.from_document(travelled(doc)) == doc
        return True
    assert any(remedy in message for remedy in REMEDIES), message
    return False


def verdicts(document: Any, path: tuple[str | int, ...]) -> set[bool]:
    """Return what becomes of a document with each foreign value, and with none, at a place."""
    holder = reduce(getitem, path[:-1], document)
    kept = dict(holder) if isinstance(holder, dict) else list(holder)
    found = set()
    for value in FOREIGN_VALUES:
        holder[path[-1]] = value
        found.add(survives(document))
    del holder[path[-1]]
    found.add(survives(document))
    if isinstance(holder, dict):
        holder.update(kept)
    else:
        holder[:] = kept
    return found


@pytest.mark.parametrize(
    ("name", "part"),
    [("trace.v1", ()), ("trace.v1.packed", ("spans",)), ("sweep.v1", ())],
    ids=["trace", "packed-spans", "sweep"],
)
def test_any_single_wrong_value_loads_or_is_complained_of(name: str, part: tuple[str, ...]) -> None:
    """No value at any place makes another exception, or a document that cannot be saved again."""
    document = golden(name)

    places = [path for path in positions(document) if path[: len(part)] == part]
    found = {path: verdicts(document, path) for path in places}

    assert document == golden(name)
    assert found[part or ("format",)] == {False}
    assert part or found["name",] == {True, False}


@given(
    st.sampled_from([TRACE, golden("trace.v1.packed"), SWEEP]).flatmap(
        lambda document: mutated(document, st.sampled_from(FOREIGN_VALUES) | json_values)
    )
)
@settings(max_examples=100)
def test_several_wrong_values_load_or_are_complained_of(document: object) -> None:
    assert survives(document) in (True, False)


def test_whole_floats_load_as_integers() -> None:
    """JSON has one kind of number: 6412300.0 ns are 6412300 ns, and stay countable."""
    document = changed(TRACE, ("wall_ns",), 6_412_300.0)
    document = changed(document, ("spans", "start_ns"), [20_000.0, 30_000, 60_000, 5_700_000, 0])

    trace = model.from_document(document)

    assert isinstance(trace, model.Trace)
    assert type(trace.wall_ns) is int
    assert type(trace.spans[0].start_ns) is int


@pytest.mark.parametrize("name", ["stages", "lanes", "rows", "outline"])
def test_lists_longer_than_any_run_makes_are_refused_before_they_are_walked(name: str) -> None:
    """Hundreds of thousands of lanes or rows took 4 to 8 s."""
    trace = model.Trace(name="x", started="", wall_ns=0, waterfall=model.Waterfall((), 0))
    data = cast("dict[str, Any]", model.to_document(trace))
    held = data if name in data else data["waterfall"]
    held[name] = [object()] * 20_001

    for document in (data, {"format": "serprof.sweep", "version": 1, "traces": [{"trace": data}]}):
        with pytest.raises(
            model.DocumentError, match=f"its {name} are 20,001, at most 20,000 can be"
        ):
            model.from_document(document)


def test_a_row_with_more_pieces_than_any_is_merged_to_is_refused() -> None:
    row = {**TRACE["waterfall"]["rows"][0], "pieces": [[0, 1]] * 65}
    data = {**TRACE, "waterfall": {**TRACE["waterfall"], "rows": [row]}}

    assert "pieces has 65 items" in complaint(data)


def test_how_many_calls_a_span_stands_for_travels_as_a_column() -> None:
    """Most spans of a long loop say it: each in an object of its own took half of the document."""
    told = [{"calls": 3}, None, {"calls": 2, "error": "KeyError"}, {"calls": "many"}, {"calls": 0}]
    spans = tuple(model.Span("gc", "gc", "client/main", 0, 1, details=one) for one in told)
    trace = model.Trace(
        name="loop", started="", wall_ns=9, lanes=(model.Lane("client/main"),), spans=spans
    )

    document = cast("dict[str, Any]", model.to_document(trace))

    assert document["spans"]["calls"] == [3, None, 2, None, None]
    assert document["details"] == {"2": {"error": "KeyError"}, "3": told[3], "4": told[4]}
    assert model.from_document(document).spans == spans  # type: ignore[union-attr]
    document["spans"]["calls"] = [3]
    with pytest.raises(model.DocumentError, match="columns have lengths"):
        model.from_document(document)
