"""Runs that fall into groups: their medians then tell another change than all runs together.

A change has its median before and after, for people to read, and the ratio of all runs
(Hodges-Lehmann), which has an interval. Of steady runs both say the same. Where half of the runs of
a side are fast and half are slow, the median is whichever group has one run more: then neither
number is the change, and whoever divides the columns has to learn why they give something else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jupyter_serprof.model.times import groups_of, middle_ns, quartiles
from jupyter_serprof.model.units import format_ns, format_ratio

#: Medians and ratio may differ so much by chance, and by the digits that are shown.
_APART = math.log(1.1)


def medians_shift(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the difference of the logarithms of the medians, after minus before."""
    return math.log(max(1.0, middle_ns(after))) - math.log(max(1.0, middle_ns(before)))


def are_apart(medians: float, runs: float) -> bool:
    """Tell whether the shift of the medians is another one than that of all runs, by a tenth."""
    return abs(medians - runs) > _APART


def apart_text(before: Sequence[float], after: Sequence[float], ratio: float | None) -> str:
    """Return why the columns of a line do not give its ratio; nothing if they do."""
    medians = medians_shift(before, after)
    if ratio is None or not are_apart(medians, math.log(ratio)):
        return ""
    why = "fall into groups" if any(map(_is_split, (before, after))) else "scatter"
    return (
        f"{math.exp(medians):.2f}× by the columns and {ratio:.2f}× by all runs, because the runs "  # noqa: RUF001
        f"{why} (before {_spread_text(before)}; after {_spread_text(after)}). Take neither for the "
        "change: run more, on a quieter machine"
    )


def gain_apart_text(now: Sequence[float], tried: Sequence[float], gain: float) -> str:
    """Return why the medians of a remedy do not give its gain; nothing if they do.

    Parameters
    ----------
    now, tried
        The runs whose medians people see, ns: those of the way it goes now may be of more pairs.
    gain
        How many times faster, of the pairs.
    """
    medians = -medians_shift(now, tried)
    if not are_apart(medians, math.log(gain)):
        return ""
    why = "fall into groups" if any(map(_is_split, (now, tried))) else "scatter"
    return (
        f"the times above give {format_ratio(math.exp(medians))} and the pairs "
        f"{format_ratio(gain)}, because the runs {why} (now {_spread_text(now)}; with it "
        f"{_spread_text(tried)}). The gain is of runs side by side, within its interval: for a "
        "closer one, try again on a quieter machine"
    )


def _spread_text(times: Sequence[float]) -> str:
    """Return how the runs of a side lie: the two groups, or the middle half of them."""
    fast, *slow = _groups(times)
    if slow:
        return (
            f"{len(fast)} runs up to {format_ns(fast[-1])} and "
            f"{len(slow[0])} from {format_ns(slow[0][0])} on"
        )
    if len(fast) == 1:
        return f"one run of {format_ns(fast[0])}"
    if (middle := quartiles(fast)) is None:
        return f"{len(fast)} runs from {format_ns(fast[0])} to {format_ns(fast[-1])}"
    return f"the middle half from {format_ns(middle[0])} to {format_ns(middle[1])}"


def _is_split(times: Sequence[float]) -> bool:
    """Tell whether there is a gap in the times, with enough runs on either side."""
    return len(_groups(times)) > 1


def _groups(times: Sequence[float]) -> list[list[float]]:
    return groups_of(times, lambda time: time)
