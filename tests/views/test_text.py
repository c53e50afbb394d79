"""Text of documents. The traces and sweeps built here are also what the picture tests draw."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from compare_samples import FOUND
from dask_samples import computation
from goldens import check
from hypothesis import given, settings
from hypothesis import strategies as st
from pythons import python
from size_samples import make_chunks, make_sizes
from strategies import sweeps, traces

from jupyter_serprof.analysis.outline import outlined
from jupyter_serprof.model import (
    Anatomy,
    Finding,
    Lane,
    Limits,
    Part,
    Point,
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
    stage,
)
from jupyter_serprof.views.kit.lines import width as columns_of
from jupyter_serprof.views.notebook.bundle import bundle
from jupyter_serprof.views.text import WIDTH, markdown, screen_width, text

MS, ARRAY_BYTES = 1_000_000, 800_000_000
COPIED = {"size_bytes": ARRAY_BYTES, "copied_bytes": ARRAY_BYTES}
STARTED = "2026-11-21T08:00:00.000Z"


def make_row(key: str, start_ns: int, self_ns: int, **facts: object) -> Row:
    """Return a row that owns one piece of the wall time on the client."""
    known: dict[str, object] = {"lane": "client/main", "busy_ns": self_ns, "size_bytes": None}
    known |= {"count": 1, "pieces": ((start_ns, self_ns),), **facts}
    return Row(stage=key, start_ns=start_ns, self_ns=self_ns, **known)  # type: ignore[arg-type]


def make_trace(rows: tuple[Row, ...], wall_ns: int, **facts: object) -> Trace:
    """Return a trace with one span for each row and what the rows leave as unaccounted."""
    lanes = dict.fromkeys(row.lane for row in rows)
    known: dict[str, object] = {
        "name": "ray.get(ray.put(a))",
        "started": STARTED,
        "stages": tuple(stage(row.stage) for row in rows),
        "lanes": tuple(Lane(lane, kind=lane.split("/")[0]) for lane in lanes),
        "spans": tuple(
            Span(row.stage, row.stage, row.lane, row.start_ns, row.self_ns, row.size_bytes)
            for row in rows
        ),
        "waterfall": Waterfall(rows, wall_ns - sum(row.self_ns for row in rows)),
        "limits": Limits(memcpy_bytes_per_s=12.9e9, first_touch_bytes_per_s=0.9e9),
        **facts,
    }
    return outlined(Trace(wall_ns=wall_ns, **known))  # type: ignore[arg-type]


def make_put_get() -> Trace:
    """Return a cold put and get of 800 MB, with first-use imports."""
    at = 220 * MS
    rows = (
        make_row("ray.msgpack", at, 120_000, size_bytes=124, copied_bytes=124),
        make_row("ray.pickle", at + 120_000, 160_000, size_bytes=ARRAY_BYTES, copied_bytes=0),
        make_row("ray.store", at + 280_000, 973 * MS, **COPIED, minor_faults=195_313),
        make_row("ray.fetch", at + 973_400_000, 310_000, size_bytes=None),
        make_row("ray.unpickle", at + 974 * MS, 120_000, size_bytes=ARRAY_BYTES, copied_bytes=0),
        make_row("import", 0, at, count=412),
    )
    return make_trace(
        rows,
        1_210 * MS,
        summary=Summary(
            "1.21 s: 80 % is copying 800 MB into the store; nothing was copied on the way back",
            facts=("named 98.7 %", "memcpy 12.9 GB/s", "ray 2.60.0", "recorded 21 Nov 2026"),
        ),
        findings=(
            Finding(
                "ray.first-touch",
                "warn",
                "The store wrote to pages it had never touched: 195,313 page faults",
                {"minor_faults": 195_313},
                "ray.init(_plasma_preallocate=True)",
                gain=3.2,
            ),
            Finding("python.imports", "info", "412 modules were imported meanwhile", {}, ""),
        ),
        quality=Quality(
            spans_dropped=1_234,
            probes=(
                ProbeReport("cloudpickle", "3.1.2"),
                ProbeReport("dask", None, "not installed"),
                ProbeReport("ray", "2.60.0", "armed", "wrappers", ("spill", "pull")),
            ),
        ),
    )


def make_empty() -> Trace:
    return Trace(name="1 + 1", started=STARTED, wall_ns=12_345, waterfall=Waterfall((), 12_345))


def make_many(count: int) -> Trace:
    """Return a trace of so many rows that follow each other, of unequal length and library."""
    keys = tuple(f"library.step{i:02d}" for i in range(count))
    families = ("build", "pickle", "move", "schedule", "store", "execute", "other")
    lanes = ("client/main", "scheduler/0", "worker/1", "worker/2")
    rows, at = [], 0
    for i, key in enumerate(keys):
        length = (1 + (i * 7919) % 97) * 137_000
        size = (None, 12_345, 64_000_000)[i % 3]
        rows.append(
            make_row(key, at, length, lane=lanes[i % 4], size_bytes=size, copied_bytes=size)
        )
        at += length
    stages = tuple(
        Stage(key, f"Step {i} of the long road", i, families[i % 7]) for i, key in enumerate(keys)
    )
    return make_trace(tuple(rows), at + 3 * MS, name="pipeline()", stages=stages)


def make_long_names() -> Trace:
    """Return a trace whose names do not fit anywhere."""
    trace = make_many(4)
    long = "A stage with a title that somebody wrote without any thought for the reader's screen"
    stages = tuple(replace(entry, title=f"{long} {i}") for i, entry in enumerate(trace.stages))
    finding = Finding("long", "warn", f"{long}, {long}", {}, "x" * 300)
    summary = Summary(f"{long}: {long}", facts=(long, long, long))
    return replace(trace, stages=stages, summary=summary, findings=(finding,))


def make_sweep() -> Sweep:
    """Return a round trip of 800 MB through four transports, one of which failed."""
    ray, plain = make_put_get(), make_trace((), 0)
    variants = (
        _variant("cloudpickle", "cloudpickle", "a copy, writeable", ARRAY_BYTES, 0),
        _variant("pickle-oob", "pickle 5 out-of-band", "aliases the original", 124, ARRAY_BYTES),
        _variant("ray", "Ray", "zero-copy, read-only", 124, ARRAY_BYTES),
        Variant("dask", "Dask", "not running", "no client is connected. Run: distributed.Client()"),
    )
    pickled, at_once = {"pickle.dumps": 474, "pickle.loads": 475}, {"pickle.dumps": 0.011}
    mapped = {"ray.store": 64.0, "ray.pickle": 0.16, "ray.fetch": 0.31, "ray.unpickle": 0.12}
    cold = {row.stage: row.self_ns / MS for row in ray.waterfall.rows} if ray.waterfall else {}
    points = (
        *_points("cloudpickle", 1_920, {"import": 20, "pickle.dumps": 968, "pickle.loads": 931}, 1),
        *_points("cloudpickle", 950, pickled, 7),
        *_points("pickle-oob", 0.087, at_once, 1),
        *_points("pickle-oob", 0.016, at_once, 7),
        *_points("ray", 1_210, cold, 1),
        *_points("ray", 65, mapped, 5),
    )
    return Sweep(
        name="a",
        started=STARTED,
        variants=variants,
        points=points,
        traces=(
            SweepTrace("ray", ARRAY_BYTES, True, ray),  # noqa: FBT003
            SweepTrace("cloudpickle", ARRAY_BYTES, False, plain),  # noqa: FBT003
        ),
        summary=Summary(
            "800 MB: Ray's warm round trip takes 65.0 ms, 14.6× faster than cloudpickle",  # noqa: RUF001
            facts=("a: ndarray float64 (10000, 10000)", "memcpy on this machine 12.9 GB/s"),
        ),
        findings=(Finding("pickle.fresh-pages", "warn", "cloudpickle pays for pages", {}, "ray"),),
        limits=Limits(memcpy_bytes_per_s=12.9e9),
    )


def _variant(key: str, title: str, result: str, in_band: int, out_of_band: int) -> Variant:
    facts = {"in_band_bytes": in_band, "out_of_band_bytes": out_of_band, "buffers": 1}
    facts["is_alias"] = "aliases" in result
    notes = ("the result is unstable: close other programs and run again",) if key == "ray" else ()
    return Variant(key, title, result=result, facts=facts, notes=notes)


def _points(variant: str, wall_ms: float, stages: Mapping[str, float], count: int) -> list[Point]:
    """Return so many points around a wall time; one alone is the cold one."""
    spread = [(i - count // 2) * wall_ms / 100 for i in range(count)]
    owned = {key: round(length * MS) for key, length in stages.items()}
    cold, size, faults = count == 1, ARRAY_BYTES, 195_313 if count == 1 else None
    return [
        Point(variant, size, i, cold, round((wall_ms + shift) * MS), size, owned, faults)
        for i, shift in enumerate(spread)
    ]


def late(pieces: tuple[tuple[int, int], ...]) -> Row:
    return make_row("pickle.dumps", 0, 30 * MS, pieces=pieces, count=60)


def two_sizes() -> Sweep:
    sweep = make_sweep()
    small = (replace(point, size_bytes=1_000) for point in sweep.points)
    return replace(sweep, kind="sweep", points=(*small, *sweep.points))


PUT_GET = make_put_get()
ANATOMY = Anatomy(name="x", in_band_bytes=10**6, parts=(Part("x", "x", "dict", -1, 20, 10**6),))
SAMPLES: dict[str, tuple[Trace | Sweep, dict[str, Any]]] = {
    "a put and a get, cold": (PUT_GET, {}),
    "as a table": (PUT_GET, {"view": "table"}),
    "in wide lines, what was not copied, and by several threads": (
        make_trace(
            (
                make_row("ray.pickle", 0, 40 * MS, size_bytes=ARRAY_BYTES, copied_bytes=0),
                make_row("ray.store", 40 * MS, 50 * MS, **COPIED),
            ),
            100 * MS,
        ),
        {"width": 140},
    ),
    "raised": (replace(PUT_GET, outcome="error"), {}),
    "interrupted": (replace(PUT_GET, outcome="interrupted"), {}),
    "zero was measured, and a little more than zero": (
        make_trace(
            (make_row("pickle.dumps", 0, 0), make_row("pickle.loads", 0, 1_000)), 1_000 * MS
        ),
        {},
    ),
    "nothing was seen": (make_empty(), {}),
    "one after the other": (
        make_trace(
            (make_row("pickle.dumps", 0, 50 * MS), make_row("pickle.loads", 50 * MS, 50 * MS)),
            100 * MS,
        ),
        {},
    ),
    "half of each instant is half as high": (
        make_trace((late(tuple((at * MS, MS // 2) for at in range(60))),), 60 * MS),
        {},
    ),
    "merged pieces are no higher than what was owned": (
        make_trace((late(((0, 60 * MS),)),), 60 * MS),
        {},
    ),
    "names are cut before numbers": (make_long_names(), {"width": 60}),
    "a round trip": (make_sweep(), {}),
    "a round trip as a table": (make_sweep(), {"view": "table"}),
    "a size names its line": (two_sizes(), {}),
    "a computation with its tables": (computation(), {}),
    "sizes": (make_sizes(), {}),
    "sizes in wide lines": (make_sizes(), {"width": 140}),
    "sizes as a table": (make_sizes(), {"view": "table"}),
    "chunks": (make_chunks(), {"width": 140}),
    "an anatomy below its headline": (
        replace(make_empty(), summary=Summary("x is 1.00 MB (dict)."), anatomies=(ANATOMY,)),
        {},
    ),
    "a comparison above the stages": (replace(PUT_GET, comparison=FOUND), {}),
}


def test_documents_are_told_in_characters() -> None:
    check("text", {name: text(doc, **options) for name, (doc, options) in SAMPLES.items()})


@settings(max_examples=60)
@given(traces() | sweeps(), st.integers(40, 140))
def test_any_document_gives_text_that_fits(doc: Trace | Sweep, width: int) -> None:
    """No document raises, no line is wider than asked, and the text can be written to a file."""
    said = text(doc, width=width)

    assert max(columns_of(line) for line in said.split("\n")) <= width
    assert all(line.isprintable() for line in said.split("\n"))
    assert said.encode()


@pytest.mark.parametrize(
    ("columns", "is_terminal", "width"),
    [("75", True, 75), ("20", True, 60), ("400", True, 160), ("75", False, 100), ("0", True, 100)],
)
def test_the_screen_is_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int, *, is_terminal: bool
) -> None:
    """Within what is readable; a pipe, a notebook and a terminal that does not say have 100."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: is_terminal))
    # What COLUMNS does not say is asked of the terminal of the test, which may have one.
    monkeypatch.setattr("sys.__stdout__", None)

    assert screen_width() == width


@pytest.mark.parametrize("stdout", [None, SimpleNamespace()])
def test_what_is_no_stream_is_no_terminal(monkeypatch: pytest.MonkeyPatch, stdout: object) -> None:
    monkeypatch.setattr("sys.stdout", stdout)

    assert screen_width() == WIDTH


@pytest.mark.parametrize("doc", [PUT_GET, make_sweep(), make_sizes()])
def test_an_output_of_a_shell_has_the_width_of_its_terminal(
    monkeypatch: pytest.MonkeyPatch, doc: Trace | Sweep
) -> None:
    monkeypatch.setattr("jupyter_serprof.views.notebook.bundle.screen_width", lambda: 60)

    data, _ = bundle(doc)

    assert data["text/plain"] == text(doc, width=60)
    assert max(columns_of(line) for line in str(data["text/plain"]).split("\n")) <= 60


def test_text_needs_neither_numpy_nor_a_plotting_library() -> None:
    loaded = set(python("import sys, jupyter_serprof.views.text; print(*sys.modules)").split())

    assert not {"matplotlib", "numpy", "PIL", "ray", "dask"} & loaded


def test_a_line_to_paste_is_not_wrapped() -> None:
    """From a terminal it is copied as it is; its beginning says what it is."""
    remedy = "values = ray.get([work.remote(row) for row in rows])   # " + "all of them " * 9
    found = Finding("rule", "warn", "a cause", {"n": 1}, remedy.strip(), share=0.9)
    summary = Summary("1.00 s: a cause, 90 % of the time")

    lines = text(
        Trace(name="", started="", wall_ns=MS, findings=(found,), summary=summary), width=80
    ).splitlines()

    assert f"try   {remedy.strip()}" in lines


def test_stores_without_an_object_have_no_waterfall() -> None:
    """Nothing ran: there is no wall time to be drawn, and no stage that could have been seen."""
    stores = Table("ray.stores", "Object stores", (TableColumn("node", "Node"),), (("this node",),))
    said = Summary("no object is in the stores", ("0 B in use",))
    doc = Trace(name="", started="", wall_ns=0, tables=(stores,), summary=said)

    shown = text(doc) + markdown(doc)

    assert "this node" in shown
    assert "no object is in the stores" in shown
    assert "Unaccounted" not in shown
    assert "no stage was seen" not in shown
