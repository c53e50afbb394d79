"""An answer with its check: what a held-out size says about it, and when it is refused.

Two models answer a question, one that takes the stages apart and one straight line. Both predict a
size that was measured and held out. The line answers where it was clearly better there; nothing
answers where the better one was off by more than a factor of 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from jupyter_serprof.model import UsageError
from jupyter_serprof.model.units import format_bytes, format_ns, format_share

#: Errors at the held-out size that are still answered: a factor of 2 to either side.
MOST_OVER, MOST_UNDER = 1.0, -0.5
#: An error below it is good enough, whatever the line does.
_GOOD_SHARE = 0.25
#: The line is clearly better when its error, as a power, is below this share of the other one.
_CLEARLY = 0.5
#: One end of the interval is no further away than this factor.
_LEAST = 0.1


@dataclass(frozen=True, slots=True)
class Checked:
    """A size that was measured, held out, and predicted from others (``trained``: in words)."""

    size_bytes: int
    trained: str
    measured_ns: float
    guess_ns: float
    line_ns: float

    @property
    def error_share(self) -> float:
        """(predicted - measured) / measured, of what answers."""
        return self.guess_ns / self.measured_ns - 1

    @property
    def straight_share(self) -> float:
        """The same of the straight line."""
        return self.line_ns / self.measured_ns - 1

    @property
    def is_line_better(self) -> bool:
        """Whether the line was clearly better, and the other one not good."""
        off, line_off = _off(self.error_share), _off(self.straight_share)
        return off > _off(_GOOD_SHARE) and line_off < _CLEARLY * off

    def around(self, wall_ns: float) -> tuple[float, float]:
        """Return the wall time, lower and upper end, that an error as large leaves possible."""
        error = abs(self.error_share)
        return wall_ns / (1 + error), wall_ns / max(_LEAST, 1 - error)


@dataclass(frozen=True, slots=True)
class Answer:
    """Time by stage (ns; the key of what no stage explains is empty), and how good it is."""

    stages: Mapping[str, float]
    checked: Checked | None = None
    assumptions: tuple[str, ...] = ()
    #: The least and the most that a run took where it is known, over the median there.
    spread: tuple[float, float] = (1.0, 1.0)

    @property
    def wall_ns(self) -> float:
        """The time of all stages and of the rest."""
        return sum(self.stages.values())

    def interval(self) -> tuple[float, float]:
        """Return the wall time, lower and upper end, by the check and by the spread of runs."""
        wall_ns = self.wall_ns
        low_ns, high_ns = self.checked.around(wall_ns) if self.checked else (wall_ns, wall_ns)
        return min(low_ns, self.spread[0] * wall_ns), max(high_ns, self.spread[1] * wall_ns)


def better(answer: Answer, line: Mapping[str, float], size: int, line_name: str) -> Answer:
    """Return the answer, or that of the straight line where it held out clearly better.

    Raises
    ------
    UsageError
        Where the better one missed the held-out size by more than a factor of 2; measure the size
        that is asked for, or more runs near it.
    """
    checked = answer.checked
    if checked is not None and checked.is_line_better and sum(line.values()) > 0:
        by_line = replace(checked, guess_ns=checked.line_ns)
        said = (
            f"a straight line answers, {line_name}: held out, it missed by "
            f"{signed(by_line.error_share)}, stage by stage it was {signed(checked.error_share)}"
        )
        answer = replace(answer, stages=line, checked=by_line, assumptions=(said,))
    if answer.checked is None:
        return answer
    _refuse_if_off(answer.checked, size)
    held, trained = format_bytes(answer.checked.size_bytes), answer.checked.trained
    return replace(
        answer, assumptions=(*answer.assumptions, f"to check it, {held} was predicted {trained}")
    )


def signed(share: float | None) -> str:
    """Return an error in percent with its sign."""
    if share is None:
        return "unknown"
    sign = "+" if share >= 0 else "\N{MINUS SIGN}"
    return f"{sign}{format_share(abs(share), decimals=0)}"


def _off(error_share: float) -> float:
    """Return an error as a power of e: half and double are as far off."""
    return abs(math.log1p(error_share)) if error_share > -1 else math.inf


def _refuse_if_off(checked: Checked, size: int) -> None:
    if MOST_UNDER <= checked.error_share <= MOST_OVER:
        return
    message = (
        f"{format_bytes(size)} is not predicted, since the check failed: "
        f"{format_bytes(checked.size_bytes)} took {format_ns(checked.measured_ns)}, and predicted "
        f"{checked.trained} it came out as {format_ns(checked.guess_ns)}, an error of "
        f"{signed(checked.error_share)} (a straight line: {signed(checked.straight_share)}); more "
        f"than a factor of 2 ({signed(MOST_UNDER)} or {signed(MOST_OVER)}) is refused. Measure "
        f"that size, with more runs: sp.sweep(make, sizes=[..., {size}], repeat=5)"
    )
    raise UsageError(message)
