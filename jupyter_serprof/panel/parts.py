"""What a panel is made from: what can be measured, how, how large, and who measures it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jupyter_serprof.experiments.engine.experiment import Document, Experiment

if TYPE_CHECKING:
    from collections.abc import Sequence

Job = Experiment[Document]


@dataclass(frozen=True, slots=True)
class Source:
    """Something that can be measured: a variable, or a generator of data.

    Attributes
    ----------
    key
        How it is asked for; no two sources have the same.
    title
        What the menu shows: name, type, size.
    reason
        Why it cannot be chosen, with a remedy; "" if it can.
    """

    key: str
    title: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """A transport to choose.

    Attributes
    ----------
    is_chosen
        Whether it takes part when nobody says so.
    reason
        Why it cannot be chosen, with a remedy; "" if it can.
    """

    key: str
    title: str
    is_chosen: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes between which one can choose.

    Attributes
    ----------
    steps
        (label, number) of each, in increasing order; none where there is no size to choose.
    low, high
        Positions in ``steps`` that are chosen first.
    words
        Why it ends where it ends; a sentence.
    """

    steps: tuple[tuple[str, float], ...]
    low: int
    high: int
    words: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What was chosen.

    Attributes
    ----------
    low, high
        The ends of the range of sizes; None where there is none.
    count
        How many sizes.
    repeat
        Warm runs of each; None runs as many as the budget allows.
    budget_s
        Seconds for all of it; None where ``repeat`` says when it ends.
    """

    source: str
    ways: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    count: int = 8
    repeat: int | None = None
    budget_s: float | None = None


class Offer(Protocol):
    """What a panel lets choose; every question is asked anew, since the notebook goes on."""

    def sources(self) -> Sequence[Source]:
        """Return what can be measured now, the likeliest first."""

    def ways(self) -> Sequence[Way]:
        """Return the transports; none where there is nothing to choose."""

    def scale(self, source: str, ways: Sequence[str]) -> Scale:
        """Return the sizes that a source can have."""

    def start(self, plan: Plan) -> Job:
        """Return the job that measures what was chosen; nothing runs yet."""

    def code(self, plan: Plan) -> str:
        """Return a line of code that does the same."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a panel calls its parts.

    Attributes
    ----------
    magic
        The line that shows it.
    source, sizes, ways
        Labels of the controls.
    nothing
        What to do where there is nothing to measure.
    extra
        Label of a button that measures the source as it is; "" for no such button.
    """

    magic: str
    source: str
    sizes: str
    ways: str
    nothing: str
    extra: str = ""
