"""Findings about calls of Ray in a loop: many puts of little, gets of one task each, tiny tasks."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from jupyter_serprof.analysis.findings.dask_facts import records
from jupyter_serprof.analysis.findings.ray_libraries import START_SHARE, STARTED, library_start
from jupyter_serprof.analysis.spans import (
    WORDS,
    calls_of,
    count_calls,
    covered_ns,
    indexed,
    inside,
    number,
    self_share,
    text,
    whole,
    word,
)
from jupyter_serprof.analysis.typed import is_chain
from jupyter_serprof.model import Finding, Span, Trace
from jupyter_serprof.model.units import counted, format_bytes, format_count, format_ns

MANY_PUTS = 500
#: Ray keeps smaller objects in the process: what a put of one costs is the call.
SMALL_BYTES, PUT_SHARE = 100_000, 0.2
MANY_GETS, GET_SHARE = 100, 0.3
#: Some for each worker; what runs one after the other overlaps by less than a twentieth.
SERIAL_TASKS, OVERLAP = 4, 1.05
TINY_TASKS, TINY_SHARE, WORTH_SHARE = 250, 0.3, 0.2
#: Of a task that does enough, the call is a tenth.
_WANTED = 9
REDEFINED_TIMES, REDEFINED_SHARE = 5, 0.2
_LOGS = "{ray._private.worker._global_node.get_logs_dir_path()}"
ACTORS, ACTOR_SHARE, POINTED_SPANS = 2, 0.3, 20
_ALL_AT_ONCE = "values = ray.get(<refs>)   # all at once; or as they come, by `ray.wait`"
_SUBMIT_FIRST = (
    "values = ray.get(<tasks>)   # submit all first, where none needs the value of the one before"
)
_GETS = ("ray.fetch", "ray.pull", "ray.restore", "ray.map", "ray.wait")
#: A loop of `ray.wait` is the remedy.
_WAIT_NAME, _START = "wait", ".__init__"
#: What making an actor takes, whatever it waits for before, and the calls that wait for it.
_STARTING = ("ray.worker.start", "ray.load", "ray.arguments", "ray.execute")
_AWAITED = {"ray.worker.start": "ray.actor.start"}
#: An operator of Ray Data with a function of the user, behind those that it is fused with.
_OPERATOR = re.compile(r"(?:.*->)?((?:Filter|FlatMap|Map\w*)\(.*\))")
_inner = partial(_OPERATOR.sub, r"\1")
#: How Ray asks an actor to end.
_END = "__ray_terminate__"
#: What only the first task of a worker pays; a process that starts, or imports, takes longer.
_COLD_CALL = ("ray.worker.start", "ray.load", "ray.arguments.import", "ray.arguments.lock")
_COLD, LOADED_BYTES = (*_COLD_CALL, "ray.outputs.import"), 4_000_000
COLD_SHARE, COLD_NS = 0.2, 50_000_000
_SUBMIT_TASK, _CALL_ACTOR = "RemoteFunction._remote", "ActorMethod._remote"
#: What a worker does for a task.
_WORKING = ("ray.arguments", "ray.execute", "ray.outputs")
#: What a task costs beside its work, whatever it carries.
_CALLING = (*_GETS, "ray.submit", "ray.schedule", "ray.arguments", "ray.reply")
#: All that is of many calls, and of the turn of the loop around each. The way of a batch, there
#: and back on a quiet machine, is left.
_OF_CALLS = (*_CALLING, "ray.execute", "ray.outputs", "ray.msgpack", "ray.unpack", "recording")
_TURN_NS, _BATCH_NS = 20_000, 2_000_000
#: Ray Data puts something for each block that it reads.
_OF_READS = ("ray.store", "ray.msgpack", "ray.pickle")
#: The way of a task to its worker, and back.
_WAY = ("ray.schedule", "ray.reply")
#: Where the time of a task goes that never ends.
_ROAD = (*_GETS, "ray.schedule", "ray.arguments", "ray.execute", "ray.reply")


def many_puts(trace: Trace) -> Iterable[Finding]:
    """Many small objects put one by one: the calls are the cost, not the bytes."""
    puts = _outermost(trace, ("ray.store",))
    spans = [trace.spans[index] for index in puts]
    sizes = [number(s, "total_bytes") if s.size_bytes is None else s.size_bytes for s in spans]
    small = [(at, size) for at, size in zip(puts, sizes, strict=True) if size is not None]
    small = [(at, n) for at, n in small if n < SMALL_BYTES * calls_of(trace.spans[at])]
    took_ns = sum(trace.spans[at].duration_ns for at, _ in small)
    count = count_calls(trace.spans[at] for at, _ in small)
    if count < MANY_PUTS or took_ns < PUT_SHARE * trace.wall_ns:
        return
    total = sum(size for _, size in small)
    yield Finding(
        "ray.many-puts",
        "warn",
        f"{format_count(count)} small objects were put one by one",
        {"times": count, "total_bytes": total, "took_ns": took_ns},
        "ref = ray.put(<puts>)   # all of them as one object, or hand small ones to tasks by value",
        spans=tuple(at for at, _ in small)[:POINTED_SPANS],
        because=f"{format_bytes(total / count)} in {format_ns(took_ns / count)} each",
        share=min(1.0, took_ns / trace.wall_ns),
    )


def get_in_a_loop(trace: Trace) -> Iterable[Finding]:
    """Many gets one after the other: each waits for its own task while others are done.

    Of tasks that run one after the other a few are enough. Calls of actors need their order, but
    not the way there and back before the next one. What the code shows to need the value of the one
    before has an order, too.
    """
    parts = [at for at in _outermost(trace, _GETS) if trace.spans[at].name != _WAIT_NAME]
    gets = [at for at in parts if is_whole_get(trace.spans[at])]
    if is_chain(trace.name):
        return
    if told := _one_by_one(trace, gets):
        yield told
        return
    is_in_turns = _submits_between(trace, gets) >= len(gets) / 2
    share = self_share(trace, *_GETS, *_WAY[: len(_WAY) * is_in_turns])
    share -= self_share(trace, *_COLD_CALL[: 2 * is_in_turns])
    count = count_calls(trace.spans[at] for at in gets)
    if count < MANY_GETS or share < GET_SHARE:
        return
    took_ns = sum(trace.spans[at].duration_ns for at in parts)
    yield Finding(
        "ray.get-in-loop",
        "warn",
        f"`ray.get` was called {format_count(count)} times, one after the other",
        {"times": count, "took_ns": took_ns, "share": round(share, 3)},
        _SUBMIT_FIRST if is_in_turns else _ALL_AT_ONCE,
        spans=tuple(gets)[:POINTED_SPANS],
        because=f"each waits for one result only, {format_ns(took_ns)} in all",
        share=min(1.0, share),
    )


def is_whole_get(span: Span) -> bool:
    """Tell a get from what --detail asks before it."""
    return span.name != "get" or span.stage not in {"ray.wait", "ray.pull"}


def _one_by_one(trace: Trace, gets: Sequence[int]) -> Finding | None:
    """Tell of tasks that ran one after the other, as each was got before the next was submitted."""
    tasks = [span for _, span in indexed(trace, "ray.execute")]
    took_ns, submits = sum(span.duration_ns for span in tasks), _outermost(trace, ("ray.submit",))
    is_of_tasks = {trace.spans[at].name for at in submits} == {_SUBMIT_TASK}
    cores = trace.environment.get("cores")
    is_serial = 0 < took_ns <= OVERLAP * covered_ns(tasks) and cores != 1
    is_in_turns = _submits_between(trace, gets) >= len(gets) == len(submits) >= SERIAL_TASKS
    if not (is_of_tasks and is_serial and is_in_turns):
        return None
    # Of short tasks the whole way there and back is in turns, but for that of the longest one.
    turns = zip(submits, gets, strict=True)
    ways = [trace.spans[got].end_ns - trace.spans[sent].start_ns for sent, got in turns]
    beside = self_share(trace, *_ROAD) * (1 - max(ways) / max(1, sum(ways)))
    share = min(1.0, max(took_ns / max(1, trace.wall_ns), beside))
    if share < GET_SHARE:
        return None
    count = count_calls(tasks)
    side_by_side = min(count, cores) if isinstance(cores, int) else count
    names = list({span.name for span in tasks})
    of = f" of `{names[0]}`" if len(names) == 1 else ""
    return Finding(
        "ray.get-in-loop",
        "warn",
        f"{format_count(count)} tasks{of} ran one after the other",
        {"times": len(gets), "took_ns": took_ns, "share": round(share, 3)},
        _SUBMIT_FIRST,
        spans=tuple(gets)[:POINTED_SPANS],
        because="`ray.get` waited for each before the next was submitted",
        share=share * (1 - 1 / side_by_side),
    )


def tiny_tasks(trace: Trace) -> Iterable[Finding]:
    """Tasks for which the call takes longer than the workers need for their work.

    Of tasks that do k times more there are k times fewer; k is chosen so that the calls take a
    tenth of the time. What a worker pays once, with its first task, is no cost of many tasks; with
    the work and the calls of few batches it is what would be left.
    """
    names = Counter[str]()
    for _, span in indexed(trace, "ray.execute"):
        names[span.name] += calls_of(span)
    told = {word(row, "function").rpartition(".")[2]: row for row in records(trace, "ray.tasks")}
    for name in names:  # of many tasks Ray loses events: what agents noted is exact
        names[name] = max(names[name], whole(told.get(name, {}), "count") or 0)
    name, count = max(names.items(), key=lambda item: item[1], default=("", 0))
    tasks = [span for _, span in indexed(trace, "ray.execute") if span.name == name]
    work_ns, lanes = sum(span.duration_ns for span in tasks), len({span.lane for span in tasks})
    others_ns = sum(span.duration_ns for _, span in indexed(trace, "ray.execute")) - work_ns
    work_ns = whole(told.get(name, {}), "execute_total") or work_ns
    once, wall_ns = _paid_once(trace), max(1, trace.wall_ns)
    is_block = bool(_OPERATOR.fullmatch(name))
    calling = (*_CALLING, *_OF_READS * is_block)
    call_ns = round((self_share(trace, *calling) - once) * wall_ns)
    if count < TINY_TASKS or call_ns < TINY_SHARE * wall_ns:
        return
    factor = max(1, min(count // lanes, _WANTED * call_ns * lanes // max(1, work_ns)))
    turns_ns = min(trace.waterfall.unaccounted_ns if trace.waterfall else 0, count * _TURN_NS)
    left_ns = (work_ns + others_ns) / lanes + call_ns / factor + _BATCH_NS
    share = self_share(trace, *_OF_CALLS, *calling) - once + (turns_ns - left_ns) / wall_ns
    if share < WORTH_SHARE:
        return
    remedy = (
        'many = ray.remote(lambda part, f=getattr(<function>, "_function", <function>): '
        f"[f(x) for x in part]); values = sum(ray.get([many.remote(<values>[i:i + {factor}]) "
        f"for i in range(0, len(<values>), {factor})]), [])   # some {factor} a task"
    )
    if any(span.name == _CALL_ACTOR for _, span in indexed(trace, "ray.submit")):
        remedy = ""
    if is_block:
        remedy = f"{WORDS}`override_num_blocks={max(lanes, count // factor)}` where it is read"
    own_ns = round(self_share(trace, "ray.execute") * wall_ns)
    shown = f"{format_ns(own_ns / count)} of it" if own_ns else "none of it"
    beside = f"; the picture shows {shown}, as calls went on meanwhile"
    yield Finding(
        "ray.tiny-tasks",
        "warn",
        f"{counted(count, 'block' if is_block else 'task')} of `{_inner(name)}` are too small",
        {"tasks": count, "call_ns": call_ns, "work_ns": work_ns, "factor": factor},
        remedy,
        spans=tuple(at for at, _ in indexed(trace, "ray.submit"))[:POINTED_SPANS],
        because=f"a task takes {format_ns(call_ns / count)} to call and "
        f"{format_ns(work_ns / count)} to run{beside * (own_ns < work_ns)}",
        share=share,
    )


def _paid_once(trace: Trace) -> float:
    """Return the share of what each worker pays with its first task; later ones look it up."""
    # A function that was there before the recording is loaded anew for that.
    loads = [span for _, span in indexed(trace, "ray.load")] * any(indexed(trace, "ray.export"))
    first = {span.lane: span for span in sorted(loads, key=lambda span: span.duration_ns)}
    first_ns, all_ns = (sum(s.duration_ns for s in each) for each in (first.values(), loads))
    of_first = self_share(trace, "ray.load") * first_ns / max(1, all_ns)
    return of_first + self_share(trace, *(key for key in _COLD_CALL if key != "ray.load"))


def _redefined(trace: Trace) -> dict[str, list[int]]:
    """Return what was made remote often: its name, and where it was published."""
    times: dict[str, list[int]] = defaultdict(list)
    for at in _outermost(trace, ("ray.export",)):
        times[text(trace.spans[at], "function")].append(at)
    return {name: at for name, at in times.items() if name and len(at) >= REDEFINED_TIMES}


def redefined_in_a_loop(trace: Trace) -> Iterable[Finding]:
    """One function or class made remote again and again: pickled, published, loaded each time."""
    for name, found in _redefined(trace).items():
        took_ns = sum(trace.spans[at].duration_ns for at in found[1:])
        took_ns += round(self_share(trace, "ray.load") * trace.wall_ns)
        share = took_ns / trace.wall_ns if trace.wall_ns else 0.0
        if share >= REDEFINED_SHARE:
            yield Finding(
                "ray.redefined-in-loop",
                "warn",
                f"`{name}` was made remote {format_count(len(found))} times",
                {"times": len(found), "took_ns": took_ns},
                "",
                spans=tuple(found)[:POINTED_SPANS],
                because="each time it was pickled and published anew, and workers loaded it: "
                "define it before the loop",
                share=min(1.0, share),
            )


def actors_one_by_one(trace: Trace) -> Iterable[Finding]:
    """Actors of a class made one after the other, or together where each takes long to start."""
    submits = [trace.spans[at] for at in _outermost(trace, ("ray.submit",))]
    made = [span.start_ns for span in submits if span.name == "ActorClass._remote"]
    gets = sorted(trace.spans[at].end_ns for at in _outermost(trace, _GETS))
    turns = len({bisect_right(gets, start) for start in made})
    starts = {at: span.name for at, span in indexed(trace, "ray.schedule")}
    kinds = Counter(name for name in starts.values() if name.endswith(_START))
    name, count = max(kinds.items(), key=lambda item: item[1], default=("", 0))
    count = min(count, len(made))  # one that died was started again, and made once
    share = self_share(trace, "ray.schedule", "ray.arguments")
    if count < ACTORS or turns < len(made) or share < ACTOR_SHARE:
        yield from _slow_start(trace)
        return
    yield STARTED(
        "warn",
        f"{format_count(count)} actors of `{name.removesuffix(_START)}` were made in turn",
        {"actors": count, "share": round(share, 3)},
        spans=tuple(at for at in starts if starts[at] == name)[:POINTED_SPANS],
        because="each is a process that has to start and to import what it needs: make one, "
        "before the loop",
        share=share,
    )


def _slow_start(trace: Trace) -> Iterable[Finding]:
    """Tell whose actors start for a third: of the longest class, and of those half as long."""
    if told := [*library_start(trace)]:
        yield from told
        return
    steps = [each for key in _STARTING for each in indexed(trace, key)]
    took = Counter[str]()
    for _, span in steps:
        took[span.name] += span.duration_ns * span.name.endswith(_START)
    names = [one for one, ns in took.most_common() if 2 * ns >= max(took.values()) > 0]
    found = [(at, span) for at, span in steps if span.name in names]
    parts = [[span for _, span in found if span.stage == key] for key in _STARTING]
    owned = zip(_STARTING, map(covered_ns, parts), strict=True)
    took_ns, wall_ns = sum(took[one] for one in names), max(1, trace.wall_ns)
    share = sum(min(self_share(trace, k, _AWAITED.get(k, k)), ns / wall_ns) for k, ns in owned)
    if not took_ns or share < START_SHARE or share * wall_ns < COLD_NS:
        return
    count, init_ns = max(map(len, parts)), sum(span.duration_ns for span in parts[-1])
    whose = " and ".join(f"`{_inner(one.removesuffix(_START))}`" for one in names)
    yield STARTED(
        "info",
        f"{counted(count, 'actor')} of {whose} took {format_ns(took_ns / count)}"
        f"{' each' * (count > 1)} to start",
        {"actors": count, "took_ns": took_ns, "init_ns": init_ns},
        spans=tuple(at for at, _ in found),
        because=f"a process starts and imports, `__init__` runs for {format_ns(init_ns / count)}: "
        "one that is kept pays it once",
        share=share,
    )


def cold_workers(trace: Trace) -> Iterable[Finding]:
    """Find workers that had to be started, and to import, for their first task."""
    # What is made remote in each turn of a loop is loaded in each, by warm workers too; and what a
    # function captures takes longer than to load its code.
    sizes = (number(span, "in_band_bytes") or 0 for _, span in indexed(trace, "ray.export"))
    is_other = bool(_redefined(trace)) or max(sizes, default=0) >= LOADED_BYTES
    share = self_share(trace, *(k for k in _COLD if k != "ray.load" or not is_other))
    took_ns = round(share * trace.wall_ns)
    started = [at for at, _ in indexed(trace, "ray.worker.start")]
    if share >= COLD_SHARE and took_ns >= COLD_NS and not any(_slow_start(trace)):
        yield Finding(
            "ray.cold-workers",
            "info",
            "worker start and imports",
            {"self_ns": took_ns, "workers": len(started)},
            "",
            spans=tuple(started)[:POINTED_SPANS],
            because="a worker pays it with its first task; run one before what counts, and keep "
            "what is made once in an actor",
            share=share,
        )


def workers_died(trace: Trace) -> Iterable[Finding]:
    """Workers that died in the middle of a task, which Ray may have tried again on others."""
    died: dict[tuple[str, str], set[str]] = defaultdict(set)
    seen = set[str]()
    # An actor takes the calls behind the first one along.
    for span in sorted(trace.spans, key=lambda span: span.start_ns):
        if (word := text(span, "died")) and span.lane not in seen:
            seen.add(span.lane)
            if span.name != _END:
                died[span.name, word].add(span.lane)
    for (name, word), lanes in died.items():
        said = counted(len(lanes), "worker")
        found = (at for at, s in enumerate(trace.spans) if s.name == name and text(s, "died"))
        yield Finding(
            "ray.worker-died",
            "warn",
            f"{said} died while executing `{name}`",
            {"times": len(lanes)},
            f"!tail -n 40 {_LOGS}/worker-*.err   # the end of what they wrote",
            spans=tuple(found),
            because=f"Ray says {word}",
            share=min(1.0, self_share(trace, *_ROAD)),
        )


def busiest_ns(trace: Trace) -> int:
    """Return how long the worker was busy that was busy longest."""
    working = [span for span in trace.spans if span.stage in _WORKING]
    lanes = ([s for s in working if s.lane == lane] for lane in {s.lane for s in working})
    return max(map(covered_ns, lanes), default=0)


def _submits_between(trace: Trace, gets: Sequence[int]) -> int:
    edges = sorted(trace.spans[at].start_ns for at in gets)
    submitted = sorted(trace.spans[at].start_ns for at in _outermost(trace, ("ray.submit",)))
    return len({bisect_right(edges, start) for start in submitted} - {len(edges)})


def _outermost(trace: Trace, stages: Sequence[str]) -> list[int]:
    within, spans = inside(trace, *stages), enumerate(trace.spans)
    return [index for index, span in spans if span.stage in stages and index not in within]


RULES: Sequence[Callable[[Trace], Iterable[Finding]]] = (
    *(many_puts, get_in_a_loop, tiny_tasks, redefined_in_a_loop),
    *(actors_one_by_one, cold_workers, workers_died),
)
