"""How much slower is too slow: what a limit lets pass, and what breaks it."""

from __future__ import annotations

import math

from jupyter_serprof.model import Change, Comparison, RegressionError, UsageError
from jupyter_serprof.model.trace import TIMES_APART
from jupyter_serprof.model.units import format_ns, format_share

#: Stages below this share of the wall time before the change break no limit of their own.
WORTH_SHARE = 0.1
#: So much of what a limit allows the wall time has a stage to lose, to break it by itself.
WORTH_LIMIT = 0.5
_MOST_PERCENT = 10_000
_MOST_NAMED = 6


def limit_share(limit: str | float) -> float:
    """Return a limit as a share.

    Parameters
    ----------
    limit
        A text in percent (``"10%"`` or ``"10"``), or a number as a share (``0.1``).

    Raises
    ------
    UsageError
        For anything else, and for ``"0.1"``, which may mean two things.

    Examples
    --------
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
    digits = text.removesuffix("%").strip()
    percent = _number(digits)
    if percent is None or not 0 < percent <= _MOST_PERCENT:
        message = f"--fail-above needs percent above 0, not {text!r}: --fail-above 10%"
        raise UsageError(message)
    if percent < 1 and digits == text:
        share = f"{percent * 100:g}%"
        message = f"--fail-above {text} may mean {share} or {text}%. Write --fail-above {share}"
        raise UsageError(message)
    return percent / 100


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def check(comparison: Comparison, limit: str | float) -> str:
    """Raise if the wall time, or a stage that matters, is slower by more than a limit.

    Slower counts where the whole interval is above the limit and above the noise floor. A stage
    counts, too, if it owned at least a tenth of the wall time before, and if what it lost at least
    (the lower end of its interval) is half of the limit of the wall time or more: at 10 % a stage
    of 5 ms in 10 ms that got 12 % slower. Smaller ones are seen in the wall time, or not at all.

    Returns
    -------
    str
        What is unknown, for people: a wall time that may be slower by more, or not; else "".

    Raises
    ------
    RegressionError
        With the lines that are too slow.
    UsageError
        If no line has an interval, or nothing was timed beside the runs, so that nothing could
        ever fail.
    """
    share = limit_share(limit)
    walls = [change for change in comparison.changes if change.stage == ""]
    is_blind = TIMES_APART in comparison.notes
    if is_blind or all(change.low is None for change in walls):
        why = next((change.reason for change in walls if change.reason), "no wall time in common")
        why = TIMES_APART if is_blind else why
        message = f"--fail-above {format_share(share)} has nothing to judge by: {why}"
        raise UsageError(message)
    slow = regressions(comparison, share)
    if slow:
        shown = "; ".join(error_text(change) for change in slow[:_MOST_NAMED])
        more = f"; {len(slow) - _MOST_NAMED} more" if len(slow) > _MOST_NAMED else ""
        message = f"slower by more than {format_share(share)}: {shown}{more}"
        raise RegressionError(message)
    doubts = [change for change in walls if change.high is not None and change.high > 1 + share]
    if not doubts:
        return ""
    shown = "; ".join(map(_doubt_text, doubts[:_MOST_NAMED]))
    more = f"; {len(doubts) - _MOST_NAMED} more" if len(doubts) > _MOST_NAMED else ""
    return f"cannot tell whether it is slower by more than {format_share(share)}: {shown}{more}"


def _doubt_text(change: Change) -> str:
    return f"{error_text(change)}{change.reason and f', {change.reason}'}"


def regressions(comparison: Comparison, limit: float) -> list[Change]:
    """Return what is slower by more than a share, in the order of the comparison."""
    walls_ns = {
        _point(change): change.before_ns for change in comparison.changes if not change.stage
    }
    least = 1 + max(limit, comparison.noise_share or 0.0)
    return [
        change
        for change in comparison.changes
        if change.verdict == "slower"
        and change.low is not None
        and change.low > least
        and (not change.stage or _matters(change, walls_ns.get(_point(change)) or 0.0, limit))
    ]


def _matters(change: Change, wall_ns: float, limit: float) -> bool:
    """Tell whether a stage counts against the wall time before, by its share and by its loss."""
    before_ns = change.before_ns or 0.0
    lost_ns = before_ns * ((change.low or 1.0) - 1)
    return before_ns >= WORTH_SHARE * wall_ns and lost_ns >= WORTH_LIMIT * limit * wall_ns


def _point(change: Change) -> tuple[str, int | None, bool | None]:
    return change.variant, change.size_bytes, change.cold


def error_text(change: Change) -> str:
    """Return a change that has an interval in one phrase."""
    times = f"{format_ns(change.before_ns)} before, {format_ns(change.after_ns)} after"
    interval = f"{change.ratio:.2f} [{change.low:.2f} to {change.high:.2f}] times"
    variant = f" of {change.variant}" if change.variant not in ("", "code") else ""
    return f"{change.title}{variant} {interval} ({times})"
