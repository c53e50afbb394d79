"""The agent: notes what happens inside a worker of Ray, in bounded memory.

It travels as source (see `contact`), so this package stands alone: the standard library and Ray
only. Every name of Ray that it replaces is private; one that is missing is reported and the others
still work. Times are ns of ``time.perf_counter_ns``. The last recording that leaves a worker puts
every original back; one whose program is gone leaves with its key, or at its deadline.

Source: Ray 2.60.0, python/ray/_raylet.pyx:execute_task, ray/_private/worker.py.
"""

from __future__ import annotations

import atexit
import functools
import marshal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from .contact import RPC_S, SPACE, Contact
from .copies import Copies, task_id
from .generators import stepped
from .hooks import (
    EAR,
    MISSING,
    current_id,
    load_begins,
    patch,
    put_back,
    replace,
    timed,
    without_us,
)
from .notes import Ledger, clock
from .post import Post
from .watch import DOORS, WorkerMeter

#: What a function is taken through on its way to Ray, too.
__all__ = ["start", "stepped"]

_LOCK = threading.RLock()
#: How soon after a task its notes are sent, s; while tasks follow each other the pause doubles, up
#: to this part of the time between two looks for the end.
_SOON_S, _PAUSES = 1 / 512, 4  # doubled often enough it is that part
#: A control store that answers slowly has many workers: it is asked so much more seldom, up to so
#: many s.
_CALM, _MOST_PAUSE_S = 1_000, 15.0
#: So many looks for the recording's end are one for that of its program.
_JOB_LOOKS = 5


class Stay:
    """The recording that this worker is noted for; a job has one at a time.

    ``key``: Where its source is: it is over when that is gone.
    ``until_ns``: When it is over in any case, ns of day.
    ``period_s``: How often its end is looked for, s.
    """

    def __init__(self, key: bytes, until_ns: int, period_s: float) -> None:
        self.key, self.until_ns, self.period_s = key, until_ns, period_s
        #: The same, as long as who is asked has time.
        self.pause_s, self.looks = period_s, 0
        self.contact = Contact(key, (__name__, until_ns, period_s))
        self.post, self.copies = Post(key), Copies(_children)
        self.watch: WorkerMeter | None = None

    def is_wanted(self) -> bool:
        """Tell whether the recording still lasts."""
        start = time.monotonic()
        is_there = _gcs().internal_kv_exists(self.key, SPACE, timeout=RPC_S)
        self.pause_s = max(self.period_s, min(_MOST_PAUSE_S, _CALM * (time.monotonic() - start)))
        self.looks += 1
        is_over = self.looks % _JOB_LOOKS == 0 and _is_job_over()
        return bool(is_there) and time.time_ns() < self.until_ns and not is_over

    def look_around(self) -> None:
        """Watch what is on its way between nodes, once it is known that there are several."""
        if self.watch is None and not self.copies.is_one:
            packed = _gcs().internal_kv_get(self.key + DOORS, SPACE, timeout=RPC_S)
            doors = marshal.loads(packed) if packed else {}  # noqa: S302  (ours)
            self.copies.is_one = len(doors) == 1
            if len(doors) > 1:
                self.watch = WorkerMeter(self.key, self.copies, doors)

    def leave(self) -> None:
        """Leave nothing behind of it."""
        self.contact.leave()
        self.post.close()
        if self.watch is not None:
            self.watch.stop()


def _is_job_over() -> bool:
    """Tell whether the program is gone: keys of a job stay while a detached actor of it lives."""
    job = sys.modules["ray._private.worker"].global_worker.current_job_id.hex()
    less = {"skip_submission_job_info_field": True, "skip_is_running_tasks_field": True}
    told = _gcs().get_all_job_info(job_or_submission_id=job, timeout=RPC_S, **less)
    return any(each.is_dead for each in told.values())


_STAY: list[Stay] = []
#: The tasks that have submitted others.
_PARENTS: set[bytes] = set()


def _children() -> set[bytes]:
    ray, core = sys.modules["ray"], sys.modules["ray._private.worker"].global_worker.core_worker
    told = {one: core.get_pending_children_task_ids(ray.TaskID(one)) for one in list(_PARENTS)}
    _PARENTS.difference_update(one for one, children in told.items() if not children)
    return {bytes(each.binary()) for children in told.values() for each in children}


def start(key: bytes, until_ns: int, period_s: float, began: int = 0) -> None:
    """Begin to note for a recording, in the place of one that is over.

    ``key``, ``until_ns``, ``period_s``: As in `Stay`.
    ``began``: When what brought us began to be loaded, by our clock, before a task; 0: before none.
        What is loaded after us is the user's.
    """
    with _LOCK:
        if not _STAY or _STAY[0].key != key:
            stay = Stay(key, until_ns, period_s)
            if not stay.is_wanted():
                return
            _listen(stay)
    if began:
        load_begins(began, clock())


def _listen(stay: Stay) -> None:
    is_first = not _STAY
    for before in _STAY:
        before.leave()
    with EAR.lock:
        _STAY[:], EAR.ledger = [stay], Ledger()
    EAR.worker = stay.post.worker
    if is_first:
        try:
            patch()
            _pass_on()
            atexit.register(_send_rest)
            threading.Thread(target=_tend, name="serprof", daemon=True).start()
        except BaseException:
            _leave()
            raise


def _gcs() -> Any:
    return sys.modules["ray._private.worker"].global_worker.gcs_client


# What is submitted in here.


def _pass_on() -> None:
    kinds = import_module("ray.actor")
    functions = import_module("ray._private.function_manager").FunctionActorManager
    remote = import_module("ray.remote_function").RemoteFunction
    replace(remote, "_remote", _around(lambda one, given, _: one.meet_function(given[0])))
    replace(kinds.ActorMethod, "_remote", _around(lambda one, given, _: one.meet_actor(given[0])))
    meet = lambda one, given, options: one.meet_class(given[0], options)  # noqa: E731
    made = lambda one, _, handle: one.actor_made(handle)  # noqa: E731
    replace(kinds.ActorClass, "_remote", _around(meet, made))
    known = lambda one, given, _: one.function_published(given[1])  # noqa: E731
    replace(functions, "export", _around(None, known, is_submission=False))
    told = lambda one, *_: one.class_published()  # noqa: E731
    replace(functions, "export_actor_class", _around(None, told, is_submission=False))


_Do = Callable[..., None] | None


def _around(before: _Do, after: _Do = None, *, is_submission: bool = True) -> Callable[..., Any]:
    """Return a maker of wrappers that let the contact do something before and after a call."""

    def make(original: Any) -> Any:
        timed_original = timed("submit")(original) if is_submission else original

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            _contact(before, args, kwargs)
            try:
                result = timed_original(*args, **kwargs)
            except BaseException as error:
                without_us(error)
                raise
            _contact(after, args, result)
            _contact(_note_given if is_submission else None, args, kwargs, result)
            return result

        call.original = original  # type: ignore[attr-defined]  # for who must not be seen
        return call

    return make


def _note_given(_: Contact, args: Any, kwargs: Any, result: Any) -> None:
    _PARENTS.add(current_id())
    for stay in _STAY:
        stay.copies.note(task_id(result), args, kwargs)


def _contact(do: _Do, *args: Any) -> None:
    """Let the contact do something; what fails there stays there."""
    for stay in _STAY if do else ():
        try:
            do(stay.contact, *args)  # type: ignore[misc]  # there is one
        except Exception:
            EAR.failures += 1


# Notes on their way home, and the end.


def _lay(stay: Stay) -> None:
    with _LOCK:  # two threads do at the end of a worker, and the numbers follow each other
        with EAR.lock:
            if [stay] != _STAY:  # what is new is of the next recording
                EAR.news.set()
                return
            ledger, EAR.ledger = EAR.ledger, Ledger()
        if stay.watch is not None:  # whoever waits for the notes has that, too
            stay.watch.send_news()
        if ledger is not None and (ledger.few or ledger.windows):
            failures, EAR.failures = EAR.failures, 0
            stay.post.lay({**ledger.told(), "failures": failures, "missing": [*MISSING]})


def _tend() -> None:
    pause_s, is_news = _SOON_S, False
    while _STAY:
        stay = _STAY[0]
        with suppress(Exception):
            stay.look_around()
        is_news = EAR.news.wait(stay.pause_s)
        EAR.news.clear()
        try:
            if is_news:
                # All workers of a node at the same moments, so that one of them takes all along.
                time.sleep(pause_s - time.monotonic() % pause_s)
                _lay(stay)
                time.sleep(_SOON_S)
                if not stay.post.carry():
                    EAR.news.set()
            if not stay.is_wanted():
                _send_rest()
                _end(stay)
        except Exception:
            EAR.failures += 1
        pause_s = min(2 * pause_s, stay.pause_s / _PAUSES) if is_news else _SOON_S


def _send_rest() -> None:
    """Send what is not sent yet; an actor that nobody has any more ends right after its calls."""
    with suppress(Exception):
        for stay in _STAY:
            _lay(stay)
            stay.post.carry()


def _end(stay: Stay) -> None:
    with _LOCK:
        if [stay] == _STAY:
            _leave()


def _leave() -> None:
    for stay in _STAY:
        stay.leave()
    _STAY.clear()
    _PARENTS.clear()
    atexit.unregister(_send_rest)
    put_back()
    for name in [name for name in sys.modules if (name + ".").startswith(__name__ + ".")]:
        del sys.modules[name]
