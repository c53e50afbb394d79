"""Documents for other tools: CSV, data frames, Markdown, and names without an ending."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

import jupyter_serprof as sp
from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import (
    Change,
    Comparison,
    Point,
    Summary,
    Sweep,
    Trace,
    UsageError,
    Variant,
)
from jupyter_serprof.testing import make_trace

MS = 1_000_000


def trace() -> Trace:
    """Return a pickle with a collection inside, of ten ms."""
    spans = [
        ("pickle.dumps", "client/main", 0, 8, 8_000_000),
        ("gc", "client/main", 1, 2, None, 0),
    ]
    return analyse(make_trace(spans, name='f("a, b")', wall_ms=10))


def sweep() -> Sweep:
    """Return two runs through one transport, and one that failed."""
    points = (
        Point("ray", 800, 0, True, 9 * MS, 900, {"ray.store": 5 * MS}),  # noqa: FBT003
        Point("ray", 800, 1, False, 4 * MS, None, {"ray.store": 3 * MS, "gc": MS}),  # noqa: FBT003
    )
    variants = (Variant("ray", "Ray"), Variant("dask", "Dask", "failed", "it | broke"))
    return Sweep(name="a", started="", variants=variants, points=points)


def read(path: Path) -> list[list[str]]:
    """Return the lines of a CSV file."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def test_csv_has_the_spans_of_a_trace(tmp_path: Path) -> None:
    """One line each, unknown empty, names with commas and quotes whole."""
    sp.save(trace(), tmp_path / "x.csv")

    heads = "index,parent,stage,title,name,lane,start_ns,duration_ns,size_bytes"
    pickle = "0,,pickle.dumps,Pickle,pickle.dumps,client/main,0,8000000,8000000"
    collection = "1,0,gc,Garbage collection,gc,client/main,1000000,2000000,"
    lines = [line.split(",") for line in (heads, pickle, collection)]
    assert read(tmp_path / "x.csv") == lines


def test_csv_has_the_points_of_a_sweep(tmp_path: Path) -> None:
    """Each run, with the stages in the order of the road; a stage that was not there took 0."""
    sp.save(sweep(), tmp_path / "x.csv")

    heads, cold, warm = read(tmp_path / "x.csv")
    assert heads[-2:] == ["ray.store_ns", "gc_ns"]
    assert cold == ["ray", "800", "", "0", "True", "9000000", "900", "", "5000000", "0"]
    assert warm == ["ray", "800", "", "1", "False", "4000000", "", "", "3000000", "1000000"]


def test_a_data_frame_keeps_whole_numbers_whole_and_unknown_unknown() -> None:
    """8 million bytes beside an unknown size do not become 8000000.0 and NaN."""
    pd = pytest.importorskip("pandas")

    spans, summary = sp.to_dataframe(trace()), sp.to_dataframe(trace(), "summary")
    points = sp.to_dataframe(sweep())

    assert str(spans["size_bytes"].dtype) == "Int64"
    assert spans["size_bytes"][0] == 8_000_000
    assert spans["size_bytes"][1] is pd.NA
    assert spans["parent"][0] is pd.NA
    assert summary["self_ns"].sum() == 10 * MS
    assert list(summary["title"]) == ["Pickle", "Garbage collection", "Unaccounted"]
    assert list(points["wall_ns"]) == [9 * MS, 4 * MS]
    assert len(sp.to_dataframe(replace(trace(), spans=()))) == 0


def test_a_data_frame_of_something_else_is_refused() -> None:
    """With what there is."""
    with pytest.raises(UsageError, match=r"a sweep has no 'spans'. Choose one of: points, summary"):
        sp.to_dataframe(sweep(), "spans")


def test_markdown_is_a_table_for_an_issue(tmp_path: Path) -> None:
    """Headline, stages that add up, and where it was run."""
    given = replace(trace(), summary=Summary("It took 10 ms."), environment={"python": "3.11.7"})

    sp.save(given, tmp_path / "x.md")

    assert (tmp_path / "x.md").read_text("utf-8") == sp.to_markdown(given) == (
        "**It took 10 ms.**\n\n"
        "| stage | where | time | share | bytes |\n"
        "| --- | --- | ---: | ---: | ---: |\n"
        "| Pickle | client/main | 6.00 ms | 60.0 % | 8.00 MB |\n"
        "| Garbage collection | client/main | 2.00 ms | 20.0 % |  |\n"
        "| Unaccounted |  | 2.00 ms | 20.0 % |  |\n"
        "| Wall time |  | 10.0 ms | 100.0 % |  |\n\n"
        "jupyter\\_serprof.testing, python 3.11.7\n"
    )  # fmt: skip


def test_markdown_of_a_sweep_has_its_variants_and_the_comparison() -> None:
    """Cold apart from warm; what failed says why, in its cell."""
    change = Change("", "Wall time", 10 * MS, 5 * MS, "faster", 0.5, 0.4, 0.6, 15, 15)
    found = Comparison(before="a_b", after="a", changes=(change,), notes=("other versions",))

    said = sp.to_markdown(replace(sweep(), comparison=found))

    assert "| Ray | 800 B | 9.00 ms | 4.00 ms |  | 1 | 900 B |" in said
    assert "| Dask (it \\| broke) |" in said
    assert "| Wall time | faster | 10.00 ms | 5.000 ms | 0.50× | \\[0.40× to 0.60×\\] |" in said  # noqa: RUF001
    assert "- other versions" in said


def test_names_stay_text_in_markdown() -> None:
    """No markup, no link, no line break, nobody is told, no issue is mentioned."""
    hostile = "a|b\n# <script> `x` [y](http://z) @octocat #12 \\| \x1b[0m"

    said = sp.to_markdown(replace(trace(), summary=Summary(hostile)))

    assert said.splitlines()[0] == (
        "**a\\|b # \\<script\\> \\`x\\` \\[y\\](http://z) @<!-- -->octocat #<!-- -->12 "
        "\\\\\\| \\[0m**"
    )


def test_a_name_without_an_ending_gets_ours(tmp_path: Path) -> None:
    """``--save before`` and ``--compare before`` mean one file."""
    sp.save(trace(), tmp_path / "before")

    assert [path.name for path in tmp_path.iterdir()] == ["before.serprof.json"]
    assert sp.load(tmp_path / "before.serprof.json") == trace()


def test_an_unknown_ending_names_those_that_there_are(tmp_path: Path) -> None:
    """Nothing is written."""
    with pytest.raises(UsageError) as caught:
        sp.save(trace(), tmp_path / "x.xlsx")

    assert ".md, .csv or .trace.json" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
