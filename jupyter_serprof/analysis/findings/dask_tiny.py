"""Findings about tasks of Dask that are too small: what each of them costs beside its work."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from jupyter_serprof.analysis.findings import dask_facts as facts
from jupyter_serprof.analysis.findings.dask_bytes import PAYLOAD_BYTES
from jupyter_serprof.analysis.spans import rows_of, self_share, total, whole, word
from jupyter_serprof.model import Finding, Trace
from jupyter_serprof.model.units import counted, format_count, format_ns, format_share

TINY_TASKS = 200
#: What the scheduler should need of the time that the workers need for the same task.
WANTED_SHARE = 0.1
#: Of a run that scheduled for less than this share of its time, tasks are small enough.
SCHEDULING_SHARE = 0.1
#: Of what each of many tasks takes, so much is that of running one of nothing; a computation of few
#: tasks takes as long as so many of many.
_EMPTY_SHARE, _FEW_TASKS = 0.1, 10
#: What is paid for each task as well; and where it carries little.
_AND_OTHERS, _OF_VALUES = ("dask.submit", "gc", "recording"), ("dask.gather", "dask.transfer")
#: Of the time goes into tasks beside their work; work that takes half of that is as much.
PAID_SHARE, PAID_TIMES = 1 / 3, 2


def tiny_tasks(trace: Trace) -> Iterable[Finding]:
    """Tasks for which the scheduler needs longer than all worker threads need for their work.

    Chunks that are k times larger make k times fewer tasks of k times the work; k is chosen so that
    the scheduler is busy for a tenth of the time.
    """
    tasks, work_ns = facts.task_count(trace), facts.compute_ns(trace)
    scheduled_ns, (threads, busy_ns) = facts.scheduling_ns(trace), facts.workers(trace)
    carries = (facts.dispatched_bytes(trace) or 0) >= PAYLOAD_BYTES * (tasks or 0)
    of_calls = ("dask.construct", "dask.prepare") if facts.is_of_calls(trace) else ()
    share = self_share(
        trace, *facts.OF_EACH_TASK, *of_calls, *([] if carries else ["dask.dispatch"])
    )
    paid_ns = max(scheduled_ns, share * trace.wall_ns / PAID_TIMES if share >= PAID_SHARE else 0)
    is_much = paid_ns >= SCHEDULING_SHARE * trace.wall_ns
    if not tasks or tasks < TINY_TASKS or not work_ns or not threads or not is_much:
        return
    if paid_ns < work_ns / threads:
        return
    factor = (1 / WANTED_SHARE - 1) * paid_ns * threads / max(1, _own_work_ns(trace))
    kind = "scheduling" if paid_ns == scheduled_ns else "overhead"
    each_ns = max(scheduled_ns, share * trace.wall_ns * (kind == "overhead")) / tasks
    own_ns = work_ns // tasks
    name, count = _largest_prefix(trace)
    of = f"; {format_count(count)} of them are `{name}`" if name else ""
    busy = format_share(busy_ns / (threads * trace.wall_ns), decimals=0)
    yield Finding(
        "dask.tiny-tasks",
        "warn",
        f"{format_count(tasks)} tasks too small, workers computed {busy} of their time",
        {
            "tasks": tasks,
            "prefix": name or None,
            "schedule_ns_per_task": round(each_ns),
            "compute_ns_per_task": own_ns,
            "worker_threads": threads,
            "chunk_factor": round(factor, 1),
            "edge_factor_1d": round(factor, 1),
            "edge_factor_2d": round(math.sqrt(factor), 1),
        },
        larger_chunks(trace, factor),
        spans=facts.spans_of(trace, "dask.schedule"),
        because=f"{format_ns(each_ns)} of {kind} for {format_ns(own_ns)} of work on "
        f"{counted(threads, 'worker thread')}{of}",
        share=_saved_share(trace, of_calls, factor),
    )


def _saved_share(trace: Trace, of_calls: Sequence[str], factor: float) -> float:
    """Return what tasks made so much larger would save: all but their work, and that of few."""
    tasks, rows = facts.task_count(trace) or 0, facts.records(trace, "dask.tasks")
    kept = _FEW_TASKS + sum(math.ceil((whole(row, "count") or 0) / max(1, factor)) for row in rows)
    sizes = {key: total(row.size_bytes for row in rows_of(trace, key)) for key in _OF_VALUES}
    sizes |= {
        "dask.serialize": facts.graph_bytes(trace),
        "dask.dispatch": facts.dispatched_bytes(trace),
    }
    little = [key for key, size in sizes.items() if (size or 0) < PAYLOAD_BYTES * tasks]
    share = self_share(trace, *facts.OF_EACH_TASK, *of_calls, *_AND_OTHERS, *little)
    work_ns = _own_work_ns(trace) / max(1, facts.workers(trace).threads)
    left = share * min(1.0, kept / max(1, tasks)) + work_ns / max(1, trace.wall_ns)
    return max(0.0, share + self_share(trace, "dask.execute") - left)


def _own_work_ns(trace: Trace) -> float:
    # The longest one is left out: in it the worker was held up, imported or collected garbage.
    rows, work_ns = facts.records(trace, "dask.tasks"), 0.0
    empty_ns = _EMPTY_SHARE * trace.wall_ns / (facts.task_count(trace) or 1)
    for row in rows:
        count, took_ns, usual_ns, most_ns = (
            whole(row, key) or 0 for key in ("count", "compute_total", "compute_p50", "compute_max")
        )
        work_ns += max(0.0, took_ns - most_ns - count * min(usual_ns, empty_ns))
    return work_ns if rows else facts.compute_ns(trace) or 0


def _largest_prefix(trace: Trace) -> tuple[str, int]:
    counts: Counter[str] = Counter()
    for entry in facts.records(trace, "dask.tasks"):
        counts[word(entry, "prefix")] += whole(entry, "count") or 0
    name, count = counts.most_common(1)[0] if counts else ("", 0)
    return (name, count) if count else ("", 0)


def larger_chunks(trace: Trace, factor: float) -> str:
    """Return how to make tasks larger; calls and futures have no chunks: batches of values."""
    # Each worker thread is left with one at least.
    is_futures = facts.is_of_futures(trace)
    count, tasks = _largest_prefix(trace)[1], facts.task_count(trace) or 0
    factor = max(2.0, min(factor, (count or tasks) / max(1, facts.workers(trace).threads)))
    if is_futures or facts.is_of_calls(trace):
        size, called = math.ceil(factor), "call" if count == tasks else "function"
        each, part = f"lambda part: [<{called}>(x) for x in part]", f"<values>[i:i + {size}]"
        # Lists in lists are searched for graphs, which takes longer than all else of a call.
        is_plain = count == tasks and self_share(trace, "dask.construct") >= SCHEDULING_SHARE
        given = f"dask.delayed({part}, traverse=False)" if is_plain else part
        call = (
            f"<client>.submit({each}, {part})" if is_futures else f"dask.delayed({each})({given})"
        )
        calls = f"[{call} for i in range(0, len(<values>), {size})]"
        many = f"futures = {calls}" if is_futures else f"results = sum(dask.compute(*{calls}), [])"
        return f"{many}   # give each task some {format_count(size)} values"
    if facts.has_partitions(trace):
        fewer = f"<x>.npartitions // {max(2, round(factor))}"
        return (
            f"factor = {round(factor)}; <npartitions>   # with fewer partitions\n"
            f"<x> = <x>.repartition(npartitions=max(1, {fewer}))   # or make fewer partitions"
        )
    edges = {1: _readable(factor), 2: _readable(math.sqrt(factor))}
    how = f"longer chunks, {edges[2]} times in 2-D, {edges[1]} times in 1-D"
    lines = [f"factor = {math.ceil(float(edges[n]))}; <chunks{n}>   # longer chunks" for n in edges]
    edge = f"{edges[1]} ** (1 / <x>.ndim)"
    lines.append(f"chunks = tuple(int(n * {edge}) for n in <x>.chunksize)   # with {how}; ")
    return "\n".join(lines) + "`%graphstages --sweep chunk=...` measures it"


def _readable(factor: float) -> str:
    """Return a factor rounded up to two digits, as Python reads it: '2.4' of 2.31, '3' of 2.96."""
    unit = 10 ** (math.floor(math.log10(factor)) - 1) if factor > 0 else 1
    rounded = math.ceil(factor / unit - 1e-9) * unit
    return f"{rounded:.1f}".removesuffix(".0")
