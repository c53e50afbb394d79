"""How far a cluster is, and why nothing moves: what its scheduler answers to a look."""

import time
from asyncio import Event
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from jupyter_serprof.model.live import LiveFacts, long_text, seconds_text
from jupyter_serprof.model.stages import stage
from jupyter_serprof.model.units import counted, format_bytes, format_share

#: How often a scheduler is looked at; after how long one is busy that has not answered, s.
_EVERY_S, _BUSY_S = 0.5, 1.0
#: A task that runs so many times as long as others of its kind.
_LONG = 5
_Ask = Callable[[], Awaitable[Any]]


class Looks:
    """Looks at one scheduler, on the thread and the line that its agent is kept up by."""

    def __init__(self, scaling: Callable[[], str]) -> None:
        #: The line that gets workers.
        self.scaling = scaling
        #: Whether somebody wants to know; when what has no answer yet was asked; the last answer.
        self.is_watched, self.asked_s, self.seen = False, 0.0, dict[str, Any]()

    async def go_on(self, agent: ModuleType, leaving: Event, beat: _Ask, look: _Ask) -> None:
        """Renew the lease, and look where somebody wants to know, until it is time to leave."""
        beaten_s = time.monotonic()
        while not await agent.is_set(leaving, _EVERY_S):
            self.asked_s = time.monotonic()
            if self.asked_s > beaten_s + agent.BEAT_S:
                await beat()
                beaten_s = time.monotonic()
            elif self.is_watched:
                self.seen = await look()
            self.asked_s = 0.0


def cluster_facts(looks: Iterable[Looks], caller: str) -> LiveFacts | None:
    """Return what is known of the clusters that a caller waits for, who is in a stage; None: no."""
    if caller and not stage(caller).waits:
        return None
    known = []
    for each in looks:
        each.is_watched, asked_s = True, each.asked_s
        silent_s = time.monotonic() - asked_s if asked_s else 0.0
        known.append(_facts(each, caller, silent_s))
    left = lambda one: ((one.total or 0) - (one.done or 0), len(one.why))  # noqa: E731
    return max(known, key=left, default=None)


def _facts(looks: Looks, caller: str, silent_s: float) -> LiveFacts:
    seen, why = looks.seen, next(_why(looks, silent_s), "")
    tasks = seen.get("tasks", 0)
    done = min(seen.get("done", 0), tasks)
    if done == tasks:
        return LiveFacts(seen["taking"][0] if seen.get("taking") else caller, why=why)
    made_s, left_s, guessed_s = seen["work"]
    # What runs now is half done, more or less.
    running_s = left_s * min(1.0, seen["threads"] / (tasks - done))
    share = (made_s + running_s / 2) / (made_s + left_s) if made_s and left_s else done / tasks
    guessed = min(1.0, (guessed_s + running_s / 2) / left_s) if left_s else 1.0
    _, took_s, usual_s = seen["oldest"] or ("", 0.0, None)
    if usual_s and took_s > _LONG * usual_s:  # of how long such a task takes nothing is known
        guessed = 1.0
    return LiveFacts("dask.execute", "", done, tasks, share=share, guessed=guessed, why=why)


def _why(looks: Looks, silent_s: float) -> Iterator[str]:
    """Yield what keeps tasks from ending, the surest first."""
    seen = looks.seen
    if silent_s > _BUSY_S:
        yield f"the scheduler is busy: it has not answered for {seconds_text(silent_s)}"
    if not seen.get("tasks", 0) > seen.get("done", 0):
        if seen.get("taking"):
            yield f"the scheduler has been at it for {seconds_text(seen['taking'][1])}"
        return
    workers, (paused, fullest), (unfit, wish) = seen["workers"], seen["paused"], seen["unfit"]
    if not workers:
        yield ": ".join(filter(None, ("no worker is there", looks.scaling())))
    if paused:
        spilled = f", {format_bytes(seen['spilled'])} are spilled" if seen["spilled"] else ""
        full = format_share(fullest, 0)
        yield f"{paused} of {counted(workers, 'worker')} paused, memory {full} full{spilled}"
    if unfit:
        asked = f"{counted(unfit, 'task')} ask{'s' if unfit == 1 else ''} for {wish}"
        yield f"{asked}, which none of {counted(workers, 'worker')} has"
    if late := seen["late"]:
        who = f"{len(late)} of {counted(workers, 'worker')} silent for {seconds_text(max(late))}"
        yield f"{who}: imports, or a call that holds the interpreter"
    if seen["oldest"]:
        yield long_text(*seen["oldest"])
