"""How much slower is too slow: what a limit lets pass, and what breaks it."""

from __future__ import annotations

import re

from jupyter_serprof.experiments.compare.verdict import TOO_FEW
from jupyter_serprof.model import Change, Comparison, RegressionError, UsageError
from jupyter_serprof.model.trace import TIMES_APART
from jupyter_serprof.model.units import first_of, format_ns, format_share

_MOST_PERCENT, _MOST_NAMED = 10_000, 6


def limit_share(limit: str | float) -> float:
    """Return a limit as a share.

    ``limit``: A text in percent (``"10%"`` or ``"10"``), or a number as a share (``0.1``).
    Raises ``UsageError``: For anything else, and for ``"0.1"``, which may mean two things.

    >>> limit_share("10%"), limit_share("10"), limit_share(0.1)
    (0.1, 0.1, 0.1)
    """
    if isinstance(limit, str):
        return _of_text(limit.strip())
    if isinstance(limit, bool) or not 0 < limit < 1:
        message = f'fail_above is {limit!r}; as a number it is a share below 1: 0.1, or "10%"'
        raise UsageError(message)
    return limit


def _of_text(text: str) -> float:
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*(%?)", text)
    percent = float(found[1]) if found else 0.0
    if not found or not 0 < percent <= _MOST_PERCENT:
        message = f"--fail-above needs percent above 0, not {text!r}: --fail-above 10%"
        raise UsageError(message)
    if percent < 1 and not found[2]:
        share = f"{percent * 100:g}%"
        message = f"--fail-above {text} may mean {share} or {text}%. Write --fail-above {share}"
        raise UsageError(message)
    return percent / 100


def check(comparison: Comparison, limit: str | float) -> str:
    """Raise if a wall time is slower by more than a limit.

    Slower counts where the whole interval is above the limit and above the noise; also of pairs
    too few for a verdict: then each of them was slower by more.

    What is unknown, for people: a wall time that may be slower by more, or not; else "".

    Raises ``RegressionError``: With the wall times that are too slow.
    Raises ``UsageError``: If none has an interval, or nothing was timed beside the runs, so that
        nothing could ever fail.
    """
    share = limit_share(limit)
    walls = [change for change in comparison.changes if change.stage == ""]
    walls.sort(key=lambda change: -change.before_runs)  # the cold run behind the others
    why = next((change.reason for change in walls if change.reason), "no wall time in common")
    why = TIMES_APART if TIMES_APART in comparison.notes else why
    if why == TIMES_APART or all(change.low is None for change in walls):
        message = f"--fail-above {format_share(share)} has nothing to judge by: {why}"
        raise UsageError(message)
    least = 1 + max(share, comparison.noise_share or 0.0)
    above = [change for change in walls if (change.low or 0.0) > least]
    few = [change for change in above if comparison.is_paired and TOO_FEW in change.reason]
    if slow := [change for change in above if change.verdict == "slower" or change in few]:
        shown = first_of([*map(_with_doubt, slow)], _MOST_NAMED)
        message = f"slower by more than {format_share(share)}: {shown}"
        raise RegressionError(message)
    open_ = [change for change in walls if change.high is not None and change.high > 1 + share]
    shown = first_of([*map(_with_doubt, open_)], _MOST_NAMED)
    told = f"cannot tell whether it is slower by more than {format_share(share)}: {shown}"
    return told if open_ else ""


def _with_doubt(change: Change) -> str:
    times = f"{format_ns(change.before_ns)} before, {format_ns(change.after_ns)} after"
    interval = f"{change.ratio:.2f} [{change.low:.2f} to {change.high:.2f}] times"
    variant = f" of {change.variant}" if change.variant not in ("", "code") else ""
    said = f"{change.title}{variant} {interval} ({times})"
    return ", ".join(filter(None, (said, change.reason)))
