"""Text of documents. The traces and sweeps built here are also what the picture tests draw."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import outlined, sweeps, traces

from jupyter_serprof.model import (
    Finding,
    Lane,
    Limits,
    Point,
    ProbeReport,
    Quality,
    Row,
    Span,
    Stage,
    Summary,
    Sweep,
    SweepTrace,
    Trace,
    UsageError,
    Variant,
    Waterfall,
    stage,
)
from jupyter_serprof.views.kit.cells import width as columns_of
from jupyter_serprof.views.text import text

MS = 1_000_000
ARRAY_BYTES = 800_000_000
STARTED = "2026-11-21T08:00:00.000Z"


def make_row(key: str, start_ns: int, self_ns: int, **facts: object) -> Row:
    """Return a row that owns one piece of the wall time on the client."""
    known: dict[str, object] = {
        "lane": "client/main",
        "busy_ns": self_ns,
        "size_bytes": None,
        "count": 1,
        "pieces": ((start_ns, self_ns),),
        **facts,
    }
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
        make_row(
            "ray.store",
            at + 280_000,
            973 * MS,
            size_bytes=ARRAY_BYTES,
            copied_bytes=ARRAY_BYTES,
            minor_faults=195_313,
        ),
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
    """Return a trace in which nothing was seen."""
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
    notes = ("the result is unstable: close other programs and run again",) if key == "ray" else ()
    return Variant(key, title, result=result, facts=facts, notes=notes)


def _points(variant: str, wall_ms: float, stages: Mapping[str, float], count: int) -> list[Point]:
    """Return so many points around a wall time; one alone is the cold one."""
    spread = [(i - count // 2) * wall_ms / 100 for i in range(count)]
    owned = {key: round(length * MS) for key, length in stages.items()}
    return [
        Point(
            variant=variant,
            size_bytes=ARRAY_BYTES,
            repeat=i,
            cold=count == 1,
            wall_ns=round((wall_ms + shift) * MS),
            moved_bytes=ARRAY_BYTES,
            stages=owned,
            minor_faults=195_313 if count == 1 else None,
        )
        for i, shift in enumerate(spread)
    ]


def test_a_trace_says_what_took_the_time_then_shows_it_and_then_what_to_do() -> None:
    """The order of reading: headline, facts, table, finding with its remedy, remarks."""
    trace = make_put_get()

    lines = text(trace).split("\n")

    assert trace.summary is not None
    assert lines[0] == trace.summary.headline
    assert lines[1] == " · ".join(trace.summary.facts)
    labels = [line[:6].strip() for line in lines]
    positions = [labels.index(label) for label in ("stage", "Wall t", "warn", "try", "note")]
    assert positions == sorted(positions)


def test_a_row_shows_time_share_bytes_rate_and_the_share_of_memcpy() -> None:
    """What the store moved can be compared with what this machine can, and with its new pages."""
    said = text(make_put_get())

    shown = _line(said, "Store").split("│")[-1].split()
    assert shown[:8] == ["0.973", "80.4", "800", "MB", "822", "MB/s", "6", "%"]
    assert "faults" in said
    assert shown[8].replace(",", "").isdecimal()


def test_unknown_not_applicable_and_zero_copy_are_told_apart() -> None:
    """``n/a`` was not seen, ``–`` does not apply, and what was not copied has no rate."""  # noqa: RUF002
    said = text(make_put_get())

    assert _line(said, "Wait + pull + map").split()[-4] == "n/a"
    assert _line(said, "First-use imports").split()[-4:] == ["–"] * 4  # noqa: RUF001
    assert "zero-copy" in _line(said, "Pickle 5")


def test_a_measured_zero_is_told_from_a_small_number() -> None:
    """``0`` was measured as zero; ``0.000`` is more than zero."""
    rows = (make_row("pickle.dumps", 0, 0), make_row("pickle.loads", 0, 1_000))

    said = text(make_trace(rows, 1_000 * MS))

    assert _line(said, "Pickle").split("│")[-1].split()[:2] == ["0", "0"]
    assert _line(said, "Unpickle").split("│")[-1].split()[:2] == ["0.000", "0.0"]


def test_unaccounted_time_is_always_a_row_and_looks_different() -> None:
    """What nobody explains is never hidden and never spread over the stages."""
    said = text(make_empty())

    unaccounted = _line(said, "Unaccounted")
    assert "░░░░" in unaccounted
    assert "█" not in unaccounted
    assert "100.0" in unaccounted
    assert "no stage was seen" in said


def test_a_bar_stands_at_its_true_time() -> None:
    """A stage that ran late is drawn late."""
    rows = (make_row("pickle.dumps", 0, 50 * MS), make_row("pickle.loads", 50 * MS, 50 * MS))

    said = text(make_trace(rows, 100 * MS))

    bars = [_line(said, title).split("│")[1] for title in ("Pickle", "Unpickle")]
    half = len(bars[0]) // 2
    assert bars[0] == "█" * half + " " * half
    assert bars[1] == " " * half + "█" * half


def test_many_short_pieces_are_as_high_as_their_share_of_the_instant() -> None:
    """Half of each instant gives a bar of half height, not one that looks like all of it."""
    pieces = tuple((at * MS, MS // 2) for at in range(60))
    row = make_row("pickle.dumps", 0, 30 * MS, pieces=pieces, count=60)

    said = text(make_trace((row,), 60 * MS))

    assert set(_line(said, "Pickle").split("│")[1]) == {"▄"}


def test_pieces_that_were_merged_are_no_higher_than_what_was_owned() -> None:
    """A row that owned half of the extent of its pieces does not look as if it owned all of it."""
    row = make_row("pickle.dumps", 0, 30 * MS, pieces=((0, 60 * MS),), count=5_000)

    said = text(make_trace((row,), 60 * MS))

    assert set(_line(said, "Pickle").split("│")[1]) == {"▄"}


@pytest.mark.parametrize(
    ("outcome", "said"), [("error", "raised after"), ("interrupted", "interrupted after")]
)
def test_a_run_that_ended_early_says_so(outcome: str, said: str) -> None:
    """What was measured until then is shown as such."""
    trace = replace(make_put_get(), outcome=outcome)

    assert f"{said} 1.21 s: what was measured until then" in text(trace)
    assert said not in text(make_put_get())


def test_remarks_name_what_was_not_seen_and_are_silent_about_what_is_not_there() -> None:
    """A probe of a library that is not installed needs no line; a blind spot does."""
    said = text(make_put_get())

    assert "1,234 spans were dropped" in said
    assert "ray 2.60.0 (wrappers) did not see: spill, pull" in said
    assert "dask" not in said


def test_a_round_trip_shows_every_transport_cold_and_warm() -> None:
    """Median, ratio, bytes, faults and the result stand side by side; a failure keeps its row."""
    said = text(make_sweep())

    cloudpickle = said.split("\n").index(_line(said, "cloudpickle "))
    cold, warm = said.split("\n")[cloudpickle : cloudpickle + 2]
    assert "1.92 s" in cold
    assert "195,313" in cold
    assert "950 ms" in warm
    assert "a copy, writeable" in warm
    assert "not running: no client is connected" in _line(said, "Dask")
    assert "median of 7 (quartiles 936 ms to 964 ms)" in said
    assert "the result is unstable" in said


def test_a_sweep_over_sizes_names_the_size_of_each_line() -> None:
    """Runs of different sizes are never put into one line."""
    sweep = make_sweep()
    small = tuple(replace(point, size_bytes=1_000) for point in sweep.points)

    said = text(replace(sweep, kind="sweep", points=(*small, *sweep.points)))

    assert "warm, median" in said
    assert "\n1.00 kB  " in said
    assert "\n 800 MB  " in said


def test_an_unknown_view_is_refused_with_the_names_that_exist() -> None:
    """A typing error is told, with what could be typed instead."""
    with pytest.raises(UsageError, match="waterfall"):
        text(make_empty(), view="watefall")


def test_the_table_view_has_no_bars() -> None:
    """Who wants only numbers gets them."""
    assert "█" not in text(make_put_get(), view="table")
    assert "█" not in text(make_sweep(), view="table")


@settings(max_examples=60)
@given(traces() | sweeps(), st.integers(40, 140))
def test_any_document_gives_text_that_fits(doc: Trace | Sweep, width: int) -> None:
    """No document raises, no line is wider than asked, and the text can be written to a file."""
    said = text(doc, width=width)

    assert max(columns_of(line) for line in said.split("\n")) <= width
    assert all(line.isprintable() for line in said.split("\n"))
    assert said.encode()


def test_long_names_are_cut_before_numbers_are() -> None:
    """Every row keeps its time and its share, and stays on its line."""
    said = text(make_long_names(), width=60)

    assert max(map(len, said.split("\n"))) <= 60
    assert said.count("A stage with") >= 4
    assert _line(said, "Wall time").split()[-2:] == ["27.93", "100.0"]


def test_text_needs_neither_numpy_nor_a_plotting_library() -> None:
    """A terminal or a log gets its text without loading what it cannot use."""
    code = (
        "import sys, jupyter_serprof.views.text\n"
        "heavy = {'matplotlib', 'numpy', 'PIL', 'ray', 'dask'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def _line(said: str, start: str) -> str:
    """Return the first line that begins so."""
    return next(line for line in said.split("\n") if line.startswith(start))
