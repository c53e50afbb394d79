"""The control beside repeated Dask computations: there where the workers are on this machine."""

import pytest
from dasks import forgotten, small_array
from distributed import Client

from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.engine.machine import EACH
from jupyter_serprof.experiments.graphs import repeats as dask_repeats
from jupyter_serprof.experiments.graphs.repeats import GraphRepeats

RUNS = 4


def repeats(*, is_statement: bool = False) -> GraphRepeats:
    """Return repeats of a collection, or of code that computes it."""

    def summed() -> object:
        total = small_array().sum()
        return total.compute() if is_statement else total

    return GraphRepeats(summed, "x.sum()", is_statement=is_statement, repeat=RUNS)


@pytest.mark.parametrize("is_statement", [False, True])
def test_repeated_computations_have_a_control(client: Client, *, is_statement: bool) -> None:
    """Before the first warm run and after the last one; the cluster holds nothing of it."""
    sweep = run(repeats(is_statement=is_statement))

    assert {kind: len(times) for kind, times in sweep.control.items()} == dict.fromkeys(
        ("copy", "pages", "pickle"), 2 * EACH
    )
    assert forgotten(client)


def test_a_cluster_in_this_process_is_here(client: Client) -> None:
    """So is a local scheduler, which has no client."""
    assert dask_repeats.is_here(client)
    assert dask_repeats.is_here(None)


@pytest.mark.parametrize("is_statement", [False, True])
@pytest.mark.usefixtures("client")
def test_workers_on_other_machines_have_none(
    monkeypatch: pytest.MonkeyPatch, *, is_statement: bool
) -> None:
    """What this machine does says nothing about them, and a comparison says so as before."""
    monkeypatch.setattr(dask_repeats, "is_here", lambda _: False)

    sweep = run(repeats(is_statement=is_statement))

    assert len(sweep.points) == 1 + RUNS
    assert sweep.control == {}
