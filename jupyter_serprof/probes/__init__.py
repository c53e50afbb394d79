"""Probes: each knows how to see one library; found by the entry points of that name.

In: a `Recorder`. Out: places that it arms, stages, spans that it completes, a report.

>>> {"pickle", "ray", "dask"} <= {probe.name for probe in available_probes()}
True
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import ClassVar, cast

from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.capture.hook import Place, Sink
from jupyter_serprof.capture.machine import installed_version
from jupyter_serprof.capture.patching import Subscription, arm, remove_all
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.model import Finding, ProbeReport, Stage, Trace, describe
from jupyter_serprof.model.live import LiveFacts

__all__ = ["Probe", "available_probes"]


class Probe:
    """Knows how to see one library; lives for one recording.

    A subclass names what to watch in ``places`` and completes the spans in ``refine``. A place that
    the installed version does not have is noted in ``missing``; the others still work.

    Parameters
    ----------
    detail
        Look closer at a price (``--detail``).

    Attributes
    ----------
    stages
        The stages that its places and drafts name, where they are its own: title, order on the
        road, family, whether the caller only waits in them. A document carries those that occur.
    """

    name: ClassVar[str] = ""
    library: ClassVar[str] = ""
    stages: ClassVar[tuple[Stage, ...]] = ()
    #: Findings of its own: functions from a trace to findings.
    rules: ClassVar[tuple[Callable[[Trace], Iterable[Finding]], ...]] = ()

    def __init_subclass__(cls) -> None:
        """Make the stages of a probe known when it is defined."""
        describe(cls.stages)

    def __init__(self, *, detail: bool = False) -> None:
        self.detail = detail
        self.was_armed = False
        self.missing: list[str] = []
        self._subscriptions: list[Subscription] = []

    def places(self) -> Iterable[Place]:
        """Return the places to watch; called when the library is imported."""
        return ()

    def arm(self, recorder: Recorder) -> None:
        """Begin to listen at every place that exists."""
        self.was_armed = True
        for place in self.places():
            self.arm_place(place, recorder)

    def arm_place(
        self, place: Place, sink: Sink, *, owner: object = None, attribute: str = ""
    ) -> None:
        """Listen at one place; note it in ``missing`` if it does not exist."""
        try:
            armed = arm(place, sink, owner=owner, attribute=attribute)
        except (AttributeError, ImportError, TypeError):
            self.missing.append(place.name)
        else:
            self._subscriptions.append(armed)

    def remove(self) -> None:
        """Stop listening; called again it does nothing."""
        remove_all(self._subscriptions)
        self._subscriptions.clear()

    def forget(self) -> None:
        """Stop listening in the child of a fork; `remove` may ask other processes, this may not."""
        Probe.remove(self)

    def look(self, stage: str, still_s: float) -> LiveFacts | None:  # noqa: ARG002
        """Return what is known of the work that a caller in a stage waits for; None: not ours."""
        # Asked four times a second, from another thread, with the time for which nothing has moved:
        # from some seconds on it is worth to say why.
        return None

    def refine(self, run: Page) -> None:
        """Complete the drafts of this probe: sizes, details, stages, remote lanes."""

    def level(self) -> str:
        """Return the rung that was reached, for ``quality``."""
        return ""

    def unseen(self) -> Sequence[str]:
        """Return what this probe could not see, one short phrase each."""
        return [f"{place} (not in this version)" for place in self.missing]

    def report(self) -> ProbeReport:
        """Say what was seen and what was not."""
        if not self.was_armed:
            state = "not imported" if find_spec(self.library) else "not installed"
            return ProbeReport(self.name, None, state)
        version = installed_version(self.library)
        return ProbeReport(self.name, version, "armed", self.level(), tuple(self.unseen()))


def available_probes(*, detail: bool = False) -> list[Probe]:
    """Return one new probe of each kind; a broken additional one is left out, not raised."""
    made = []
    for name, kind in _kinds():
        try:
            made.append(kind(detail=detail))
        except Exception as error:  # noqa: BLE001  (somebody else's plug-in must not stop ours)
            _leave_out(name, error)
    return made


@cache
def _kinds() -> tuple[tuple[str, type[Probe]], ...]:
    """Look the probes up once: reading the metadata of every distribution takes 30 ms."""
    found: list[tuple[str, type[Probe]]] = []
    for entry in sorted(entry_points(group="jupyter_serprof.probes"), key=lambda e: e.name):
        try:
            found.append((entry.name, cast("type[Probe]", entry.load())))
        except Exception as error:  # noqa: BLE001  (as above)
            _leave_out(entry.name, error)
    return tuple(found)


def _leave_out(name: str, error: Exception) -> None:
    print(f"jupyter_serprof: the probe {name} is left out: {error}", file=sys.stderr)  # noqa: T201
