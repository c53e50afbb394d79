"""Findings about how the tasks of Dask ran: alone, one after the other, by a shuffle, from text."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from jupyter_serprof.analysis.findings import dask_facts as facts
from jupyter_serprof.analysis.spans import (
    WORDS,
    covered_ns,
    indexed,
    number,
    self_share,
    text,
    whole,
    word,
)
from jupyter_serprof.analysis.typed import roles_of
from jupyter_serprof.model import Finding, Span, Trace
from jupyter_serprof.model.trace import NO_WORKER, Scalar
from jupyter_serprof.model.units import counted, format_bytes, format_count, format_ns

#: What is seen while nothing runs.
_WAITING = ("dask.wait", "dask.queue")
#: Fewer tasks one after the other are no loop and no chain.
FEW_TASKS = 4
#: Of computations, as groups of rows.
MOST_GROUPS = 12
#: Tasks that overlap for less than this are said to run one after the other.
OVERLAP = 1.2
#: Of the tasks of a chain so many need another one of the same name; in a tree half of them do.
CHAINED_SHARE = 0.75
#: What could be saved of the time, from here on it is worth a sentence.
WORTH_SHARE, JOINED_BYTES = 0.2, 1_000_000
#: Half of it: what one task takes that is worth to be parted.
LONG_NS = 200_000_000
#: What takes more is no single number.
NUMBER_BYTES = 200
#: What is merged without a shuffle: so much goes to each partition.
FITTING_BYTES = 500_000_000
MANY_PARTITIONS, MANY_STEPS, PARTITION_BYTES = 50, 8, 1_000_000
#: What Dask advises a partition to have.
WANTED_BYTES = 100_000_000
#: Threads that are ready for as long as one of them; their tasks overlap all the same.
HELD, TOGETHER = (0.8, 1.45), 1.5
_EXECUTE, _FINAL = "dask.execute", "finalize"
#: Tasks that send rows to where their keys belong, and take them in.
_MOVING, _MERGING = re.compile("shuffle|hash-?join"), re.compile("merge|hash-?join")
_GATHER = "results = [future.result() for future in <futures>]   # submit all, then wait"
_TREE = f"{WORDS}combine pairs, then pairs of pairs: they run side by side"
#: The user's own names, where the code tells them.
AT_ONCE = "import dask; {} = {}   # all in one computation"
COMPUTE = (
    f"{AT_ONCE.format('<list>', 'list(dask.compute(*<computed>))')}\n"
    f"{AT_ONCE.format('results', 'dask.compute(*<computed>)')}"
)
INDEXED = (
    "indexed = <indexed>.persist()   # once, then ask `indexed`\n"
    f"{WORDS}`set_index` once, and persist what it gives: `loc` and joins then know where rows are"
)
_SHUFFLED = {
    "merge": "<merged> = <merged>.compute()   # merge with a frame that fits into memory: it goes "
    "to each partition, none is shuffled",
    "index": INDEXED,
    "bag": f"{WORDS}`foldby` combines within partitions first",
    "": f"{WORDS}`agg` combines within partitions first; `apply` and what needs whole groups "
    "shuffle every row",
}


def one_by_one(trace: Trace) -> Iterable[Finding]:
    """Tasks that ran one after the other while other workers had nothing to do."""
    # In a loop each computation waits for the one before; in a chain each task does. The tasks of
    # one computation may run side by side: what is between computations is what one would save.
    tasks = [span for _, span in indexed(trace, _EXECUTE)]
    lanes, count = places(trace), facts.task_count(trace) or 0
    busy_ns = sum(span.duration_ns for span in tasks)
    is_serial = busy_ns <= OVERLAP * covered_ns(tasks)
    is_told = "<computed>" in roles_of(trace.name)
    if lanes < 2 or count < FEW_TASKS or not busy_ns or not (is_serial or is_told):  # noqa: PLR2004
        return
    graphs = len(facts.spans_of(trace, "dask.serialize"))
    name = facts.prefix(max(tasks, key=lambda span: span.duration_ns).name)
    # What is sent without a wait between is one group; of many computations twelve are told.
    waits = 2 * len(trace.groups) >= min(graphs, MOST_GROUPS)
    is_loop = waits and graphs >= max(FEW_TASKS, 0 if is_told else count / 2)
    named = sum(facts.prefix(span.name) == name for span in tasks)
    is_its_own = named * count >= graphs * len(tasks)
    # Of independent ones a worker may have run most, as the others were held up.
    follow = sum(number(span, "chained") or 0 for _, span in indexed(trace, "dask.schedule"))
    is_chain = is_serial and named == len(tasks) and follow >= CHAINED_SHARE * count
    between_ns = (1 - 1 / graphs) * _between_ns(trace, tasks) if is_loop else 0.0
    saved_ns = is_serial * (1 - 1 / min(lanes, count)) * covered_ns(tasks) + between_ns
    share = min(1.0, saved_ns / max(1, trace.wall_ns))
    if share < WORTH_SHARE or not (is_loop or is_chain):
        return
    what = counted(graphs, "computation") + f" of `{name}`" * is_its_own
    yield Finding(
        "dask.compute-in-loop" if is_loop else "dask.chain",
        "warn",
        f"{what if is_loop else f'{count} tasks `{name}`'} ran one after the other",
        {"tasks": count, "computations": graphs, "workers": lanes, "busy_ns": busy_ns},
        _TREE if not is_loop else _GATHER if facts.is_of_futures(trace) else COMPUTE,
        spans=facts.spans_of(trace, _EXECUTE),
        because=f"{format_ns(busy_ns)} of work, on one of {lanes} workers at a time"
        if is_serial
        else f"for {format_ns(between_ns)} between them no task ran",
        share=share,
    )


def _between_ns(trace: Trace, tasks: Sequence[Span]) -> int:
    """Return for how long no task ran between the first and the last, save for the user's code."""
    window_ns = max(span.end_ns for span in tasks) - min(span.start_ns for span in tasks)
    own_ns = self_share(trace, "python.code") * trace.wall_ns
    rest_ns = trace.waterfall.unaccounted_ns if trace.waterfall else 0
    return max(0, round(window_ns - covered_ns(tasks) - own_ns - rest_ns))


def one_task(trace: Trace) -> Iterable[Finding]:
    """One task that takes most of the time while other workers have nothing to do."""
    lanes, total_ns = places(trace), facts.compute_ns(trace) or 0
    tasks = list(indexed(trace, _EXECUTE))
    index, longest = max(tasks, key=lambda pair: pair[1].duration_ns, default=(0, None))
    took_ns = longest.duration_ns if longest else 0
    if longest is None or lanes < 2 or 2 * took_ns < max(total_ns, LONG_NS):  # noqa: PLR2004
        return
    alone_ns = covered_ns(s for _, s in tasks) - covered_ns(s for at, s in tasks if at != index)
    share = (1 - 1 / lanes) * alone_ns / max(1, trace.wall_ns)
    joined, user = _joined(trace, longest)
    if joined is None and longest.name.startswith(_FINAL):
        return  # the result, which is gathered whole
    name, alone = facts.prefix(user.name), format_ns(user.duration_ns)
    size, before_ns = (whole(joined or {}, key) or 0 for key in ("result_bytes", "compute_total"))
    rows = facts.records(trace, "dask.tasks")
    count = sum(whole(row, "count") or 0 for row in rows if word(row, "prefix") == name)
    what = f"one of {count} `{name}` ran alone" if count > 1 else f"`{name}` ran as one task"
    is_call = facts.is_of_calls(trace) or facts.is_of_futures(trace)
    parts = "" if is_call else ": `rechunk`, `repartition`"
    is_few = is_call and not joined and (facts.task_count(trace) or lanes) < lanes
    idle = f", the other worker{'s' * (lanes > 2)} had nothing to do"  # noqa: PLR2004
    what += f" on one of {lanes} workers" if is_few else idle
    moved_share = self_share(trace, "dask.transfer") if joined else 0.0
    if share >= WORTH_SHARE and 2 * alone_ns >= took_ns:
        yield Finding(
            "dask.one-task" if joined is None else "dask.delayed-collection",
            # One of many may have been held up; one call may be all that was to be done.
            "warn" if joined or (count <= 1 and not is_call) else "info",
            what
            if joined is None
            else f"`{name}` got {format_bytes(size)} of chunks joined in one task",
            {"task_ns": took_ns, "workers": lanes}
            | ({"size_bytes": size, "joined_ns": before_ns} if joined else {}),
            "",
            spans=(index,),
            because=f"{alone} on one of {lanes} workers; parts of its values can "
            f"run side by side{parts}"
            if joined is None
            else f"joining took {format_ns(before_ns)}, `{name}` then ran alone for {alone}; "
            "`map_blocks`, or `to_delayed` and a call for each chunk, make a task of each",
            share=min(1.0, share * lanes / (lanes - 1) if is_few else share + moved_share),
        )


def _joined(trace: Trace, task: Span) -> tuple[facts.Record | None, Span]:
    """Return the row of the task that put a collection together for another task, and that one."""
    # The long one may be either; without any, that one is returned as it is.
    spans = [s for _, s in indexed(trace, _EXECUTE)]
    rows = [r for r in facts.records(trace, "dask.tasks") if word(r, "prefix").startswith(_FINAL)]
    is_large = rows and (whole(rows[0], "result_bytes") or 0) >= JOINED_BYTES
    users = [s for s in spans if s.start_ns >= task.end_ns] if task.name.startswith(_FINAL) else []
    if any(s.end_ns <= task.start_ns for s in spans if s.name.startswith(_FINAL)):
        users = [task]
    user = min(users, key=lambda span: span.start_ns, default=task)
    return (rows[0] if users and is_large else None), user


def shuffle(trace: Trace) -> Iterable[Finding]:
    """Rows that travel between all partitions, where another form of the question needs none."""
    tables = facts.records(trace, "dask.tasks")
    rows = [row for row in tables if _MOVING.search(word(row, "prefix"))]
    names = " ".join(word(row, "prefix") for row in tables)
    kind = "bag" if "shuffle-group" in names else "merge" if _MERGING.search(names) else ""
    kind = "index" if facts.is_sorted(trace) else kind
    if not kind and _is_combined(trace):
        return  # `agg` and its like do what could be advised
    if rows and not kind:  # what was shuffled is given to the function of `apply`
        rows += [row for row in tables if word(row, "prefix") == "operation"]
    # Two large frames cannot be merged otherwise.
    is_large = max((whole(row, "result_bytes") or 0 for row in tables), default=0) > FITTING_BYTES
    times = sum(whole(r, "count") or 0 for r in rows if word(r, "prefix") == "shuffle-barrier")
    moved_ns = sum(whole(row, "transfer_total") or 0 for row in rows)
    worked_ns = sum(whole(row, "compute_total") or 0 for row in rows)
    tasks = sum(whole(row, "count") or 0 for row in rows)
    paid = self_share(trace, *facts.OF_EACH_TASK, "dask.dispatch", "dask.spill")
    share = _share_of(trace, worked_ns) + paid * tasks / max(1, facts.task_count(trace) or 0)
    share += self_share(trace, "dask.transfer") if moved_ns else 0.0
    if not rows or share < WORTH_SHARE or (kind == "index" and times < 2):  # noqa: PLR2004
        return
    if kind == "merge" and is_large:
        return
    yield Finding(
        "dask.shuffle",
        "warn",
        "rows were shuffled between all partitions",
        {"tasks": tasks, "busy_ns": worked_ns + moved_ns},
        _SHUFFLED[kind],
        spans=tuple(i for i, span in indexed(trace, _EXECUTE) if _MOVING.search(span.name)),
        because=f"{format_count(tasks)} tasks, {format_ns(worked_ns + moved_ns)} of work on them",
        share=min(1.0, share),
    )


def _is_combined(trace: Trace) -> bool:
    """Tell whether rows were combined within partitions before some of them were shuffled."""
    tasks = [span for _, span in indexed(trace, _EXECUTE)]
    combined = [span.start_ns for span in tasks if facts.prefix(span.name) == "chunk"]
    shuffled = [span.start_ns for span in tasks if "shuffle-barrier" in span.name]
    return min(combined, default=math.inf) < min(shuffled, default=0)


def text_files(trace: Trace) -> Iterable[Finding]:
    """Text that is parsed on each run, where columns in binary would be read."""
    rows = [row for row in facts.records(trace, "dask.tasks") if "read-csv" in word(row, "prefix")]
    worked_ns = sum(whole(row, "compute_total") or 0 for row in rows)
    share = _share_of(trace, worked_ns)
    if share >= WORTH_SHARE:
        count = sum(whole(row, "count") or 0 for row in rows)
        yield Finding(
            "dask.text-files",
            "info",
            f"{format_count(count)} tasks parsed text of CSV files",
            {"tasks": count, "busy_ns": worked_ns},
            '<x>.to_parquet("data.parquet")   # as Parquet, once; then read that, and only the '
            "columns that are needed",
            spans=tuple(i for i, span in indexed(trace, _EXECUTE) if "read-csv" in span.name),
            because=f"{format_ns(worked_ns)} of the workers' time, and again on each run",
            share=share,
        )


def small_partitions(trace: Trace) -> Iterable[Finding]:
    """Find a data frame of many partitions that hold little, of which each takes every step."""
    tasks, share = facts.task_count(trace), self_share(trace, _EXECUTE, *facts.OF_EACH_TASK)
    count, size = facts.partitions(trace)
    is_small = count >= MANY_PARTITIONS and 0 < size < PARTITION_BYTES
    fewer = max(1, places(trace), math.ceil(count * size / WANTED_BYTES))
    is_much = (tasks or 0) >= MANY_STEPS * count or _is_combined(trace)
    if is_small and is_much and fewer < count and share >= WORTH_SHARE:
        yield Finding(
            "dask.small-partitions",
            "warn",
            f"{format_count(count)} partitions of {format_bytes(size)} made "
            f"{format_count(tasks)} tasks",
            {"partitions": count, "partition_bytes": round(size), "tasks": tasks},
            # By `partition_size` Dask computes the sizes first, and may never return on a cluster.
            f"<x> = <x>.repartition(npartitions={fewer})   # or make it with fewer partitions",
            spans=facts.spans_of(trace, _EXECUTE),
            because="each step of pandas costs as much for few rows as for many",
            share=share,
        )


def held_by_interpreter(trace: Trace) -> Iterable[Finding]:
    """Find threads that run one at a time, as each holds the interpreter: processes would not."""
    tasks = [span for _, span in indexed(trace, _EXECUTE)]
    runs = {
        at: n for at, span in indexed(trace, "dask.schedule") if (n := number(span, "ready_ns"))
    }
    lanes, own = len({span.lane for span in tasks}), defaultdict[str, list[Span]](list)
    for span in tasks:  # each process has an interpreter of its own
        own[span.lane.partition("/")[0]].append(span)
    window_ns = sum(map(covered_ns, own.values()))
    busy_ns, ready_ns = sum(span.duration_ns for span in tasks), sum(runs.values())
    share = self_share(trace, _EXECUTE) * (1 - 1 / max(1, lanes))
    is_held = HELD[0] * window_ns <= ready_ns <= HELD[1] * window_ns
    if runs and is_held and busy_ns >= TOGETHER * window_ns and share >= WORTH_SHARE:
        yield Finding(
            "dask.gil",
            "warn",
            f"{counted(lanes, 'thread')} took turns: the tasks hold Python's interpreter",
            {"threads": lanes, "ready_ns": ready_ns, "busy_ns": busy_ns},
            "from distributed import Client; client = Client(threads_per_worker=1)   # once, then "
            "compute there: its processes run Python side by side; numpy mostly does in threads",
            spans=tuple(runs),
            because=f"threads could run in {format_ns(ready_ns)} of {format_ns(busy_ns)} of tasks",
            share=share,
        )


def pool_start(trace: Trace) -> Iterable[Finding]:
    """Find processes that are started and ended for one computation, which takes less."""
    started = [i for i, span in indexed(trace, "import") if span.lane.startswith("worker")]
    ended = [i for i, span in indexed(trace, "dask.wait") if span.name.endswith(".shutdown")]
    spent_ns = covered_ns(trace.spans[i] for i in [*started, *ended])
    share, work_ns = spent_ns / max(1, trace.wall_ns), facts.compute_ns(trace) or 0
    if started and ended and share >= WORTH_SHARE and spent_ns > work_ns:
        yield Finding(
            "dask.pool-start",
            "warn",
            f"processes were started and ended for {format_ns(work_ns)} of work",
            {"processes": len(started), "spent_ns": spent_ns, "work_ns": work_ns},
            '<lazy>.compute(scheduler="threads")   # threads need no start, and a '
            "`distributed.Client` keeps its processes for all that follows",
            spans=(*started, *ended),
            because=f"{format_ns(spent_ns)} went into their start, their imports and their end",
            share=min(1.0, share),
        )


def joblib_start(trace: Trace) -> Iterable[Finding]:
    """Find processes of joblib whose start takes long: saved by threads, and by later calls."""
    for at, span in indexed(trace, "python.wait"):
        spent_ns = number(span, "start_ns") or 0
        if 3 * spent_ns >= max(1, trace.wall_ns):
            yield Finding(
                "joblib.pool-start",
                "info",
                f"joblib's processes took {format_ns(spent_ns)} to start",
                {"spent_ns": spent_ns},
                'import joblib; joblib.parallel_config("threading")   # threads need no start; for '
                "work that lets go of Python's interpreter, as most of numpy does",
                spans=(at,),
                because="so much longer took the first answer than the next ones; the processes "
                "stay for later calls",
                share=min(1.0, spent_ns / max(1, trace.wall_ns)),
            )


def _share_of(trace: Trace, worked_ns: int) -> float:
    """Return which share of the wall time is owned by so much of all that the workers computed."""
    return self_share(trace, _EXECUTE) * min(1.0, worked_ns / max(1, facts.compute_ns(trace) or 0))


def places(trace: Trace) -> int:
    """Return on how many workers, or threads of workers, tasks can run side by side."""
    named = {lane.key.partition("/")[0] for lane in trace.lanes if lane.kind == "worker"}
    return max(len(named), facts.workers(trace).threads)


def no_worker(trace: Trace) -> Iterable[Finding]:
    """Find a cluster without workers: whatever else took time, nothing could run."""
    if any(note.endswith(NO_WORKER) for note in trace.quality.notes):
        yield Finding(
            "dask.no-worker",
            "warn",
            "the cluster had no worker: nothing could run",
            {},
            "<client>.cluster.scale(2)   # or start workers: dask worker ADDRESS",
            because="tasks were there that nobody could take",
            share=self_share(trace, *_WAITING),
        )


def habits(trace: Trace) -> Iterable[Finding]:
    """Find what functions do that goes wrong elsewhere, or is better done from here."""
    tables = facts.records(trace, "dask.tasks")
    for at, span in indexed(trace, "dask.submit"):
        function, name, task = (text(span, key) for key in ("function", "changes", "task"))
        rows = [
            (whole(r, "result_bytes"), whole(r, "count")) for r in tables if r["prefix"] == task
        ]
        is_one = any((size or 0) < NUMBER_BYTES * (count or 1) for size, count in rows)
        said = []
        if name and (not task or (rows and not is_one)):  # `+=` makes another number
            why = "other tasks that are given the same object see it before or after, as it happens"
            title = f"`{function}` changes its argument `{name}` in place"
            said.append(("mutated-input", title, f"{why}: work on a copy of it"))
        if number(span, "makes_graphs"):
            why = "its worker waits meanwhile: make one graph here, of which all take tasks"
            title = f"`{function}` makes and computes graphs inside of a task"
            said.append(("nested-delayed", title, why))
        known: dict[str, Scalar] = {"computation": number(span, "computation")}
        for rule, title, why in said:
            yield Finding(f"dask.{rule}", "info", title, known, "", spans=(at,), because=why)


RULES = (
    *(one_by_one, one_task, shuffle, text_files, small_partitions),
    *(held_by_interpreter, pool_start, joblib_start, no_worker, habits),
)
