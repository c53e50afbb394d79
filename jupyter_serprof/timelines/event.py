"""An event of a timeline, and what makes one damaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from jupyter_serprof.model.errors import shown

CALLER = "client/main"
#: In us, 30,000 years from 1970: no clock of a computer.
_LATEST = 1e18


class TimelineError(Exception):
    """A timeline cannot be right; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """An event: what, where, when (ns on the clock of the timeline).

    ``wait`` is the stage in which the caller is taken to be while nothing else is known of it.
    """

    stage: str
    name: str
    lane: str
    start_ns: int
    duration_ns: int
    size_bytes: int | None = None
    wait: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


def text_of(value: object) -> str:
    """Return a text, or nothing for anything else."""
    return value if isinstance(value, str) else ""


def us_of(event: Mapping[str, object], key: str) -> int:
    """Return a time in us as ns.

    Raises
    ------
    TimelineError
        If it is missing or no time.
    """
    return _time(event, key, 1_000)


def s_of(event: Mapping[str, object], key: str) -> int:
    """Return a time in s as ns.

    Raises
    ------
    TimelineError
        If it is missing or no time.
    """
    return _time(event, key, 1_000_000_000)


def _time(event: Mapping[str, object], key: str, unit_ns: int) -> int:
    value = event.get(key)
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not 0 <= value < _LATEST  # also refuses what is not finite
    ):
        problem = f"an event has {key} {shown(value)}, which is no time"
        raise TimelineError(problem)
    # A float times a unit loses ns of a time of day; the digits that were written do not.
    return round(Decimal(str(value)) * unit_ns)
