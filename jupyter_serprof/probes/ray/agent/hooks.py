"""Wrappers around functions of Ray in a worker, and how they come into place and out of it.

Each passes on what it is given, lets every exception through without a frame of its own, and notes
nothing more once its recording is over.
"""

from __future__ import annotations

import functools
import pkgutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from .notes import Errand, Ledger, clock

Maker = Callable[[Any], Any]

#: By what is seen and the part of the way on which a task is: the stage.
_STAGES = {
    ("loads", "arguments"): "ray.arguments.unpickle",
    ("import", "arguments"): "ray.arguments.import",
    ("lock", "arguments"): "ray.arguments.lock",
    ("loads", "task"): "ray.task.unpickle",
    ("dumps", "task"): "ray.task.pickle",
    **{(what, "task"): f"ray.task.{what}" for what in ("get", "put", "wait", "submit")},
    ("dumps", "outputs"): "ray.outputs.pickle",
    ("import", "outputs"): "ray.outputs.import",
    ("import", "task"): "import",
    **{("user", part): "ray.generator.user" for part in ("task", "outputs")},
    **{("out", part): "ray.generator.out" for part in ("task", "outputs")},
}
#: What the title of a process is while it runs a task, before the name of the task.
_TITLE = "ray::"

_UNDO: list[Callable[[], None]] = []
#: Names that this Ray does not have.
MISSING: list[str] = []
#: The task of this thread, whether it is inside an import, and what is being loaded.
_HERE = threading.local()
#: The tasks that run in this process, by their ids.
_ERRANDS: dict[bytes, Errand] = {}


class Ear:
    """Who takes what the wrappers see, while there is a recording."""

    def __init__(self) -> None:
        self.ledger: Ledger | None = None
        self.lock, self.worker = threading.Lock(), b""
        #: How often something of ours failed.
        self.failures = 0
        #: Whether something was noted that is not sent yet.
        self.news = threading.Event()
        #: Whether tasks take turns on one thread: then that does not tell which one it is.
        self.is_async = False


EAR = Ear()


def replace(owner: Any, attribute: str, make: Maker) -> None:
    """Put ``make(original)`` in the place of an attribute; note its name if there is none."""
    original = vars(owner).get(attribute)
    if original is None:
        MISSING.append(attribute)
        return
    replacement = make(original)
    setattr(owner, attribute, replacement)

    def undo() -> None:
        if vars(owner).get(attribute) is replacement:
            setattr(owner, attribute, original)

    _UNDO.append(undo)


def put_back() -> None:
    """Put every original back that still has our wrapper in its place, the last one first."""
    while _UNDO:
        _UNDO.pop()()
    EAR.ledger = None
    _ERRANDS.clear()


class Standin:
    """A wrapper of a function of a module: it pickles as the name under which that is known.

    ``name``: ``module:attribute``.
    """

    def __init__(self, call: Callable[..., Any], original: Any, name: str) -> None:
        functools.update_wrapper(self, original)
        self.call, self.original, self.name = call, original, name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapper."""
        try:
            return self.call(*args, **kwargs)
        except BaseException as error:
            without_us(error)
            raise

    def __reduce__(self) -> Any:
        """Pickle as the place, where the original will be."""
        return pkgutil.resolve_name, (self.name,)


def without_us(error: BaseException) -> None:
    """Take the frame of a wrapper out of the traceback of a user."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def timed(what: str, size: Callable[[Any, Any], int] | None = None, name: str = "") -> Maker:
    """Return a maker of wrappers that note each call.

    ``size``: From arguments and result to bytes.
    ``name``: Of a function of a module: where it stands.
    """

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            start = clock()
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                note(what, start)
                without_us(error)
                raise
            note(what, start, size and functools.partial(size, args, result))
            return result

        call.original = original  # type: ignore[attr-defined]  # for who must not be seen
        return Standin(call, original, name) if name else call

    return make


def note(what: str, start: int, size: Callable[[], int] | None = None) -> None:
    """Note what a task of this thread did until now; what fails there stays there."""
    end = clock()
    if EAR.ledger is None:
        return
    try:
        errand = _errand_here()
        stage = _STAGES.get((what, errand.phase)) if errand is not None else None
        if errand is not None and stage is not None:
            errand.note(stage, start, end, size() if size else 0)
    except Exception:
        EAR.failures += 1


def _errand_here() -> Errand | None:
    errand: Errand | None = getattr(_HERE, "errand", None)
    return _ERRANDS.get(current_id()) if EAR.is_async else errand


def _core_worker() -> Any:
    return sys.modules["ray._private.worker"].global_worker.core_worker


def current_id() -> bytes:
    """Return the task of this thread, as Ray knows it."""
    return bytes(_core_worker().get_current_task_id().binary())


# The task: from the title that its process gets to the next one.


def titled(original: Any) -> Any:
    """Return what stands for the context manager around each task."""

    class Titled:
        __slots__ = ("around", "errand", "title")

        def __init__(self, title: str, *args: Any) -> None:
            self.around, self.title = original(title, *args), title
            self.errand: Errand | None = None

        def __enter__(self) -> Any:
            entered = self.around.__enter__()
            self.errand = _begin(self.title)
            return entered

        def __exit__(self, *raised: object) -> Any:
            if self.errand is not None:
                _end(self.errand)
            return self.around.__exit__(*raised)

    return Titled


def _begin(title: str) -> Errand | None:
    if EAR.ledger is None or "__ray_" in title:  # Ray's own, as the call that brought us
        return None
    try:
        loading, ours = getattr(_HERE, "loading", 0), getattr(_HERE, "ours", 0)
        _HERE.loading = _HERE.ours = 0
        errand = Errand(current_id(), title.removeprefix(_TITLE), loading, ours)
        _ERRANDS[errand.ident] = errand
        EAR.is_async = bool(_core_worker().current_actor_is_asyncio())
        if not EAR.is_async:
            _HERE.errand = errand
    except Exception:
        EAR.failures += 1
        return None
    return errand


def _end(errand: Errand) -> None:
    _HERE.errand = None
    try:
        if _ERRANDS.get(errand.ident) is errand:
            del _ERRANDS[errand.ident]
        facts = errand.close().facts(EAR.worker)
        with EAR.lock:  # else it may be taken into what is on its way already
            if EAR.ledger is not None:
                EAR.ledger.take(facts)
        if not EAR.news.is_set():  # that is mostly so, and costs less
            EAR.news.set()
    except Exception:
        EAR.failures += 1


def body_begins(original: Any) -> Any:
    """Note where the code of the user begins, and which attempt of the task it is."""

    @functools.wraps(original)
    def record_task_log_start(worker: Any, task_id: Any, attempt: Any, *args: Any) -> Any:
        try:
            return original(worker, task_id, attempt, *args)
        finally:
            errand = _ERRANDS.get(task_id.binary())
            if errand is not None:
                errand.attempt, errand.body = attempt, clock()

    return record_task_log_start


def before(do: Callable[..., object]) -> Maker:
    """Return a maker of wrappers that note something before each call; that fails in silence."""

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):
                do(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                without_us(error)
                raise

        return call

    return make


def _body_ends(_: Any, task_id: Any, *__: Any, **___: Any) -> None:
    if errand := _ERRANDS.get(task_id.binary()):
        errand.returned = clock()


def load_begins(at: int, ours_until: int = 0) -> None:
    """Note for the next task of this thread when its function began to be loaded, after us."""
    if getattr(_HERE, "errand", None) is None:
        _HERE.loading = getattr(_HERE, "loading", 0) or at
        _HERE.ours = getattr(_HERE, "ours", 0) or ours_until


# What happens in a task.


def _asked(*_: Any, **__: Any) -> None:
    """Note when values are wanted: who else loads something holds a lock."""
    _HERE.asked = clock()


def _answered(*_: Any, **__: Any) -> None:
    """Note that values that were wanted begin to be made: the lock is there."""
    asked, _HERE.asked = getattr(_HERE, "asked", 0), 0
    if asked:
        note("lock", asked)


def importing(original: Any) -> Any:
    """Note imports, the outermost ones."""

    @functools.wraps(original)
    def find_and_load(name: str, *args: Any, **kwargs: Any) -> Any:
        if getattr(_HERE, "is_importing", False) or name in sys.modules:
            return original(name, *args, **kwargs)
        _HERE.is_importing, start = True, clock()
        try:
            return original(name, *args, **kwargs)
        except BaseException as error:  # an import that fails shows no frame of ours
            without_us(error)
            raise
        finally:
            _HERE.is_importing = False
            note("import", start)

    return find_and_load


def patch() -> None:
    """Put the wrappers into their places."""
    MISSING.clear()
    worker = import_module("ray._private.worker")
    functions = import_module("ray._private.function_manager")
    replace(worker, "_changeproctitle", titled)
    in_worker = functools.partial(replace, worker.Worker)
    in_worker("record_task_log_start", body_begins)
    in_worker("record_task_log_end", before(_body_ends))
    in_worker("deserialize_objects", before(_asked))
    in_worker("get_serialization_context", before(_answered))
    in_worker("put_object", timed("put"))
    in_worker("get_objects", timed("get"))
    for attribute in ("fetch_and_register_remote_function", "_load_actor_class_from_gcs"):
        replace(
            functions.FunctionActorManager, attribute, before(lambda *_, **__: load_begins(clock()))
        )
    pickle = import_module("ray.cloudpickle")
    dumped, loaded = (lambda _, made: len(made)), (lambda given, _: len(given[0]))
    replace(pickle, "dumps", timed("dumps", dumped, "ray.cloudpickle:dumps"))
    replace(pickle, "loads", timed("loads", loaded, "ray.cloudpickle:loads"))
    replace(import_module("ray"), "wait", timed("wait", None, "ray:wait"))
    replace(import_module("importlib._bootstrap"), "_find_and_load", importing)
