"""The gain beside the times that people see: it is their ratio."""

import re
from typing import Any

from jupyter_serprof.experiments.remedies.document import document_of
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.model import Limits, Sweep
from jupyter_serprof.views.figure import sheet_of
from jupyter_serprof.views.kit.sheet import Label
from jupyter_serprof.views.text import text

MS, PAIRS = 1_000_000, 15


def spread(middle_ms: float) -> list[int]:
    """Return as many runs as pairs, within one in a hundred of a middle, ns."""
    return [round(middle_ms * MS * (1 + at / 1_500)) for at in range(PAIRS)]


def trial(before: list[int], after: list[int], key: str = "columns") -> Trial:
    """Return a trial of these pairs against pickle."""
    trips = [[Trip({"pickle.dumps": ns}, 10, 0, None) for ns in times] for times in (before, after)]
    return Trial(key, "pickle", cold=(trips[0][0], trips[1][0]), trips=(*trips,), equal=True)


def made(*trials: Trial) -> Sweep:
    return document_of("rows", "", trials, plain_bytes=10, notes=(), limits=Limits())


def test_the_gain_is_the_ratio_of_the_times_beside_it() -> None:
    """In headline, text, picture and finding; pairs that gave another one widen its interval."""
    slow, quick = trial(spread(8), spread(1), "columns"), trial(spread(4), spread(3), "protocol-5")
    document = made(slow, quick)

    drawn = {mark.text for mark in sheet_of(document).marks if isinstance(mark, Label)}
    told = text(document, width=140)
    rows = re.findall(r" warm ×\d+ +█\S* +(\S+ ms) +(\S+)", told)  # noqa: RUF001

    ratios = ["4.02 ms –", "1.00 ms 4.0×", "3.01 ms 1.3×"]  # noqa: RUF001
    assert [" ".join(row) for row in rows] == ratios
    assert {"gain", "4.0×", "1.3×"} <= drawn  # noqa: RUF001
    assert "fastest" not in " ".join(drawn) + told
    assert told.startswith("at least 4.0× faster with columns instead of rows, results equal")  # noqa: RUF001
    known: Any = document.variants[1].facts
    assert known["low"] == known["gain"] < 5 < known["high"]
