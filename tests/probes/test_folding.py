"""Thousands of short tasks are told as few drafts, of which counts and times stay exact."""

from collections import Counter
from itertools import pairwise

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.model import Lane
from jupyter_serprof.probes.folding import fold_tasks

TASKS, TURN_NS, WORK_NS = 3_000, 1_000, 300
WHOLE_NS = TASKS * TURN_NS * 3


def page(*more: Draft) -> Page:
    """Return a run in which one worker takes short tasks in turn, each sent with one argument."""
    drafts = list(more)
    for turn in range(TASKS):
        sent, begin = turn * TURN_NS, WHOLE_NS // 2 + turn * TURN_NS
        ident = turn.to_bytes(4, "big")
        submit = Draft("ray.submit", "_remote", "client/main", sent, sent + 900, "ray.submit")
        submit.extra = ident
        argument = Draft("ray.msgpack", "serialize", "client/main", sent, sent + 90, "", submit)
        argument.details = {"total_bytes": 12, "value_type": "int", "array_form": ""}
        schedule = Draft("ray.schedule", "f", "raylet", sent, begin, "ray.task")
        queue = Draft("ray.actor.queue", "f", "raylet", sent + 500, begin, "ray.task", schedule)
        steps = [
            Draft(stage, "f", "worker 1", begin + low, begin + high, "ray.task", extra=ident)
            for stage, low, high in (("ray.arguments", 0, 100), ("ray.execute", 100, 100 + WORK_NS))
        ]
        drafts += (submit, argument, schedule, queue, *steps)
    return Page(0, WHOLE_NS, 0, drafts, {"client/main": Lane("client/main")})


def counts(drafts: list[Draft]) -> Counter[str]:
    found = Counter[str]()
    for draft in drafts:
        found[draft.stage] += draft.details.get("calls", 1)
    return found


def took(drafts: list[Draft], lane: str) -> Counter[str]:
    found = Counter[str]()
    for draft in drafts:
        found[draft.stage] += (draft.end - draft.start) * (draft.lane == lane)
    return found


def test_counts_and_times_of_many_tasks_stay_exact() -> None:
    run = page()
    before = list(run.drafts)

    fold_tasks(run, few=1_000)

    assert len(run.drafts) < len(before) / 2
    assert counts(run.drafts) == counts(before)
    for lane in ("client/main", "worker 1"):
        assert took(run.drafts, lane) == took(before, lane)
    sizes = [draft.details["total_bytes"] for draft in run.drafts if draft.stage == "ray.msgpack"]
    assert sum(sizes) == 12 * TASKS
    assert "told as" in run.notes[0]


def test_what_is_told_by_itself_has_nothing_laid_over_it() -> None:
    """A long task, one that died, a get between submissions: each stays where it was."""
    begin = WHOLE_NS // 2 + 700 * TURN_NS + 500
    died = Draft("ray.execute", "f", "worker 1", begin, begin + 400, "ray.task")
    died.details["died"] = "WORKER_DIED"
    got = Draft("ray.fetch", "get", "client/main", 300 * TURN_NS + 920, 301 * TURN_NS)
    run = page(died, got)

    fold_tasks(run, few=1_000)

    assert died in run.drafts
    assert got in run.drafts
    for lane in ("client/main", "worker 1"):
        flat = [draft for draft in run.drafts if draft.lane == lane and draft.parent is None]
        flat.sort(key=lambda draft: draft.start)
        assert all(one.end <= after.start for one, after in pairwise(flat))
