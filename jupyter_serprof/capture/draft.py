"""Drafts: spans while they are being completed, between the page and the trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jupyter_serprof.model import Group, Lane, Table

MAIN_LANE = "client/main"


@dataclass(slots=True, eq=False)
class Draft:
    """One span that may still change; times are ns of the recorder's clock."""

    stage: str
    name: str
    lane: str
    start: int
    end: int
    role: str = ""
    parent: Draft | None = None
    size_bytes: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    extra: Any = None
    is_dropped: bool = False
    #: Where it was noted (``module:attribute``); empty for what a probe added.
    place: str = ""

    def ancestors(self) -> Iterator[Draft]:
        """Yield the enclosing drafts, innermost first."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent

    def is_inside(self, *roles: str) -> bool:
        """Tell whether an enclosing draft has one of the roles."""
        return any(above.role in roles for above in self.ancestors())


@dataclass(slots=True)
class Page:
    """Everything that probes may complete after a run; groups are on the clock of the drafts.

    ``start`` and ``end`` are on the clock of the drafts; ``wall_offset`` added to a draft's time
    gives the time of day in ns.
    """

    start: int
    end: int
    wall_offset: int
    drafts: list[Draft]
    lanes: dict[str, Lane]
    notes: list[str] = field(default_factory=list)
    clock_error_ns: int = 0
    #: The key of the lane of each thread that wrote records.
    threads: dict[int, str] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
