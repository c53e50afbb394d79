"""Which computation a document is of: the same one under other chunks, or another one."""

from dataclasses import replace

from jupyter_serprof.analysis.findings.dask_facts import graph_notes, is_of_dask
from jupyter_serprof.model import Point, Sweep, Table, TableColumn, Trace
from jupyter_serprof.testing import make_trace

CLUSTER, PROCESS = "worker 0/thread 0", "client/main"


def graphs(tasks: dict[str, int], ends: tuple[str, ...], lane: str = CLUSTER) -> Trace:
    """Return a run of Dask with so many tasks of each name, and these computations."""
    counts = TableColumn("prefix", "Prefix", "text"), TableColumn("count", "Tasks", "count")
    names = (TableColumn("computation", "Computation", "text"),)
    tables = (
        Table("dask.tasks", "Tasks", counts, tuple(tasks.items())),
        Table("dask.computations", "Computations", names, tuple((end,) for end in ends)),
    )
    return replace(make_trace([("dask.execute", lane, 0, 5)]), tables=tables)


def test_a_document_without_dask_is_none_of_dask() -> None:
    """Of one whose stages are known and whose graph is not, nothing is known."""
    point = Point("code", None, 1, False, 5, None, {"dask.execute": 5})  # noqa: FBT003  (a column)
    sweep = Sweep(name="x", started="", points=(point,))

    found = [is_of_dask(make_trace([("pickle.dumps", "client/main", 0, 5)])), is_of_dask(sweep)]

    assert found == [False, True]
    assert list(graph_notes(sweep, sweep)) == []


def test_what_else_differs_is_noted() -> None:
    """Tasks, their kinds without hashes and gathering, computations, and where it ran."""
    before = graphs({"random_sample-sum": 30, "sum-partial-aggregate": 7}, ("sum-aggregate",))
    names = {"random_sample-sum-aggregate": 590, "finalize-hlgfinalizecompute": 1, "rechunk": 6}
    after = graphs(names, ("sum-aggregate",) * 2, PROCESS)

    notes = list(graph_notes(before, after))

    assert notes == [
        "the graph is another one: 37 tasks before, 597 after",
        "kinds of tasks: partial only before; rechunk only after",
        "1 computation before, 2 after",
        "before ran on a cluster, after in this process: few stages are the same",
    ]
    assert list(graph_notes(before, before)) == []
