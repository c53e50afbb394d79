"""Who holds the bytes of a Dask graph: of what the client really sends, against one pickle."""

from __future__ import annotations

import functools
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dask.blockwise import Blockwise
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from jupyter_serprof.model import UsageError
from jupyter_serprof.model.trace import IN_CODE
from jupyter_serprof.objects.culprits import find_culprits
from jupyter_serprof.probes.dask.client import _steps
from jupyter_serprof.probes.dask.computations import _SORTS
from jupyter_serprof.probes.dask.graph.graph import KeptGraphs, table
from jupyter_serprof.probes.dask.graph.look import GraphBytes, graph_objects
from jupyter_serprof.probes.dask.graph.look import graph_bytes as graph_bytes_of
from jupyter_serprof.probes.dask.graph.picklers import find_unpicklable
from jupyter_serprof.probes.dask.graph.sections import LOW_LEVEL, sections, sent_graph

if TYPE_CHECKING:
    from distributed import Client

# Imported so because they are typed only in part.
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
dd = pytest.importorskip("dask.dataframe")
client_module = pytest.importorskip("distributed.client")
dumps: Any = pytest.importorskip("distributed.protocol.pickle").dumps

MB = 1_000_000
#: 8 MB, and the bytes that its pickle takes beside the data.
BIG = np.arange(MB, dtype=np.float64)
SLACK = 2_000
CROWD = dict.fromkeys(range(5_000))

pytestmark = pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning")


class _Sent(Exception):  # noqa: N818  (it stops the client once the graph is known)
    pass


def sent(function: Callable[[], object]) -> Any:
    """Return what the client gives to ``serialize``; nothing is sent."""
    graphs: list[Any] = []

    def note(graph: object, **_: object) -> None:
        graphs.append(graph)
        raise _Sent

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client_module, "serialize", note)
        with pytest.raises(_Sent):
            function()
    return sent_graph(graphs[0])


def graph_bytes(graph: object, seconds: float = 60) -> GraphBytes:
    """Look without hurry; the share of a row is of a gigabyte."""
    return graph_bytes_of(graph, 1_000 * MB, seconds=seconds)


def pickled(graph: object) -> tuple[bytes, int]:
    """Return the pickle that distributed makes, and its bytes with the buffers."""
    buffers: list[Any] = []
    data = dumps(graph, buffer_callback=buffers.append)
    return data, len(data) + sum(memoryview(buffer).nbytes for buffer in buffers)


def first(value: Any, *_: object) -> Any:
    return value


class Model:
    """A model as scikit-learn has it: an array behind an attribute, used by a bound method."""

    def __init__(self) -> None:
        self.coef = BIG
        self.names = ["a", "b"]

    def predict(self, value: object) -> object:
        return value


class Dataset:
    """As xarray has it: variables in a dict, with dimensions and attributes."""

    def __init__(self) -> None:
        self._variables = {"t": (("x",), BIG, {"units": "K"})}


class Asking:
    """It notes who reduces it, and what in it is asked."""

    asked = 0

    def __init__(self) -> None:
        self.inner = BIG

    def __reduce__(self) -> Any:
        Asking.asked += 1
        return list, ()

    def __len__(self) -> int:
        Asking.asked += 1
        return 1


def closure() -> Callable[[Any], Any]:
    array = BIG

    def inner(block: Any) -> Any:
        return block + array[0]

    return inner


def reads_a_global(value: Any) -> Any:
    return value + BIG[0]


def by_value(function: Any) -> Any:
    """Make a function one of the notebook: pickled by value, with the globals that it reads."""
    import types

    made = types.FunctionType(function.__code__, {"BIG": BIG, "__name__": "__main__"}, "f")
    made.__module__ = "__main__"
    return made


def delayed_many(function: Any, *args: object, count: int) -> Callable[[], object]:
    return lambda: dask.compute(*[dask.delayed(function)(*args, i) for i in range(count)])


def ones() -> Any:
    return da.ones((100,), chunks=10)


def frame() -> Any:
    return pd.DataFrame({"a": np.arange(MB), "b": 1.0})


def big(references: int, where: str = "") -> list[tuple[str, int, int]]:
    return [(f"numpy.ndarray float64 (1000000,){where}", 8 * MB, references)]


CASES: dict[str, tuple[Callable[[Any], object], list[tuple[str, int, int]]]] = {
    # What is submitted, and of each large object: kind, bytes, references.
    "delayed": (lambda _: delayed_many(first, BIG, count=100)(), big(100)),
    "delayed once": (
        lambda _: dask.compute(*map(dask.delayed(first), [dask.delayed(BIG)] * 9)),
        big(1),
    ),
    "bound method": (lambda _: delayed_many(Model().predict, count=50)(), big(50, IN_CODE)),
    "partial": (lambda _: delayed_many(functools.partial(first, BIG), count=10)(), big(10)),
    "closure": (lambda _: ones().map_blocks(closure(), dtype=float).compute(), big(10, IN_CODE)),
    "global": (lambda _: delayed_many(by_value(reads_a_global), count=7)(), big(7, IN_CODE)),
    "argument of map_blocks": (
        lambda _: ones().map_blocks(first, BIG, dtype=float).compute(),
        big(1),
    ),
    "from_array": (
        lambda _: da.from_array(BIG, chunks=MB // 4).sum().compute(),
        [("numpy.ndarray float64 (250000,)", 2 * MB, 1)] * 4,
    ),
    "dataframe": (
        lambda _: dd.from_pandas(frame(), npartitions=4).groupby("a").b.mean().compute(),
        [("pandas.DataFrame (1000000, 2)", 16 * MB, 1)],
    ),
    "map_partitions": (
        lambda _: dd.from_pandas(frame()[:100], npartitions=4).map_partitions(first, BIG).compute(),
        big(4),
    ),
    "bag": (
        lambda _: db.from_sequence(range(20), npartitions=2).map(first, y=BIG).compute(),
        big(2),
    ),
    "submit": (lambda client: client.submit(first, BIG), big(1)),
    "map": (lambda client: client.map(first, [BIG] * 3, range(3)), big(3)),
    "keyword of map": (lambda client: client.map(first, range(9), y=BIG), big(1)),
    "dict of map": (
        lambda client: client.map(first, [1] * 9, y=CROWD),
        [("dict (5000)", len(pickle.dumps(CROWD, 5)), 1)],
    ),
    "among thousands": (
        lambda client: client.get({str(i): BIG if i == 9 else i for i in range(5_000)}, ["9"]),
        big(1),
    ),
    "legacy tuples": (
        lambda client: client.get(
            {"x": (first, BIG, 1), "y": (first, [(first, BIG), 2]), "z": [BIG, "x"]}, ["x", "y"]
        ),
        big(3),
    ),
    "xarray": (lambda client: client.submit(first, Dataset()), big(1)),
    "bytes": (lambda client: client.submit(first, b"x" * 2 * MB), [("bytes", 2 * MB, 1)]),
    "text": (lambda client: client.submit(first, "x" * 2 * MB), [("str", 2 * MB, 1)]),
    "series": (
        lambda client: client.submit(first, frame().b),
        [("pandas.Series float64 (1000000,)", 8 * MB, 1)],
    ),
    "arrow": (
        lambda client: client.submit(first, pa.table({"a": np.arange(MB)})),
        [("pyarrow.Table (1000000, 1)", 8 * MB, 1)],
    ),
    "not contiguous": (
        lambda client: client.submit(first, BIG[::2]),
        [("numpy.ndarray float64 (500000,)", 4 * MB, 1)],
    ),
    "with a reducer": (lambda client: client.submit(first, Asking()), big(1)),
    "two collections": (lambda _: dask.compute(ones().sum(), dask.delayed(first)(BIG)), big(1)),
    "nothing large": (lambda _: (ones() + ones()).sum().compute(), []),
}


@pytest.mark.parametrize("name", CASES)
def test_every_large_object_is_found_and_counted(dask_client: Client, name: str) -> None:
    """Wherever it hides, it has a row with its bytes and the tasks that hold it; none is asked."""
    submit, expected = CASES[name]
    graph = sent(lambda: submit(dask_client))
    before, _ = pickled(graph)
    Asking.asked = 0

    found = graph_bytes(graph)

    assert Asking.asked == 0
    after, _ = pickled(graph)
    assert after == before or "_MapExpr" in type(graph).__name__  # it draws a token each time
    assert len(after) == len(before)
    assert [(entry.kind, entry.references) for entry in found.objects] == [
        (kind, count) for kind, _, count in expected
    ]
    for entry, (_, size_bytes, count) in zip(found.objects, expected, strict=True):
        assert entry.size_bytes == pytest.approx(size_bytes, abs=SLACK)
        assert entry.crossing_bytes == entry.size_bytes * count
    assert found.not_opened == ()


def materialized(graph: Any) -> dict[str, bool]:
    return {name: layer.is_materialized() for name, layer in graph.layers.items()}


def test_the_graph_stays_as_it_is() -> None:
    """A collection that was looked at is pickled as before, byte for byte, and not materialized."""
    array = da.random.random((400, 400), chunks=10)
    graph = (array + array.T).sum().dask
    before, layers = dumps(graph), {name: dict(vars(layer)) for name, layer in graph.layers.items()}
    is_open = materialized(graph)

    graph_bytes(graph)

    assert dumps(graph) == before
    assert {name: dict(vars(layer)) for name, layer in graph.layers.items()} == layers
    assert materialized(graph) == is_open
    assert not all(is_open.values())


def test_no_lazy_layer_is_iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Materializing the layers of an array takes seconds and stays in its pickle."""

    def refuse(self: object) -> Iterator[object]:
        raise AssertionError(self)

    monkeypatch.setattr(Blockwise, "_dict", property(refuse))
    monkeypatch.setattr(Blockwise, "__iter__", refuse)

    found = graph_bytes(ones().map_blocks(closure(), dtype=float))

    assert [entry.references for entry in found.objects] == [10]


def test_a_row_tells_what_an_object_costs() -> None:
    """32 MB in 100 tasks: 32 MB in the graph and 3.2 GB to the workers, in one row."""
    array = np.zeros((2000, 2000))
    values = [dask.delayed(first)(array, i) for i in range(100)]

    made = table(graph_bytes(dask.delayed(sum)(values)))

    assert made is not None
    columns = [column.key for column in made.columns]
    row: dict[str, Any] = dict(zip(columns, made.rows[0], strict=True))
    assert (made.key, len(made.rows)) == ("dask.graph", 1)
    assert (row.pop("layer").partition("-")[0], bool(row.pop("key"))) == ("first", True)
    assert row == {
        "object": "numpy.ndarray float64 (2000, 2000)",
        "name": "",
        "bytes": 32 * MB,
        "share": 0.032,
        "references": 100,
        "crossing_bytes": 3_200 * MB,
    }


@pytest.mark.parametrize(
    "held", [lambda lookup: lookup, list, lambda lookup: tuple(lookup.items())]
)
def test_many_small_things_are_one_object_of_the_tasks_that_hold_them(
    held: Callable[[dict[int, str]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dict as an argument of each call, by its name."""
    lookup = held({i: str(i) * 3 for i in range(5_000)})
    monkeypatch.setattr(sys.modules["__main__"], "lookup", lookup, raising=False)

    for count in (1, 3):
        calls = [dask.delayed(first)(lookup, i) for i in range(count)]
        [found] = graph_bytes(dask.delayed(sum)(calls)).objects

        assert (found.name, found.references) == ("lookup", count)
        assert found.kind == f"{type(lookup).__name__} (5000)"
        assert found.size_bytes == len(pickle.dumps(lookup, 5))


def test_what_takes_too_long_to_pickle_has_the_bytes_of_the_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 300,000 texts nothing was told on a busy machine: they were all of the graph."""
    monkeypatch.setattr("jupyter_serprof.probes.dask.graph.look.monotonic", lambda: 0)
    held = [*range(5_000)]

    alone, among = (
        [(one.kind, one.size_bytes) for one in graph_bytes(graph, seconds=0).objects]
        for graph in ({"x": (first, held, BIG)}, {"x": (first, held), "y": (first, [*held])})
    )

    assert (alone[0], among) == (("list (5000)", 992 * MB), [])


def test_what_cannot_be_pickled_hides_no_other_object() -> None:
    locks = dict.fromkeys(range(5_000), threading.Lock())

    found = graph_bytes({"x": (first, locks), "y": (first, locks), "z": (first, BIG)})

    assert [one.key for one in found.objects] == ["z"]


def test_a_table_is_never_long() -> None:
    """Twenty rows at most, and the note says how many are left out; without any it is none."""
    graph = {f"key-{i}": (first, np.zeros(MB // 8 + i)) for i in range(26)}

    made, none = table(graph_bytes(graph)), table(graph_bytes({"x": (first, 1)}))

    assert made is not None
    assert len(made.rows) == 20
    assert "6 smaller rows are left out" in made.note
    assert none is None


def test_objects_that_look_alike_share_a_row() -> None:
    """The chunks of an array are one line, with their sums."""
    array = da.from_array(BIG, chunks=MB // 5)

    made = table(graph_bytes(array))

    assert made is not None
    first_row = made.rows[0]
    assert first_row[2] == "numpy.ndarray float64 (200000,), 5 of them"
    assert first_row[4] == pytest.approx(8 * MB, abs=SLACK)
    assert first_row[6] == 5


def crossed_bytes(client: Any) -> int:
    """Return what the scheduler has sent to its workers, by its own counters."""

    def count(dask_scheduler: Any) -> int:
        return sum(comm.byte_count for comm in dask_scheduler.stream_comms.values())

    return int(client.run_on_scheduler(count))


@pytest.mark.parametrize(
    "make",
    [
        lambda: [dask.delayed(first)(BIG, i) for i in range(10)],
        lambda: [da.ones((100,), chunks=10).map_blocks(closure(), dtype=float)],
        lambda: [da.from_array(BIG, chunks=MB // 4).map_blocks(abs)],
        lambda: [dd.from_pandas(frame(), npartitions=4).sum()],
        lambda: [dask.delayed(Model().predict)(i) for i in range(5)],
    ],
    ids=["delayed", "closure", "from_array", "dataframe", "bound method"],
)
def test_the_predicted_crossing_is_what_the_scheduler_sends(
    dask_client: Any, make: Callable[[], list[Any]]
) -> None:
    """The prediction against the byte counters of the scheduler's connections to its workers."""
    values = make()
    graph = sent(lambda: dask.compute(*values))
    predicted = sum(entry.crossing_bytes or 0 for entry in graph_bytes(graph).objects)
    before = crossed_bytes(dask_client)

    dask.compute(*values)

    assert crossed_bytes(dask_client) - before == pytest.approx(predicted, rel=0.02)


def test_without_time_references_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not 0, and not those of the first tasks: unknown, and the table says why."""
    clock = iter([0, 0, 2, 2])
    monkeypatch.setattr("jupyter_serprof.probes.dask.graph.look.monotonic", lambda: next(clock))

    found = graph_bytes({"x": (first, BIG), "y": (first, BIG), "z": 1}, seconds=1)

    made = table(found)
    assert [(entry.references, entry.crossing_bytes) for entry in found.objects] == [(None, None)]
    assert made is not None
    assert made.note.endswith("2 tasks were not asked which large objects they hold.")
    assert graph_objects({"x": (first, BIG)}, time.monotonic() - 1) == []


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [
        (BIG, 8 * MB),
        (Dataset(), 8 * MB),
        ([BIG, b"x" * MB], 9 * MB),
        ([{"number": i} for i in range(300_000)], 2.9 * MB),
    ],
    ids=["array", "object", "two", "small things"],
)
def test_a_large_argument_is_found_as_itself(value: object, size_bytes: int) -> None:
    """What the task was given is opened by ``--blame``: many small things are large together."""
    graph = {"x": (first, 1), "y": (first, (first, value)), "z": (first, value)}

    [found] = graph_objects(graph, time.monotonic() + 60)

    assert found.value is value
    assert (found.layer, found.key) == (LOW_LEVEL, "y")
    assert found.size_bytes == pytest.approx(size_bytes, rel=0.3)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda lock: {"x": (first, 1), "y": (first, 2, lock)}, "argument 1"),
        (lambda lock: dask.delayed(first)(lock, dask_key_name="y"), "argument 0"),
        (lambda lock: dask.delayed(first)(1, named=lock, dask_key_name="y"), "argument named"),
        (lambda lock: dask.delayed(functools.partial(first, lock))(dask_key_name="y"), "function"),
        (lambda lock: {"y": (first, (first, lock))}, "argument 0.argument 0"),
        (lambda lock: {"y": lock}, ""),
    ],
    ids=["tuple", "delayed", "keyword", "function", "nested", "value"],
)
def test_the_culprit_has_a_path(make: Callable[[Any], Any], argument: str) -> None:
    """A graph that cannot be pickled names layer, key and argument, and gives the object."""
    lock = threading.Lock()

    found = find_unpicklable(make(lock))

    assert found is not None
    assert (found.key, found.argument) == ("y", argument)
    value = found.value.args[0] if isinstance(found.value, functools.partial) else found.value
    assert value is lock


def test_the_culprit_of_a_lazy_layer_is_its_parameter() -> None:
    """A template has no key; the layer and the part of the template are named."""
    lock = threading.Lock()
    array = ones().map_blocks(
        lambda block: (lock, block), dtype=float, name="bad", meta=np.array(())
    )

    found = find_unpicklable(array)

    assert found is not None
    assert (found.layer, found.key, found.argument) == ("bad", "", "task.function")
    assert find_unpicklable(ones()) is None


def test_no_reducer_runs_for_a_culprit() -> None:
    """What could not be sent was pickled by Dask itself; one-shot objects are not used up."""
    lock, Asking.asked = threading.Lock(), 0
    beside = SimpleNamespace(), Asking()

    found = find_unpicklable({"y": (first, [Asking()], [beside, {"lock": lock}])})

    assert found is not None
    named = find_culprits(found.value, "it", is_careful=True)
    assert (found.key, found.argument) == ("y", "argument 1")
    assert [one.path for one in named] == ["it[1]['lock']"]
    assert Asking.asked == 0


def test_what_is_no_graph_is_refused() -> None:
    """It says what was given and what was expected."""
    with pytest.raises(UsageError, match="a list has no graph; give a Dask collection"):
        graph_bytes([1, 2])


def of(size: int) -> Any:
    return {"x": (first, b"x" * size)}


def test_only_the_largest_graphs_are_kept() -> None:
    """Four of them, none below a megabyte, in the order in which they were sent."""
    kept = KeptGraphs()

    for number, size in enumerate([3 * MB, 999_999, 2 * MB, 5 * MB, MB, 4 * MB]):
        kept.keep(number, of(size), size)

    tables = kept.tables()
    assert [made.key for made in tables] == ["dask.graph"] * 4
    assert [made.title[-1] for made in tables] == ["1", "3", "4", "6"]


def test_a_kept_graph_goes_away() -> None:
    """When its table is made, and when a larger one takes its place: futures in it are released."""

    class Graph(dict[str, object]):
        alive = 0

        def __init__(self, size: int) -> None:
            super().__init__(of(size))
            Graph.alive += 1

        def __del__(self) -> None:
            Graph.alive -= 1

    kept = KeptGraphs()

    kept.keep(0, Graph(10), 10)
    small = Graph.alive
    for number in range(6):
        kept.keep(number, Graph(number), (number + 1) * MB)
    held = Graph.alive
    kept.tables()

    assert (small, held, Graph.alive) == (0, 4, 0)
    assert kept.tables() == []


def test_a_graph_that_cannot_be_read_has_no_table() -> None:
    """Of another Dask, say; the others have theirs."""
    kept = KeptGraphs()
    kept.keep(0, [1, 2], MB)
    kept.keep(1, of(MB), MB)

    tables = kept.tables()

    assert len(tables) == 1
    assert kept.notes == ["who holds the bytes of graph 0 is not known: UsageError"]


def test_the_graph_of_an_older_dask_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 2024.8 a Blockwise has its template in ``dsk``, and a layer may have a number."""
    array = np.zeros(200_000)
    older: Any = object.__new__(Blockwise)
    vars(older).update(dsk={"a": (len, array)}, indices=(), io_deps={})
    monkeypatch.setattr(Blockwise, "__len__", lambda _: 3)
    sent = HighLevelGraph({"a": older, 5: MaterializedLayer({"b": 1})}, {"a": set(), 5: set()})  # type: ignore[dict-item]  # as it was

    names: set[object] = {section.layer for section in sections(sent)}
    times = [section.times for section in sections(sent) if "dsk" in dict(section.items)]

    assert {"a", LOW_LEVEL} <= names
    assert 5 not in names
    assert times == [3]


@pytest.mark.parametrize("is_fused", [False, True])
def test_an_index_that_is_set_is_known_where_its_steps_are_fused(*, is_fused: bool) -> None:
    """A frame that is persisted is sent as few steps, each of which holds others."""
    frame = dd.from_pandas(pd.DataFrame({"x": range(9), "y": 1.0}), npartitions=3)
    asked = [frame.set_index("x"), frame.assign(z=1)]

    sent = [each.optimize(fuse=True).expr if is_fused else each.expr for each in asked]

    known = [_SORTS.isdisjoint(_steps(each.lower_completely())) for each in sent]
    assert known == [False, True]


SHARED: dict[str, int] = {}


def _keeps(value: int) -> None:
    SHARED["last"] = value


def _computes(value: int) -> object:
    return dask.compute(dask.delayed(abs)(value))


def _adds(value: int, given: int) -> int:
    value += given
    given = 0
    return value


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (_keeps, {"function": "_keeps", "writes": ["SHARED"], "makes_graphs": 0}),
        (_computes, {"function": "_computes", "writes": [], "makes_graphs": 1}),
        (abs, {}),
        (graph_bytes, {}),
        # Of a number `+=` makes another one: which task gives it is noted.
        (
            _adds,
            {"function": "_adds", "writes": [], "makes_graphs": 0, "changes": "value"}
            | {"task": "int"},
        ),
    ],
)
def test_what_functions_of_a_small_graph_do_is_told(
    function: Callable[..., object], told: dict[str, object], dask_client: Client
) -> None:
    kept = KeptGraphs()

    given = dask_client.submit(int, pure=False)

    kept.keep(3, sent(lambda: dask_client.submit(function, given, 2)), MB - 1)

    assert kept.tables() == []
    assert kept.details == {3: told}
