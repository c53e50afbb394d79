"""An anatomy as text: a tree with exact bytes, largest first, in at most so many columns."""

import pytest
from goldens import check

from jupyter_serprof.model import Anatomy, Part
from jupyter_serprof.views.blame import anatomy_lines
from jupyter_serprof.views.kit.lines import width as columns_of


def part(label: str, parent: int, size: int, **given: object) -> Part:
    return Part(label, f"x{label}", "dict", parent, size, size, **given)  # type: ignore[arg-type]


def anatomy(*parts: Part, notes: tuple[str, ...] = ()) -> Anatomy:
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


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_no_line_is_longer_than_asked(columns: int) -> None:
    """Names, paths and notes of any length, wide characters too; the bytes stay to the last."""
    deep = [part("宽" * 30, at, 1_000_000) for at in range(6)]
    found = anatomy(*deep, part(".y", 0, 2_000_000, note="long " * 60), notes=("word " * 50,))

    lines = anatomy_lines(found, columns)

    assert max(map(columns_of, lines)) <= columns
    assert "2,000,000" in "\n".join(lines)


BIG, NO_LOCK = part(".big", 0, 1_000_000), "TypeError: cannot pickle 'lock' object"
NEVER = Part("x", "x", "list (500000)", -1, 0, 0, state="not opened")
SAMPLES = {
    "the largest first, small ones together": anatomy(
        part(".b", 0, 1_000),
        part(".a", 0, 200, out_of_band_bytes=5_000_000),
        *(part(f".s{i}", 0, 3) for i in range(4)),
    ),
    "what cannot be pickled before everything": anatomy(
        BIG, part(".lock", 0, 5, state="unpicklable", note=NO_LOCK)
    ),
    "ten of forty that cannot be pickled": anatomy(
        *(part(f".l{at}", 0, 5, state="unpicklable", note="no") for at in range(40))
    ),
    "a single small part keeps its name": anatomy(BIG, part(".name", 0, 5)),
    "of equal siblings only the first is opened": anatomy(
        *(part(f"[{i}]", 0, 1_000) for i in range(6)),
        *(part(".w", 1 + i, 900) for i in range(6)),
        part(".odd", 0, 2_000),
        part(".v", 13, 1_900),
    ),
    "states, counts and notes": anatomy(
        part("[0..9]", 0, 500, count=10),
        part("[10]", 0, 300, state="shared"),
        part("[11]", 0, 400, note="a view on 1.00 MB: the pickle holds only its 400 B"),
        notes=("interrupted: what was measured until then",),
    ),
    "no parts": Anatomy(name="x", is_complete=False, notes=("interrupted",)),
    "parts that stand for no object": anatomy(
        part(".a", 0, 90, count=0), part("[0]", 0, 60, count=0)
    ),
    "never measured, no number": Anatomy(
        name="x", plain_bytes=27_700_000, is_complete=False, parts=(NEVER,)
    ),
}


def test_anatomies_are_told_in_characters() -> None:
    check("anatomies", {name: "\n".join(anatomy_lines(it, 100)) for name, it in SAMPLES.items()})
