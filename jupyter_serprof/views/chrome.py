"""The Trace Event format of Chrome: opens in the Perfetto UI, in speedscope and chrome://tracing.

Source: "Trace Event Format" (the document that Chromium's catapult project refers to): complete
events ``X`` in us and metadata events ``M``. Events of one thread have to nest: spans of a lane
that overlap without nesting get a second track.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jupyter_serprof.model import Span, Stage, Sweep, Trace, stages_of
from jupyter_serprof.model.units import format_bytes


@dataclass(slots=True)
class _Track:
    """A thread of the picture: spans that lie inside each other or after each other."""

    ends: list[int] = field(default_factory=list)

    def takes(self, span: Span) -> bool:
        """Put a span here if it nests; spans come in the order of their starts."""
        while self.ends and self.ends[-1] <= span.start_ns:
            self.ends.pop()
        if self.ends and self.ends[-1] < span.end_ns:
            return False
        self.ends.append(span.end_ns)
        return True


def chrome_trace(doc: Trace | Sweep) -> dict[str, object]:
    """Return a document as the JSON data of a Chrome trace."""
    traces = [("", doc)] if isinstance(doc, Trace) else list(_titled(doc))
    events, first_pid = list[dict[str, object]](), 1
    for title, trace in traces:
        events += _events(title, trace, first_pid)
        first_pid += len(_processes(trace))
    facts = {"name": doc.name, "started": doc.started, "producer": doc.producer}
    wall = {"wall_ns": doc.wall_ns} if isinstance(doc, Trace) else {}
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {**facts, **wall, **doc.environment},
    }


def _titled(sweep: Sweep) -> Iterator[tuple[str, Trace]]:
    titles = {variant.key: variant.title for variant in sweep.variants}
    for entry in sweep.traces:
        size = "" if entry.size_bytes is None else f" {format_bytes(entry.size_bytes)}"
        heat = "cold" if entry.cold else "warm"
        yield f"{titles.get(entry.variant, entry.variant)}{size} {heat}: ", entry.trace


def _processes(trace: Trace) -> list[int]:
    return sorted({lane.process for lane in trace.lanes} | {0})


def _events(title: str, trace: Trace, first_pid: int) -> Iterator[dict[str, object]]:
    pids = {process: first_pid + at for at, process in enumerate(_processes(trace))}
    lanes = {lane.key: pids[lane.process] for lane in trace.lanes}
    named: dict[int, str] = {}
    for key, pid in lanes.items():
        named.setdefault(pid, key.partition("/")[0])
    for pid, name in named.items():
        yield _named("process_name", pid, 0, f"{title}{name}")
    # Clocks of others may put a span before the start; a time below 0 is not drawn everywhere.
    known = stages_of(trace)
    moved_ns = -min([0, *(span.start_ns for span in trace.spans)])
    tid = 0
    for key in dict.fromkeys([*lanes, *(span.lane for span in trace.spans)]):
        pid = lanes.get(key, first_pid)
        tracks = _tracks(trace.spans, key)
        for number, indices in enumerate(tracks):
            tid += 1
            yield _named("thread_name", pid, tid, f"{key} ({number + 1})" if number else key)
            track = pid, tid
            yield from (_complete(trace, index, track, moved_ns, known) for index in indices)


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _tracks(spans: Sequence[Span], lane: str) -> list[list[int]]:
    """Return the spans of a lane, by their indices, on as few tracks as nesting allows."""
    own = [index for index, span in enumerate(spans) if span.lane == lane]
    own.sort(key=lambda index: (spans[index].start_ns, -spans[index].end_ns, index))
    tracks: list[tuple[_Track, list[int]]] = []
    for index in own:
        place = next((found for track, found in tracks if track.takes(spans[index])), None)
        if place is None:
            place = []
            tracks.append((_Track([spans[index].end_ns]), place))
        place.append(index)
    return [found for _, found in tracks]


def _complete(
    trace: Trace, index: int, track: tuple[int, int], moved_ns: int, known: Mapping[str, Stage]
) -> dict[str, object]:
    span = trace.spans[index]
    size = {} if span.size_bytes is None else {"size_bytes": span.size_bytes}
    parent = {"parent": span.parent} if span.parent >= 0 else {}
    return {
        "ph": "X",
        "name": f"{known[span.stage].title}: {span.name}" if span.name else span.stage,
        "cat": span.stage,
        "pid": track[0],
        "tid": track[1],
        "ts": (span.start_ns + moved_ns) / 1000,
        "dur": span.duration_ns / 1000,
        "args": {**(span.details or {}), **size, "span": index, **parent, "call": span.name},
    }
