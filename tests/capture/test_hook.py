"""Hooks: what stands in the place of a watched callable behaves like it, pickles as its place."""

import asyncio
import copy
import functools
import importlib
import inspect
import itertools
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from types import MethodType, ModuleType
from typing import Any, Literal

import cloudpickle
import pytest
from pythons import python

from jupyter_serprof.capture.hook import CoroutineMethodHook, Hook, MethodHook, Place
from jupyter_serprof.capture.patching import arm
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.testing import TickClock

NAME = "serprof_hooked"
SOURCE = '''
import asyncio, functools, math, operator

class Engine:
    def method(self, x: int, *, y: int = 2) -> tuple:
        """Return what it got."""
        return self, x, y

    @staticmethod
    def static(x):
        return x

    @classmethod
    def build(cls, x):
        return cls, x

    async def fetch(self, x):
        await asyncio.sleep(0)
        return self, x

    def recurse(self, depth):
        return depth and 1 + self.recurse(depth - 1)

class Turbo(Engine):
    pass

def function(a, /, b=1, *args, self=None, c: int = 3, **kwargs) -> tuple:
    """Return the arguments."""
    return a, b, args, self, c, kwargs

async def coroutine(x):
    """Return x later."""
    await asyncio.sleep(0)
    if isinstance(x, Exception):
        raise x
    return x

def fails(error):
    raise error

c_function = math.sqrt
c_bound = [3, 1, 2].count
c_descriptor = str.upper

@functools.lru_cache
def cached(x):
    return x

def wrapped(x):
    return x
wrapped.mark = "set by a decorator"
'''
PLACES = [
    *("function", "coroutine", "c_function", "cached", "wrapped"),
    *("Engine.method", "Engine.static", "Engine.build", "Engine.fetch", "Turbo.method"),
]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A library in a folder of its own; gone after the test."""
    (tmp_path / f"{NAME}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(NAME)
    del sys.modules[NAME]


def place(name: str, **notes: Any) -> Place:
    return Place(f"{NAME}:{name}", "pickle.dumps", **notes)


@contextmanager
def listening(*places: Place, tick_ns: int = 10) -> Iterator[Recorder]:
    recorder = Recorder([], clock=TickClock(tick_ns))
    armed = [arm(entry, recorder) for entry in places]
    try:
        yield recorder
    finally:
        for entry in armed:
            entry.remove()


def resolved(library: ModuleType, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), library)


def faces(function: Any) -> dict[str, object]:
    """What tools and people ask of a callable."""
    return {
        "signature": str(inspect.signature(function)),
        "inspect coroutine": inspect.iscoroutinefunction(function),
        "asyncio coroutine": asyncio.iscoroutinefunction(function),
        "generator": inspect.isgeneratorfunction(function),
        "callable": callable(function),
        **{
            name: getattr(function, name, "missing")
            for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__")
        },
    }


@pytest.mark.parametrize("name", PLACES)
def test_a_hook_shows_the_face_of_its_original(library: ModuleType, name: str) -> None:
    """Signature, name, doc and kind are the original's, on the class and on an instance."""
    bare = faces(resolved(library, name))

    with listening(place(name)):
        armed = faces(resolved(library, name))

    assert armed == bare


def test_an_instance_binds_a_hook_like_the_function(library: ModuleType) -> None:
    """``instance.method`` is a bound method with the signature that people know."""
    engine = library.Turbo()
    bare = inspect.signature(engine.method)

    with listening(place("Engine.method")):
        bound = engine.method

        assert isinstance(bound, MethodType)
        assert bound.__self__ is engine
        assert inspect.signature(bound) == bare
        assert bound(1) == (engine, 1, 2)
        assert library.Engine.method(engine, 1, y=3) == (engine, 1, 3)


@pytest.mark.parametrize("armed", [True, False])
def test_each_kind_of_callable_gets_its_arguments(library: ModuleType, armed: bool) -> None:
    """Class functions, static and class methods, C functions and inherited ones work as before."""
    names = [*PLACES, "c_bound", "c_descriptor"] if armed else []

    with listening(*(place(name) for name in names)) as recorder:
        engine, turbo = library.Engine(), library.Turbo()
        results = [
            library.function(1, 2, 3, self=4, z=5) == (1, 2, (3,), 4, 3, {"z": 5}),
            library.c_function(9.0) == 3,
            library.c_bound(1) == 1,
            library.c_descriptor("a") == "A",
            library.cached(4) == 4,
            engine.method(1) == (engine, 1, 2),
            turbo.method(1) == (turbo, 1, 2),
            engine.static(1) == library.Engine.static(1) == 1,
            turbo.build(1) == library.Turbo.build(1) == (library.Turbo, 1),
            library.Engine.build(1) == (library.Engine, 1),
            asyncio.run(engine.fetch(1)) == (engine, 1),
            asyncio.run(library.coroutine(1)) == 1,
        ]

    assert all(results), results
    assert bool(recorder.page) is armed


def test_a_record_has_point_thread_start_and_end(library: ModuleType) -> None:
    """One call is one record: read the clock, call, read the clock."""
    entry = place("function")

    with listening(entry) as recorder:
        library.function(1)

    assert list(recorder.page) == [(entry, get_ident(), 0, 10, None, None, None)]
    assert isinstance(recorder.now, TickClock)
    assert recorder.now.readings_count == 2


@pytest.mark.parametrize(("least_ns", "count"), [(10, 1), (11, 0)])
def test_calls_that_are_too_short_leave_no_record(
    library: ModuleType, least_ns: int, count: int
) -> None:
    """A wait that did not wait is not written down; the call is the same."""
    with listening(place("function", least_ns=least_ns)) as recorder:
        assert library.function(1)[0] == 1

    assert len(recorder.page) == count


def test_an_exception_is_the_same_object_and_its_name_is_noted(library: ModuleType) -> None:
    """The user sees their own exception, with its own traceback, cause and type."""
    mistake = ValueError("a secret of the user")

    with listening(place("fails")) as recorder, pytest.raises(ValueError, match="secret") as caught:
        library.fails(mistake)

    assert caught.value is mistake
    assert mistake.__context__ is None
    assert mistake.__cause__ is None
    assert [record[-1] for record in recorder.page] == ["ValueError"]
    assert caught.traceback[-1].name == "fails"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_interrupts_pass_through_and_are_noted(
    library: ModuleType, kind: type[BaseException]
) -> None:
    """Stopping a cell stops it; the call that was stopped is in the picture."""
    with listening(place("fails")) as recorder, pytest.raises(kind):
        library.fails(kind())

    assert [record[-1] for record in recorder.page] == [kind.__name__]


def test_recursion_records_every_level(library: ModuleType) -> None:
    """A function that calls itself through its attribute is seen each time, inner calls first."""
    with listening(place("Engine.recurse")) as recorder:
        assert library.Engine().recurse(3) == 3

    times = [record[2:4] for record in recorder.page]
    assert times == [(30, 40), (20, 50), (10, 60), (0, 70)]


@pytest.mark.parametrize(("name", "keywords"), [("function", {"c": 1}), ("coroutine", {})])
def test_before_may_replace_arguments_and_after_notes_the_result(
    library: ModuleType, name: str, keywords: dict[str, int]
) -> None:
    """``before`` hands a token to ``after``, whose answer is kept; of awaited calls, too."""
    entry = place(
        name,
        before=lambda args, kwargs: ((args[0] * 2,), kwargs, "token"),
        after=lambda *seen: seen,
        faults="thread",
    )

    with listening(entry) as recorder:
        called = getattr(library, name)(21, **keywords)
        result = called if keywords else asyncio.run(called)

    assert (result[0] if keywords else result) == 42
    assert next(iter(recorder.page))[5] == ("token", (42,), keywords, result)


def test_a_failing_before_or_after_never_reaches_the_user(library: ModuleType) -> None:
    """Ours fails, theirs runs; and the failure is told to the recorder."""

    def broken(*_: object) -> Any:
        raise LookupError

    with listening(place("function", before=broken), place("wrapped", after=broken)) as recorder:
        results = library.function(1)[0], library.wrapped(2)

    assert results == (1, 2)
    assert len(recorder.page) == 2
    assert len(recorder.failures) == 2


def test_page_faults_are_noted_around_the_call(library: ModuleType) -> None:
    """``faults`` counts the pages that the call touched first; without it they stay unknown."""
    with listening(
        place("function", faults="thread"), place("wrapped", faults="process"), place("cached")
    ) as recorder:
        library.function(bytearray(1))
        library.wrapped(1)
        library.cached(1)

    faults = [record[4] for record in recorder.page]
    assert isinstance(faults[0], int)
    assert isinstance(faults[1], int)
    assert faults[2] is None


@pytest.mark.parametrize(("whose", "short_ns"), [("thread", 10), ("process", 400_000)])
def test_faults_of_many_short_calls_are_not_all_noted_but_those_of_long_ones_are(
    library: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    whose: Literal["thread", "process"],
    short_ns: int,
) -> None:
    """Nobody waits for the faults of a loop; a long call behind it makes room for the next."""
    took_ns = {"short": short_ns, "long": 600_000}
    with listening(place("function", faults=whose)) as recorder:
        for kind in ["short"] * 1_000 + ["long"] * 3:
            now = itertools.count(0, took_ns[kind])
            monkeypatch.setattr(recorder, "now", now.__next__)
            library.function(1)
        with listening(place("function", faults=whose)) as later:
            library.function(1)

    noted = [record[4] is not None for record in recorder.page]
    assert [record[4] is not None for record in later.page] == [True]
    assert sum(noted[:1_000]) == 200
    assert noted[:200] == [True] * 200
    assert noted[1_000:1_003] == [False, True, True]


def test_a_hook_without_listeners_only_passes_on(library: ModuleType) -> None:
    """A hook that somebody captured keeps working after the recording, and notes nothing."""
    with listening(place("function")) as recorder:
        captured = library.function

    assert isinstance(captured, Hook)
    assert captured(1)[0] == 1
    assert not recorder.page


def test_a_coroutine_lasts_until_it_is_done(library: ModuleType) -> None:
    """The span of a coroutine function ends with its result, on the lane of its task."""
    with listening(place("coroutine")) as recorder:
        assert asyncio.run(library.coroutine("x")) == "x"

    ((_, ident, start, end, _, _, error),) = recorder.page
    assert (start, end, error) == (0, 10, None)
    assert ident < 0


def test_a_coroutine_notes_its_exception(library: ModuleType) -> None:
    mistake = ValueError("x")

    with listening(place("coroutine")) as recorder, pytest.raises(ValueError, match="x") as caught:
        asyncio.run(library.coroutine(mistake))

    assert caught.value is mistake
    assert next(iter(recorder.page))[-1] == "ValueError"


def test_concurrent_coroutines_have_lanes_of_their_own(library: ModuleType) -> None:
    """Two tasks that overlap are two lanes, so that neither seems to be inside the other."""

    async def both() -> object:
        return await asyncio.gather(library.coroutine(1), library.coroutine(2))

    with listening(place("coroutine")) as recorder:
        assert asyncio.run(both()) == [1, 2]

    assert len({record[1] for record in recorder.page}) == 2


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_captured_hooks_travel_as_references(
    library: ModuleType, dumps: Any, tmp_path: Path
) -> None:
    """Armed or removed, a captured hook arrives as the original, without our package."""
    with listening(*(place(name) for name in PLACES)):
        captured = [inspect.getattr_static(*_owner(library, name)) for name in PLACES]
        hooks = [getattr(entry, "__func__", entry) for entry in captured]
        armed = dumps(hooks)
    removed = dumps(hooks)

    for data in (armed, removed):
        script = (
            f"import pickle, sys; sys.path.insert(0, {str(tmp_path)!r})\n"
            f"found = pickle.loads({data!r})\n"
            f"import {NAME} as library, functools\n"
            "for name, hook in zip("
            f"{PLACES!r}, found):\n"
            "    assert hook == functools.reduce(getattr, name.split('.'), library), name\n"
            "assert 'jupyter_serprof' not in sys.modules\n"
        )
        python(script)
    assert all(isinstance(hook, Hook) for hook in hooks)


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
@pytest.mark.parametrize("name", ["function", "coroutine", "cached", "Engine.method"])
def test_an_armed_hook_pickles_to_the_bytes_of_its_original(
    library: ModuleType, dumps: Any, name: str
) -> None:
    """Dask makes keys of these bytes: ``submit(time.sleep, 1)`` is the same task as before."""
    bare = resolved(library, name)
    data = dumps(bare)

    with listening(place(name)):
        assert isinstance(resolved(library, name), Hook)
        assert dumps(resolved(library, name)) == data
        assert repr(resolved(library, name)) == repr(bare)


def _owner(library: ModuleType, name: str) -> tuple[Any, str]:
    path, _, attribute = name.rpartition(".")
    return (getattr(library, path) if path else library), attribute


def test_a_bound_hook_travels_with_its_instance(library: ModuleType) -> None:
    """``engine.method`` pickles as the attribute of the instance, as without a recording."""
    with listening(place("Engine.method")):
        data = pickle.dumps(library.Engine().method)

    method = pickle.loads(data)
    assert method.__func__ is library.Engine.method
    assert not isinstance(method.__func__, Hook)


def test_a_captured_hook_inside_a_function_travels(library: ModuleType) -> None:
    """A task that uses ``from library import function`` of the recorded cell still ships."""
    with listening(place("function")):
        captured = library.function
        data = cloudpickle.dumps(lambda x: captured(x))  # noqa: PLW0108  (a closure is meant)

    assert pickle.loads(data)(5)[0] == 5


def test_copies_of_a_hook_stand_for_the_same_place(library: ModuleType) -> None:
    """``copy`` of a function gives the function; of a hook, what its place holds."""
    with listening(place("function")):
        hook = library.function
        assert copy.copy(hook) is hook
        assert copy.deepcopy([hook])[0] is hook

    assert copy.copy(hook) is library.function


def test_the_kind_of_hook_follows_the_kind_of_callable(library: ModuleType) -> None:
    """C functions do not bind to instances; Python functions do; coroutines are awaited."""
    names = {"c_function": Hook, "function": MethodHook, "coroutine": CoroutineMethodHook}

    with listening(*(place(name) for name in names)):
        kinds = {name: type(getattr(library, name)) for name in names}

    assert kinds == names


def test_a_coroutine_runs_without_an_event_loop(library: ModuleType) -> None:
    """Whoever drives coroutines without asyncio (IPython, trio) is not disturbed."""

    async def immediate() -> str:
        return "done"

    vars(library)["coroutine"] = immediate
    with listening(place("coroutine")) as recorder, pytest.raises(StopIteration) as done:
        library.coroutine().send(None)

    assert done.value.value == "done"
    assert len(recorder.page) == 1


def test_a_before_that_returns_nonsense_is_a_failure_of_ours(library: ModuleType) -> None:
    """A ``before`` that forgets the token is noted; the user's call keeps its arguments."""
    with listening(place("function", before=lambda args, kwargs: (args, kwargs))) as recorder:
        result = library.function(1, c=2)

    assert (result[0], result[4]) == (1, 2)
    assert len(recorder.failures) == 1


def test_a_function_that_wraps_a_hook_still_travels(library: ModuleType) -> None:
    """``functools.wraps`` copies only small texts from a hook, not the globals of its library."""
    vars(library)["big"] = bytearray(1_000_000)
    with listening(place("function")):

        @functools.wraps(library.function)
        def mine(*args: object) -> int:
            return len(args)

        size = len(cloudpickle.dumps(mine))

    assert not {"__globals__", "__code__"} & set(vars(mine))
    assert size < 5_000


def test_a_hook_of_a_cached_function_has_its_cache_functions(library: ModuleType) -> None:
    """``cached.cache_info()`` and ``cache_clear()`` work while a recording runs."""
    with listening(place("cached")):
        library.cached(1)
        library.cached(1)
        hits = library.cached.cache_info().hits
        library.cached.cache_clear()

    assert hits == 1
    assert library.cached.cache_info().hits == 0


def test_a_bound_method_in_a_class_is_not_bound_again(library: ModuleType) -> None:
    """A class attribute that is one of something else, awaited or not, keeps its own ``self``."""
    other = library.Engine()
    library.Engine.borrowed, library.Engine.awaited = other.method, other.fetch
    with listening(place("Engine.borrowed"), place("Engine.awaited")):
        results = library.Engine().borrowed(1), asyncio.run(library.Engine().awaited(1))

    assert results == ((other, 1, 2), (other, 1))


def test_hooks_work_where_page_faults_cannot_be_counted() -> None:
    """Windows has no ``resource``, macOS no counts of a thread: unknown there, not an error."""
    script = (
        "import sys, types\n"
        "sys.modules['resource'] = {}\n"
        "from jupyter_serprof.capture.hook import Hook\n"
        "from jupyter_serprof.capture.hook import Place\n"
        "from jupyter_serprof.capture.recorder import Recorder\n"
        "hook, recorder = Hook(len, Place('builtins:len', 'user', faults='thread')), Recorder([])\n"
        "hook.sinks = (recorder,)\n"
        "assert hook('abc') == 3\n"
        "assert next(iter(recorder.page))[4] is None\n"
    )
    bare_macos = "types.SimpleNamespace(RUSAGE_SELF=0, getrusage=None)"

    for module in ("None", bare_macos):
        python(script.format(module))
