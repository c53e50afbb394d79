"""Findings: each fires just above its threshold and not below, with evidence and a remedy."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from dask_golden import DASK_GOLDEN

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.findings import POINTED_SPANS, RULES, find
from jupyter_serprof.model import Finding, Limits, Trace, from_document, to_document
from jupyter_serprof.testing import make_trace

CALLER = "client/main"
MANY: dict[str, object] = {"small_bytes": 10**9, "objects": 10**8}
WARM = Limits(memcpy_bytes_per_s=10e9, first_touch_bytes_per_s=1e9)


def in_band(
    copied: int | None, form: str = "strided", elements: int | None = 1, **look: object
) -> Trace:
    """Return a put whose pickle holds so many bytes."""
    return make_trace(
        [
            ("ray.store", CALLER, 0, 10, copied),
            ("ray.msgpack", CALLER, 0.1, 5, None, 0, {"value_type": "ndarray", "array_form": form}),
            ("ray.pickle", CALLER, 0.2, 4.8, None, 1, {"elements": elements}),
            ("ray.pickle", CALLER, 0.3, 4, copied, 2, {"in_band_bytes": copied, **look}),
        ]
    )


def walked(elements: int | None, walk_ms: float, kind: object = "Point") -> Trace:
    """Return a put of a list, 100 ms long, in which Ray walks its elements."""
    noted = {"elements": elements, "element_type": kind}
    return make_trace(
        [("ray.msgpack", CALLER, 0, walk_ms + 1), ("ray.pickle", CALLER, 0, 1, None, 0, noted)],
        wall_ms=100,
    )


def again(*puts: tuple[int | None, int | None]) -> Trace:
    """Return a put for each (key of the value, size)."""
    return make_trace(
        [
            (
                *("ray.msgpack", CALLER, at, 1, None, -1),
                {"value_key": key, "total_bytes": size, "value_type": "ndarray"},
            )
            for at, (key, size) in enumerate(puts)
        ]
    )


def exported(*sizes: int | None) -> Trace:
    """Return the export of a function that captures variables of these sizes."""
    entries = [
        {"name": f"table_{at}", "kind": "global", "type": "dict", "size_bytes": size}
        for at, size in enumerate(sizes)
    ]
    return make_trace([("ray.export", CALLER, 0, 5, None, -1, {"captured": entries})])


def imported(import_ms: float, wall_ms: float, stage: str = "ray.store") -> Trace:
    """Return a call and an import in it."""
    return make_trace(
        [(stage, CALLER, 0, import_ms + 1), ("import", CALLER, 0, import_ms, None, 0)],
        wall_ms=wall_ms,
    )


def touched(
    copied: int | None,
    faults: int | None,
    copy_ms: float = 8,
    limits: Limits = WARM,
    stage: str = "ray.store",
) -> Trace:
    """Return a copy of so many bytes that met so many new pages, into the store or elsewhere."""
    noted = {"copied_bytes": copied, "minor_faults": faults}
    return make_trace([(stage, CALLER, 0, copy_ms, copied, -1, noted)], limits=limits)


def got(
    copied: int | None, around: str = "ray.fetch", stage: str = "ray.unpickle", **look: object
) -> Trace:
    """Return a get whose result was copied."""
    return make_trace(
        [
            (around, CALLER, 0, 10),
            ("ray.unpack", CALLER, 1, 8, None, 0),
            (stage, CALLER, 2, 6, copied, 1, {"copied_bytes": copied, **look}),
        ]
    )


def dumped(
    *pickles: tuple[int | None, int | None], ms: float = 30, protocol: object = 5, **look: object
) -> Trace:
    """Return a dumps for each (size, pages that were new), with what a look at it told."""
    return make_trace(
        [
            (
                *("pickle.dumps", CALLER, at * ms, ms, size, -1),
                {"in_band_bytes": size, "minor_faults": faults, "protocol": protocol, **look},
            )
            for at, (size, faults) in enumerate(pickles)
        ],
        limits=WARM,
    )


def old(size: int, faults: int, protocol: int = 4, contiguous: int | None = 10**9) -> Trace:
    """Return a dumps by an old protocol; so many bytes are of contiguous arrays."""
    return dumped((size, faults), protocol=protocol, contiguous_bytes=contiguous)


def many(size: int = 2_000_000, ms: float = 30, **look: int | None) -> Trace:
    """Return a dumps of 50,000 small objects, or as the look tells."""
    faults = look.pop("faults", 0)
    told = {"objects": 50_000, "small_bytes": size, "reduced_objects": 0, **look}
    return dumped((size, faults), ms=ms, **told)


def split_up(**parts_ms: float) -> Trace:
    """Return a first dumps of 100 ms, and a later one with the parts that a split measured."""
    details = {"in_band_bytes": 2_000_000}
    spans: list[Any] = [
        ("pickle.dumps", CALLER, at, 100, 2_000_000, -1, details) for at in (0, 100)
    ]
    spans += [(f"pickle.{key}", CALLER, 100, ms, None, 1) for key, ms in parts_ms.items()]
    return make_trace(spans, limits=WARM)


def refused(outcome: str, error: object = "TypeError") -> Trace:
    """Return a dumps that failed inside a call that went on or failed, too."""
    spans = [
        ("ray.store", CALLER, 0, 5),
        ("pickle.dumps", CALLER, 1, 2, None, 0, {"error": error}),
    ]
    return make_trace(spans, outcome=outcome)


def collected(gc_ms: float, wall_ms: float, stage: str = "pickle.loads", parent: int = 0) -> Trace:
    """Return loads with runs of the collector inside, or beside them."""
    return make_trace(
        [(stage, CALLER, 0, wall_ms), ("gc", CALLER, 0, gc_ms, None, parent)], wall_ms=wall_ms
    )


def looped(stage: str, count: int, each_ms: float, size: int | None = 80) -> Trace:
    """Return so many calls one after the other, in a second."""
    spans = [(stage, CALLER, at * each_ms, each_ms, size) for at in range(count)]
    return make_trace(spans, wall_ms=1_000)


#: rule -> (make below the threshold, make at it, what the title says)
GOLDEN: Mapping[str, list[tuple[Callable[[], Trace], Callable[[], Trace], str]]] = {
    "pickle.in-band-copy": [
        (lambda: in_band(999_999), lambda: in_band(1_000_000), "1.00 MB"),
        (lambda: in_band(2_000_000, "", 10_000), lambda: in_band(2_000_000, "", 9_999), "2.00 MB"),
        # Many small objects: nothing of them could have been handed over.
        (
            lambda: in_band(2_000_000, "", large_bytes=999_999),
            lambda: in_band(2_000_000, "", large_bytes=1_000_000),
            "instead of handed over",
        ),
        (
            lambda: in_band(2_000_000, "", large_bytes=0),
            lambda: in_band(2_000_000, "object", large_bytes=0),
            "an array of Python objects",
        ),
    ],
    "ray.msgpack-walk": [
        (
            lambda: walked(9_999, 20),
            lambda: walked(10_000, 20),
            "10,000 elements one by one, 20.0 ms; the first is of type Point",
        ),
        (lambda: walked(10_000, 9.9), lambda: walked(10_000, 10), "10.0 ms"),
    ],
    "ray.same-object": [
        (lambda: again((7, 100_000)), lambda: again((7, 100_000), (7, 100_000)), "2 times, 200 kB"),
        (
            lambda: again((7, 99_999), (7, 99_999)),
            lambda: again((7, 100_000), (8, 100_000), (7, 100_000)),
            "the same ndarray",
        ),
        # What has another size has changed in between.
        (
            lambda: again((7, 100_000), (7, 200_000)),
            lambda: again((7, 100_000), (7, 200_000), (7, 200_000)),
            "2 times, 400 kB",
        ),
    ],
    "ray.captured-variable": [
        (lambda: exported(999_999), lambda: exported(1_000_000), "global table_0: 1.00 MB"),
        (lambda: exported(None, 5), lambda: exported(None, 3_000_000), "table_1: 3.00 MB"),
    ],
    "python.first-use-imports": [
        (lambda: imported(9.9, 20), lambda: imported(10, 20), "50 %"),
        (lambda: imported(99, 1_000), lambda: imported(100, 1_000), "10 %"),
    ],
    "memory.first-touch": [
        (lambda: touched(7_999_999, 2_000), lambda: touched(8_000_000, 2_000), "8.00 MB"),
        (lambda: touched(8_192_000, 999), lambda: touched(8_192_000, 1_000), "1,000 new pages"),
        (lambda: touched(10**7, 2_000, 2), lambda: touched(10**7, 2_000, 2.01), "10.0 MB"),
        # Of a result of malloc: from 32 MiB on each block is mapped anew, also in later runs.
        (
            lambda: touched(2**25, 8_192, 40, stage="pickle.loads"),
            lambda: touched(2**25 - 1, 8_192, 40, stage="pickle.loads"),
            "33.6 MB",
        ),
        # New pages explain the time, or something else does.
        (
            lambda: touched(8_192_000, 2_000, 16.4, stage="ray.unpickle"),
            lambda: touched(8_192_000, 2_000, 16.3, stage="ray.unpickle"),
            "2,000 new pages",
        ),
        (
            lambda: touched(8_192_000, 2_000, 10, stage="pickle.dumps"),
            lambda: touched(8_192_000, 2_000, 10, stage="pickle.loads"),
            "8.19 MB",
        ),
    ],
    "ray.not-zero-copy": [
        (lambda: got(999_999), lambda: got(1_000_000), "1.00 MB"),
        (lambda: got(10**6, "ray.store"), lambda: got(10**6, "ray.map"), "1.00 MB"),
        (
            lambda: got(10**6, "ray.fetch", "pickle.loads"),
            lambda: got(10**6, "ray.fetch", "ray.unpack"),
            "not zero-copy",
        ),
    ],
    "pickle.protocol-4": [
        (lambda: old(8_192_000, 3_599), lambda: old(8_192_000, 3_600), "copied 8.19 MB twice"),
        (lambda: old(8_192_000, 4_000, 5), lambda: old(8_192_000, 4_000, 3), "protocol 3"),
        (lambda: old(7_999_999, 4_000), lambda: old(8_000_000, 4_000), "8.00 MB"),
        # Arrays with gaps are gathered by protocol 5, too.
        (
            lambda: old(10**7, 5_000, contiguous=7_999_999),
            lambda: old(10**7, 5_000, contiguous=8_000_000),
            "10.0 MB",
        ),
        (
            lambda: old(10**7, 5_000, contiguous=None),
            lambda: old(10**7, 5_000, contiguous=10**7),
            "10.0 MB",
        ),
    ],
    "pickle.fresh-buffers": [
        (
            lambda: dumped(*[(8_192_000, 1_000)] * 2, ms=1),
            lambda: dumped(*[(8_192_000, 1_000)] * 3, ms=1),
            "3 pickles, 24.6 MB",
        ),
        (
            lambda: dumped(*[(8_192_000, 999)] * 3, ms=1),
            lambda: dumped(*[(8_192_000, 1_000)] * 4, ms=1),
            "4,000",
        ),
        # 1,000 new pages take 4.1 ms at 1 GB/s: a kept buffer saves a fifth, or less.
        (
            lambda: dumped(*[(8_192_000, 1_000)] * 3, ms=20.5, **MANY),
            lambda: dumped(*[(8_192_000, 1_000)] * 3, ms=20.4, **MANY),
            "3,000",
        ),
    ],
    "pickle.small-objects": [
        (lambda: many(9_000_000), lambda: many(8_990_000), "3.0 % of a copy"),
        (lambda: many(999_999), lambda: many(1_000_000), "1.00 MB"),
        (lambda: many(ms=19.9), lambda: many(ms=20), "50,000 small objects, 400 ns each"),
        # 5,000 new pages of 4 kB take 20.5 of 40 ms at 1 GB/s.
        (lambda: many(faults=5_000, ms=40), lambda: many(faults=4_000, ms=40), "800 ns each"),
        # Few of them, large ones, or the smaller part of the pickle: they are not the cause.
        (
            lambda: many(1_000_000, objects=9_999, reduced_objects=9_999),
            lambda: many(1_000_000, objects=10_000, reduced_objects=10_000),
            "about 10,000",
        ),
        (
            lambda: many(8_000_000, objects=40_000),
            lambda: many(7_999_999, objects=40_000),
            "8.00 MB",
        ),
        (lambda: many(small_bytes=999_999), lambda: many(small_bytes=10**6), "2.00 MB"),
        # Longer than pickle needs for so many: reducers are slow.
        (lambda: many(ms=50.1), lambda: many(ms=50), "1.00"),
        (
            lambda: many(ms=1_001, reduced_objects=50_000),
            lambda: many(ms=1_000, reduced_objects=50_000),
            "20.0",
        ),
        (
            lambda: split_up(opcodes=49, reduce=51),
            lambda: split_up(opcodes=50, reduce=50),
            "took 50.0 ms of 100 ms",
        ),
        (lambda: split_up(allocate=100), lambda: split_up(opcodes=90), "took 90.0 ms"),
    ],
    "pickle.slow": [
        (lambda: dumped((9_000_000, 0)), lambda: dumped((8_990_000, 0)), "3.0 % of a copy"),
        (lambda: dumped((999_999, 0)), lambda: dumped((1_000_000, 0)), "1.00 MB"),
        (lambda: dumped((10**6, 0), ms=19.9), lambda: dumped((10**6, 0), ms=20), "20.0 ms"),
        (many, lambda: many(objects=5), "slow for its bytes"),
        (many, lambda: many(ms=300), "slow for its bytes"),
        # The parts are on the page of a split.
        (lambda: split_up(reduce=100), split_up, "20.0 MB/s"),
    ],
    "pickle.unpicklable": [(lambda: refused("ok"), lambda: refused("error"), "TypeError")],
    "python.gc": [
        (
            lambda: collected(19.9, 50),
            lambda: collected(20, 50),
            "took 40 % of the wall time in 1 run",
        ),
        (lambda: collected(39, 200), lambda: collected(40, 200), "20 %"),
        (lambda: collected(40, 80, "dask.execute"), lambda: collected(40, 80), "50 %"),
        # The objects of the user's own code: nothing that serializes makes them.
        (lambda: collected(40, 80, parent=-1), lambda: collected(40, 80), "inside serialization"),
    ],
    "ray.many-puts": [
        (lambda: looped("ray.store", 499, 1), lambda: looped("ray.store", 500, 1), "80 B in 1.00"),
        (
            lambda: looped("ray.store", 500, 0.39),
            lambda: looped("ray.store", 500, 0.4),
            "500 small objects",
        ),
        (
            lambda: looped("ray.store", 500, 1, 100_000),
            lambda: looped("ray.store", 500, 1, 99_999),
            "100 kB",
        ),
    ],
    "ray.get-in-loop": [
        (lambda: looped("ray.fetch", 99, 5), lambda: looped("ray.fetch", 100, 5), "100 times"),
        (lambda: looped("ray.fetch", 100, 2.9), lambda: looped("ray.fetch", 100, 3), "30 %"),
    ],
}
ALL = {**GOLDEN, **DASK_GOLDEN}
PAIRS = [(rule, *pair) for rule, pairs in ALL.items() for pair in pairs]
FIRED = [(rule, above) for rule, pairs in ALL.items() for _, above, _ in pairs]
#: What each rule reads; without it the rule knows nothing.
UNKNOWN: Mapping[str, Trace] = {
    "in-band bytes": in_band(None),
    "elements": walked(None, 50),
    "key of the value": again((None, 10**6), (None, 10**6)),
    "size of the value": again((7, None), (7, None)),
    "size of a variable": exported(None, None),
    "nothing captured": exported(),
    "copied bytes": touched(None, 2_000),
    "faults": touched(10**8, None, 80),
    "limits": touched(10**8, 25_000, 80, Limits()),
    "copied bytes of a result": got(None),
    "bytes of a pickle": dumped(*[(None, 10_000)] * 5, protocol=4),
    "pages of a pickle": dumped(*[(10**9, None)] * 5, protocol=4),
    "protocol": dumped((10**9, 10**6), protocol=None),
    "error": refused("error", None),
    "bytes of puts": looped("ray.store", 500, 1, None),
}


def findings(trace: Trace, rule: str | None = None) -> list[Finding]:
    """Return the findings of a trace, of one rule or of all."""
    return [found for found in analyse(trace).findings if rule in {None, found.rule}]


def only(trace: Trace, rule: str) -> Finding:
    """Return the one finding of a rule."""
    (found,) = findings(trace, rule)
    return found


@pytest.mark.parametrize(("rule", "below", "above", "said"), PAIRS)
def test_a_finding_fires_at_its_threshold_and_not_below(
    rule: str, below: Callable[[], Trace], above: Callable[[], Trace], said: str
) -> None:
    """One finding at the threshold, whose title tells what was measured; none just below it."""
    quiet, found = findings(below(), rule), only(above(), rule)

    assert quiet == []
    assert said in found.title


def test_every_rule_has_golden_traces() -> None:
    """A new rule without a trace on each side of its threshold is not finished."""
    assert len(ALL) == len(RULES)


@pytest.mark.parametrize(("rule", "above"), FIRED)
def test_evidence_is_scalar_and_spans_exist(rule: str, above: Callable[[], Trace]) -> None:
    """Evidence can be printed and compared; every span pointed at is one of the trace."""
    trace = above()

    found = only(trace, rule)

    assert found.evidence
    assert all(isinstance(v, str | int | float | None) for v in found.evidence.values())
    assert found.spans
    assert all(0 <= index < len(trace.spans) for index in found.spans)
    assert found.gain is None
    assert found.severity in {"warn", "info"}


@pytest.mark.parametrize(("rule", "above"), FIRED)
def test_a_remedy_can_be_pasted(rule: str, above: Callable[[], Trace]) -> None:
    """One line of Python; what explains it is a comment."""
    remedy = only(above(), rule).remedy

    assert "\n" not in remedy
    assert "#" in remedy
    ast.parse(remedy)


@pytest.mark.parametrize("trace", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_is_found_in_what_nobody_saw(trace: Trace) -> None:
    """Unknown is neither zero nor large: a rule without its numbers is silent."""
    assert findings(trace) == []


@pytest.mark.parametrize("value", [True, "many", [10**9], 1e9, {"size": 1}])
@pytest.mark.parametrize("make", [in_band, got, exported, lambda v: again((7, v), (7, v))])
def test_details_of_another_type_are_unknown(make: Callable[[Any], Trace], value: object) -> None:
    """A document of a foreign writer gives no findings instead of an error."""
    assert findings(replace(make(5), spans=_spans_with(make(5), value))) == []


def _spans_with(trace: Trace, value: object) -> tuple[Any, ...]:
    """Replace every number in the details."""

    def changed(old: object) -> object:
        if isinstance(old, list):
            return [value, {"size_bytes": value}]
        return value if isinstance(old, int) else old

    return tuple(
        span._replace(details={key: changed(old) for key, old in (span.details or {}).items()})
        for span in trace.spans
    )


@pytest.mark.parametrize(
    ("form", "said", "remedy"),
    [
        ("object", "an array of Python objects", "a = a.astype(float)"),
        ("strided", "a non-contiguous array", "a = np.ascontiguousarray(a)"),
        ("", "instead of handed over", "# %serprof --blame NAME"),
    ],
)
def test_the_form_of_the_array_is_named_where_it_is_known(
    form: str, said: str, remedy: str
) -> None:
    """A non-contiguous array and one of objects have different remedies."""
    found = only(in_band(2_000_000, form), "pickle.in-band-copy")

    assert found.title.endswith(said)
    assert found.remedy.startswith(remedy)


def test_the_walk_is_told_once_for_all_lists() -> None:
    """Its time is that of the stage: two lists do not both claim it."""
    trace = make_trace(
        [
            ("ray.msgpack", CALLER, 0, 40),
            ("ray.pickle", CALLER, 0, 1, None, 0, {"elements": 20_000, "element_type": "A"}),
            ("ray.msgpack", CALLER, 50, 40),
            ("ray.pickle", CALLER, 50, 1, None, 2, {"elements": 30_000, "element_type": "B"}),
        ]
    )

    found = only(trace, "ray.msgpack-walk")

    assert found.title == (
        "Ray walked 50,000 elements one by one, 78.0 ms; the first is of type A, B"
    )
    assert found.spans == (1, 3)


def test_an_unknown_type_of_elements_is_not_named() -> None:
    """The count is known, the type is not: nothing is made up."""
    found = only(walked(10_000, 50, None), "ray.msgpack-walk")

    assert found.title == "Ray walked 10,000 elements one by one, 50.0 ms"
    assert found.evidence["element_type"] is None


def test_the_largest_captured_variable_is_named() -> None:
    """Whatever the order, and though the size of another is unknown."""
    found = only(exported(None, 2_000_000, 9_000_000), "ray.captured-variable")

    assert found.evidence == {"name": "table_2", "size_bytes": 9_000_000, "kind": "global"}
    assert found.remedy.startswith("ref = ray.put(table_2)")


def test_a_loop_does_not_fill_the_document() -> None:
    """The count is exact; the finding points at the first spans only."""
    trace = again(*[(7, 100_000)] * 1_000)

    found = only(trace, "ray.same-object")

    assert found.evidence["times"] == 1_000
    assert len(found.spans) == POINTED_SPANS


def test_the_same_many_objects_again_are_one_finding() -> None:
    """A first run and a later one of an object need one remedy; another object has its own."""
    runs = [(0, 50, 2_000_000), (60, 40, 2_000_000), (110, 70, 3_000_000)]
    look = {"small_bytes": 2_000_000, "objects": 100_000}
    spans: list[Any] = [
        ("pickle.dumps", CALLER, start, ms, size, -1, {"in_band_bytes": size, **look})
        for start, ms, size in runs
    ]

    found = findings(make_trace(spans, limits=WARM), "pickle.small-objects")

    assert sorted(one.title.split(" were")[0] for one in found) == ["2.00 MB", "3.00 MB"]


def test_the_remedy_for_imports_names_ray_only_where_ray_imports() -> None:
    """Imports of the user's code are not paid by a put, even where there is one."""
    beside = make_trace(
        [("import", CALLER, 0, 50), ("ray.store", CALLER, 50, 1)],
        wall_ms=100,
    )

    with_ray, without, other = (
        only(trace, "python.first-use-imports")
        for trace in (imported(50, 100), imported(50, 100, "pickle.loads"), beside)
    )

    assert with_ray.remedy.startswith("ray.put(None)   #")
    assert "ray" not in without.remedy
    assert other.remedy == without.remedy


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        *[(kind, True) for kind in ("float64", "int8", "uint16", "bool_", "bool", "complex128")],
        *[(kind, False) for kind in ("Point", "datetime", "str_", "ndarray", None)],
    ],
)
def test_an_array_is_proposed_only_for_numbers(kind: str | None, *, expected: bool) -> None:
    """An array of other objects is an array of objects, and is walked by pickle instead."""
    remedy = only(walked(10_000, 50, kind), "ray.msgpack-walk").remedy

    assert ("np.array(values)" in remedy) is expected


def test_a_get_of_small_objects_is_not_mended_by_an_array() -> None:
    """Their pickle holds nothing that a contiguous array could replace."""
    payload, objects = (
        only(got(10**6, large_bytes=large), "ray.not-zero-copy") for large in (10**6, 999_999)
    )

    assert payload.remedy.startswith("ref = ray.put(np.ascontiguousarray(a))")
    assert objects.remedy.startswith("# its many small objects")


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("TypeError", "__getstate__ = "),
        ("AttributeError", "data = cloudpickle.dumps(value)"),
        ("PicklingError", "data = cloudpickle.dumps(value)"),
        ("ValueError", "# %serprof --blame NAME"),
    ],
)
def test_a_failed_pickle_gets_the_remedy_of_its_error(error: str, remedy: str) -> None:
    """A function without a name elsewhere is no lock; of an error of the user nothing is known."""
    found = only(refused("error", error), "pickle.unpicklable")

    assert found.title == f"a pickle failed: {error}"
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize(("submits", "remedy"), [(50, "values = ray.get([f.remote("), (49, "refs")])
def test_gets_between_submissions_wait_for_those_first(submits: int, remedy: str) -> None:
    """Where each task is submitted after the get of the one before, there is no list to get."""
    gets: list[Any] = [("ray.fetch", CALLER, 10 * at + 5, 5) for at in range(100)]
    before: list[Any] = [("ray.submit", CALLER, 10 * at, 2) for at in range(submits)]

    found = only(make_trace([*before, *gets], wall_ms=1_000), "ray.get-in-loop")

    assert found.remedy.startswith(remedy if submits == 50 else f"values = ray.get({remedy})")


def test_bytes_and_arrays_that_were_copied_have_different_remedies() -> None:
    """Raw bytes come back without copy as an array; strided arrays must be contiguous."""
    raw, pickled = (
        only(got(10**6, stage=stage), "ray.not-zero-copy")
        for stage in ("ray.unpack", "ray.unpickle")
    )

    assert "np.frombuffer(data, np.uint8)" in raw.remedy
    assert "np.ascontiguousarray(a)" in pickled.remedy


def test_warnings_come_first_and_each_title_once() -> None:
    """What costs most to ignore is read first; a repeated sentence says nothing more."""
    spans = [
        ("ray.fetch", CALLER, 0, 10),
        ("ray.unpickle", CALLER, 1, 3, None, 0, {"copied_bytes": 10**6}),
        ("ray.pickle", CALLER, 11, 1, None, -1, {"in_band_bytes": 10**6}),
        ("ray.pickle", CALLER, 12, 1, None, -1, {"in_band_bytes": 10**6}),
    ]

    rules = [found.rule for found in findings(make_trace(spans))]

    assert rules == ["pickle.in-band-copy", "ray.not-zero-copy"]


def test_one_finding_names_all_spans_of_its_cause() -> None:
    """Ten copies of one size are one finding with ten spans, not one with the first."""
    trace = make_trace(
        [("ray.pickle", CALLER, at, 1, None, -1, {"in_band_bytes": 10**6}) for at in range(10)]
    )

    assert only(trace, "pickle.in-band-copy").spans == tuple(range(10))


def test_a_rule_does_not_flood_a_document() -> None:
    """Of a loop over 200 sizes the three that took longest are told, and how many more."""
    sizes = [2_000_000 + 10_000 * at for at in range(200)]
    trace = make_trace(
        [
            ("ray.pickle", CALLER, 30 * at, 10 + at / 100, None, -1, {"in_band_bytes": size})
            for at, size in enumerate(sizes)
        ]
    )

    found = findings(trace, "pickle.in-band-copy")

    assert [entry.evidence["in_band_bytes"] for entry in found] == sizes[:-4:-1]
    assert found[-1].title.endswith("; 197 more like this")


def test_an_empty_trace_has_no_findings() -> None:
    """Without spans, without wall time, and before the waterfall is known."""
    assert findings(make_trace([])) == []
    assert find(make_trace([], wall_ms=0)) == ()
    assert find(walked(50_000, 50)) == ()


@pytest.mark.parametrize(("rule", "above"), FIRED)
def test_a_finding_survives_the_document(rule: str, above: Callable[[], Trace]) -> None:
    """What was found can be written and read, evidence included."""
    trace = analyse(above())

    read = from_document(to_document(trace))

    assert read.findings == trace.findings
    assert rule in {found.rule for found in read.findings}
