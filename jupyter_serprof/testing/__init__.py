"""What authors of probes, views and findings test with: a clock, a trace builder, a contract.

Nothing here needs pytest; `ProbeContract` works with pytest and with any other runner that calls
methods whose names begin with ``test_``.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any, ClassVar, Protocol, cast

from jupyter_serprof.capture.freeze import freeze
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.capture.recorder import Recorder, Watcher
from jupyter_serprof.model import Lane, Limits, Span, Trace

__all__ = ["ProbeContract", "TickClock", "make_trace"]

MS = 1_000_000
_ABSENT = object()
#: An installed module that is never imported, because it prints a poem.
_NEVER_IMPORTED = "this"


class TickClock:
    """A clock that moves only when told, or by a fixed tick at each reading.

    ``tick_ns``: How far it moves after each reading, ns; 0 stands still.
    ``start_ns``: What it shows first, ns.

    >>> clock = TickClock()
    >>> clock.advance_ms(5)
    >>> clock(), clock()
    (5000000, 5000000)
    >>> ticking = TickClock(tick_ns=10)
    >>> ticking(), ticking(), ticking.readings_count
    (0, 10, 2)
    """

    def __init__(self, tick_ns: int = 0, start_ns: int = 0) -> None:
        self.now_ns = start_ns
        self.tick_ns = tick_ns
        self.readings_count = 0
        self._lock = Lock()

    def __call__(self) -> int:
        """Return the time, ns; then move by one tick."""
        with self._lock:
            now_ns = self.now_ns
            self.now_ns += self.tick_ns
            self.readings_count += 1
            return now_ns

    def advance_ns(self, duration_ns: int) -> None:
        """Move forward by ``duration_ns``."""
        with self._lock:
            self.now_ns += duration_ns

    def advance_ms(self, duration_ms: float) -> None:
        """Move forward by ``duration_ms``."""
        self.advance_ns(round(duration_ms * MS))


def make_trace(
    spans: Iterable[tuple[Any, ...]],
    *,
    wall_ms: float | None = None,
    name: str = "example",
    outcome: str = "ok",
    limits: Limits | None = None,
) -> Trace:
    """Build a trace from short tuples, for tests of findings, summaries and views.

    ``spans``: ``(stage, lane, start_ms, duration_ms, size_bytes, parent, details)`` each; what is
        left out at the end is ``None, -1, None``. ``parent`` is an index into this list.
    ``wall_ms``: Wall time, ms; by default the end of the last span.
    ``name``, ``outcome``, ``limits``: As in `Trace`.

    Waterfall, findings and summary are those of ``analyse(make_trace(...))``. The caller's lane is
    ``client/main``; the kind of a lane is what its key has before ``/`` or a blank.

    >>> trace = make_trace([("ray.store", "client/main", 0, 4, 800), ("gc", "client/main", 1, 0.5)])
    >>> trace.wall_ns, trace.spans[0].size_bytes, trace.spans[1].start_ns
    (4000000, 800, 1000000)
    """
    made = tuple(_span(*fields) for fields in spans)
    lanes = dict.fromkeys(["client/main", *(span.lane for span in made)])
    last_ns = max((span.end_ns for span in made), default=0)
    return Trace(
        name=name,
        started="2026-11-21T08:00:00.000Z",
        wall_ns=last_ns if wall_ms is None else round(wall_ms * MS),
        outcome=outcome,
        producer="jupyter_serprof.testing",
        lanes=tuple(Lane(key, re.split("[/ ]", key)[0], at) for at, key in enumerate(lanes)),
        spans=made,
        limits=limits or Limits(),
    )


def _span(  # noqa: PLR0913, PLR0917  (the columns of a span, in the order of the document)
    stage: str,
    lane: str,
    start_ms: float,
    duration_ms: float,
    size_bytes: int | None = None,
    parent: int = -1,
    details: Mapping[str, object] | None = None,
) -> Span:
    start_ns, duration_ns = round(start_ms * MS), round(duration_ms * MS)
    return Span(stage, stage, lane, start_ns, duration_ns, size_bytes, parent, details)


class Contracted(Watcher, Protocol):
    """What the contract needs of a probe; ``jupyter_serprof.probes.Probe`` has it."""

    was_armed: bool
    missing: list[str]

    def places(self) -> Iterable[Place]:
        """Return the places to watch."""


class ProbeContract:
    """What every probe promises; subclass it in the tests of yours.

    Give ``probe``, which is its class, ``call`` and ``failing_call``. The library must be imported
    when the tests run.

    >>> import pickle
    >>> from jupyter_serprof.probes.pickle import PickleProbe
    >>> class TestPickle(ProbeContract):
    ...     probe = PickleProbe
    ...     def call(self):
    ...         return pickle.dumps([1])
    ...     def failing_call(self):
    ...         return pickle.loads(b"")
    >>> TestPickle().test_a_call_returns_what_it_returned_before()
    """

    probe: ClassVar[type[Contracted]]

    def call(self) -> object:
        """Make one call that the probe records; return something that can be compared."""
        raise NotImplementedError

    def failing_call(self) -> object:
        """Make one call that the probe records and that raises, as a user's mistake would."""
        raise NotImplementedError

    def test_removing_leaves_the_identical_attributes(self) -> None:
        """After a recording every watched attribute is the very object it was before."""
        with self._recorded():
            expect(bool(armed_places()), "the probe armed nothing while its library is imported")
            self.call()

    def test_an_interrupted_call_leaves_the_identical_attributes(self) -> None:
        """An error inside a recording does not leave anything behind."""
        with self._recorded():
            _error_of(self.failing_call)

    def test_arming_twice_records_a_call_once_and_removes_all(self) -> None:
        """Arming again neither doubles the spans nor leaves a second hook behind."""
        once = len(self._spans(self.call))
        with self._recorded() as recorder:
            recorder.probes[0].arm(recorder)
            self.call()
        twice = len(freeze(recorder, name="twice").spans)
        expect(once == twice, f"armed twice it recorded {twice} spans instead of {once}")

    def test_nested_recordings_both_have_the_spans(self) -> None:
        """A recording inside a recording takes nothing away from either."""
        before = self._attributes()
        outer = self._recorder()
        inner = Recorder([self.probe()], clock=outer.now)
        outer.start()
        inner.start()
        self.call()
        outer.stop()
        self.call()
        inner.stop()
        once = len(self._spans(self.call))
        counts = [len(freeze(recorder, name="nested").spans) for recorder in (outer, inner)]
        expect(counts == [once, 2 * once], f"expected {[once, 2 * once]} spans, saw {counts}")
        _expect_same(before, self._attributes())

    def test_a_call_returns_what_it_returned_before(self) -> None:
        """A watched call gives the same result, and is recorded."""
        bare = self.call()
        results: list[object] = []
        spans = self._spans(lambda: results.append(self.call()))
        expect(results == [bare], f"the result changed from {bare!r} to {results!r}")
        expect(bool(spans), "the call was not recorded")

    def test_an_exception_passes_through_and_is_recorded(self) -> None:
        """A call that raises raises the same, and its span names the exception."""
        bare = _error_of(self.failing_call)
        seen: list[BaseException] = []
        spans = self._spans(lambda: seen.append(_error_of(self.failing_call)))
        same = type(seen[0]) is type(bare) and seen[0].args == bare.args
        expect(same, f"{bare!r} became {seen[0]!r}")
        named = [span.details.get("error") for span in spans if span.details]
        expect(type(bare).__name__ in named, f"no span names {type(bare).__name__}: {named}")

    def test_it_reports_its_states(self) -> None:
        """``quality`` says whether a probe was armed, and which version it saw."""
        with self._recorded() as recorder:
            pass
        report = recorder.probes[0].report()
        expect(report.state == "armed", f"state is {report.state!r} after arming")
        expect(bool(report.name), "the report has no name")

    def test_a_missing_place_is_listed_and_the_others_still_work(self) -> None:
        """A name that the installed version does not have costs one rung, not the probe."""
        before = self._attributes()
        paths = [place.path for place in self.probe().places()]
        for gone in paths:
            probe = _without(self.probe, gone)
            recorder = Recorder([probe])
            recorder.start()
            recorder.stop()
            renamed = gone.partition(":")[2] + "_renamed"
            expect(renamed in probe.missing, f"{gone} is gone and not listed in missing")
            listed = any(renamed in phrase for phrase in probe.report().unseen)
            expect(listed, f"{gone} is gone and not listed in unseen")
        _expect_same(before, self._attributes())

    def test_without_its_library_it_is_silent(self) -> None:
        """A library that is not imported or not installed costs nothing and is named as such."""
        cases = {
            _NEVER_IMPORTED: "not imported",
            "jupyter_serprof_no_such_library": "not installed",
        }
        for library, state in cases.items():
            probe = _changed(self.probe, library=library)
            recorder = Recorder([probe])
            recorder.start()
            is_armed = probe.was_armed
            recorder.stop()
            expect(not is_armed, f"it was armed although {library} is not imported")
            expect(probe.report().state == state, f"state is not {state!r}")
            notes = freeze(recorder, name="contract").quality.notes
            expect(not notes, f"it was not armed and says {notes}")

    def _recorder(self) -> Recorder:
        return Recorder([self.probe()], clock=TickClock(tick_ns=10))

    def _spans(self, call: Callable[[], object]) -> tuple[Span, ...]:
        with self._recorded() as recorder:
            call()
        return freeze(recorder, name="contract").spans

    @contextmanager
    def _recorded(self) -> Iterator[Recorder]:
        """Record a block; behind it every watched attribute is what it was before."""
        before = self._attributes()
        recorder = self._recorder()
        recorder.start()
        try:
            yield recorder
        finally:
            recorder.stop()
        _expect_same(before, self._attributes())

    def _attributes(self) -> dict[str, object]:
        """Return what stands at every place of the probe now, and who listens to Python itself."""
        found: dict[str, object] = {
            "gc.callbacks": list(gc.callbacks),
            "sys.unraisablehook": sys.unraisablehook,
        }
        for place in self.probe().places():
            try:
                owner, attribute = place.owner()
            except (AttributeError, ImportError):
                continue
            found[place.path] = vars(owner).get(attribute, _ABSENT)
        return found


def _without(kind: type[Contracted], gone: str) -> Contracted:
    """Return a probe with one place renamed to something that does not exist."""

    def places(self: Contracted) -> list[Place]:
        return [
            replace(place, path=f"{gone}_renamed") if place.path == gone else place
            for place in kind.places(self)
        ]

    return _changed(kind, places=places)


def _changed(kind: type[Contracted], **own: object) -> Contracted:
    return cast("Contracted", type(kind.__name__, (kind,), own)())


def _error_of(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except Exception as error:  # noqa: BLE001  (whatever the library raises is what is compared)
        return error
    message = "failing_call did not raise"
    raise AssertionError(message)


def _expect_same(before: Mapping[str, object], after: Mapping[str, object]) -> None:
    changed = [
        place
        for place, value in before.items()
        if (value != after[place] if isinstance(value, list) else value is not after[place])
    ]
    expect(not changed, f"not the identical object any more: {', '.join(changed)}")
    expect(not armed_places(), f"still armed: {armed_places()}")


def expect(is_kept: bool, problem: str) -> None:
    """Fail with the problem unless it is kept."""
    if not is_kept:
        raise AssertionError(problem)
