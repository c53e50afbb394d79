"""Telling what was measured so far: between runs, never inside one, and seldom."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from jupyter_serprof.model import Sweep

#: What is over sooner is not told about: nobody could have read it.
QUIET_S = 0.5
#: Nobody reads faster.
BETWEEN_S = 0.1
#: After a telling that took long there are none for so many times as long.
REST = 10


@dataclass(slots=True)
class Progress:
    """Decides when it is time to tell, and how long that took.

    Parameters
    ----------
    tell
        What is called with the sweep so far; None tells nobody.
    quiet_s
        For how long nothing is told at first; None: `QUIET_S`.

    Notes
    -----
    The clock of `QUIET_S` starts with the object. A telling that fails is the last one: no picture
    while something runs must not cost its result.

    Measured in a kernel on two cores (``tests/benchmarks/live_cost.py``, 150 pairs): a telling to a
    live picture takes 3 ms; the first one also imports what draws (0.4 to 0.5 s, two runs on a busy
    machine). The run behind a telling takes 1.00 of the time of the others where runs take
    milliseconds, and 1.2 where they take microseconds: the processor's caches are cold. A pause
    before the run makes that 1.6, so there is none; of such runs one in a hundred follows a
    telling, and medians do not move.
    """

    tell: Callable[[Sweep], None] | None = None
    quiet_s: float | None = None
    _next_s: float = field(default=0.0, init=False)
    _has_told: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._next_s = time.monotonic() + (QUIET_S if self.quiet_s is None else self.quiet_s)

    def update(self, sweep: Callable[[], Sweep]) -> float:
        """Tell, if it is time to; return how long the measuring had to wait for it (s).

        Parameters
        ----------
        sweep
            Makes the sweep so far; not called when it is not time.
        """
        start_s = time.monotonic()
        if self.tell is None or start_s < self._next_s:
            return 0.0
        try:
            self.tell(sweep())
        except Exception:  # noqa: BLE001  (no picture must not cost the result)
            self.tell = None
        end_s = time.monotonic()
        took_s = end_s - start_s
        # The first one imports what draws: that says nothing about those that follow.
        rest_s = REST * took_s if self._has_told else 0.0
        self._has_told = True
        self._next_s = end_s + max(BETWEEN_S, rest_s)
        return took_s


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """How far a sweep is.

    Attributes
    ----------
    done
        Points that are measured.
    left
        Points of the passes that are sure to come; more passes may follow while the budget lasts.
    left_s
        How long those will take, s; None before anything was measured.
    bound
        Up to which size the memory reaches, in words; "" where nobody can say.
    """

    done: int
    left: int
    left_s: float | None
    bound: str
