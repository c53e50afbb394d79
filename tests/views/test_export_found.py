"""What was found out goes into Markdown and tables, too: parts, remedies, groups, changes."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from strategies import outlined
from test_export import MS, read, sweep, trace

import jupyter_serprof as sp
from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import (
    Anatomy,
    Change,
    Comparison,
    Finding,
    Group,
    Part,
    Prediction,
    Quality,
    Row,
    Summary,
    Trace,
    UsageError,
    Variant,
    Waterfall,
)
from jupyter_serprof.testing import make_trace

PARTS = (
    Part("job", "job", "dict", -1, 30, 10_000, 5_000),
    Part('["a|b"]', 'job["a|b"]', "ndarray", 0, 9_940, 9_940, 5_000, 3 * MS),
    Part('["tiny"]', 'job["tiny"]', "int", 0, 20, 20),
    Part('["lock"]', 'job["lock"]', "lock", 0, 10, 10, state="unpicklable", note="TypeError: no"),
)
ANATOMY = Anatomy(name="job", in_band_bytes=10_000, out_of_band_bytes=5_000, parts=PARTS)
CHANGE = Change("", "Wall time", 10 * MS, 5.5, "faster", 0.5, 0.4, 0.6, 15, 15)
CHANGES = Comparison(
    before="a",
    after="b",
    changes=(CHANGE, replace(CHANGE, stage="gc", title="Garbage collection", after_ns=None)),
    noise_share=0.034,
    method="Intervals of all runs.",
)


def split() -> Trace:
    """Return a first run of 4 ms and again one of 6 ms, whose pickle has parts."""
    rows = (
        Row("pickle.dumps", "client/main", 0, 4 * MS, 4 * MS, 800, 1, group=0),
        Row("pickle.dumps", "client/main", 4 * MS, 0, 0, 800, 1, group=1),
        Row("pickle.opcodes", "client/main", 4 * MS, 3 * MS, 3 * MS, None, 1, group=1),
        Row("pickle.copy", "client/main", 7 * MS, 2 * MS, 2 * MS, None, 1, group=1),
    )
    spans = [("pickle.dumps", "client/main", 0, 4), ("pickle.dumps", "client/main", 4, 6)]
    trace = replace(
        make_trace(spans, name="rows", wall_ms=10),
        groups=(Group("first run", 0, 4 * MS), Group("again: best of 2", 4 * MS, 10 * MS)),
        waterfall=Waterfall(rows, MS),
    )
    return outlined(trace)


def test_markdown_of_blame_has_the_parts() -> None:
    """Path, bytes and share; what cannot be pickled says why; tiny parts are counted."""
    said = sp.to_markdown(replace(trace(), anatomies=(ANATOMY,)))

    parts = said[: said.index("| stage |")]
    assert "**job cannot be pickled because of job" in parts
    assert '- job\\["lock"\\] (lock): TypeError: no' in parts
    assert "| job | dict | 10.0 kB | 5.00 kB | 100.0 % |  |  |" in parts
    assert '| job\\["a\\|b"\\] | ndarray | 9.94 kB | 5.00 kB | 99.6 % | 3.00 ms |  |' in parts
    assert '| job\\["lock"\\] | lock | 10 B | 0 B | 0.1 % |  | unpicklable |' in parts
    assert "tiny" not in parts
    assert "- 1 more parts in the document" in parts


def test_markdown_of_many_parts_stays_an_issue() -> None:
    """The largest forty; in the order of the pickle, long paths cut in the middle."""
    many = [Part("x", "x", "list", -1, 0, 90_000)]
    many += [Part("p", f"x{'.p' * 500}[{at}]", "int", 0, 900, 900 + at) for at in range(99)]

    said = sp.to_markdown(replace(ANATOMY, in_band_bytes=90_000, parts=tuple(many)))

    lines = [line for line in said.splitlines() if line.startswith("| x")]
    assert len(lines) == 40
    assert lines[0].startswith("| x | list")
    assert "\\[98\\]" in lines[-1]
    assert max(map(len, lines)) < 250
    assert "- 60 more parts" in said


def test_markdown_tells_the_first_run_from_those_that_follow() -> None:
    """No stage stands there twice without a word; a stage has its parts below it."""
    said = sp.to_markdown(split()).splitlines()

    start = said.index("| --- | --- | ---: | ---: | ---: |") + 1
    assert said[start : start + 9] == [
        "| **first run** |  | 4.00 ms | 40.0 % |  |",
        "| Pickle | client/main | 4.00 ms | 40.0 % | 800 B |",
        "| **again: best of 2** |  | 5.00 ms | 50.0 % |  |",
        "| Pickle | client/main | 5.00 ms | 50.0 % | 800 B |",
        "| - itself | client/main | 0 ns | 0.0 % | 800 B |",
        "| - Opcodes and memo | client/main | 3.00 ms | 30.0 % |  |",
        "| - Copy into the pickle | client/main | 2.00 ms | 20.0 % |  |",
        "| Unaccounted |  | 1.00 ms | 10.0 % |  |",
        "| Wall time |  | 10.0 ms | 100.0 % |  |",
    ]


def test_markdown_of_trials_has_remedy_gain_pairs_and_what_changes() -> None:
    """The remedy can be pasted whatever it holds."""
    measured = {"low": 4.5, "high": 6.6, "pairs": 15, "equal": True}
    finding = Finding("r", "warn", "rows of dicts", {}, "a = `x`  # ```b```", 5.4, (), measured)
    variant = Variant("ray", "columns", notes=("a list comes back as dict",), result="a copy")
    given = replace(
        sweep(),
        variants=(variant,),
        findings=(finding,),
        quality=Quality(notes=("clocks differ",)),
        summary=Summary("It helps.", ("pairs in turns", "warm")),
    )

    said = sp.to_markdown(given)

    assert "- columns: a copy\n- columns: a list comes back as dict\n" in said
    assert "pairs in turns · warm" in said
    assert (
        "**warn**: rows of dicts (measured: 5.4× faster, 95 % interval 4.5× to 6.6×, "  # noqa: RUF001
        "15 pairs, equal)"
    ) in said
    assert "\n````python\na = `x`  # ```b```\n````\n" in said
    assert "- clocks differ" in said


def test_markdown_of_a_comparison_has_noise_and_method() -> None:
    """By itself, or in a document."""
    alone, inside = sp.to_markdown(CHANGES), sp.to_markdown(replace(trace(), comparison=CHANGES))

    assert "| Garbage collection | faster | 10.00 ms | – | 0.50× | \\[0.40× to 0.60×\\] |" in alone  # noqa: RUF001
    assert "now against itself: ±3.4 %" in alone
    assert "- Intervals of all runs." in alone
    assert alone.split("\n\n", 1)[1].strip() in inside


def test_a_prediction_never_looks_measured(tmp_path: Path) -> None:
    """Neither in Markdown nor in a table of its spans."""
    guess = replace(trace(), prediction=Prediction(size_bytes=10**9))

    sp.save(guess, tmp_path / "x.csv")

    assert "| Wall time (predicted, not measured) |" in sp.to_markdown(guess)
    heads, first, *_ = read(tmp_path / "x.csv")
    assert (heads[-1], first[-1]) == ("predicted_size_bytes", "1000000000")


def test_csv_of_blame_has_every_part(tmp_path: Path) -> None:
    """Also of the anatomy alone; the bytes add up."""
    sp.save(replace(trace(), anatomies=(ANATOMY,)), tmp_path / "x.csv")
    sp.save(ANATOMY, tmp_path / "y.csv")  # type: ignore[arg-type]  # a table is all there is of it

    heads, root, array, *_ = read(tmp_path / "x.csv")
    assert dict(zip(heads, array, strict=True)) == {
        "anatomy": "job",
        "index": "1",
        "parent": "0",
        "path": 'job["a|b"]',
        "kind": "ndarray",
        "count": "1",
        "self_bytes": "9940",
        "in_band_bytes": "9940",
        "state": "",
        "note": "",
        "out_of_band_bytes": "5000",
        "total_bytes": "14940",
        "share": "0.996",
        "duration_ns": "3000000",
    }
    assert root[heads.index("parent")] == ""
    assert read(tmp_path / "x.csv") == read(tmp_path / "y.csv")


def test_spans_of_several_groups_name_them() -> None:
    """A first run is told from those that follow; a trace without groups has no such column."""
    spans, plain = sp.to_dataframe(split()), sp.to_dataframe(trace())

    assert list(spans["group_title"]) == ["first run", "again: best of 2"]
    assert list(spans["group"]) == [0, 1]
    assert "group" not in plain.columns


def test_anatomies_and_comparisons_are_data_frames() -> None:
    """Whole numbers stay whole, unknown stays unknown, medians between two runs are rounded."""
    pd = pytest.importorskip("pandas")
    blamed = sp.blame({"a": list(range(500)), "b": b"x" * 500})

    parts, changes = sp.to_dataframe(blamed), sp.to_dataframe(CHANGES)
    inside = sp.to_dataframe(replace(sweep(), comparison=CHANGES), "changes")

    assert parts["self_bytes"].sum() == blamed.in_band_bytes
    assert parts["parent"][0] is pd.NA
    assert list(changes["after_ns"]) == [6, pd.NA]
    assert changes["ratio"][0] == pytest.approx(0.5)
    assert inside.equals(changes)


@pytest.mark.parametrize("given", [5, None, "x.serprof.json", threading.Lock()])
@pytest.mark.parametrize("ending", ["csv", "md", "json", "png", "html", "trace.json"])
def test_what_is_no_document_is_refused_in_words(
    tmp_path: Path, given: object, ending: str
) -> None:
    """With what would be one; nothing is written."""
    with pytest.raises(UsageError, match=f"{type(given).__name__} is no document. Give what"):
        sp.save(given, tmp_path / f"x.{ending}")  # type: ignore[arg-type]  # that is the mistake
    with pytest.raises(UsageError, match="is no document"):
        sp.to_dataframe(given)  # type: ignore[arg-type]  # the same
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [ANATOMY, CHANGES])
@pytest.mark.parametrize("ending", ["json", "png", "html", "trace.json"])
def test_what_is_only_a_table_says_what_can_be_drawn(
    tmp_path: Path, given: Anatomy, ending: str
) -> None:
    """And how to get it."""
    with pytest.raises(UsageError, match=r"written as \.md or \.csv only"):
        sp.save(given, tmp_path / f"x.{ending}")  # type: ignore[arg-type]  # that is the mistake


def test_a_table_that_a_document_lacks_is_refused_with_those_it_has() -> None:
    """Parts only where something was blamed, changes only where something was compared."""
    blamed = replace(analyse(trace()), anatomies=(ANATOMY,), comparison=CHANGES)

    with pytest.raises(
        UsageError, match=r"a trace has no 'points'. Choose one of: changes, parts, "
    ):
        sp.to_dataframe(blamed, "points")
    with pytest.raises(UsageError, match=r"an anatomy has no 'spans'. Choose one of: parts"):
        sp.to_dataframe(ANATOMY, "spans")
    with pytest.raises(UsageError, match=r"a trace has no 'parts'. Choose one of: spans, summary"):
        sp.to_dataframe(trace(), "parts")
