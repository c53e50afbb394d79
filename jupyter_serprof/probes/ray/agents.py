"""The agents of a recording: brought by what it submits, asked for their notes, taken away.

They go with what is submitted, also on a Ray that was started in the recording; what this process
itself calls of Ray for them is no call of the user. ``SERPROF_RAY_AGENT=0`` in the
environment keeps them away. One recording beside another one of this process shares its agents.
"""

import itertools
import marshal
import os
import re
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

from jupyter_serprof.capture.freeze import Page
from jupyter_serprof.capture.hook import Before
from jupyter_serprof.capture.recorder import active_recorders, describe_failure
from jupyter_serprof.probes.ray.agent.contact import OPEN, SPACE, Contact
from jupyter_serprof.probes.ray.agent.notes import Ledger, bridge
from jupyter_serprof.probes.ray.alive import has_raylet
from jupyter_serprof.probes.ray.arrivals import Arrivals, Pulls
from jupyter_serprof.probes.shipping import Shipped, shipped

#: Each module after those that it imports.
_PARTS = ("", "notes", "contact", "post", "hooks", "generators", "copies", "meter", "watch")
_SWITCH = "SERPROF_RAY_AGENT"
#: No recording lasts longer for the agents, ns; its end is looked for so often, s.
_LONGEST_NS, _PERIOD_S = 3_600_000_000_000, 1.0
#: A call of ours takes no longer, s: one of the user's waits for it.
_RPC_S = 0.5

#: From what an actor of Ray Data or Ray Serve does to its operator, or deployment.
_OF_LIBRARIES = r"MapWorker\((.*\))\)(\.submit)?|ServeReplica:[^.]*:([^.]*)(\.handle_request\w*)?"
of_library = partial(re.compile(_OF_LIBRARIES).sub, r"\1\3")


@cache
def shipped_agent() -> Shipped:
    """Return what travels of the agent."""
    return shipped("jupyter_serprof.probes.ray.agent", "_serprof_ray", _PARTS)


class Attempt(NamedTuple):
    """An attempt of a task as its worker noted it; times are ns of the recorder's clock.

    ``worker``: The id of the worker.
    ``loading``: When its function began to be loaded; None if it was there.
    ``spans``: Each (stage, start, end, bytes).
    """

    ident: bytes
    name: str
    attempt: int
    worker: bytes
    loading: int | None
    begin: int
    body: int
    returned: int
    end: int
    spans: Sequence[tuple[str, int, int, int]]


class Window(NamedTuple):
    """Attempts of a function on a worker that began at about one time; sums as agents have them."""

    worker: bytes
    name: str
    start: int
    end: int
    calls: int
    sums: Mapping[tuple[str, str], Sequence[int]]


@dataclass(slots=True)
class Notes:
    """What the agents of a recording noted.

    ``attempts``: Those that were kept with their details.
    ``windows``: All others, by worker and function.
    ``counts``: How many attempts there were, by function; exact.
    ``totals``: By function and stage: how often, ns in all, ns at most, bytes; exact.
    ``troubles``: What did not work, in words.
    ``is_awaited``: Whether an agent may be there that has not told anything yet.
    ``nodes``: Where each worker is.
    ``away``: The nodes that do not share the clock of this process.
    ``pulls``: Tells when the arguments of a task came to its node.
    ``is_chained``: Whether a task takes what another one makes.
    """

    attempts: list[Attempt] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    totals: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    is_awaited: bool = False
    nodes: dict[bytes, str] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    pulls: Pulls | None = None
    is_chained: bool = False

    @property
    def count(self) -> int:
        """How many attempts were noted."""
        return sum(self.counts.values())

    def add(self, reports: Iterable[Mapping[str, Any]], ahead: Callable[[bytes], int]) -> None:
        """Add the reports of nodes, on the clock of this process.

        ``ahead``: By how much the clock of the day of a worker's node is ahead of ours, ns.
        """
        ledger = Ledger()
        for report in reports:
            is_here = bool(report["boot"]) and report["boot"] == bridge()["boot"]
            node = report.get("node", "")
            self.nodes |= dict.fromkeys(report["taken"], node)
            self.away |= set() if is_here else {node}
            ledger.add(moved(report, _behind(report, ahead(next(iter(report["taken"]))))))
            if report["failures"]:
                self.troubles.append(f"an agent could not note {report['failures']} events")
            if missing := report["missing"]:
                self.troubles.append(f"this Ray has no {', '.join(missing)} in its workers")
        told = ledger.told()
        for _, worker, ident, name, attempt, loading, *times, spans, _, sums in told["kept"]:
            known = (loading or None, *times, spans)
            self.attempts.append(Attempt(ident, name, attempt, worker, *known))
            self._count(of_library(name), 1, sums)
        for window in itertools.starmap(Window, told["windows"]):
            self.windows.append(window)
            self._count(of_library(window.name), window.calls, window.sums)

    def _count(self, name: str, count: int, sums: Mapping[tuple[str, str], Sequence[int]]) -> None:
        self.counts[name] = self.counts.get(name, 0) + count
        for (_, stage), (often, _, size, took, most) in sums.items():
            known = self.totals.setdefault((name, stage), [0, 0, 0, 0])
            known[:] = known[0] + often, known[1] + took, max(known[2], most), known[3] + size


def _behind(report: Mapping[str, Any], ahead: int) -> int:
    """Return by how much the clock of a report is behind ours; on one machine it is the same."""
    is_here = report["boot"] and report["boot"] == bridge()["boot"]
    return 0 if is_here else int(report["bridge"]) - ahead


def moved(report: Mapping[str, Any], by: int) -> Mapping[str, Any]:
    """Return what a report tells of tasks, all times later by some ns."""
    if by == 0:
        return report
    kept, windows = [], []
    for *known, loading, begin, body, returned, end, spans, dropped, sums in report["kept"]:
        times = (loading and loading + by, begin + by, body + by, returned + by, end + by)
        inside = [(stage, low + by, high + by, size) for stage, low, high, size in spans]
        kept.append((*known, *times, inside, dropped, sums))
    for worker, name, start, end, *rest in report["windows"]:
        windows.append((worker, name, start + by, end + by, *rest))
    return {"kept": kept, "windows": windows}


class Agents:
    """The agents of the recordings that run in this process now."""

    def __init__(self) -> None:
        self.users, self.arrivals = 0, Arrivals()
        self.contacts: dict[Any, Contact] = {}
        self._lock = Lock()
        self._taken: dict[bytes, list[tuple[bytes, bytes]]] = {}
        self._is_off = os.environ.get(_SWITCH, "") == "0"
        self.troubles = [f"{_SWITCH}=0 keeps it away"] * self._is_off

    def contact(self) -> Contact | None:
        """Return the contact to the cluster that this process is connected to now, if any."""
        # The first one brings the source of the agent there.
        worker = getattr(sys.modules.get("ray._private.worker"), "global_worker", None)
        if worker is None or self._is_off or not worker.connected:
            return None
        if (contact := self.contacts.get(worker.current_cluster_and_job)) is not None:
            return contact
        with self._lock:
            if worker.mode != sys.modules["ray"].SCRIPT_MODE:
                return None
            home = worker.current_cluster_and_job
            if home not in self.contacts:
                self.contacts[home] = _brought(worker)
                self.arrivals.begin(self.contacts[home])
            return self.contacts[home]

    def fail(self, error: Exception) -> None:
        """Stay away from now on; the road of tasks says why."""
        self._is_off = True
        self.troubles.append(describe_failure(error))

    def leave(self) -> None:
        """Give the functions their own ids back, and let the agents go."""
        self._is_off = True
        self.arrivals.stop()
        for contact in self.contacts.values():
            contact.leave()
            self._drop(contact, contact.key, is_prefix=False)

    def _drop(self, contact: Contact, at: bytes, *, is_prefix: bool) -> None:
        """Take keys away; where the control store does not answer they end with the job."""
        try:
            if contact.is_here():
                gcs = contact.worker.gcs_client
                gcs.internal_kv_del(at, is_prefix, SPACE, timeout=_RPC_S)
        except Exception as error:  # noqa: BLE001  (ours fails, the recording ends)
            self.troubles.append(describe_failure(error))

    def notes(self, run: Page) -> Notes:
        """Return what the agents have noted until now, by the clock of a run."""
        found, reports = Notes(troubles=list(self.troubles), is_awaited=bool(self.contacts)), []
        ahead: Callable[[bytes], int] = lambda worker: (  # noqa: E731
            run.wall_offset + run.clocks.get(worker, (0, 0))[0]
        )
        for contact in self.contacts.values():
            for at, packed in self._reports(contact):
                kind, _, who = at.removeprefix(contact.key + b":").partition(b":")
                if kind == b"watch":
                    self.arrivals.take(who, packed, partial(_behind, ahead=ahead(who)))
                elif kind == b"notes":
                    reports.append(marshal.loads(packed) | {"node": who.hex()})  # noqa: S302
                elif kind == b"failed":
                    found.troubles.append(f"{packed.decode()} in a worker")
        found.add(reports, ahead)
        seen = self.arrivals.all_seen()
        # The ids of puts end by a byte that is not 0: their numbers begin at 100,000,000.
        found.is_chained = any(not one[27] for taken in seen.given.values() for one in taken)
        found.pulls = seen.pulls
        return found

    def _reports(self, contact: Contact) -> list[tuple[bytes, bytes]]:
        """Read the reports; those of a recording that is over are taken away, and kept here."""
        if contact.key in self._taken or not contact.is_here():
            return self._taken.get(contact.key, [])
        gcs = contact.worker.gcs_client
        # Notes before "watch", which is sent before them: else what was watched may be older.
        kinds = (contact.key + kind for kind in (b":notes", b":watch", b":failed"))
        keys = (at for under in kinds for at in gcs.internal_kv_keys(under, SPACE, timeout=_RPC_S))
        packed = ((at, gcs.internal_kv_get(at, SPACE, timeout=_RPC_S)) for at in keys)
        return [(at, one) for at, one in packed if one is not None]

    def keep(self) -> None:
        """Keep the reports of a job that is about to end, and ask nothing of it any more."""
        self.arrivals.stop()
        for contact in self.contacts.values():
            self._taken[contact.key] = self._reports(contact)

    def forget(self) -> None:
        """Take the reports away: they are read."""
        for contact in self.contacts.values() if self.users == 0 else ():
            with suppress(Exception):  # what is left ends with the job
                self._taken[contact.key] = self._reports(contact)
            self._drop(contact, contact.key + b":", is_prefix=True)


def _brought(worker: Any) -> Contact:  # noqa: ANN401  (Ray has no types here)
    """Bring the source of the agent to the cluster of a job; it is dropped with the job."""
    job = worker.current_job_id.hex().encode()
    key = b":".join((b"RemoteFunction", job, b"serprof", uuid4().hex.encode()))
    # Not by pickle: a recording that begins would take it for the user's.
    packed = marshal.dumps(shipped_agent())
    for at, value in ((key + OPEN, b""), (key, packed)):
        worker.gcs_client.internal_kv_put(at, value, True, SPACE, timeout=_RPC_S)  # noqa: FBT003
    contact = Contact(key, (shipped_agent()[1], time.time_ns() + _LONGEST_NS, _PERIOD_S))
    contact.may_wait = has_raylet
    return contact


_CURRENT: list[Agents] = []
_JOINING = Lock()


def join() -> Agents:
    """Return the agents for a recording that begins; their source is at hand where Ray runs."""
    with _JOINING:
        if not _CURRENT:
            _CURRENT.append(Agents())
        agents = _CURRENT[0]
        agents.users += 1
    met(bool)
    return agents


def quit_agents(agents: Agents) -> None:
    """Let the agents go, if this was the last recording that had them."""
    with _JOINING:
        agents.users -= 1
        is_last = agents.users == 0
        if is_last and agents in _CURRENT:
            _CURRENT.remove(agents)
    if is_last:
        agents.leave()


def forget_agents() -> None:
    """Forget them in the child of a fork, which has no cluster."""
    global _JOINING  # noqa: PLW0603
    _JOINING = Lock()
    _CURRENT.clear()


def met(do: Callable[..., object], *given: object) -> None:
    """Let the contact do something; what fails there keeps the agents away from now on."""
    for agents in _CURRENT:
        start = time.perf_counter_ns()
        try:
            if (contact := agents.contact()) is not None:
                do(contact, *given)
        except Exception as error:  # noqa: BLE001  (ours fails, the user's submission does not)
            agents.fail(error)
        finally:
            for recorder in active_recorders()[:1]:
                recorder.moved_ns += time.perf_counter_ns() - start


def _meeting(do: Callable[[Contact, Any, Any], None]) -> Before:
    """Return what comes before a submission: the contact meets who will run it."""

    def meet(args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        met(do, args, kwargs)
        return args, kwargs, None

    return meet


meet_function = _meeting(lambda contact, args, _: contact.meet_function(args[0]))
meet_class = _meeting(lambda contact, args, kwargs: contact.meet_class(args[0], kwargs))
meet_actor = _meeting(lambda contact, args, _: contact.meet_actor(args[0]))


def note_given(task: bytes | None, args: Any, kwargs: Any) -> bytes | None:  # noqa: ANN401
    """Note which objects a task takes that was submitted just now; return the task."""
    met(lambda _: _CURRENT[0].arrivals.copies.note(task, args, kwargs))
    return task


def drop_own_calls(run: Page, agents: Agents) -> None:
    """Take the calls of Ray out of a run that were made for the agents."""
    windows = [window for contact in agents.contacts.values() for window in contact.windows]
    by_lane: dict[str, list[tuple[int, int]]] = {}
    for thread, start, end in sorted(windows, key=lambda window: window[1]):
        by_lane.setdefault(run.threads.get(thread, ""), []).append((start, end))
    for draft in run.drafts if windows else ():
        own = by_lane.get(draft.lane, [])
        at = bisect_right(own, (draft.start, draft.end)) - 1  # of a thread they do not overlap
        draft.is_dropped |= at >= 0 and draft.end <= own[at][1]
