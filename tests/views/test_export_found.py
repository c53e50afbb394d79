"""What was found out goes into Markdown and tables, too: parts, remedies, groups, changes."""

import json
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from goldens import check
from size_samples import make_sizes
from test_export import MS, sweep, trace

import jupyter_serprof as sp
from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.outline import outlined
from jupyter_serprof.analysis.ranking import with_ranking
from jupyter_serprof.model import (
    Anatomy,
    Change,
    Comparison,
    Finding,
    Group,
    Part,
    Quality,
    Row,
    Summary,
    Sweep,
    Trace,
    UsageError,
    Variant,
    Waterfall,
    from_document,
)
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.blame import anatomy_trace
from jupyter_serprof.views.figure import sheet_of
from jupyter_serprof.views.flat import rows_of
from jupyter_serprof.views.notebook.bundle import bundle
from jupyter_serprof.views.text import text

DATA = Path(__file__).parents[1] / "data"

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


def computed() -> Trace:
    """Return a computation of 4 ms and one of 6 ms, whose dispatch has parts."""
    rows = (
        Row("dask.dispatch", "client/main", 0, 4 * MS, 4 * MS, 800, 1, group=0),
        Row("dask.dispatch", "client/main", 4 * MS, 0, 0, 800, 1, group=1),
        Row("dask.dispatch.encode", "client/main", 4 * MS, 3 * MS, 3 * MS, None, 1, group=1),
        Row("dask.dispatch.wire", "client/main", 7 * MS, 2 * MS, 2 * MS, None, 1, group=1),
    )
    spans = [("dask.dispatch", "client/main", 0, 4), ("dask.dispatch", "client/main", 4, 6)]
    trace = replace(
        make_trace(spans, name="rows", wall_ms=10),
        groups=(Group("sum-1", 0, 4 * MS), Group("sum-2", 4 * MS, 10 * MS)),
        waterfall=Waterfall(rows, MS),
    )
    return outlined(trace)


def tried() -> Sweep:
    """Return a trial of a remedy that can be pasted whatever it holds."""
    measured = {"low": 4.5, "high": 6.6, "pairs": 15, "equal": True}
    finding = Finding("r", "warn", "rows of dicts", {}, "a = `x`  # ```b```", 5.4, (), measured)
    return replace(
        sweep(),
        variants=(Variant("ray", "columns", notes=("a list is now a dict",), result="a copy"),),
        findings=(finding,),
        quality=Quality(notes=("clocks differ",)),
        summary=Summary("It helps.", ("pairs in turns", "warm")),
    )


HOSTILE = "a|b\n# <script> `x` [y](http://z) @octocat #12 \\| \x1b[0m"
BLAMED = replace(trace(), anatomies=(ANATOMY,))
SAMPLES: dict[str, Trace | Sweep | Anatomy | Comparison] = {
    "a trace": replace(trace(), summary=Summary("It took."), environment={"python": "3.11.7"}),
    "names stay text": replace(trace(), summary=Summary(HOSTILE)),
    "parts of what is blamed": BLAMED,
    "parts alone": ANATOMY,
    "two computations": computed(),
    "a sweep with a comparison": replace(
        sweep(), comparison=replace(CHANGES, before="a_b", notes=("other versions",))
    ),
    "a trial of a remedy": tried(),
    "a comparison": CHANGES,
}


def test_documents_are_told_in_markdown() -> None:
    check("markdown", {name: sp.to_markdown(it).rstrip() for name, it in SAMPLES.items()})


def test_documents_are_tables_in_files(tmp_path: Path) -> None:
    """Each line of CSV is that of a file that people read, and so is the Markdown of a file."""
    for at, given in enumerate(SAMPLES.values()):
        sp.save(given, tmp_path / f"{at}.csv")
    sp.save(BLAMED, tmp_path / "x.md")

    lines = [(tmp_path / f"{at}.csv").read_text("utf-8").rstrip() for at in range(len(SAMPLES))]
    check("csv", dict(zip(SAMPLES, lines, strict=True)))
    assert (tmp_path / "x.md").read_text("utf-8") == sp.to_markdown(BLAMED)


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


def test_spans_of_several_groups_name_them() -> None:
    """A first run is told from those that follow; a trace without groups has no such column."""
    spans, plain = sp.to_dataframe(computed()), sp.to_dataframe(trace())

    assert list(spans["group_title"]) == ["sum-1", "sum-2"]
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
    with pytest.raises(UsageError, match=f"{type(given).__name__} is no document. Give what"):
        sp.save(given, tmp_path / f"x.{ending}")  # type: ignore[arg-type]  # that is the mistake
    with pytest.raises(UsageError, match="is no document"):
        sp.to_dataframe(given)  # type: ignore[arg-type]  # the same
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["json", "png", "html", "trace.json"])
def test_what_is_only_a_table_says_what_can_be_drawn(tmp_path: Path, ending: str) -> None:
    """A comparison; an anatomy is drawn, and loaded again."""
    with pytest.raises(UsageError, match=r"written as \.md or \.csv only"):
        sp.save(CHANGES, tmp_path / f"x.{ending}")
    sp.save(ANATOMY, tmp_path / f"y.{ending}")
    assert ending != "json" or sp.load(tmp_path / "y.json").anatomies == (ANATOMY,)  # type: ignore[union-attr]


def test_who_is_to_blame_for_no_run_is_told_as_csv(tmp_path: Path) -> None:
    """Of a round trip of what cannot be pickled: a line for each way, not heads alone."""
    sp.save(sp.roundtrip({"a": threading.Lock()}, transports=["pickle"]), tmp_path / "x.csv")

    heads, way = (tmp_path / "x.csv").read_text("utf-8").splitlines()
    assert (heads, way.split(",")[0], "[" in way) == ("variant,reason", "pickle", True)


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
    with pytest.raises(UsageError, match=r"a sweep has no 'spans'. Choose one of: points, summary"):
        sp.to_dataframe(sweep(), "spans")


def test_the_page_of_a_finding_is_linked_where_its_address_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """None by default, and none for findings of others: a link to nowhere is worse than none."""
    kinds = [replace(tried().findings[0], rule=rule) for rule in ("ray.many-puts", "queue.slow")]
    doc = replace(tried(), findings=tuple(kinds))
    before = (sp.to_markdown(doc), text(doc))

    monkeypatch.setenv("SERPROF_DOCS", _SITE)

    link = f"{_SITE}findings/ray.many-puts.html"
    assert [said.count("https://") for said in before] == [0, 0]
    for said in (sp.to_markdown(doc), text(doc)):
        assert (said.count(link), said.count("https://")) == (1, 1)


def ranked() -> Sweep:
    """Return a round trip of three ways, where each column says something."""
    found = make_sizes()
    size = found.points[0].size_bytes
    facts = {"in_band_bytes": 124, "out_of_band_bytes": 8_000_000}
    points = (replace(p, minor_faults=9) for p in found.points if p.size_bytes == size)
    variants = tuple(replace(variant, facts=facts) for variant in found.variants)
    return with_ranking(replace(found, kind="roundtrip", variants=variants, points=tuple(points)))


#: The document of each kind, and its table that has the numbers of the picture.
NAMED: dict[str, tuple[Trace | Sweep, str]] = {
    "waterfall": (trace(), "summary"),
    "roundtrip": (ranked(), "points"),
    "compare": (replace(trace(), comparison=CHANGES), "changes"),
    "anatomy": (anatomy_trace(ANATOMY), "parts"),
}


@pytest.mark.parametrize("kind", NAMED)
def test_a_column_has_one_name_in_every_form(kind: str) -> None:
    """Text, picture, Markdown, CSV have the names of the screen, which ``views.test.ts`` asks."""
    (doc, table), known = NAMED[kind], json.loads((DATA / "heads.json").read_text("utf-8"))[kind]

    line = next(line for line in sp.to_markdown(doc).splitlines() if line.startswith("|"))
    heads = [re.sub(r" (%|ms|µs|of .* runs)$", "", head.strip()) for head in line[1:-1].split("|")]
    told = set(re.sub(r"out-of-(?!band)", "out-of-band", text(doc, width=200)).split())
    drawn = {word for mark in sheet_of(doc).marks for word in getattr(mark, "text", "").split()}

    assert {*heads} <= {*known["heads"]}
    words = {word for head in heads for word in head.split()} - {"variant", "run", "state"}
    assert words <= told
    # A picture has fewer columns, and the tree of a pickle needs no heads.
    narrow = {"stage", "lane", "page", "faults", "out-of-band", "spread"}
    assert kind == "anatomy" or words - narrow <= drawn
    assert {*known["csv"]} <= {*rows_of(doc, table).heads}


_SITE = "https://docs.example/serprof/"


def test_pictures_lead_to_the_pages_of_findings_and_stages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The document in an output or a page, and an SVG; a PNG has no links, its picture stays."""
    found = Finding("ray.many-puts", "warn", "9 puts", {}, "ray.put(all)")
    drafts = [("ray.store", "client/main", 0, 5), ("queue.put", "client/main", 5, 6)]
    doc = replace(analyse(make_trace(drafts)), findings=(found, replace(found, rule="queue.slow")))

    def made() -> list[str]:
        for name in ("x.svg", "x.html"):
            sp.save(doc, tmp_path / name)
        data, _ = bundle(doc)
        files = ((tmp_path / name).read_text("utf-8") for name in ("x.svg", "x.html"))
        return [*files, json.dumps(data[MIME_TYPE]), str(data["image/png"])]

    *before, picture = made()
    monkeypatch.setenv("SERPROF_DOCS", "JavaScript:alert(1)//")
    *refused, _ = made()
    monkeypatch.setenv("SERPROF_DOCS", _SITE)
    *after, same = made()

    assert [said.count(_SITE) + said.count("alert(1)") for said in before + refused] == [0] * 6
    for said in after:
        assert f'{_SITE}findings/ray.many-puts.html"' in said
        assert f'{_SITE}reference/stages.html#ray-store"' in said
        assert ("queue-put" in said, "queue.slow.html" in said) == (False, False)
    assert same == picture
    assert from_document(json.loads(after[2])) == doc
