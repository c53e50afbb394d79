"""Culprits: the path to each part that cannot be pickled, found in bounded steps."""

import collections
import copyreg
import functools
import math
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import cloudpickle
import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.analysis.findings.unpicklable import without_parts
from jupyter_serprof.objects import culprits, picklers
from jupyter_serprof.objects.culprits import Culprit, culprits_text, error_text, find_culprits
from jupyter_serprof.testing import TickClock

LOCK = threading.Lock()
NAMED_GLOBAL = threading.Lock()
K_OF_A_GLOBAL: Any = type(
    "K", (), {"__init__": lambda _: repr(NAMED_GLOBAL) and None, "__module__": "__main__"}
)


class Holder:
    """An object with a lock among its attributes."""

    def __init__(self, part: object = LOCK) -> None:
        self.fine = 1
        self.part = part


class Slotted:
    """An object without a dict."""

    __slots__ = ("part",)

    def __init__(self, part: object) -> None:
        self.part = part


class Refuses:
    """An object that says itself that it cannot be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        message = "not me"
        raise ValueError(message)


class Node:
    """One link of a chain."""

    def __init__(self, following: "Node | None") -> None:
        self.following = following
        self.value = 1


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every value that the search tries to pickle."""
    tried: list[object] = []
    real = culprits._Search.error_of

    def noted(self: culprits._Search, value: object) -> str | None:
        tried.append(value)
        return real(self, value)

    monkeypatch.setattr(culprits._Search, "error_of", noted)
    return tried


@pytest.fixture
def closed_socket() -> Iterator[socket.socket]:
    with socket.socket() as made:
        yield made


def paths(value: object, *, takes_functions: bool = True) -> list[str]:
    return [
        culprit.path
        for culprit in find_culprits(value, "a", seconds=60, takes_functions=takes_functions)
    ]


def nested_list(depth: int) -> list[object]:
    made: list[object] = []
    for _ in range(depth):
        made = [made]
    return made


def iter_nothing() -> Iterator[int]:
    yield from ()


def chain(length: int) -> Node:
    node = Node(None)
    for _ in range(length):
        node = Node(node)
    return node


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (LOCK, "a"),
        ({"x": {"y": [1, LOCK]}}, "a['x']['y'][1]"),
        ({3: LOCK, 4: 1}, "a[3]"),
        ([1, (2, LOCK)], "a[1][1]"),
        ({1, LOCK}, "a.<element>"),
        (collections.deque([1, LOCK]), "a[1]"),
        ({LOCK: 1, "x": 2}, "a.<key lock>"),
        (Holder(), "a.part"),
        (Slotted(LOCK), "a.part"),
        (Holder(threading.Condition()), "a.part"),
        (Holder({"k": Slotted([LOCK])}), "a.part['k'].part[0]"),
        ([iter_nothing()], "a[0]"),
        (Refuses(), "a"),
        (functools.partial(print, LOCK, end=""), "a.args[0]"),
        (np.array([1, LOCK], dtype=object), "a[1]"),
        (pd.DataFrame({"u": [1, 2], "v": [LOCK, 2]}), "a['v']"),
        (type("K", (), {"shared": LOCK, "__module__": "__main__"})(), "a.__class__.shared"),
        (K_OF_A_GLOBAL(), "a.__class__.__init__.<global NAMED_GLOBAL>"),
        ({"k" * 10_000: LOCK}, "a[<str>]"),
        (Holder(None).__init__, ""),  # type: ignore[misc]  # a bound method pickles
        (lambda: NAMED_GLOBAL, "a.<global NAMED_GLOBAL>"),
        ({"a": [1, np.ones(3), len], "b": Holder(None)}, ""),
        ([LOCK, 1, {"x": LOCK}, Holder()], "a[0]; a[2]['x']; a[3].part"),
        ([threading.Lock() for _ in range(30)], "; ".join(f"a[{i}]" for i in range(10))),
    ],
)
def test_a_path_leads_to_the_culprit(value: object, path: str) -> None:
    """The path can be pasted, or says in words where no expression leads there; ten at most."""
    assert "; ".join(paths(value)) == path


def test_a_closure_names_the_captured_variable(closed_socket: socket.socket) -> None:
    """A lambda that captured a socket is to blame for the socket, by the variable's name."""

    def captures(connection: socket.socket) -> object:
        return lambda: connection

    found = find_culprits({"callback": captures(closed_socket)}, "job")

    (culprit,) = found
    assert culprit.path == "job['callback'].<closure connection>"
    assert culprit.type_name == "socket"
    assert "cannot pickle 'socket' object" in culprit.error


def test_a_function_of_the_notebook_names_the_global_and_the_default() -> None:
    """What a function uses by name travels with it, also what a function inside it uses."""
    names: dict[str, Any] = {"__name__": "__main__", "lock": LOCK}
    source = "def f(x=1, *, y=lock):\n    return [lock for _ in (lambda: lock)()]"
    exec(source, names)  # noqa: S102  (a function of a notebook's namespace)

    assert paths(names["f"]) == ["a.<global lock>", "a.<default y>"]


def test_pickle_itself_is_asked_where_it_is_the_transport() -> None:
    """A lambda is no culprit for cloudpickle and the culprit for pickle."""
    value = {"deep": {"f": lambda: 1}}

    with_functions, without = paths(value), paths(value, takes_functions=False)

    assert with_functions == []
    assert without == ["a['deep']['f']"]


def test_circles_end() -> None:
    value: dict[str, object] = {"one": 1}
    value["self"], value["bad"] = value, [value, LOCK]
    holder = Holder()
    holder.fine = holder  # type: ignore[assignment]  # a circle of objects

    found, of_object = paths(value), paths(holder)

    assert found == ["a['bad'][1]"]
    assert of_object == ["a.part"]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (nested_list(5000), "a"),
        ({"x": [1, 2, 3, 4, 5, {"y": nested_list(5000)}]}, "a['x'][5]['y']"),
        (chain(5000), "a"),
    ],
    ids=["list", "inside", "objects"],
)
def test_depth_itself_is_named_where_it_begins(value: object, path: str) -> None:
    """A list in a list in a list has no bad part: its depth is what pickle cannot take."""
    found = find_culprits(value, "a", seconds=60)

    assert [culprit.path for culprit in found] == [path]
    assert "nested too deeply for pickle" in culprits_text(found)


@pytest.mark.parametrize("bad", [[0], [77_777], [99_999], range(100_000)], ids=str)
def test_what_is_bad_of_100_000_takes_few_attempts(
    attempts: list[object], bad: Sequence[int]
) -> None:
    """It is found by halving, wherever it is: about two attempts for each halving; ten at most."""
    value = [[LOCK] if at in bad else [at] for at in range(100_000)]

    assert paths(value) == [f"a[{at}][0]" for at in bad[:10]]
    assert len(attempts) <= 2 * math.ceil(math.log2(100_000)) + 8 * len(bad[:10])


def test_the_time_is_kept_also_inside_one_large_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part with a million elements does not hold the search: the pickler looks at the clock."""
    clock = TickClock(tick_ns=10**9)
    seen: list[int] = []

    class Counts:
        def __reduce__(self) -> tuple[Any, ...]:
            seen.append(1)
            return (Counts, ())

    for module in (culprits, picklers):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock() / 1e9))
    value = [[Counts() for _ in range(50_000)], LOCK]

    found = find_culprits(value, seconds=3)

    assert found == []
    assert 0 < len(seen) < 5_000


def test_an_object_that_resists_being_looked_at_is_the_culprit() -> None:
    """Properties and mappings that raise while they are opened do not end in an error of ours."""

    class Hostile(Refuses):
        __slots__ = ("part",)

        def __getattribute__(self, name: str) -> object:
            if name in ("__dict__", "part"):
                raise OSError(name)
            return object.__getattribute__(self, name)

    assert paths([Hostile()]) == ["a[0]"]


def test_an_interrupt_passes_through() -> None:
    class Interrupts:
        def __reduce__(self) -> tuple[Any, ...]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_culprits(Interrupts())

    assert sys.exc_info() == (None, None, None)


def test_the_sentence_names_all() -> None:
    found = [Culprit("a.x", "lock", "TypeError"), Culprit("a.y", "socket", "TypeError")]

    assert culprits_text(found) == "cannot be pickled because of a.x (lock); a.y (socket)"
    assert culprits_text([]) == ""


class Minds:
    """An object whose reducer raises what it is given."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> NoReturn:
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("no!"), "(Minds, RuntimeError: no!)"),
        (KeyError(), "(Minds, KeyError)"),
        (TypeError("cannot pickle a model that trains: stop it"), "that trains: stop it)"),
        (OSError("no /home/jane/x.csv"), "(Minds, OSError: no x.csv)"),
        (TypeError("cannot pickle '_thread.lock' object"), "a (Minds)"),
        (AttributeError("Can't pickle local object 'f.<locals>.g'"), "a (Minds)"),
    ],
)
def test_what_the_reducer_of_the_user_said_is_told(error: Exception, said: str) -> None:
    """The words of pickle itself say nothing that the type does not."""
    assert said in culprits_text(find_culprits(Minds(error), "a"))


def test_a_deep_dict_is_named_in_a_short_line() -> None:
    """Ten thousand levels: where the search ends says nothing more than that it is deep."""
    value: dict[str, object] = {}
    for _ in range(10_000):
        value = {"k": value}

    text = culprits_text(find_culprits(value, "deep", seconds=60))

    assert text.startswith("deep['k']['k']['k']")
    assert text.endswith("… (dict) is nested too deeply for pickle. Flatten it, e.g. into one list")
    assert len(text) < 300


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(""), "ValueError"),
        (ValueError("first\nsecond"), "ValueError: first"),
        (OSError(2, "No such file", "/home/jane/secret/x.csv"), "x.csv"),
        (OSError(2, "No such file", "/home/jane doe/x.csv"), "'x.csv'"),
        (ValueError("see ~/jane/x.csv, line 3"), "ValueError: see x.csv, line 3"),
        (ValueError("http://jane.example/x"), "x"),
        (OSError(2, "No such file", "C:\\Users\\jane\\x.csv"), "x.csv"),
        (TypeError("Can't pickle <f at 0x7f00aa>: no"), "TypeError: Can't pickle <f>: no"),
        (ValueError("and/or 3 / 4 bytes/s"), "ValueError: and/or 3 / 4 bytes/s"),
        (ValueError("x" * 1000), f"ValueError: {'x' * 197}..."),
    ],
)
def test_what_an_error_says_is_short_and_private(error: Exception, said: str) -> None:
    """A document that is shared holds no paths, user names or addresses of the machine."""
    text = error_text(error)

    assert text.endswith(said) or said in text
    assert "jane" not in text
    assert "0x" not in text
    assert len(text) < 250


def test_the_class_that_holds_a_culprit_is_named() -> None:
    """It is where ``__getstate__`` has to leave it out."""
    holder = type("Conn", (), {})()
    holder.lock = threading.Lock()

    (found,) = find_culprits([holder], "conns")

    assert found[:2] == ("conns[0].lock", "lock of Conn")
    remedy, why = without_parts([found[:2]])
    assert remedy.endswith("   # all locks of this process: new in each copy")
    assert len(remedy) < 155
    assert why == "it is a lock of Conn"


@pytest.mark.parametrize("made", [threading.Lock, threading.RLock, threading.local])
@pytest.mark.parametrize("name", ["holder", "holders[0].svc"])
def test_a_pasted_line_lets_the_object_go_with_all_of_its_attributes(
    made: Callable[[], Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left out is made anew, or None: its first use is no AttributeError."""
    monkeypatch.setitem(copyreg.dispatch_table, type(made()), None)
    del copyreg.dispatch_table[type(made())]
    own: Any = type("Own", (Holder,), {})
    value, part = own(made()), made()
    value.rows = [1, 2]
    names = {"holder": value, "holders": [SimpleNamespace(svc=value)]}
    (found,) = find_culprits(value, name)

    exec(without_parts([found[:2]])[0], names)  # noqa: S102  (what is pasted)

    got = cloudpickle.loads(cloudpickle.dumps(names.get("to_send", value)))
    got = got[0].svc if isinstance(got, list) else got
    assert (got.rows, type(got)) == ([1, 2], own)
    assert type(got.part) is (type(None) if made is threading.local else type(part))


@pytest.mark.parametrize("path", ["log", "d['log']", "jobs[0].log"])
def test_in_place_of_an_open_file_its_path_goes(tmp_path: Path, path: str) -> None:
    """As a variable, in a dict, in an object of the user; a stream without a path is no file."""
    with (tmp_path / "log.txt").open("w") as log:
        job: Any = type("Job", (), {})()
        job.log = log
        names: dict[str, Any] = {"log": log, "d": {"log": log, "x": 1}, "jobs": [job]}
        name = re.split(r"\W", path)[0]
        (found,) = find_culprits(names[name], name)

        exec(without_parts([found[:2]])[0], names)  # noqa: S102  (what is pasted)

        assert found.path == path
        got = cloudpickle.loads(cloudpickle.dumps(names.get("to_send", names[name])))
        assert eval(path, {name: got}) == log.name  # noqa: S307  (a path of this file)
    assert find_culprits({"err": sys.__stderr__})[0].type_name == "TextIOWrapper"
    assert "Pass its path" in culprits_text([Culprit("log", "file", "TypeError")])


def test_no_class_of_a_library_is_edited_and_all_is_pickled() -> None:
    """A thread holds its condition; a function goes with what lies beside it."""
    (found,) = find_culprits([threading.Condition()], "jobs")

    assert found[:2] == ("jobs[0]", "Condition")  # whole, without its own locks
    assert without_parts([("h['fn']", "function")])[0].startswith("import cloudpickle; data = ")
    assert without_parts([("g.z", "Connection of G with __getstate__")])[0] == ""
