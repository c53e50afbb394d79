"""Findings: each rule speaks from its threshold on, with the measured value and a remedy."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import pytest

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.findings import RULES, find
from jupyter_serprof.model import Finding, Limits, Trace, from_document, to_document
from jupyter_serprof.testing import make_trace

MAIN = "client/main"
Spans = list[tuple[Any, ...]]


def in_band(copied_bytes: int, form: str = "strided", elements: int = 1) -> Spans:
    """Ray's pickle of one value that copied so many bytes."""
    around = {"value_type": "ndarray", "array_form": form}
    inside = {"in_band_bytes": copied_bytes, "out_of_band_bytes": 0, "buffers": 0}
    return [
        ("ray.msgpack", MAIN, 0, 10, copied_bytes, -1, around),
        ("ray.pickle", MAIN, 1, 8, None, 0, {"elements": elements}),
        ("ray.pickle", MAIN, 2, 6, copied_bytes, 1, inside),
    ]


def walk(elements: int, walk_ms: float = 20) -> Spans:
    """A put that spent so long in the walk over so many elements, of 100 ms."""
    details = {"elements": elements, "element_type": "float64"}
    return [
        ("ray.msgpack", MAIN, 0, walk_ms + 5),
        ("ray.pickle", MAIN, walk_ms, 5, 100, 0, details),
        ("ray.store", MAIN, walk_ms + 5, 95 - walk_ms),
    ]


def puts(size_bytes: int, *keys: int | None) -> Spans:
    """Puts of living objects, told apart by their keys."""
    return [
        (
            *("ray.msgpack", MAIN, 10 * i, 5, size_bytes, -1),
            {"value_key": key, "total_bytes": size_bytes, "value_type": "DataFrame"},
        )
        for i, key in enumerate(keys)
    ]


def capture(size_bytes: int) -> Spans:
    """An export of a function that captures two variables."""
    captured = [
        {"name": "table", "kind": "global", "size_bytes": size_bytes},
        {"name": "small", "kind": "closure", "size_bytes": 10},
    ]
    return [("ray.export", MAIN, 0, 10, size_bytes, -1, {"captured": captured})]


def imports(import_ms: float, wall_ms: float) -> Spans:
    """Imports, and something else until the end."""
    return [("import", MAIN, 0, import_ms), ("ray.store", MAIN, import_ms, wall_ms - import_ms)]


def touch(copied_bytes: int, fault_share: float = 1, slower: float = 4) -> Spans:
    """A copy with new pages, so much slower than the 10 GB/s of the machine."""
    faults = round(copied_bytes / 4_096 * fault_share)
    details = {"copied_bytes": copied_bytes, "minor_faults": faults}
    return [("ray.store", MAIN, 0, copied_bytes / 1e7 * slower, copied_bytes, -1, details)]


def get(copied_bytes: int, stage: str = "ray.fetch") -> Spans:
    """A get that copied so many bytes to the heap."""
    return [
        (stage, MAIN, 0, 10, copied_bytes),
        ("ray.unpack", MAIN, 1, 8, copied_bytes, 0, {"copied_bytes": copied_bytes}),
    ]


class Golden(NamedTuple):
    """A rule, what makes it speak, what keeps it silent, what its title and remedy say."""

    rule: str
    speaks: Spans
    silent: Spans
    title: str
    code: str


GOLDEN = [
    Golden(
        "pickle.in-band-copy",
        in_band(1_000_000),
        in_band(999_999),
        "1.00 MB",
        "a = np.ascontiguousarray(a)",
    ),
    Golden(
        "pickle.in-band-copy",
        in_band(8_000_000, "object"),
        in_band(999_999, "object"),
        "8.00 MB were copied into the pickle instead of handed over: an array of Python objects",
        "a.astype(float)",
    ),
    Golden(
        "pickle.in-band-copy",
        in_band(8_000_000, "", elements=9_999),
        in_band(8_000_000, "", elements=10_000),
        "8.00 MB",
        "np.ascontiguousarray(a)",
    ),
    Golden(
        "ray.msgpack-walk",
        walk(10_000),
        walk(9_999),
        "10,000 elements of type float64 one by one, 20.0 ms",
        "arr.tolist()",
    ),
    Golden(
        "ray.msgpack-walk",
        walk(50_000, walk_ms=10),
        walk(50_000, walk_ms=9.9),
        "50,000 elements",
        "arr.tolist()",
    ),
    Golden(
        "ray.same-object",
        puts(100_000, 7, 7),
        puts(99_999, 7, 7),
        "the same DataFrame was serialized 2 times, 200 kB in all",
        "ref = ray.put(value)",
    ),
    Golden(
        "ray.same-object",
        puts(1_000_000, 7, 8, 7, None, 7),
        puts(1_000_000, 7, 8, 9, None, None),
        "3 times, 3.00 MB in all",
        "f.remote(ref)",
    ),
    Golden(
        "ray.captured-variable",
        capture(1_000_000),
        capture(999_999),
        "captures global table: 1.00 MB travel",
        "ref = ray.put(table)",
    ),
    Golden(
        "python.first-use-imports", imports(10, 100), imports(9.99, 99.9), "10 %", "ray.put(None)"
    ),
    Golden("python.first-use-imports", imports(20, 200), imports(20, 201), "10 %", "ray.put(None)"),
    Golden("memory.first-touch", touch(8_000_000), touch(7_999_999), "8.00 MB touched 1,953", ""),
    Golden("memory.first-touch", touch(8_192_000, 0.5), touch(8_192_000, 0.499), "1,000 new", ""),
    Golden(
        "memory.first-touch",
        touch(80_000_000, slower=2.01),
        touch(80_000_000, slower=1.99),
        "80.0 MB",
        "",
    ),
    Golden(
        "ray.not-zero-copy",
        get(1_000_000),
        get(999_999),
        "copied 1.00 MB to the heap",
        "np.frombuffer(data, np.uint8)",
    ),
    Golden(
        "ray.not-zero-copy",
        get(5_000_000, "ray.map"),
        get(5_000_000, "user"),
        "5.00 MB",
        "np.frombuffer(data, np.uint8)",
    ),
]
IDS = [f"{golden.rule}-{index}" for index, golden in enumerate(GOLDEN)]


def analysed(spans: Spans) -> Trace:
    limits = Limits(memcpy_bytes_per_s=10e9, first_touch_bytes_per_s=2e9)
    return analyse(make_trace(spans, limits=limits))


def found(spans: Spans, rule: str) -> list[Finding]:
    return [finding for finding in analysed(spans).findings if finding.rule == rule]


@pytest.mark.parametrize("golden", GOLDEN, ids=IDS)
def test_a_rule_speaks_from_its_threshold_on(golden: Golden) -> None:
    """Just above it there is one finding, just below there is none."""
    assert len(found(golden.speaks, golden.rule)) == 1
    assert found(golden.silent, golden.rule) == []


@pytest.mark.parametrize("golden", GOLDEN, ids=IDS)
def test_the_title_has_the_measured_value_and_the_remedy_can_be_pasted(golden: Golden) -> None:
    """People read how much; and what they paste is Python."""
    (finding,) = found(golden.speaks, golden.rule)

    assert golden.title in finding.title
    assert golden.code in finding.remedy
    ast.parse(golden.code)
    assert finding.remedy
    assert finding.severity in {"warn", "info"}


@pytest.mark.parametrize("golden", GOLDEN, ids=IDS)
def test_a_finding_points_at_spans_and_promises_no_gain(golden: Golden) -> None:
    """Evidence is plain values; a gain is only stated when it was measured."""
    trace = analysed(golden.speaks)
    (finding,) = [entry for entry in trace.findings if entry.rule == golden.rule]

    assert all(0 <= index < len(trace.spans) for index in finding.spans)
    assert all(
        value is None or isinstance(value, str | int | float | bool)
        for value in finding.evidence.values()
    )
    assert finding.evidence
    assert finding.gain is None


@pytest.mark.parametrize("golden", GOLDEN, ids=IDS)
def test_findings_survive_saving(golden: Golden) -> None:
    """The saved document has the same findings."""
    trace = analysed(golden.speaks)

    read = from_document(to_document(trace))

    assert read.findings == trace.findings


def test_every_rule_has_golden_traces() -> None:
    """A new rule comes with two traces, one on each side of its threshold."""
    assert len({golden.rule for golden in GOLDEN}) == len(RULES)


def test_nothing_to_say_about_an_empty_trace() -> None:
    """No spans, no findings, no error; also without wall time and without a waterfall."""
    assert analysed([]).findings == ()
    assert find(make_trace([], wall_ms=0)) == ()
    assert find(make_trace(walk(50_000))) == ()


def test_warnings_come_first() -> None:
    """What costs comes before what is good to know."""
    spans: Spans = [*imports(20, 40), *((*s[:2], s[2] + 100, *s[3:]) for s in capture(5_000_000))]

    severities = [finding.severity for finding in analysed(spans).findings]

    assert severities == ["warn", "info"]


def test_without_known_limits_nothing_is_called_slow() -> None:
    """Whether pages cost the time can only be said against this machine's memcpy."""
    assert analyse(make_trace(touch(80_000_000))).findings == ()
