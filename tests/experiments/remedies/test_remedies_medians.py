"""The gain of pairs beside the medians that people see: where they differ, a note says why."""

from jupyter_serprof.experiments.remedies.document import document_of
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.model import Limits, Sweep
from jupyter_serprof.views.figure import sheet_of
from jupyter_serprof.views.kit.sheet import Label
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
    return document_of("rows", "", trials, plain_bytes=10, notes=(), limits=Limits())


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
