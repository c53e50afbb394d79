"""The sentence above the picture and the line of facts below it."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from jupyter_serprof.analysis.findings import CAUSE_SHARE, dask_facts, is_cause
from jupyter_serprof.analysis.spans import number, outermost, self_share, total, walk, whole
from jupyter_serprof.model import Limits, Row, Summary, Trace, Waterfall, stages_of
from jupyter_serprof.model.stages import MARK, RECORDING
from jupyter_serprof.model.trace import DIED, HELD, LOST, SILENT, STAYED, STOOD, WAS_DEAD
from jupyter_serprof.model.units import (
    bytes_per_s,
    counted,
    format_bytes,
    format_count,
    format_ns,
    format_rate,
    format_ratio,
    format_share,
    shortened,
)

#: What owns less is not named behind what was not seen.
_NEXT_SHARE, _MARKS_NAMED = 0.01, 5
#: Of fewer calls nobody cares what recording them takes.
_MANY_CALLS = 100
#: Pickles below it say nothing beside the bytes of a Dask graph, and results below it nothing.
_WORTH_BYTES = 100_000
#: What says nothing about serialization when it stands alone.
_BACKGROUND = ("import", "gc", "python.wait", "python.code", "recording")
#: Bytes that leave the scheduler are told as a multiple of the graph from here on.
_AMPLIFIED = 2
#: Stages of which the number of tasks is worth more than their bytes.
_OF_TASKS = ("dask.schedule", "dask.queue", "dask.execute")
#: What Dask does for the code and for the tasks themselves; all else of it is its own work. What
#: blocks a loop is none of it.
_OF_THE_USER = (
    *("dask.construct", "dask.execute", "dask.transfer", "dask.spill", "dask.scatter"),
    "dask.blocked",
)
_HALF = 0.5
_AT_MOST = ("pickle.protocol-4", "pickle.slice", "pickle.in-band-copy")
#: What waits for tasks, and is no explanation where those could not be seen.
_WAITS_FOR_TASKS = ("ray.wait", "ray.fetch", "python.wait")
_OUTCOMES = {"error": " until the error", "interrupted": " until stopped", "ok": ""}


class _Cause(NamedTuple):
    """A stage with its parts, over all computations."""

    key: str
    self_ns: int
    rows: Sequence[Row]


def summarize(trace: Trace) -> Summary:
    """Return headline, facts and coverage of a trace whose waterfall and findings are known."""
    waterfall = trace.waterfall or Waterfall((), trace.wall_ns)
    strict = _working_ns(trace, waterfall)
    # What helps to read the picture: one line, which stands above it.
    left = [note for note in trace.quality.notes if STAYED in note]
    where = _worker_facts(trace) or _group_facts(trace, waterfall) or _result_facts(trace)
    total = trace.wall_ns - waterfall.unaccounted_ns
    return Summary(
        shortened(_headline(trace, waterfall)),
        (*left, *where),
        strict / trace.wall_ns if trace.wall_ns else None,
        total / trace.wall_ns if trace.wall_ns else None,
        tuple(_details(trace, waterfall)),
    )


def _headline(trace: Trace, waterfall: Waterfall) -> str:
    taken = f"{format_ns(trace.wall_ns)}{_OUTCOMES[trace.outcome]}"
    if cause := _recorded(trace, waterfall) or _found(trace):
        return f"{taken}: {cause}"
    causes = sorted(_causes(trace, waterfall), key=lambda cause: -cause.self_ns)
    biggest = next((cause for cause in causes if cause.key != RECORDING), None)
    if biggest is None or all(row.stage in _BACKGROUND for row in waterfall.rows):
        seen = "had ended" if trace.outcome == "interrupted" else "was seen"
        is_ours = causes[:1] and causes[0].key == RECORDING and causes[0].self_ns > 0
        is_large = biggest is not None and biggest.self_ns > CAUSE_SHARE * trace.wall_ns
        rest = f", {_said(trace, biggest)}" if biggest is not None and is_large else ""
        ran = _held(trace) or ("next to nothing ran, " if is_ours else "")
        return f"{taken}: {ran}no serialization {seen}{rest}"
    if trace.wall_ns == 0:
        return taken
    if biggest.self_ns == 0:
        busiest = max(waterfall.rows, key=lambda row: row.busy_ns)
        elsewhere = f"{stages_of(trace)[busiest.stage].title} for {format_ns(busiest.busy_ns)}"
        return f"{taken}: all of it {_elsewhere(trace)}, meanwhile {elsewhere}"
    if waterfall.unaccounted_ns > max(biggest.self_ns, CAUSE_SHARE * trace.wall_ns):
        unseen = waterfall.unaccounted_ns / trace.wall_ns
        # Not "100 %" beside a stage that was seen.
        share = format_share(unseen, decimals=int(unseen >= 1 - _NEXT_SHARE))
        is_next = biggest.self_ns >= _NEXT_SHARE * trace.wall_ns
        following = f", then {_said(trace, biggest)}" if is_next else ""
        return f"{taken}: {_held(trace)}{share} {_elsewhere(trace)}{following}"
    lost = f"{LOST}, " * any(LOST in note for note in trace.quality.notes)
    return f"{taken}: {lost}{(not lost and _own_work(trace, biggest)) or _said(trace, biggest)}"


def _found(trace: Trace) -> str:
    """Return the finding that is the cause, with its share; "" without one."""
    cause = next(filter(is_cause, trace.findings[:1]), None)
    if cause is None or cause.share is None or "% of" in cause.title:
        return cause.title if cause else ""
    most = "up to " * (cause.rule in _AT_MOST)
    return f"{cause.title}, {most}{format_share(cause.share, decimals=0)} of the time"


def _recorded(trace: Trace, waterfall: Waterfall) -> str:
    """Say that it was mostly recorded, if it was; "" where something else explains more."""
    own_ns = sum(row.self_ns for row in waterfall.rows if row.stage == RECORDING)
    share = own_ns / trace.wall_ns if trace.wall_ns else 0.0
    causes = [one.share for one in trace.findings[:1] if is_cause(one)]
    calls = (number(trace.spans[-1], "calls") or 0) if trace.spans else 0
    workers = len({s.lane for s in trace.spans if s.stage == RECORDING and s.duration_ns})
    much = workers or calls >= _MANY_CALLS or "ActorMethod._remote" in {s.name for s in trace.spans}
    if not much or share < CAUSE_SHARE or any((one or 1.0) > share for one in causes):
        return ""
    pickles = (number(span, "calls") or 1 for span in trace.spans if span.stage == "pickle.dumps")
    what = counted(calls, "short pickle" if 2 * sum(pickles) > calls else "short call")
    first = f"tasks on {counted(workers, 'worker')}" if workers else "calls of actors"
    what = what if calls >= _MANY_CALLS else f"first {first}"
    bare = f"unrecorded {format_ns(trace.wall_ns - own_ns)} at most"
    return f"{format_share(share, decimals=0)} is the recording of {what}, {bare}"


def _own_work(trace: Trace, biggest: _Cause) -> str:
    """Say what Dask does beside the tasks, all together, where no stage is half of the time."""
    tasks, share = dask_facts.task_count(trace), self_share(trace, "dask")
    share -= self_share(trace, *_OF_THE_USER)
    is_one = biggest.self_ns >= _HALF * trace.wall_ns or biggest.key in _OF_THE_USER
    computed = dask_facts.compute_ns(trace) or 0  # else it waited for what kept them
    if not tasks or not computed or is_one or share < _HALF:
        return ""
    each = f"{format_ns(computed / tasks)}{' each' * (tasks > 1)}"
    said = format_share(share, decimals=0)
    return f"{said} Dask's own work for {counted(tasks, 'task')} of {each}"


def _elsewhere(trace: Trace) -> str:
    """Return whose time it is that no stage owns: beside a dead Ray, the wait for it."""
    notes = (note.partition(":")[0] for note in trace.quality.notes)
    dead = (f"waiting, {note}" for note in notes if note.endswith((DIED, WAS_DEAD, SILENT)))
    return next(dead, "outside the stages seen")


def _causes(trace: Trace, waterfall: Waterfall) -> list[_Cause]:
    known, rows = stages_of(trace), dict[str, list[Row]]()
    for row in waterfall.rows:
        rows.setdefault(known[row.stage].parent or row.stage, []).append(row)
    return [_Cause(key, sum(row.self_ns for row in found), found) for key, found in rows.items()]


def _said(trace: Trace, cause: _Cause) -> str:
    share = format_share(cause.self_ns / trace.wall_ns, decimals=0)
    # What the line said first of why nothing moved when it was stopped.
    stood = filter(None, (note.partition(STOOD)[2] for note in trace.quality.notes))
    title, why = stages_of(trace)[cause.key].title, next(stood, "").partition("; ")[0]
    if why and stages_of(trace)[cause.key].waits:
        return f"{why}, {share} {title}"
    # Tasks of Ray that took an unreported road: the wait is not their stage.
    unseen = sum((span.details or {}).get("road") == "unseen" for span in trace.spans)
    if unseen and cause.key in _WAITS_FOR_TASKS:
        return f"{share} waiting for {counted(unseen, 'task')} of Ray that could not be seen"
    own = [row for row in cause.rows if row.stage == cause.key]
    size = total(row.size_bytes for row in own)
    only = own[0] if len(own) == len(cause.rows) == 1 else None
    rate = bytes_per_s(only.copied_bytes, only.busy_ns) if only else None
    pace = f" at {format_rate(rate)}" if rate is not None else ""
    tasks = dask_facts.task_count(trace) if cause.key in _OF_TASKS else None
    scheduled = f", {counted(tasks, 'task')}" if tasks else ""
    carried = f", {format_bytes(size)}{pace}" if size else scheduled
    part = _largest_part(trace, cause) if len({row.stage for row in cause.rows}) > 1 else ""
    threads = dask_facts.workers(trace).threads if cause.key == "dask.execute" else 0
    where = f" on 1 to {format_count(threads)} threads" if threads > 1 else ""
    ran = Counter[str]()
    for span in trace.spans if cause.key == "ray.execute" else ():
        ran[span.name] += span.duration_ns * (span.stage == cause.key)
    where += f" of `{ran.most_common(1)[0][0]}`" * (len(+ran) > 1) if ran else ""
    lost = any("scheduler did not answer" in note for note in trace.quality.notes)
    where += ", which did not answer" * (lost and cause.key == "dask.wait")
    return f"{share} {title}{where}{carried}{part}"


def _held(trace: Trace) -> str:
    """Return which call held the interpreter for a third of the time or more, as nobody saw it."""
    for note in trace.quality.notes:
        said, _, length = note.rpartition(HELD)
        if said and float(length.partition(" ")[0]) * 1e9 >= CAUSE_SHARE * trace.wall_ns:
            return f"{note}, "
    return ""


def _largest_part(trace: Trace, cause: _Cause) -> str:
    """Name the largest part, if it is no small one: without it the sum is a riddle."""
    parts: Counter[str] = Counter()
    for row in cause.rows:
        parts[row.stage] += row.self_ns
    key, part_ns = parts.most_common(1)[0]
    share = part_ns / cause.self_ns if cause.self_ns else 0.0
    if key == cause.key or share < CAUSE_SHARE:
        return ""
    part = [row for row in cause.rows if row.stage == key]
    size, copied = (total(getattr(row, k) for row in part) for k in ("size_bytes", "copied_bytes"))
    rate = bytes_per_s(copied, sum(row.busy_ns for row in part))
    carried = f", {format_bytes(size)} at {format_rate(rate)}" if size and rate else ""
    return f", mostly {stages_of(trace)[key].title}{carried}"


def _details(trace: Trace, waterfall: Waterfall) -> list[str]:
    facts = [*_mark_facts(trace), *_buffer_facts(trace), *_graph_facts(trace)]
    if dask_facts.workers(trace).threads:
        facts += [*_group_facts(trace, waterfall), *_result_facts(trace)]
    else:
        facts += _parallel_facts(trace, waterfall)
    return [*facts, *limit_facts(trace.limits)]


def limit_facts(limits: Limits) -> list[str]:
    """Say how fast the memory is, where that is known."""
    warm, new = limits.memcpy_bytes_per_s, limits.first_touch_bytes_per_s
    return [f"memcpy here {format_rate(warm)}, {format_rate(new)} into new pages"] if warm else []


def _working_ns(trace: Trace, waterfall: Waterfall) -> int:
    known = stages_of(trace)
    return sum(row.self_ns for row in waterfall.rows if not known[row.stage].waits)


def _mark_facts(trace: Trace) -> list[str]:
    """How long each mark of the user took, with everything inside; its row has only the rest."""
    totals: Counter[str] = Counter()
    marked = lambda span: span.duration_ns if span.stage.startswith(MARK) else None  # noqa: E731
    for index, duration_ns in outermost(trace.spans, walk(trace.spans), marked):
        totals[trace.spans[index].stage.removeprefix(MARK)] += duration_ns
    named = [f"{title} {format_ns(total)}" for title, total in totals.most_common(_MARKS_NAMED)]
    more = len(totals) - len(named)
    return [*named, counted(more, "more mark")] if more else named


def _buffer_facts(trace: Trace) -> list[str]:
    # The bytes of a pickle inside a pickle are in the outer one already, if that one knows them.
    stages, key = ("pickle.dumps", "ray.pickle"), "in_band_bytes"
    size_of = lambda span: number(span, key) if span.stage in stages else None  # noqa: E731
    known = outermost(trace.spans, walk(trace.spans), size_of)
    written = [trace.spans[index] for index, _ in known]
    if not written:
        return []
    in_band = sum(number(span, "in_band_bytes") or 0 for span in written)
    out_of_band = sum(number(span, "out_of_band_bytes") or 0 for span in written)
    if in_band + out_of_band < _WORTH_BYTES and dask_facts.graph_bytes(trace) is not None:
        return []  # messages of Dask itself; the graph is told by its own fact
    count = sum(number(span, "buffers") or 0 for span in written)
    beside = f"{format_bytes(out_of_band)} out-of-band in {counted(count, 'buffer')}"
    return [f"{format_bytes(in_band)} in-band, {beside}"]


def _result_facts(trace: Trace) -> list[str]:
    """Say how results lie in memory; those without buffers are neither copied nor not."""
    seen = [span.details for span in trace.spans if span.details and "zero_copy" in span.details]
    worth = [each for each in seen if (whole(each, "result_bytes") or 0) >= _WORTH_BYTES]
    judged = [each["zero_copy"] for each in worth if isinstance(each["zero_copy"], bool)]
    if not judged:
        return []
    if not any(judged):
        return ["results were copied"]
    some = "" if all(judged) else f"{sum(judged)} of {len(judged)} "
    return [f"{some}results zero-copy"]


def _group_facts(trace: Trace, waterfall: Waterfall) -> list[str]:
    owned: Counter[int] = Counter()
    for row in waterfall.rows:
        if row.group is not None and 0 <= row.group < len(trace.groups):
            owned[row.group] += row.self_ns
    # What the first one owns before it began is not its own.
    lasted = {at: max(0, each.end_ns - each.start_ns) for at, each in enumerate(trace.groups)}
    owned = Counter({at: min(own_ns, lasted[at]) for at, own_ns in owned.items()})
    if len(trace.groups) < 2 or not any(owned.values()) or not trace.wall_ns:  # noqa: PLR2004
        return []
    (longest, owned_ns), count = owned.most_common(1)[0], format_count(len(trace.groups))
    share = format_share(owned_ns / trace.wall_ns, decimals=0)
    took = f"{trace.groups[longest].title} took most ({format_ns(owned_ns)}, {share})"
    return [f"of {count} computations {took}"]


def _graph_facts(trace: Trace) -> list[str]:
    sent, left = dask_facts.graph_bytes(trace), dask_facts.dispatched_bytes(trace)
    if sent is None:
        return []
    graph = f"{format_bytes(sent)} of graph sent"
    if left is None:
        return [graph]
    ratio = f" ({format_ratio(left / sent)})" if sent and left >= _AMPLIFIED * sent else ""
    return [f"{graph}, {format_bytes(left)} of tasks sent to workers{ratio}"]


def _worker_facts(trace: Trace) -> list[str]:
    """Say how much of their time the workers computed: what hides behind the scheduler, or not."""
    threads, busy_ns = dask_facts.workers(trace)
    if not threads or not trace.wall_ns:
        return []
    share = format_share(busy_ns / (threads * trace.wall_ns), decimals=0)
    whose = "its" if threads == 1 else "their"
    return [f"{counted(threads, 'worker thread')} busy {share} of {whose} time"]


def _parallel_facts(trace: Trace, waterfall: Waterfall) -> list[str]:
    caller = trace.lanes[0].key if trace.lanes else ""
    lanes = {span.lane for span in trace.spans} - {caller, "raylet"}
    if not lanes or not trace.wall_ns:
        return []
    known = stages_of(trace)
    working = [row for row in waterfall.rows if not known[row.stage].waits]
    busy = sum(row.busy_ns for row in working) / trace.wall_ns
    others = counted(len(lanes), "other lane")
    return [f"{others} (threads or processes); all worked {busy:.1f} times the wall time together"]
