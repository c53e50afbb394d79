"""Stacks: what a sample belongs to, for stacks of stand-in modules, from the outside in."""

import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from threading import get_ident
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pythons import python

from jupyter_serprof.probes.dask.sampling import (
    ConstructionSampler,
    Piece,
    SameSamples,
    Seen,
    StackReader,
    gaps_filled,
    spread,
)

CODE = Seen("python.code", "your code")
BUILD = Seen("dask.construct", "array.ones")


def _function(module: str, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    *around, last = name.split(".")
    if around == ["make", "<locals>"]:
        text = f"def make():\n def {last}(): inner()\n return {last}\nmade = make()"
    elif around:
        text = f"class {around[0]}:\n def {last}(self): inner()\n"
        text += f"made = object.__new__({around[0]}).{last}"
    elif last == "<module>":
        code = compile("inner()", "cell", "exec")
        return partial(exec, code, {"__name__": module, "inner": inner})
    else:
        text = f"def {last}(): inner()\nmade = {last}"
    space: dict[str, Any] = {"__name__": module, "inner": inner}
    exec(text, space)  # noqa: S102  (code of a module that does not exist)
    made: Callable[..., Any] = space["made"]
    return made


#: Between the test's own frames and the stack: what a kernel has there.
KERNEL = ("IPython.core.interactiveshell", "run_code")


def above_the_kernel(*calls: tuple[str, str]) -> Seen | None:
    """Read a stack as it stands above a recording that a magic began."""
    found: list[Seen | None] = []

    def begin() -> None:
        readers.append(StackReader(sys._getframe(1)))

    def read() -> None:
        found.append(readers[0].read(sys._getframe(1)))

    readers: list[StackReader] = []
    call: Callable[..., Any] = read
    for module, name in reversed(calls):
        call = _function(module, name, call)

    def run() -> None:
        begin()
        call()

    space: dict[str, Any] = {"__name__": KERNEL[0], "begin": begin, "inner": call}
    exec("def run_code():\n begin()\n inner()", space)  # noqa: S102
    space["run_code"]()
    return found[0]


CELL = ("__main__", "<module>")
#: Calls from the outside in, and what a look at them is told as.
STACKS: dict[str, tuple[list[tuple[str, str]], Seen | None]] = {
    "a loop in the cell has no name but the stage's": ([CELL], CODE),
    "the first function that the cell calls": (
        [CELL, ("mine.loading", "load"), ("numpy", "add")],
        Seen("python.code", "load"),
    ),
    "the outermost call of Dask, whoever stands around it": (
        [
            *(CELL, ("__main__", "build"), ("dask.array.core", "concatenate")),
            *(("dask.highlevelgraph", "merge"), ("__main__", "callback")),
        ],
        Seen("dask.construct", "array.concatenate"),
    ),
    "a method by its class, a wrapper by what it wraps": (
        [
            *(CELL, ("dask.array.core", "make.<locals>.wrapper")),
            ("dask.array.core", "Array.__add__"),
        ],
        Seen("dask.construct", "Array.__add__"),
    ),
    "compute builds no graph": (
        [CELL, ("dask.base", "DaskMethodsMixin.compute")],
        Seen("dask.prepare", "DaskMethodsMixin.compute"),
    ),
    "submit builds no graph": (
        [CELL, ("distributed.client", "Client.submit")],
        Seen("dask.submit", "Client.submit"),
    ),
    "a client that starts": (
        [CELL, ("distributed.client", "Client.__init__")],
        Seen("python.code", "Client.__init__"),
    ),
    "IPython before and after the cell": ([("IPython.core.events", "trigger")], None),
    "an event loop and Dask's own callbacks": (
        [("asyncio.events", "run"), ("distributed.client", "beat")],
        None,
    ),
    "what we do behind the cell": ([("jupyter_serprof.magics.cell", "after")], None),
    "our own end of a block": ([CELL, ("jupyter_serprof.experiments", "stop")], None),
    "nothing": ([], None),
}


@pytest.mark.parametrize(("calls", "seen"), STACKS.values(), ids=STACKS)
def test_a_stack_is_the_users_code_or_a_call_of_dask_or_nobodys(
    calls: list[tuple[str, str]], seen: Seen | None
) -> None:
    """Read above the frame in which a magic began to record."""
    assert above_the_kernel(*calls) == seen


def test_the_function_that_began_to_record_is_the_users() -> None:
    """Its frame is older than the recording, and what it does itself is its code."""
    readers: list[StackReader] = []

    def begin() -> None:
        readers.append(StackReader(sys._getframe()))

    begin()

    itself = readers[0].read(sys._getframe())
    called = _seen_from_a_call(readers[0])

    assert itself == CODE
    assert called == Seen("python.code", "_seen_from_a_call")


def _seen_from_a_call(reader: StackReader) -> Seen | None:
    return reader.read(sys._getframe())


def test_each_instant_goes_to_the_nearest_look() -> None:
    """The same on both sides: all of the gap; different: half of it each."""
    stretches = [SameSamples(CODE, 10, 30), SameSamples(BUILD, 40, 60), SameSamples(None, 70, 70)]

    found = list(spread(stretches, 0, 100))

    assert found == [Piece(0, 35, CODE), Piece(35, 65, BUILD)]


def test_watched_calls_keep_their_time() -> None:
    """A sample inside a watched call gives nothing; what lies around it stays."""
    pieces = [Piece(0, 35, CODE), Piece(35, 65, BUILD), Piece(80, 90, CODE)]
    watched = [(5, 10), (7, 8), (30, 40), (60, 85)]

    found = list(gaps_filled(pieces, watched))

    assert found == [
        Piece(0, 5, CODE),
        Piece(10, 30, CODE),
        Piece(40, 60, BUILD),
        Piece(85, 90, CODE),
    ]


@given(
    st.lists(st.tuples(st.sampled_from([CODE, BUILD, None]), st.integers(0, 1000)), max_size=20),
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 300)), max_size=20),
)
def test_pieces_and_watched_calls_never_overlap_and_lose_nothing(
    looks: list[tuple[Seen | None, int]], calls: list[tuple[int, int]]
) -> None:
    """Whatever was seen when: each instant of a piece is watched, or in what remains, not both."""
    times = sorted(at for _, at in looks)
    stretches = [SameSamples(seen, at, at) for (seen, _), at in zip(looks, times, strict=True)]
    watched = sorted((start, start + length) for start, length in calls)

    pieces = list(spread(stretches, 0, 1000))
    left = list(gaps_filled(pieces, watched))

    covered = {at for start, end in watched for at in range(start, end)}
    whole = {at for piece in pieces for at in range(piece.start, piece.end)}
    kept = [at for piece in left for at in range(piece.start, piece.end)]
    assert sorted(kept) == sorted(whole - covered)
    assert all(a.end <= b.start for a, b in pairwise(left))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((), "looked 0 times"),
        ((5,), "looked 1 time"),
        ((5, 2_000_005), "looked 2 times, at most 2.00 ms apart"),
    ],
)
def test_it_says_how_far_apart_its_looks_are_once_there_are_two(
    times: tuple[int, ...], said: str
) -> None:
    """One look is not "1 looks, at most 0 ms apart"."""
    sampler, clock = ConstructionSampler(), iter(times)
    for _ in times:
        sampler._look(lambda: next(clock), get_ident(), StackReader())

    assert sampler.level() == said


#: A collection lets go of the interpreter in each look, and code that was looked at returns.
COLLECTED = """
import gc, itertools, sys, threading, time
from jupyter_serprof.probes.dask.sampling import ConstructionSampler, StackReader

def look(thread):
    for _ in range(900):
        sampler._look(time.perf_counter_ns, thread, reader)

def deep(level):
    if level:
        deep(level - 1)

sampler, reader = ConstructionSampler(), StackReader()
gc.callbacks.append(lambda *_: time.sleep(0.0002))
gc.set_threshold(7)
sys.setswitchinterval(0.0001)
looking = threading.Thread(target=look, args=[threading.get_ident()])
looking.start()
for level in itertools.cycle(range(100, 600, 37)):
    if not looking.is_alive():
        break
    deep(level)
print(gc.isenabled(), sampler.level().partition(",")[0])
"""


def test_a_collection_while_it_looks_ends_no_process() -> None:
    """Python 3.11 collects inside of ``frame.f_back``; the frame may be gone behind it."""
    assert python(COLLECTED) == "True looked 900 times\n"
