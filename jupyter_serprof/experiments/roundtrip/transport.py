"""A transport: one way in which a value can travel and come back; and the runs of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from jupyter_serprof.experiments.engine.runs import Runs
from jupyter_serprof.model import Point
from jupyter_serprof.model.trace import Scalar


class Transport:
    """A way to send a value and get it back.

    Attributes
    ----------
    hands_over_buffers
        True if large buffers may travel out-of-band.
    takes_functions
        True if functions and classes of the notebook travel by value.
    threads
        How the names of the threads begin that unpickle for it, apart from the caller's.
    """

    key: ClassVar[str] = ""
    title: ClassVar[str] = ""
    hands_over_buffers: ClassVar[bool] = False
    takes_functions: ClassVar[bool] = False
    threads: ClassVar[tuple[str, ...]] = ()

    def state(self) -> tuple[str, str]:
        """Return (``ok``, "") or why it cannot be used: (state, a sentence with a remedy)."""
        return "ok", ""

    def is_asked(self) -> bool:
        """Tell whether it takes part when nobody names transports; never imports anything."""
        return True

    def start(self) -> str:
        """Start what the user asked for by name; return a note about what was started.

        Raises
        ------
        ProbeUnavailable
            If it cannot be started, with the line that helps.
        """
        return ""

    def refuses(self, value: object) -> str:  # noqa: ARG002  (it decides by the value)
        """Return why it does not take this kind of value, one sentence; "" if it does.

        Asked once, after `state` was ``ok`` and before `prepare`; never sends anything.
        """
        return ""

    def prepare(self, value: object) -> None:
        """Look at the value once before the first run, outside of the timing.

        Raises
        ------
        Exception
            What sending it would raise.
        """

    def round_trip(self, value: object) -> object:
        """Send the value and return what comes back; keeps nothing of it."""
        raise NotImplementedError

    def facts(self) -> Mapping[str, Scalar]:
        """Return what only the transport knows of its latest round trip.

        ``in_band_bytes``, ``out_of_band_bytes``, ``buffers`` and ``total_bytes`` replace what the
        probes saw; ``total_bytes`` is what would go over a wire.
        """
        return {}


@dataclass(slots=True, kw_only=True)
class TransportRuns(Runs):
    """The runs of one transport.

    Attributes
    ----------
    checked
        What came back from the first run.
    facts
        What the transport knows of the latest one.
    """

    checked: Mapping[str, Scalar] = field(default_factory=dict)
    facts: Mapping[str, Scalar] = field(default_factory=dict)

    def with_moved(self, point: Point) -> Point:
        """Return a point with the bytes that the transport moved, where it tells them."""
        moved = self.facts.get("total_bytes")
        return replace(point, moved_bytes=moved) if isinstance(moved, int) else point
