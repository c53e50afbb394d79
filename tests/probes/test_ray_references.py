"""References that travel: who waits for them, who counts them, and functions that write globals."""

import asyncio
import functools
import json
from typing import Any

import pandas as pd  # noqa: F401  (without it there is no DataFrame)
import pytest

from jupyter_serprof.capture.freeze import Draft
from jupyter_serprof.objects.captured import blocks_its_loop, globals_written, inputs_changed
from jupyter_serprof.probes.pickle import DUMPS_ROLE
from jupyter_serprof.probes.ray.values import REFERENCE, plain_look, take_references, tell_nested

MB = 1_000_000
SHARED: dict[str, int] = {}
ray: Any = None  # its name in the code is enough
LISTED: list[str] = []


def call(role: str, parent: Draft | None = None, extra: Any = None) -> Draft:
    return Draft("ray.submit", "call", "client/main", 0, 10, role, parent, extra=extra)


def run(task: bytes, start: int, end: int, name: str = "work") -> Draft:
    return Draft("ray.execute", name, "worker 1", start, end, extra=task)


@pytest.mark.parametrize(
    ("inner", "waited_ns"),
    [
        (run(b"inner", 0, 70), 40),
        (run(b"inner", 0, 200), 60),
        (run(b"inner", 0, 30), None),
        (run(b"inner", 0, 70, "Queue.__init__"), None),
        (run(b"other", 0, 70), None),
    ],
    ids=["until it is there", "all the time", "was there", "handle of an actor", "of nobody"],
)
def test_a_task_waits_while_what_is_inside_of_its_argument_runs(
    inner: Draft, waited_ns: int | None
) -> None:
    """From its own start to the end of the other one, as long as it runs itself."""
    submit, outer = call("ray.submit", extra=b"outer"), run(b"outer", 30, 90)
    mark = call(REFERENCE, call("ray.serialize", submit), (True, b"inner"))
    drafts = [submit, mark, outer, inner]

    tell_nested(drafts, take_references(drafts))

    assert outer.details.get("nested_wait_ns") == waited_ns
    assert mark.is_dropped


def test_a_reference_is_told_of_the_pickle_that_ray_did_not_make() -> None:
    by_hand, exported = call(DUMPS_ROLE), call(DUMPS_ROLE, call("ray.submit"))
    marks = [call(REFERENCE, by_hand, (False, b"1")), call(REFERENCE, by_hand, (False, b"2"))]
    marks += [call(REFERENCE, exported, (False, b"3")), call(REFERENCE, call(DUMPS_ROLE))]

    assert not take_references([by_hand, exported, *marks])

    assert (by_hand.details, exported.details) == ({"references": 2}, {})


def _writes(key: str) -> None:
    SHARED[key] = 1
    SHARED["all"] += 1


def _appends(key: str) -> None:
    LISTED.append(key)
    pytest.skip.append(key)  # type: ignore[attr-defined]  # whatever that means there


def _assigns() -> None:
    global SHARED  # noqa: PLW0603  (that is the case)
    SHARED = {}


def _reads(key: str) -> dict[str, int]:
    own = {}
    own[key] = SHARED[key]
    pytest.own = own  # type: ignore[attr-defined]  # a module is configured, not shared
    return own


@pytest.mark.parametrize(
    ("function", "names"),
    [
        *((_writes, ["SHARED"]), (_appends, ["LISTED"]), (_assigns, ["SHARED"]), (_reads, [])),
        *((len, []), (pytest.skip, [])),
    ],
)
def test_a_function_writes_the_globals_that_it_assigns_to(function: Any, names: list[str]) -> None:
    """Also to a part of them; what a library keeps in each process is its own affair."""
    assert globals_written(function) == names


def _in_place(array: Any, table: Any) -> None:
    array[0] += 1
    table.column, _ = 5, 7


def _adds(array: Any, values: Any, other: Any) -> None:
    array += 1
    values.append(len(other))
    for other in values:  # noqa: PLR1704  (that is the case)
        other[0] = 1


def _copies(array: Any) -> Any:
    array = array.copy()
    array[0] = 1
    return array


@pytest.mark.parametrize(
    ("function", "changed"),
    [
        (_in_place, {"array": True, "table": True}),
        (_adds, {"array": False}),
        (_copies, {}),
        (json.JSONDecoder.__init__, {}),
    ],
)
def test_a_function_changes_the_arguments_it_writes_into(function: Any, changed: Any) -> None:
    """Surely where it writes a part, and unless it is a number where it adds; not a copy."""
    assert inputs_changed(function) == changed


def method(function: Any) -> Any:
    """Return a method as Ray keeps it, wrapped."""

    @functools.wraps(function)
    def traced(*given: Any) -> Any:
        return function(*given)

    return traced


@method
async def _gets(ref: Any) -> Any:
    return ray.get(ref)


@method
async def _awaits(ref: Any) -> Any:
    return await asyncio.to_thread(lambda: ray.get(ref))


@method
def _is_plain(ref: Any) -> Any:
    return ray.get(ref)


@pytest.mark.parametrize(
    ("function", "blocks"), [(_gets, True), (_awaits, False), (_is_plain, False), (len, False)]
)
def test_a_coroutine_blocks_its_loop_by_its_own_code(function: Any, blocks: bool) -> None:
    """What a thread or a plain method waits for holds no other coroutine up."""
    assert blocks_its_loop(function) == blocks


def test_a_list_is_looked_at_without_code_of_its_elements() -> None:
    """What makes one block of it is told by types and keys that Python itself compares."""
    asked = list[str]()

    class Meta(type):
        def __hash__(cls) -> int:
            asked.append("hash")
            return 1

    class Key:
        def __hash__(self) -> int:
            asked.extend(["key"] * is_over)
            return 1

    is_over = False
    rows = [{Key(): 1} for _ in range(20)]
    is_over = True

    many = {"name": "", "block_form": "", "items": 20}
    assert plain_look([Meta("Each", (), {})() for _ in range(20)], MB) == many
    assert plain_look(rows, MB) == many
    assert not asked
    assert plain_look([{"a": 1, "b": 2}] * 20, MB) == many | {"block_form": "pd.DataFrame"}
    assert plain_look([{"a": 1}, {"b": 2}] * 10, MB) == many
    assert plain_look([(1, "a")] * 20, MB) == many | {"block_form": "columns"}
    assert plain_look([(1, [])] * 20, MB) == many
