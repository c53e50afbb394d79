"""An anatomy as text: a tree with exact bytes, largest first, in at most so many columns."""

import pytest

from jupyter_serprof.model import Anatomy, Part, Summary, Trace
from jupyter_serprof.views.blame.text import anatomy_lines
from jupyter_serprof.views.kit.cells import width as columns_of
from jupyter_serprof.views.text import text


def part(label: str, parent: int, size: int, **given: object) -> Part:
    """Return a part without parts of its own."""
    return Part(label, f"x{label}", "dict", parent, size, size, **given)  # type: ignore[arg-type]


def anatomy(*parts: Part, notes: tuple[str, ...] = ()) -> Anatomy:
    """Return an anatomy of a root of 20 bytes and these parts."""
    inside = sum(one.in_band_bytes for one in parts if one.parent == 0)
    beside = sum(one.out_of_band_bytes for one in parts if one.parent == 0)
    root = Part("x", "x", "Model", -1, 20, 20 + inside, beside, 1_500_000)
    return Anatomy(
        name="x",
        in_band_bytes=20 + inside,
        out_of_band_bytes=beside,
        parts=(root, *parts),
        notes=notes,
    )


def test_the_largest_comes_first_and_small_ones_are_told_together() -> None:
    """Exact bytes, in-band and out-of-band apart; the column of small ones keeps the sum."""
    small = [part(f".s{i}", 0, 3) for i in range(4)]
    found = anatomy(part(".b", 0, 1_000), part(".a", 0, 200, out_of_band_bytes=5_000_000), *small)

    lines = anatomy_lines(found, 100)

    assert lines[0] == "x.a is 100 % of 5.00 MB (dict)"
    assert [line.split()[0] for line in lines[2:]] == ["x", ".a", "5"]
    assert lines[2].split() == ["x", "Model", "1,232", "5,000,000", "100.0", "1.50"]
    assert lines[3].split() == [".a", "dict", "200", "5,000,000", "100.0", "–"]  # noqa: RUF001
    assert lines[4].split()[:5] == ["5", "more", "1,012", "0", "0.0"]


def test_what_cannot_be_pickled_comes_before_everything() -> None:
    """Each with its path and reason, however small it is."""
    bad = part(".lock", 0, 5, state="unpicklable", note="TypeError: cannot pickle 'lock' object")
    found = anatomy(part(".big", 0, 1_000_000), bad)

    lines = anatomy_lines(found, 100)

    assert lines[0] == "x cannot be pickled because of x.lock (dict)"
    assert lines[1] == "bad   x.lock (dict): TypeError: cannot pickle 'lock' object"
    assert lines[4].split()[:5] == [".lock", "dict,", "unpicklable", "–", "–"]  # noqa: RUF001


def test_of_many_that_cannot_be_pickled_ten_are_told() -> None:
    """A list of sockets does not fill the notebook."""
    bad = [part(f".l{at}", 0, 5, state="unpicklable", note="no") for at in range(40)]

    lines = anatomy_lines(anatomy(*bad), 100)

    assert sum(line.startswith("bad") for line in lines) == 11
    assert "bad   30 more in the document" in lines


def test_a_single_small_part_keeps_its_name() -> None:
    """Only several parts are told together."""
    found = anatomy(part(".big", 0, 1_000_000), part(".name", 0, 5))

    lines = anatomy_lines(found, 100)

    assert [line.split()[0] for line in lines[2:]] == ["x", ".big", ".name"]


def test_of_equal_siblings_only_the_first_is_opened() -> None:
    """Twelve layers are not twelve times the same lines; what differs is shown."""
    layers = [part(f"[{i}]", 0, 1_000) for i in range(6)]
    inside = [part(".w", 1 + i, 900) for i in range(6)]
    odd = [part(".odd", 0, 2_000), part(".v", 13, 1_900)]
    found = anatomy(*layers, *inside, *odd)

    lines = anatomy_lines(found, 100)

    paths = [line.split()[0] for line in lines[2:]]
    assert paths == ["x", ".odd", ".v", "[0]", ".w", "[1]", "[2]", "[3]", "[4]", "[5]"]


def test_states_counts_and_notes_are_told() -> None:
    """Shared references, parts that were not opened, views, and what is to know about the whole."""
    found = anatomy(
        part("[0..9]", 0, 500, count=10),
        part("[10]", 0, 300, state="shared"),
        part("[11]", 0, 400, note="a view on 1.00 MB: the pickle holds only its 400 B"),
        notes=("interrupted: what was measured until then",),
    )

    lines = anatomy_lines(found, 100)

    said = "\n".join(lines)
    assert "10 dict" in said
    assert "dict, shared" in said
    assert "note  x[11]: a view on 1.00 MB" in said
    assert "note  interrupted" in said


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_no_line_is_longer_than_asked(columns: int) -> None:
    """Names, paths and notes of any length, wide characters too; the bytes stay to the last."""
    deep = [part("宽" * 30, at, 1_000_000) for at in range(6)]
    found = anatomy(*deep, part(".y", 0, 2_000_000, note="long " * 60), notes=("word " * 50,))

    lines = anatomy_lines(found, columns)

    assert max(map(columns_of, lines)) <= columns
    assert "2,000,000" in "\n".join(lines)


def test_the_document_shows_it_below_the_headline() -> None:
    """The sentence stands once, above the tree; the stages follow."""
    found = anatomy(part(".big", 0, 1_000_000))
    headline = "x.big is 100 % of 1.00 MB (dict)."
    trace = Trace(
        name="x", started="", wall_ns=1_000, summary=Summary(headline), anatomies=(found,)
    )

    shown = text(trace)

    assert shown.startswith(headline)
    assert shown.count("1.00 MB (dict)") == 1
    assert ".big" in shown
    assert shown.index(".big") < shown.index("Wall time")


def test_an_anatomy_without_parts_is_a_sentence() -> None:
    """Nothing was measured, for instance because it was interrupted at once."""
    found = Anatomy(name="x", is_complete=False, notes=("interrupted",))

    lines = anatomy_lines(found, 80)

    assert lines == ["x: nothing is known about its parts", "note  interrupted"]


def test_parts_that_stand_for_no_object_are_shown_all_the_same() -> None:
    """A document of another writer may say so; nobody divides by it."""
    found = anatomy(part(".a", 0, 90, count=0), part("[0]", 0, 60, count=0))

    lines = anatomy_lines(found, 80)

    assert lines[0].startswith("x.a is ")


def test_what_was_never_measured_has_no_number() -> None:
    """Stopped before the first pickle had ended: not "0 bytes", but unknown; no empty column."""
    root = Part("x", "x", "list (500000)", -1, 0, 0, state="not opened")
    found = Anatomy(name="x", plain_bytes=27_700_000, is_complete=False, parts=(root,))

    lines = anatomy_lines(found, 100)

    assert lines[0] == "x is 27.7 MB when pickled: nothing is known about its parts"
    assert lines[1].split() == ["path", "type", "in-band", "out-of-band", "%"]
    assert lines[2].split()[-3:] == ["–"] * 3  # noqa: RUF001  (an en dash is meant)
