"""The picture of an anatomy: it says who is to blame without a notebook front end, too."""

from jupyter_serprof.model import Anatomy, Part, Trace
from jupyter_serprof.views.figure import sheet_of
from jupyter_serprof.views.kit.sheet import Box, Label, Sheet
from jupyter_serprof.views.kit.theme import LIGHT, family_color


def anatomy(*parts: Part) -> Anatomy:
    """Return an anatomy of 1,000 bytes with these parts in its root."""
    root = Part("model", "model", "Model", -1, 0, 1_000)
    return Anatomy(name="model", in_band_bytes=1_000, parts=(root, *parts))


def part(label: str, size: int, state: str = "") -> Part:
    return Part(label, f"model{label}", "dict", 0, size, size, state=state)


def drawn(*found: Anatomy) -> Sheet:
    """Return the picture of a trace that carries anatomies and no spans."""
    return sheet_of(
        Trace(name="model", started="2026-11-21T08:00:00.000Z", wall_ns=1, anatomies=found)
    )


def texts(sheet: Sheet) -> list[str]:
    return [mark.text for mark in sheet.marks if isinstance(mark, Label)]


def test_bars_are_as_long_as_the_share_of_a_part() -> None:
    """The root is the whole, three quarters of its bytes are three quarters of its bar."""
    sheet = drawn(anatomy(part("._seen", 750), part(".weights", 250)))

    bars = [m for m in sheet.marks if isinstance(m, Box) and m.color == family_color("pickle")]
    whole, seen, weights = (bar.width for bar in bars)
    assert (seen / whole, weights / whole) == (0.75, 0.25)
    assert {"model", "._seen", "75.0 %", "750 B"} <= set(texts(sheet))


def test_a_large_tree_is_cut_and_says_so() -> None:
    """Twelve lines at most, the largest first; other objects have a sentence each."""
    chain = [Part(f".p{at}", f"p{at}", "dict", at, 0, 1_000) for at in range(30)]
    deep = Anatomy(
        name="model",
        in_band_bytes=1_000,
        parts=(Part("model", "model", "Model", -1, 0, 1_000), *chain),
    )

    said = texts(drawn(deep, anatomy()))

    assert ".p10" in said
    assert ".p11" not in said
    assert "in the document: 19 more lines" in said
    assert "opened, too: model is 1.00 kB when pickled" in said


def test_what_cannot_be_pickled_has_the_colour_of_a_warning() -> None:
    sheet = drawn(anatomy(part(".weights", 900), part(".lock", 5, "unpicklable")))

    [lock] = [mark for mark in sheet.marks if isinstance(mark, Label) and mark.text == ".lock"]
    assert lock.color == LIGHT.warn
    assert "5 B" not in texts(sheet)


def test_notes_stand_below_the_tree() -> None:
    """A picture alone says whether a view drags its base along, and why something is refused."""
    view = Part(".view", "model.view", "ndarray", 0, 500, 500, note="a view on 800 MB")
    lock = Part(".lock", "model.lock", "lock", 0, 5, 5, state="unpicklable", note="TypeError: no")
    many = [
        Part(f".l{at}", f"model.l{at}", "lock", 0, 5, 5, state="unpicklable", note="no")
        for at in range(5)
    ]

    few, cut = texts(drawn(anatomy(view, lock))), texts(drawn(anatomy(*many)))

    assert {"model.view: a view on 800 MB", "model.lock (lock): TypeError: no"} <= set(few)
    assert {"model.l3 (lock): no", "1 more in the document"} <= set(cut)
    assert "model.l4 (lock): no" not in cut
