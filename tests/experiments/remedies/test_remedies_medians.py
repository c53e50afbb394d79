"""The gain of pairs beside the medians that people see: where they differ, a note says why."""

import re

import pytest

from jupyter_serprof.experiments.compare.verdict import gain_apart_text
from jupyter_serprof.experiments.remedies.document import document_of
from jupyter_serprof.experiments.remedies.gain import Trial, gain_of, notes_of
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.model import Limits, Sweep
from jupyter_serprof.views.kit.sheet import Label
from jupyter_serprof.views.picture import sheet_of
from jupyter_serprof.views.text import text

MS = 1_000_000
PAIRS = 15


def spread(middle_ms: float) -> list[int]:
    """Return as many runs as pairs, within one in a hundred of a middle, ns."""
    return [round(middle_ms * MS * (1 + at / 1_500)) for at in range(PAIRS)]


def trial(before: list[int], after: list[int], key: str = "columns") -> Trial:
    """Return a trial of these pairs against pickle."""
    trips = [[Trip({"pickle.dumps": ns}, 10, 0, None) for ns in times] for times in (before, after)]
    return Trial(key, "pickle", cold=(trips[0][0], trips[1][0]), trips=(*trips,), equal=True)


def made(*trials: Trial) -> Sweep:
    """Return the document of trials."""
    return document_of("rows", "", trials, plain_bytes=10, notes=(), limits=Limits())


def test_medians_that_give_the_gain_need_no_word() -> None:
    """Eight times is eight times, however one divides."""
    given = trial(spread(8), spread(1))
    notes = notes_of(given, given.trips[0])

    assert notes[0].startswith("8.0× [")  # noqa: RUF001
    assert not any("times above" in note for note in notes)


def test_a_median_of_more_runs_than_the_pairs_is_explained() -> None:
    """Gain 8 beside medians that give 6: those of now are also of the pairs of another remedy."""
    slow, quick = trial(spread(8), spread(1), "columns"), trial(spread(4), spread(3), "protocol-5")

    document = made(slow, quick)

    notes = {variant.key: variant.notes for variant in document.variants}
    assert notes["columns"][0].startswith("8.0× [")  # noqa: RUF001
    assert notes["columns"][1].startswith(
        "the times above give 4.0× and the pairs 8.0×, because the runs fall into groups "  # noqa: RUF001
        "(now 15 runs up to 4.04 ms and 15 from 8.00 ms on; with it the middle half from 1.00 ms "
    )
    told = " ".join(text(document, width=100).split())
    assert "is of runs side by side" in told
    (before,) = re.findall(r"Pickle shrinks from (\S+ ms) to 1.00 ms", told)
    assert f"{before} in 15" in told


def test_the_gain_of_pairs_has_a_column_of_its_own() -> None:
    """In text and in the picture: the times of the rows give another ratio."""
    slow, quick = trial(spread(8), spread(1), "columns"), trial(spread(4), spread(3), "protocol-5")
    document = made(slow, quick)

    drawn = {mark.text for mark in sheet_of(document).marks if isinstance(mark, Label)}
    told = text(document, width=140)
    rows = [line.split() for line in told.splitlines() if " warm  " in line]

    ratios = [row[-4] for row in rows if "unaccounted" not in row]
    assert ratios == ["–", "8.0×", "1.3×"]  # noqa: RUF001
    assert {"gain of", "pairs", "8.0×", "1.3×"} <= drawn  # noqa: RUF001
    assert "fastest" not in " ".join(drawn) + told


def test_pairs_that_fall_into_groups_are_explained() -> None:
    """Where half of the runs met another machine, the median is that of the larger half."""
    split = trial(spread(6)[:8] + spread(16)[:7], spread(1))
    gain = gain_of(split)

    said = notes_of(split, split.trips[0])[1]

    assert gain is not None
    assert said.startswith(f"the times above give 6.0× and the pairs {gain.value:.1f}×")  # noqa: RUF001
    assert "fall into groups (now 8 runs up to 6.03 ms and 7 from 16.0 ms on" in said


@pytest.mark.parametrize(
    ("gain", "is_told"), [(1.05, False), (0.95, False), (1.2, True), (0.8, True)]
)
def test_a_tenth_is_within_what_is_shown(gain: float, *, is_told: bool) -> None:
    """Both ways: a remedy that looks better by the medians misleads as much."""
    assert bool(gain_apart_text(spread(5), spread(5), gain)) is is_told
