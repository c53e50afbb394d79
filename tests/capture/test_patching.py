"""Arming and removing: whatever happens in between, every attribute is the identical object."""

import functools
import random
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import permutations
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from interrupts import pressed
from threads import in_threads

from jupyter_serprof.capture import patching
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.patching import Subscription, armed_places, remove_all, sweep
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.testing import TickClock

NAME = "serprof_patched"
SOURCE = """
import abc, functools, math

class Engine:
    def method(self, x): return x
    def fails(self, x): raise ValueError(x)
    @staticmethod
    def static(x): return x
    @classmethod
    def build(cls, x): return x
    async def fetch(self, x): return x
    def each(self): yield 1
    async def stream(self): yield 1
    @property
    def size(self): return 3
    @functools.cached_property
    def later(self): return 4
    number = 5

class Turbo(Engine): pass
class Deep(Turbo): pass
class Face(abc.ABC): pass

def function(x): return x
async def coroutine(x): return x
def generator(x): yield x
c_function = math.sqrt
c_descriptor = str.upper
cached = functools.lru_cache(function)
partial = functools.partial(function)
"""
PLACES = [
    *("function", "coroutine", "c_function", "c_descriptor", "cached", "partial"),
    *("Engine.method", "Engine.fails", "Engine.static", "Engine.build", "Engine.fetch"),
    *("Turbo.method", "Turbo.static", "Turbo.build", "Deep.method", "Deep.fails"),
]


def make_library() -> ModuleType:
    module = ModuleType(NAME)
    exec(SOURCE, vars(module))  # noqa: S102  (a library of the test's own)
    return module


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A library that only this test knows; nothing of it stays armed."""
    module = make_library()
    monkeypatch.setitem(sys.modules, NAME, module)
    yield module
    left = armed_places()
    # Some tests leave a hook buried under a wrapper for ever.
    patching._PATCHES.clear()
    assert not left


def owner_of(module: ModuleType, place: str) -> tuple[Any, str]:
    path, _, attribute = place.rpartition(".")
    return (getattr(module, path) if path else module), attribute


def attributes(module: ModuleType) -> dict[str, object]:
    """Return what the namespaces hold; an inherited attribute is not there."""
    found = {}
    for place in PLACES:
        owner, attribute = owner_of(module, place)
        found[place] = vars(owner).get(attribute, "inherited")
    return found


def same(left: dict[str, object], right: dict[str, object]) -> list[str]:
    """Return the places that do not hold the identical object."""
    return [place for place in left if left[place] is not right[place]]


def recorder() -> Recorder:
    return Recorder([], clock=TickClock(tick_ns=10))


def arm(place: str, sink: Recorder) -> Subscription:
    return patching.arm(Place(f"{NAME}:{place}", "user"), sink)


def use(module: ModuleType, place: str) -> object:
    """Call what stands at a place, as a user does."""
    owner, attribute = owner_of(module, place)
    holder = owner() if isinstance(owner, type) else owner
    return getattr(holder, attribute)("4" if attribute == "c_descriptor" else 4)


@pytest.mark.parametrize("place", PLACES)
def test_removing_puts_the_identical_object_back(library: ModuleType, place: str) -> None:
    """An inherited attribute leaves no litter in the subclass; others are the same object again."""
    before = attributes(library)

    subscription = arm(place, recorder())
    changed = same(before, attributes(library))
    subscription.remove()

    assert changed == [place]
    assert same(before, attributes(library)) == []
    assert vars(library.Turbo).keys() == vars(make_library().Turbo).keys()


def test_a_static_method_stays_static_and_a_class_method_a_class_method(
    library: ModuleType,
) -> None:
    """The kind of the descriptor in the class does not change while it is watched."""
    subscriptions = [arm(place, recorder()) for place in ("Engine.static", "Engine.build")]

    kinds = [type(vars(library.Engine)[name]) for name in ("static", "build")]
    remove_all(subscriptions)

    assert kinds == [staticmethod, classmethod]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_recordings_leave_in_any_order(library: ModuleType, order: tuple[int, ...]) -> None:
    """Three recordings share one hook; the last one that leaves puts the original back."""
    before = attributes(library)
    pages = [recorder() for _ in range(3)]
    subscriptions = [arm("Engine.method", page) for page in pages]

    counts = []
    for index in order:
        use(library, "Engine.method")
        subscriptions[index].remove()
        counts.append([len(page.page) for page in pages])

    assert same(before, attributes(library)) == []
    assert [counts[-1][index] for index in order] == [1, 2, 3]


def test_removing_twice_is_removing_once(library: ModuleType) -> None:
    """A second ``remove`` of one subscription does not take away another recording's."""
    first, second = recorder(), recorder()
    gone, kept = arm("function", first), arm("function", second)

    gone.remove()
    gone.remove()
    library.function(1)
    kept.remove()

    assert (len(first.page), len(second.page)) == (0, 1)


def test_a_base_and_its_subclass_can_both_be_watched(library: ModuleType) -> None:
    """Hooks on an attribute and on its inherited name are independent, removed in either order."""
    before = attributes(library)

    for order in (1, -1):
        page = recorder()
        both = [arm("Engine.method", page), arm("Turbo.method", page)]
        assert library.Turbo().method(1) == library.Engine().method(1) == 1
        for subscription in both[::order]:
            subscription.remove()
        assert len(page.page) == 3
        assert same(before, attributes(library)) == []


ORDERS = [
    order
    for order in permutations(("arm", "wrap", "remove", "unwrap"))
    if order.index("arm") < order.index("remove") and order.index("wrap") < order.index("unwrap")
]


def wrap(owner: Any, attribute: str) -> Callable[[], None]:
    """Do what another tool does: wrap an attribute, and later put back what it found there."""
    found, had = getattr(owner, attribute), attribute in vars(owner)

    @functools.wraps(found)
    def other(*args: object, **kwargs: object) -> object:
        return found(*args, **kwargs)

    setattr(owner, attribute, other)
    return lambda: setattr(owner, attribute, found) if had else delattr(owner, attribute)


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
@pytest.mark.parametrize("place", ["function", "Engine.method", "Turbo.method", "c_function"])
def test_another_tools_wrapper_comes_and_goes_in_any_order(
    library: ModuleType, order: tuple[str, ...], place: str
) -> None:
    """Wrapped before us or after us, removed before or after: the identical object is back."""
    # If the tool puts our idle hook back after we left, the next recording or ``sweep`` clears it.
    before, page, undo = attributes(library), recorder(), {}

    for step in order:
        if step == "arm":
            undo["remove"] = arm(place, page).remove
        elif step == "wrap":
            undo["unwrap"] = wrap(*owner_of(library, place))
        else:
            undo[step]()
        assert use(library, place) in (2, 4)
    sweep()

    assert same(before, attributes(library)) == []
    assert page.page


def test_a_wrapper_that_stays_is_watched_once_by_the_next_recording(library: ModuleType) -> None:
    """It survives our leaving, and the idle hook buried below does not make calls count twice."""
    silent, page = recorder(), recorder()
    buried = arm("function", silent)
    wrap(library, "function")
    wrapper = library.function
    buried.remove()

    was_left, result = library.function is wrapper, library.function(7)
    subscription = arm("function", page)
    library.function(1)
    subscription.remove()

    assert (was_left, result) == (True, 7)
    assert (len(silent.page), len(page.page)) == (0, 1)


def test_an_attribute_replaced_by_the_user_is_left_alone(library: ModuleType) -> None:
    subscription = arm("function", recorder())
    mine = library.__dict__["function"] = lambda x: -x

    subscription.remove()

    assert library.function is mine


def test_an_attribute_deleted_by_the_user_stays_deleted(library: ModuleType) -> None:
    subscription = arm("Turbo.method", recorder())
    del library.Turbo.method

    subscription.remove()

    assert "method" not in vars(library.Turbo)
    assert library.Turbo().method(3) == 3


@pytest.mark.parametrize(
    ("path", "error", "why"),
    [
        (f"{NAME}:nothing", AttributeError, "nothing"),
        (f"{NAME}:Engine.nothing", AttributeError, "nothing"),
        (f"{NAME}:Nothing.method", AttributeError, "Nothing"),
        ("no_such_module_:function", ImportError, "no_such_module_"),
        (f"{NAME}:Engine.number", TypeError, "Engine.number .* not a callable"),
        (f"{NAME}:Engine.size", TypeError, "Engine.size .* not a callable"),
        (f"{NAME}:Engine.later", TypeError, "Engine.later .* not a callable"),
        (f"{NAME}:generator", TypeError, "generator .* generator function"),
        (f"{NAME}:Engine.each", TypeError, "Engine.each .* generator function"),
        (f"{NAME}:Engine.stream", TypeError, "Engine.stream .* generator function"),
        (f"{NAME}:Engine", TypeError, "Engine .* it is a class"),
        (f"{NAME}:Face.register", TypeError, "Face.register .* class of the class"),
        ("builtins:str.upper", TypeError, "immutable|cannot set"),
    ],
)
def test_what_cannot_be_watched_is_refused_by_name(
    library: ModuleType, path: str, error: type[Exception], why: str
) -> None:
    """What is missing or would be measured or bound wrongly raises; nothing was changed."""
    library.Face.register(list)
    before = attributes(library)

    with pytest.raises(error, match=why):
        patching.arm(Place(path, "user"), recorder())

    assert same(before, attributes(library)) == []
    assert not patching._PATCHES


def test_armed_places_names_what_is_listened_to(library: ModuleType) -> None:
    """While a recording runs one can see what it touched."""
    subscription = arm("function", recorder())
    armed = armed_places()
    subscription.remove()

    assert armed == [f"{NAME}:function"]
    assert library.function(1) == 1


def test_another_name_for_the_same_function_can_hold_the_hook(library: ModuleType) -> None:
    """``from library import function`` typed in a notebook is watched at the notebook's name."""
    elsewhere = ModuleType("elsewhere")
    elsewhere.mine = library.function  # type: ignore[attr-defined]
    page, place = recorder(), Place(f"{NAME}:function", "user")

    subscription = patching.arm(place, page, owner=elsewhere, attribute="mine")
    result = elsewhere.mine(5)
    subscription.remove()

    assert result == 5
    assert [record[0] for record in page.page] == [place]
    assert elsewhere.mine is library.function


def cycle(module: ModuleType, draws: random.Random, steps: int) -> None:
    """Arm, call, raise and remove at random, out of order; remove everything at the end."""
    armed: list[Subscription] = []
    page = recorder()
    for _ in range(steps):
        action = draws.random()
        if action < 0.4:
            armed.append(arm(draws.choice(PLACES), page))
        elif action < 0.7 and armed:
            armed.pop(draws.randrange(len(armed))).remove()
        elif action < 0.85:
            with pytest.raises(ValueError, match="4"):
                use(module, "Engine.fails")
        else:
            assert use(module, "Engine.method") == 4
    draws.shuffle(armed)
    remove_all(armed)


def test_random_cycles_in_eight_threads_leave_the_identical_attributes(library: ModuleType) -> None:
    """Recordings in 8 threads at once share hooks and still put every original back."""
    before = attributes(library)
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            cycle(library, random.Random(seed), 250)  # noqa: S311
        except BaseException as error:  # noqa: BLE001  (a thread must not swallow it)
            errors.append(error)

    in_threads(functools.partial(work, seed) for seed in range(8))

    assert errors == []
    assert same(before, attributes(library)) == []
    assert not patching._PATCHES


class Cycles(RuleBasedStateMachine):
    """Recordings and other tools' wrappers come and go; calls always give the right result."""

    def __init__(self) -> None:
        super().__init__()
        self.module = sys.modules[NAME] = make_library()
        self.before = attributes(self.module)
        self.armed: list[Subscription] = []
        self.wrapped: list[Callable[[], None]] = []

    @rule(place=st.sampled_from(PLACES))
    def arm(self, place: str) -> None:
        self.armed.append(arm(place, recorder()))

    @precondition(lambda self: self.armed)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.armed) - 1))
        self.armed.pop(index).remove()

    @rule(place=st.sampled_from(["function", "Engine.method", "Turbo.method"]))
    def wrap(self, place: str) -> None:
        self.wrapped.append(wrap(*owner_of(self.module, place)))

    @precondition(lambda self: self.wrapped)
    @rule()
    def unwrap(self) -> None:
        """Other tools unwrap like a stack; what they do to each other is not our concern."""
        self.wrapped.pop()()

    @rule(place=st.sampled_from(PLACES))
    def call(self, place: str) -> None:
        if not place.endswith(("fetch", "coroutine", "fails")):
            assert use(self.module, place) in (2, 4, "4")

    @invariant()
    def nobody_listens_to_what_was_removed(self) -> None:
        """At most one hook for each recording that is left."""
        assert len(armed_places()) <= len(self.armed)

    def teardown(self) -> None:
        """All leave; the identical objects are back."""
        remove_all(self.armed)
        while self.wrapped:
            self.wrapped.pop()()
        sweep()
        assert same(self.before, attributes(self.module)) == []
        del sys.modules[NAME]
        patching._PATCHES.clear()


Cycles.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestCycles = Cycles.TestCase


def test_one_recording_that_arms_a_place_twice_records_a_call_once(library: ModuleType) -> None:
    """Two probes that watch one place do not double its spans; the first to leave ends nothing."""
    page = recorder()
    first, second = arm("function", page), arm("function", page)

    library.function(1)
    first.remove()
    first.remove()
    library.function(2)
    second.remove()
    library.function(3)

    assert len(page.page) == 2


def test_an_interrupt_at_any_line_of_arming_leaves_nothing(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while probes are armed: everything that the recording armed can be silenced."""
    before, lines, was_pressed = attributes(library), 0, True

    def begin() -> None:
        arm("Turbo.method", page)
        arm("function", page)

    while was_pressed and lines < 500:
        lines += 1
        page = recorder()
        was_pressed = pressed(begin, lines, patching.__file__)
        # Unlike a signal (bpo-29988), a tracer can come between a with block and its exit.
        monkeypatch.setattr(patching, "_LOCK", threading.RLock())
        patching.silence(page)
        assert same(before, attributes(library)) == [], f"line {lines}"
        assert not armed_places()

    assert 20 < lines < 500


def test_silencing_one_recording_leaves_the_others(library: ModuleType) -> None:
    """``silence`` takes away all that one recording listens to, and nothing of another's."""
    gone, kept = recorder(), recorder()
    subscriptions = [arm("function", gone), arm("Engine.method", gone), arm("function", kept)]

    patching.silence(gone)
    library.function(1)
    remove_all(subscriptions)

    assert (len(gone.page), len(kept.page)) == (0, 1)


def test_a_place_is_looked_up_without_holding_the_lock(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking up a place may wait for another thread's import, which may wait for our lock."""
    taken = []

    def take() -> None:
        taken.append(lock.acquire(timeout=1))
        if taken[0]:
            lock.release()

    def owner(self: Place) -> tuple[object, str]:
        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        return library, self.name

    lock = threading.RLock()
    monkeypatch.setattr(Place, "owner", owner)
    monkeypatch.setattr(patching, "_LOCK", lock)

    arm("function", recorder()).remove()

    assert taken == [True]


def test_looking_up_a_place_imports_nothing_that_is_loaded(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arming inside another recording is not seen there as an import of the user's."""
    monkeypatch.setattr("importlib._bootstrap._find_and_load", None)

    assert Place(f"{NAME}:Engine.method", "user").owner() == (library.Engine, "method")
    assert Place(f"{NAME}:function", "user").owner() == (library, "function")
