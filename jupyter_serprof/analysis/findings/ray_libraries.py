"""Findings about libraries on Ray: calls of a deployment, and what starts before a loop runs."""

from collections.abc import Iterable, Iterator
from functools import partial

from jupyter_serprof.analysis.spans import count_calls, covered_ns, indexed, text
from jupyter_serprof.model import Finding, Trace
from jupyter_serprof.model.units import counted, format_ns

START_SHARE, _MANY_CALLS, _POINTED = 1 / 3, 4, 20
STARTED = partial(Finding, "ray.worker-start", remedy="")
#: What Ray Train begins with, and what ends that; what it asks for reports by, and they of another.
_TRAINER, _LOOP = "TrainController.__init__", "run_train_fn"
_POLL, _REPORT = "poll_status", "broadcast_from_rank_zero"
_OF_TRAIN = "its controller, its workers and actors beside them are processes that start and import"
_OF_SERVE = "each replica is a process that starts, imports and runs `__init__`"


def deployment_calls(trace: Trace) -> Iterable[Finding]:
    """Tell of calls of Ray Serve what the arguments took, how long each waited and ran."""
    calls = [(at, s) for at, s in indexed(trace, "ray.submit") if text(s, "deployment")]
    count, names = count_calls(s for _, s in calls), {text(s, "deployment") for _, s in calls}
    ran = [span for _, span in indexed(trace, "ray.execute") if span.name in names]
    refused = count_calls(ran) - count  # these come again, and take no time there
    ran = sorted(ran, key=lambda span: -span.duration_ns)[:count]
    if count < _MANY_CALLS or not ran:
        return
    ran_ns = sum(span.duration_ns for span in ran)
    sent_ns = covered_ns(span for _, span in indexed(trace, "ray.submit"))  # a put is no argument
    is_cause = (share := sent_ns / max(1, trace.wall_ns)) >= START_SHARE
    waits_ns = sum(s.start_ns for s in ran) - sum(s.start_ns for _, s in calls) - sent_ns
    waited = f"waited {format_ns(max(0, waits_ns) / count)} for a replica, "
    waited *= len(calls) == len(ran) == count  # of many nobody tells when each was called
    again = f"; {counted(refused, 'call')} came again, as all replicas were busy"
    what = f"{counted(count, 'call')} of deployment `{'`, `'.join(sorted(names))}`"
    yield Finding(
        "ray.deployment-calls",
        "info",
        f"the arguments of {what} were serialized" if is_cause else what,
        {"calls": count, "sent_ns": sent_ns, "ran_ns": ran_ns},
        "",
        spans=tuple(at for at, _ in calls[:_POINTED]),
        because=f"each took {format_ns(sent_ns / count)} to serialize and send, {waited}ran for "
        f"{format_ns(ran_ns / count)}{again * (refused > 0)}",
        share=share if is_cause else None,
    )


def library_start(trace: Trace) -> Iterator[Finding]:
    """Tell how long replicas of Ray Serve took to start, or the workers of Ray Train."""
    starts = [
        (at, f"application `{name}`", span.duration_ns, _OF_SERVE)
        for at, span in indexed(trace, "ray.actor.start")
        if (name := text(span, "application"))
    ]
    began = min((s.start_ns for s in trace.spans if s.name == _TRAINER), default=trace.wall_ns)
    executed = list(indexed(trace, "ray.execute"))
    polls = sorted(span.start_ns for _, span in executed if span.name == _POLL)
    why, reports = _OF_TRAIN, sum(span.name == _REPORT for _, span in executed)
    if reports and polls[1:]:
        every = format_ns((polls[-1] - polls[0]) // (len(polls) - 1))
        why += f"; {counted(reports, 'report')}, fetched every {every}, as set by "
        why += "`RAY_TRAIN_HEALTH_CHECK_INTERVAL_S`"
    loops = [(at, span.start_ns - began) for at, span in executed if span.name == _LOOP]
    starts += [(at, "Ray Train's workers", took_ns, why) for at, took_ns in loops[:1]]
    for at, whose, took_ns, because in starts:
        if (share := took_ns / max(1, trace.wall_ns)) >= START_SHARE:
            title, evidence = f"{whose} took {format_ns(took_ns)} to start", {"took_ns": took_ns}
            yield STARTED("info", title, evidence, spans=(at,), because=because, share=share)
