"""Which computation a document is of: the same one under other chunks, or another one."""

from dataclasses import replace

from jupyter_serprof.analysis.findings.dask_facts import GraphKind, graph_kind, graph_notes
from jupyter_serprof.model import Point, Sweep, Table, TableColumn
from jupyter_serprof.testing import make_trace

SUM = GraphKind(
    ("sum-aggregate",),
    ("persist",),
    frozenset({"random_sample", "sum", "partial", "aggregate"}),
    37,
    has_cluster=True,
)


def kind(*names: str, end: str = "sum-aggregate") -> GraphKind:
    """Return the same with other kinds of tasks and another end."""
    return replace(SUM, kinds=frozenset(names), ends=(end,))


def test_a_document_tells_what_ran() -> None:
    """Ends, ways and kinds of tasks from its tables, without hashes and without the gathering."""
    tasks = Table(
        "dask.tasks",
        "Tasks",
        (TableColumn("prefix", "Prefix", "text"), TableColumn("count", "Tasks", "count")),
        (("random_sample-sum", 4), ("sum-partial", 2), ("finalize-hlgfinalizecompute", 1)),
    )
    computations = Table(
        "dask.computations",
        "Computations",
        (TableColumn("computation", "Computation", "text"), TableColumn("kind", "Call", "text")),
        (("sum-partial", "compute"),),
    )
    trace = make_trace([("dask.execute", "worker 0/thread 0", 0, 5)])

    found = graph_kind(replace(trace, tables=(tasks, computations)))

    assert found == GraphKind(
        ("sum-partial",),
        ("compute",),
        frozenset({"random_sample", "sum", "partial"}),
        7,
        has_cluster=True,
    )


def test_a_document_without_dask_is_none() -> None:
    """Of one whose stages are known and whose graph is not, nothing is known."""
    point = Point("code", None, 1, False, 5, None, {"dask.execute": 5})  # noqa: FBT003  (a column)

    found = [
        graph_kind(make_trace([("pickle.dumps", "client/main", 0, 5)])),
        graph_kind(Sweep(name="x", started="", points=(point,))),
    ]

    assert found == [None, GraphKind()]


def test_what_else_differs_is_noted() -> None:
    """Tasks, computations, and where it ran."""
    after = replace(
        kind("random_sample", "sum", "aggregate", "rechunk"),
        tasks=597,
        ends=("sum-aggregate", "sum-aggregate"),
        has_cluster=False,
    )

    notes = list(graph_notes(SUM, after))

    assert notes == [
        "the graph is another one: 37 tasks before, 597 after",
        "kinds of tasks: partial only before; rechunk only after",
        "1 computation before, 2 after",
        "before ran on a cluster, after in this process: few stages are the same",
    ]
    assert list(graph_notes(SUM, SUM)) == []
