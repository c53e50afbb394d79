"""How far a cluster is, and why nothing moves: what its scheduler answers to a look."""

import math
import time
from asyncio import Event
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from types import ModuleType
from typing import Any

from jupyter_serprof.model.live import LiveFacts, long_text, seconds_text
from jupyter_serprof.model.stages import stage
from jupyter_serprof.model.units import counted, format_bytes, format_share

#: How often a scheduler is looked at; after how long one is busy that has not answered, s.
_EVERY_S, _BUSY_S, _MOST_REASONS = 0.5, 1.0, 2
#: Workers whose data on disk grew so lately spill, s; less is on its way at any time, bytes.
_SPILLS_S, _UNSENT = 3.0, 100_000
#: A task that runs so many times as long as others of its kind; tasks, see docs/cost.md.
_LONG, _OPTIMIZED_PER_S = 5, 10_000
_Ask = Callable[[], Awaitable[Any]]


class Looks:
    """Looks at one scheduler, on the thread and the line that its agent is kept up by."""

    def __init__(self, scaling: Callable[[], str], unsent: Callable[[], int]) -> None:
        #: The line that gets workers; how many bytes are on their way; when workers spilled last.
        self.scaling, self.unsent, self.spilled_s = scaling, unsent, -_SPILLS_S
        #: Whether somebody wants to know; when what has no answer yet was asked; the last answer.
        self.is_watched, self.asked_s, self.seen = False, time.monotonic(), dict[str, Any]()

    async def go_on(self, agent: ModuleType, leaving: Event, beat: _Ask, look: _Ask) -> None:
        """Renew the lease, and look where somebody wants to know, until it is time to leave."""
        beaten_s, self.asked_s = time.monotonic(), 0.0
        while not await agent.is_set(leaving, _EVERY_S):
            self.asked_s = time.monotonic()
            if self.asked_s > beaten_s + agent.BEAT_S:
                await beat()
                beaten_s = time.monotonic()
            elif self.is_watched:
                before, self.seen = self.seen.get("spilled", math.inf), await look()
                if self.seen.get("spilled", 0) > before:
                    self.spilled_s = time.monotonic()
            self.asked_s = 0.0


def cluster_facts(looks: Iterable[Looks], caller: str) -> LiveFacts | None:
    """Return what is known of the clusters that a caller waits for, who is in a stage; None: no."""
    if caller and not stage(caller).waits:
        return None
    known = [_facts(each, caller) for each in looks]
    left = lambda one: ((one.total or 0) - (one.done or 0), len(one.why))  # noqa: E731
    # Code that waits for no cluster, and has sent nothing, is kept by none.
    return max((one for one in known if one.total or caller[:5] == "dask."), key=left, default=None)


def _facts(looks: Looks, caller: str) -> LiveFacts:
    looks.is_watched, asked_s = True, looks.asked_s
    silent_s = time.monotonic() - asked_s if asked_s else 0.0
    seen, why = looks.seen, "; ".join(islice(_why(looks, silent_s), _MOST_REASONS))
    tasks = seen.get("tasks", 0)
    done = min(seen.get("done", 0), tasks)
    if done == tasks:
        return LiveFacts(seen["taking"][0] if seen.get("taking") else caller, why=why)
    made_s, left_s, guessed_s = seen["work"]
    # What runs now is half done, more or less.
    running_s = left_s * min(1.0, seen["threads"] / (tasks - done))
    share = (made_s + running_s / 2) / (made_s + left_s) if made_s and left_s else done / tasks
    _, took_s, usual_s = seen["oldest"] or ("", 0.0, None)
    if usual_s and took_s > _LONG * usual_s:  # it may go on for as long, alone
        guessed_s += took_s * seen["threads"]
    guessed = min(1.0, (guessed_s + running_s / 2) / left_s) if left_s else 1.0
    title = "Waiting" if why and not took_s else ""
    return LiveFacts("dask.execute", title, done, tasks, share=share, guessed=guessed, why=why)


def _why(looks: Looks, silent_s: float) -> Iterator[str]:
    seen = looks.seen
    if silent_s > _BUSY_S:
        yield f"the scheduler is busy: it has not answered for {seconds_text(silent_s)}"
    if (unsent := looks.unsent()) > _UNSENT:
        yield f"{format_bytes(unsent)} are not sent to the scheduler yet"
    # Where nothing of its own was sent, it waits for what was sent before.
    if (tasks := seen.get("tasks", 1)) <= seen.get("done", 1) and (tasks or seen["taking"]):
        if seen.get("taking"):
            _, took_s, size = seen["taking"]
            usual_s = -(-size // _OPTIMIZED_PER_S)
            typical = f" (typical for {counted(size, 'task')}: under {usual_s} s)"
            more = typical * (0 < usual_s < took_s)
            yield f"the scheduler has been at it for {seconds_text(took_s)}{more}"
        return
    scaling = "" if seen["deaths"] else looks.scaling()  # others would die with it, too
    none = "" if seen["workers"] else ": ".join(filter(None, ("no worker is there", scaling)))
    yield from filter(None, (seen["deaths"], none))
    yield from _of_workers(looks, seen["workers"])
    others, threads = seen["others"], seen["threads"]
    if held := min(seen["cancelled"] + others, threads):
        what = f"{counted(held, 'task')} of other computations"
        what = what if others else f"{counted(held, 'cancelled task')} still"
        holds = "runs on the workers: it holds" if held == 1 else "run on the workers: they hold"
        yield f"{what} {holds} {held} of {counted(threads, 'thread')}"
    if seen["oldest"] and seen["oldest"][1] > _EVERY_S:
        yield long_text(*seen["oldest"])


def _of_workers(looks: Looks, workers: int) -> Iterator[str]:
    seen = looks.seen
    (paused, fullest), (unfit, wish) = seen["paused"], seen["unfit"]
    if paused:
        spilled = f", {format_bytes(seen['spilled'])} are spilled" if seen["spilled"] else ""
        full = format_share(fullest, 0)
        yield f"{paused} of {counted(workers, 'worker')} paused, memory {full} full{spilled}"
    elif time.monotonic() < looks.spilled_s + _SPILLS_S:
        yield f"workers spill to disk, {format_bytes(seen['spilled'])} by now"
    if unfit:
        asked = f"{counted(unfit, 'task')} ask{'s' if unfit == 1 else ''} for {wish}"
        yield f"{asked}: none of {counted(workers, 'worker')} fits"
    if late := seen["late"]:
        who = f"{len(late)} of {counted(workers, 'worker')} silent for {seconds_text(max(late))}"
        yield f"{who}: imports or a call that holds the interpreter"
