"""Findings about how tasks of Ray ran and were waited for, and about values that Ray walks."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from jupyter_serprof.analysis.findings.dask_facts import records
from jupyter_serprof.analysis.findings.ray import (
    _CALL_ACTOR,
    _GETS,
    OVERLAP,
    SERIAL_TASKS,
    _outermost,
    _submits_between,
    is_whole_get,
)
from jupyter_serprof.analysis.findings.ray_libraries import deployment_calls
from jupyter_serprof.analysis.spans import (
    WORDS,
    count_calls,
    covered_ns,
    indexed,
    number,
    self_share,
    text,
    total,
)
from jupyter_serprof.analysis.typed import is_chain, roles_of
from jupyter_serprof.model import Finding, Span, Trace
from jupyter_serprof.model.units import counted, format_bytes, format_count, format_ns, format_rate

#: What could be saved of the time, from here on it is worth a sentence.
WORTH_SHARE = 0.2
#: Results that were there while one was waited for; calls of an actor.
MANY_READY, MANY_CALLS = 3, 4
_TAKEN = ("ray.fetch", "ray.pull", "ray.restore")
#: Smaller values are not told apart.
WALKED_BYTES, WALKED_SHARE = 100_000, 0.1
#: What makes one block of a list, and what goes back. A put of it takes a seventh to a half of the
#: time, a get less; making it takes about as long as one put of the list.
_BACK = {
    "np.array": "{}.tolist()",
    "np.asarray": "list({})",
    "pa.array": "{}.to_pylist()",
    "pd.DataFrame": "{}.to_dict('records')",
}
_AHEAD = "   # before the loop; in it: ref, ahead = ahead, {}; value = ray.get(ref)"
#: Shorter gaps between two calls are Ray's own.
GAP_SHARE = 0.2
#: What waits for room in a store, and when that is the cause.
_STORING, SPILLED_SHARE = ("ray.store", "ray.outputs", "ray.task.put"), 1 / 3
#: What brings objects from other nodes; less is not worth a word, ns.
_PULLS, PULLED_NS = ("ray.arguments.pull", "ray.arguments.queue", "ray.pull"), 50_000_000
_POINTED, _WHO = 20, "%serprof --objects   # tells who fills the stores"


def submission_order(trace: Trace) -> Iterable[Finding]:
    """Find a result that is waited for while others are there, which come after it."""
    # Threads of libraries have loops of their own, which nobody can change from here.
    caller = trace.lanes[0].key if trace.lanes else ""
    found = [(at, span) for stage in _TAKEN for at, span in indexed(trace, stage)]
    gets = [span for _, span in found if span.lane == caller and is_whole_get(span)]
    gets.sort(key=lambda span: span.start_ns)
    tasks = [span for _, span in indexed(trace, "ray.execute")]
    if len(gets) <= MANY_READY:
        return
    at = max(range(len(gets)), key=lambda index: gets[index].duration_ns)
    long, later = gets[at], gets[at + 1 :]
    ready = min(len(later), count_calls(s for s in tasks if s.end_ns < long.end_ns) - at - 1)
    own_ns = sum(max(0, b.start_ns - a.end_ns) for a, b in pairwise([long, *later]))
    saved_ns = min(long.duration_ns, own_ns)
    if ready >= MANY_READY and saved_ns >= WORTH_SHARE * trace.wall_ns:
        yield Finding(
            "ray.submission-order",
            "warn",
            f"{format_count(ready)} results were ready while one was waited for",
            {"ready": ready, "wait_ns": long.duration_ns, "own_ns": own_ns},
            "while <refs>: [ready], <refs> = ray.wait(<refs>); value = ray.get(ready)   # take "
            "them as they come, by `ray.wait`",
            spans=tuple(index for index, span in found if span is long),
            because=f"a get waited for {format_ns(long.duration_ns)}, what was done with the "
            f"others took {format_ns(own_ns)} after it",
            share=saved_ns / trace.wall_ns,
        )


def no_pipelining(trace: Trace) -> Iterable[Finding]:
    """Find an actor that is idle between two calls, as the next one waits for its result.

    Who calls is a task; or the notebook, if the code shows that no call needs the one before: then
    it saves what the notebook does meanwhile, but no more than the actor works, or several in turn.
    """
    own_ns, tasks = _own_work_ns(trace), list(indexed(trace, "ray.execute"))
    is_one = own_ns > 0 and len({span.name for _, span in tasks}) == 1
    calls: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for _, span in tasks:
        calls[span.name, "" if is_one else span.lane].append(span)
    for (name, lane), spans in calls.items():
        spans.sort(key=lambda span: span.start_ns)
        others = [s for (_, other), some in calls.items() if other != lane for s in some]
        sent = sorted(s.start_ns for _, s in indexed(trace, "ray.schedule") if s.name == name)
        gaps = [(a, b.start_ns - a.end_ns, (a.end_ns, b.start_ns)) for a, b in pairwise(spans)]
        long = [
            ns
            for before, ns, (end, start) in gaps
            if ns >= GAP_SHARE * before.duration_ns
            # What was sent before waited for something else.
            and (not sent or bisect_left(sent, end) < bisect_right(sent, start))
        ]
        busy_ns = sum(span.duration_ns for span in spans)
        is_called = any(
            o.start_ns <= spans[0].start_ns and o.end_ns >= spans[-1].end_ns for o in others
        )
        saved_ns = busy_ns if is_called else min(busy_ns, own_ns)
        is_called |= own_ns > 0 and not others
        share = min(sum(long), saved_ns) / max(1, trace.wall_ns)
        count = count_calls(spans)
        is_in_turn = count >= MANY_CALLS and 2 * len(long) > len(gaps) and is_called
        if is_in_turn and share >= WORTH_SHARE:
            yield Finding(
                "ray.unpipelined",
                "warn",
                f"`{name}` had nothing to do between its {format_count(count)} calls",
                {"calls": count, "idle_ns": sum(long), "busy_ns": busy_ns},
                f"calls = <calls>; ahead = next(calls){_AHEAD.format('next(calls, None)')}\n"
                f"ahead = <ahead>{_AHEAD.format('<ahead>')}\n"
                f"{WORDS}ask for the next one before you handle the one that is there",
                spans=tuple(i for i, s in tasks if is_one or s.lane == lane),
                because=f"{format_ns(busy_ns)} of work, and {format_ns(sum(long))} idle while its "
                "caller handled the results",
                share=share,
            )


def _own_work_ns(trace: Trace) -> int:
    """Return what the notebook did between each get of a call of an actor and the next call."""
    # None where one was under way meanwhile, or where the code does not tell the calls of the loop.
    roles, caller = roles_of(trace.name), trace.lanes[0].key if trace.lanes else ""
    outer = [trace.spans[at] for at in _outermost(trace, (*_GETS, "ray.submit"))]
    own = [span for span in outer if span.lane == caller]
    gets = [span for span in own if span.stage in _GETS and is_whole_get(span)]
    calls = [span for span in own if span.name == _CALL_ACTOR]
    edges = [(got.end_ns, call.start_ns) for got, call in zip(gets, calls[1:], strict=False)]
    is_in_turn = len(gets) == len(calls) and all(end <= start for end, start in edges)
    is_told = bool(roles.keys() & {"<ahead>", "<calls>"}) and not is_chain(trace.name)
    return sum(start - end for end, start in edges) if is_in_turn and is_told else 0


def blocking_in_async(trace: Trace) -> Iterable[Finding]:
    """Find calls of an actor whose event loop stands while one of them waits by `ray.get`."""
    # Awaited they would go on side by side, on as many cores as this machine has.
    cores = trace.environment.get("cores")
    for at, span in indexed(trace, "ray.submit"):
        if name := text(span, "blocks"):
            calls = [one for _, one in indexed(trace, "ray.execute") if one.name == name]
            count = count_calls(calls)
            side_by_side = min(count, cores) if isinstance(cores, int) else count
            share = covered_ns(calls) / max(1, trace.wall_ns) * (1 - 1 / max(1, side_by_side))
            is_worth = count >= MANY_CALLS and share >= WORTH_SHARE
            yield Finding(
                "ray.blocking-in-async",
                "warn" if is_worth else "info",
                f"`{name}` stops the event loop of its actor to wait for Ray",
                {"calls": count},
                f"{WORDS}`await` takes a reference as `ray.get` does",
                spans=(at,),
                because=f"{counted(count, 'call')} took turns, as no other goes on meanwhile",
                share=share if is_worth else None,
            )


def not_side_by_side(trace: Trace) -> Iterable[Finding]:
    """Tasks sent together that ran one after the other, or of which one ran long after the others.

    Nothing is said where tasks wait for their arguments: they need an order.
    """
    tasks = [span for _, span in indexed(trace, "ray.execute")]
    gets, sent = (_outermost(trace, stages) for stages in (_GETS, ("ray.submit",)))
    cores, count, busy_ns = trace.environment.get("cores"), count_calls(tasks), covered_ns(tasks)
    deps_ns = covered_ns(span for _, span in indexed(trace, "ray.deps"))
    is_together = 2 * _submits_between(trace, gets) < count and 2 * deps_ns < busy_ns
    is_together &= count <= len(tasks)  # of many nobody tells what each waited for
    # Whoever calls a deployment may wait for each result in a way that is not seen.
    is_together &= not any(text(trace.spans[at], "deployment") for at in sent)
    if not is_together or count < SERIAL_TASKS or not isinstance(cores, int):
        return
    longest = max(tasks, key=lambda span: span.duration_ns)
    others = (span.end_ns for span in tasks if span is not longest)
    alone_ns = longest.end_ns - max(others, default=longest.end_ns)
    is_serial = sum(span.duration_ns for span in tasks) <= OVERLAP * busy_ns
    spent_ns = busy_ns if is_serial else alone_ns
    share = spent_ns / max(1, trace.wall_ns) * (1 - 1 / min(count, cores))
    if share < WORTH_SHARE or 2 * spent_ns < longest.duration_ns:
        return
    is_one = len({span.lane for span in tasks}) == 1
    calls = {trace.spans[at].name for at in sent}  # none of what an earlier cell has sent
    if is_serial and is_one and calls == {_CALL_ACTOR}:
        ran, why = "went to one actor", "it takes them in turns; several actors run side by side"
    elif is_serial:
        ran, why = "ran one after the other", "sent together, they may wait for one lock"
        if is_one:
            why = "each may ask for all (`num_cpus`), or Ray had one worker"
    else:
        ran = "ran alone, after the others"
        why = "sent first, or in parts, it runs beside them"
    named = f" of `{longest.name}`" * (len({span.name for span in tasks}) == 1)
    yield Finding(
        "ray.one-at-a-time",
        "info",
        f"{'' if is_serial else 'one of '}{format_count(count)} calls{named} {ran}, "
        f"{100 * spent_ns / trace.wall_ns:.0f} % of the time",
        {"tasks": count, "spent_ns": spent_ns},
        "",
        spans=tuple(at for at, span in indexed(trace, "ray.execute") if span is longest),
        because=f"for {format_ns(spent_ns)} one core of {cores} had work of it; {why}",
        share=share,
    )


def native_walk(trace: Trace) -> Iterable[Finding]:
    """Numbers and texts in a list or dict, which msgpack itself walks: no pickle is in there."""
    pickled = {span.parent for _, span in indexed(trace, "ray.pickle")}
    sizes = {at: number(span, "total_bytes") or 0 for at, span in indexed(trace, "ray.msgpack")}
    kinds = {at: text(trace.spans[at], "value_type") for at in sizes if at not in pickled}
    plain = {at: kind for at, kind in kinds.items() if kind in {"list", "dict", "tuple"}}
    share = self_share(trace, "ray.msgpack", "ray.unpack")
    if 2 * sum(sizes[at] for at in plain) > sum(sizes.values()):  # else tasks opened other things
        share += self_share(trace, "ray.arguments") - self_share(trace, *_PULLS[:2])
    for index, kind in plain.items():
        if (size := sizes[index]) >= WALKED_BYTES and share >= WALKED_SHARE:
            span = trace.spans[index]
            name, count = text(span, "name"), number(span, "items")
            items = f", {format_count(count)} items," if count else ""
            yield Finding(
                "ray.native-walk",
                "warn",
                f"{f'`{name}`' if name else f'a {kind}'} of {format_bytes(size)}{items} was sent "
                "element by element",
                {"total_bytes": size, "value_type": kind},
                as_one_block(trace, span),
                spans=(index,),
                because="Ray writes each element by itself; a get or a task makes all of them anew",
                share=share,
            )


def spilling(trace: Trace) -> Iterable[Finding]:
    """Find puts and results that waited until others were spilled to disk: the store was full."""
    waits = {at: n for at, span in enumerate(trace.spans) if (n := number(span, "spilled_ns"))}
    waited_ns = covered_ns(trace.spans[at]._replace(duration_ns=waits[at]) for at in waits)
    share = min(waited_ns / max(1, trace.wall_ns), self_share(trace, *_STORING, "ray.spill"))
    if share >= SPILLED_SHARE:
        size = sum(number(trace.spans[at], "spilled_bytes") or 0 for at in waits)
        first = next(iter(records(trace, "ray.holders")), {})
        count, held, code = (first.get(key) or 0 for key in ("count", "bytes", "code"))
        kept = f": {counted(int(count), 'object')} of {format_bytes(int(held))} kept" * bool(count)
        yield Finding(
            "ray.spilling",
            "warn",
            f"{format_bytes(size)} were spilled to disk to make room",
            {"spilled_bytes": size, "waited_ns": waited_ns, "puts": len(waits)},
            f"{code}   # as soon as nothing needs it" if code else _WHO,
            spans=tuple(waits)[:_POINTED],
            because=f"the object store was full{kept} {first.get('name', '')}".rstrip(),
            share=share,
        )


def slow_pulls(trace: Trace) -> Iterable[Finding]:
    """Find objects whose way from another node is what was waited for."""
    found = [each for key in _PULLS for each in indexed(trace, key) if each[1].size_bytes]
    share, took_ns = self_share(trace, *_PULLS), covered_ns(span for _, span in found)
    if not found or share < SPILLED_SHARE or took_ns < PULLED_NS:
        return
    size = total(span.size_bytes for _, span in found) or 0
    largest = max((span for _, span in found), key=lambda span: span.size_bytes or 0)
    name, rate = text(largest, "name"), size / took_ns * 1e9
    link = number(largest, "link_bytes_per_s")
    of_link = f", {100 * rate / link:.0f} % of its link" if link else ""
    what = f"`{name}`" if name and len(found) == 1 else counted(len(found), "object")
    yield Finding(
        "ray.slow-pull",
        "info",
        f"{what}, {format_bytes(size)}, came from another node at {format_rate(rate)}{of_link}",
        {"pulls": len(found), "total_bytes": size, "pulled_ns": took_ns},
        _nearer(trace, name, largest.name),
        spans=tuple(index for index, _ in found)[:_POINTED],
        because=f"{format_ns(took_ns)} of {format_ns(trace.wall_ns)} it was on its way",
        share=share,
    )


def _nearer(trace: Trace, name: str, task: str) -> str:
    """Return the line that lets a task run where an object lies, if the code has both by name."""
    if not name or f"{task}.remote({name}" not in trace.name:
        return f"{WORDS}let a task run where it lies, and make less of what has to travel"
    return (
        f"at = ray.experimental.get_object_locations([{name}])[{name}]['node_ids'][0]; "
        f"{task} = {task}.options(scheduling_strategy=ray.util.scheduling_strategies."
        f"NodeAffinitySchedulingStrategy(at, soft=True))   # where `{name}` lies, if it may"
    )


def as_one_block(trace: Trace, span: Span) -> str:
    """Return the line that gives a list of the notebook the form of one block, if it has one."""
    # What goes to tasks stays what it is, as they know no other: words tell them how it goes back.
    name, form = text(span, "name"), text(span, "block_form")
    times = sum(text(one, "name") == name for _, one in indexed(trace, "ray.msgpack"))
    if form == "columns" and name and times == 1 and not any(indexed(trace, "ray.submit")):
        return f"%serprof --try ray.put({name})   # measures columns instead of rows"
    if not name.isidentifier() or form not in _BACK:
        return ""
    before = "import pyarrow as pa; " * form.startswith("pa.")
    back = _BACK[form].format(name)
    if any(indexed(trace, "ray.submit")):
        return f"{WORDS}`{form}` makes one block of it; `{back}` in the task is it again"
    return f"{before}{name} = {form}({name})   # once, before it is sent; {back} goes back"


RULES = (
    *(spilling, slow_pulls, submission_order, no_pipelining, blocking_in_async, not_side_by_side),
    *(native_walk, deployment_calls),
)
