"""Tables of a large sweep: fewer bytes, the same document, and no damage goes unnoticed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from strategies import (
    FOREIGN_VALUES,
    changed,
    described_sweep,
    json_values,
    mutated,
    sweeps,
    without,
)

from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import (
    DocumentError,
    Point,
    Sweep,
    SweepTrace,
    Trace,
    Variant,
    from_document,
    load,
    save_document,
    to_document,
)
from jupyter_serprof.model.packed import MOST_LISTED
from jupyter_serprof.testing import make_trace

DATA = Path(__file__).parents[1] / "data"
MOST_BYTES = 200_000
STAGES = ("pickle.dumps", "pickle.loads", "ray.store", "ray.unpickle")
Steps = tuple[str | int, ...]


def golden(name: str) -> dict[str, Any]:
    """Return the JSON data of a golden file."""
    data: dict[str, Any] = json.loads((DATA / f"{name}.serprof.json").read_bytes())
    return data


TRACE, SWEEP, PACKED = (golden(name) for name in ("trace.v1", "sweep.v1", "sweep.v1.packed"))


def travelled(doc: Sweep) -> dict[str, Any]:
    """Return the document of a sweep after its journey through strict JSON."""
    data: dict[str, Any] = json.loads(json.dumps(to_document(doc), allow_nan=False))
    return data


def lengthened(sweep: Sweep) -> Sweep:
    """Return a sweep with so many points that they are packed."""
    stages = {"a/b": 1, "": 2}
    point = Point(sweep.variants[0].key, 2**53 + 1, 0, False, 2**62 + 1, None, stages)  # noqa: FBT003  (a column)
    return replace(sweep, points=(*sweep.points, *[point] * (MOST_LISTED + 1)))


def measured(sizes: int, repeats: int) -> Sweep:
    """Return a sweep of four variants as they are measured, no number like another."""
    keys = ("pickle", "pickle-oob", "cloudpickle", "ray")
    all_bytes = [10**6 + 7919 * at for at in range(sizes)]
    grid = [(key, size, cold) for key in keys for size in all_bytes for cold in (True, False)]
    points = tuple(
        Point(
            *(key, size, repeat, cold, size + repeat, size + 163),
            {stage: size // (4 + at) + repeat for at, stage in enumerate(STAGES)},
            minor_faults=size // 4096,
            parameter=size,
        )
        for key, size, cold in grid
        for repeat in ([0] if cold else range(1, repeats + 1))
    )
    traces = tuple(SweepTrace(key, size, cold, _trace(size)) for key, size, cold in grid)
    variants = tuple(Variant(key, key) for key in keys)
    return Sweep(
        name="float64",
        started="",
        kind="sweep",
        parameter="n",
        variants=variants,
        points=points,
        traces=traces,
    )


def _trace(size: int) -> Trace:
    told = {"in_band_bytes": size, "value_type": "ndarray", "minor_faults": size // 4096}
    spans = [
        (stage, "client/main", 10 + 5 * at, 4.5 + size * 1e-9, size, at - 1, told)
        for at, stage in enumerate(STAGES)
    ]
    return analyse(make_trace(spans))


@given(sweeps())
@settings(max_examples=40, phases=[Phase.generate])  # to shrink traces within sweeps takes minutes
def test_a_packed_sweep_comes_back(drawn: Sweep) -> None:
    """Points and traces are equal after saving, whole numbers to the last digit."""
    sweep = lengthened(drawn)
    document = travelled(sweep)

    read = from_document(document)

    assert "packed" in document
    assert read == described_sweep(sweep)
    assert travelled(read) == document


def test_few_points_stay_lists() -> None:
    """What people and diffs can read stays as it was, up to the limit."""
    point = Point("a", 1, 0, False, 2, None, {})  # noqa: FBT003  (a column)
    sweep = Sweep(name="x", started="", variants=(Variant("a", "a"),))

    few, many = (
        to_document(replace(sweep, points=(point,) * count))
        for count in (MOST_LISTED, MOST_LISTED + 1)
    )

    assert "packed" not in few
    assert [len(few[key]) for key in ("points", "traces")] == [MOST_LISTED, 0]  # type: ignore[arg-type]  # lists
    assert "packed" in many
    assert not {"points", "traces"} & many.keys()


@pytest.mark.parametrize("repeats", [5, 10])
def test_a_sweep_of_twelve_sizes_through_four_transports_stays_small(
    repeats: int, tmp_path: Path
) -> None:
    """The file, and the lines that a notebook makes of it, take at most 200 kB."""
    sweep = measured(12, repeats)
    file = tmp_path / "x.serprof.json"

    save_document(sweep, file)
    in_notebook = json.dumps(to_document(sweep), indent=1, ensure_ascii=False)

    assert 20_000 < file.stat().st_size <= MOST_BYTES
    assert len(in_notebook.encode()) <= MOST_BYTES
    assert load(file) == sweep


def test_the_packed_golden_file_loads_for_ever() -> None:
    """Tables that the first version wrote say what its lists say."""
    extra = {"variant": "ray", "size_bytes": 8_000_000, "cold": True, "trace": TRACE}
    lists = {**SWEEP, "traces": [*SWEEP["traces"], extra]}

    read = from_document(PACKED)

    assert read == from_document(lists)


def test_lists_beside_tables_come_after() -> None:
    """A front end that lengthens a packed document shows the new points last."""
    lists = from_document(SWEEP)
    both = {**PACKED, "points": SWEEP["points"], "traces": SWEEP["traces"]}

    read = from_document(both)

    packed = from_document(PACKED)
    assert isinstance(read, Sweep)
    assert isinstance(lists, Sweep)
    assert isinstance(packed, Sweep)
    assert read.points == (*packed.points, *lists.points)
    assert read.traces == (*packed.traces, *lists.traces)


@pytest.mark.parametrize("key", ["points", "traces"])
def test_a_sweep_without_lists_and_tables_is_refused(key: str) -> None:
    """Nothing measured is an empty list; nothing written is a damage."""
    document = without(SWEEP, (key,))

    with pytest.raises(DocumentError) as caught:
        from_document(document)

    assert f"document has no '{key}'" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("points", "wall_ns"), "1 2", "columns of its points have lengths [2, 3]"),
        (("points", "wall_ns"), "1 2 x", "a packed column holds 'x'"),
        (("points", "wall_ns"), "1 2 -3", "should be at least 0"),
        (("points", "wall_ns"), "1 2 NaN", "which is no number"),
        (("points", "wall_ns"), "1 2 9223372036854775808", "beyond int64"),
        (("points", "wall_ns"), "1 2 " + "9" * 5000, "a packed column holds '999"),
        (("points", "wall_ns"), "1 2 " + "[" * 100_000, "a packed column holds '[[["),
        (("points", "wall_ns"), "1 2 ", "document.points[2] has no 'wall_ns'"),
        (("points", "wall_ns"), [1, 2, 3], "document.packed.points.wall_ns should be string"),
        (("points", "wall_ns/more"), "1 2 3", "'wall_ns/more' is inside a value"),
        (("points", "variant"), "#0 #1 #99", "a packed column holds '#99'"),
        (("points", "variant"), "#0 #1 #-1", "a packed column holds '#-1'"),
        (("traces", "trace/details"), "0 99", "counts 99 rows or details, there are 2"),
        (("traces", "trace/details"), "0 1", "rows or details of no trace"),
        (("traces", "trace/waterfall/rows"), "2 -1", "counts -1 rows or details"),
        (("traces", "trace/waterfall/rows"), "2 " + "9" * 30, "rows or details"),
        (("rows", "self_ns"), "1 1 1 1 1 1 1", "its rows add up to"),
        (("details", "span"), "0 99", "details of span '99'"),
        (("values",), {}, "document.packed.values should be array"),
    ],
)
def test_a_damaged_table_is_named(path: Steps, value: object, message: str) -> None:
    """Never a traceback from inside, never a part of a document."""
    document = changed(PACKED, ("packed", *path), value)

    with pytest.raises(DocumentError) as caught:
        from_document(document)

    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


@given(mutated(PACKED, st.sampled_from(FOREIGN_VALUES) | json_values))
@settings(max_examples=200)
def test_wrong_values_in_tables_load_or_are_complained_of(document: object) -> None:
    """No other exception, whatever stands anywhere."""
    damaged = json.dumps(document)

    try:
        read = from_document(document)
    except DocumentError:
        read = None

    assert read is None or from_document(to_document(read)) == read
    assert json.dumps(document) == damaged
