"""What is known of something that still runs, and the line that says it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_serprof.model.units import clean, counted, format_count

_MINUTE_S, _MINUTES_FROM_S = 60, 120
#: So many characters of a line are read at a glance.
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What is known of something that runs, at one moment.

    ``stage``, ``title``: What the caller waits in, as a picture will call it; "" in code that
        nothing watches.
    ``done``, ``total``: How many of how many, as far as they are known by now; None where nothing
        is counted, or where it is not known how many follow.
    ``unit``: Of what.
    ``ran_s``: How long it has run, s.
    ``share``: Of the work that is done, 0..1; it never falls. None where more work may follow.
    ``left_s``: The least and the most that is left, s; None before a tenth is done.
    ``why``: Why nothing moves, with the number that shows it; "" while something does.
    ``guessed``: How much of what is left nothing measured stands for, 0..1.
    ``is_over``: Whether this is the last one.
    """

    stage: str = ""
    title: str = ""
    done: int | None = None
    total: int | None = None
    unit: str = "task"
    ran_s: float = 0.0
    share: float | None = None
    left_s: tuple[float, float] | None = None
    why: str = ""
    guessed: float = 0.0
    is_over: bool = False

    def __str__(self) -> str:
        """Return all of it as one line.

        >>> str(LiveFacts("dask.execute", "Execution", 12, 37, ran_s=6.1, left_s=(10.2, 14.8)))
        'Execution: 12 of 37 tasks, 6.1 s, 10 to 15 s left'
        >>> str(LiveFacts(done=29, unit="run", ran_s=4))
        '29 runs, 4.0 s'
        """
        parts = [seconds_text(self.ran_s), *self._left()]
        if self.done is not None:
            whole = self.done if self.total is None else self.total
            of = "" if self.total is None else f"{format_count(self.done)} of "
            known = f"{of}{counted(whole, self.unit)}"
            parts = [f"{self.title}: {known}" if self.title else known, *parts]
        else:
            parts = [self.title or "Running", *parts]
        line = clean("; ".join(filter(None, (", ".join(parts), self.why))))
        return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

    def _left(self) -> Iterator[str]:
        if self.left_s is not None:
            is_long = self.left_s[1] >= _MINUTES_FROM_S
            low, high = (round(s / _MINUTE_S if is_long else s) for s in self.left_s)
            span = f"{low} to {high}" if low else f"up to {max(1, high)}"
            span = span if low < high else f"about {max(1, high)}"
            yield f"{span} {'min' if is_long else 's'} left"


def seconds_text(seconds: float) -> str:
    """Return how long something ran, to be read while it does.

    >>> seconds_text(6.14), seconds_text(250)
    ('6.1 s', '4 min 10 s')
    """
    if seconds < _MINUTES_FROM_S:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // _MINUTE_S} min {int(seconds) % _MINUTE_S} s"


#: A task that runs so many times as long as the median of its kind is told as much longer.
_MUCH_LONGER = 10


def long_text(name: str, took_s: float, usual_s: float | None) -> str:
    """Return how long a task has run, and how many times as long as others of its kind.

    >>> long_text("inc", 4.2, 0.12)
    'inc runs for 4.2 s, 35 times as long as usual'
    """
    is_much = usual_s and took_s > _MUCH_LONGER * usual_s
    times = f", {took_s / (usual_s or 1):.0f} times as long as usual" if is_much else ""
    return f"{name} runs for {seconds_text(took_s)}{times}"
