"""Findings about Dask: silent where all is well; what they say is beside the other findings."""

import pytest
from dask_golden import HASH, HEALTHY, tiny

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.findings.dask_facts import prefix
from jupyter_serprof.model import Trace


@pytest.mark.parametrize("trace", HEALTHY.values(), ids=HEALTHY)
def test_nothing_is_found_where_nothing_should_be_done_differently(trace: Trace) -> None:
    """A tool that always warns is not read: well made workloads are left alone."""
    assert analyse(trace).findings == ()


def test_the_chunk_factor_leaves_the_scheduler_a_tenth_of_the_time() -> None:
    """Tasks k times as large: the workers need k times as long for each, the scheduler the same."""
    scheduled_ms, compute_ms, threads = 95 + 5, 100, 2

    (found,) = (each for each in analyse(tiny()).findings if each.rule == "dask.tiny-tasks")

    factor = found.evidence["chunk_factor"]
    assert isinstance(factor, float)
    assert scheduled_ms / (scheduled_ms + compute_ms * factor) == pytest.approx(0.1)
    assert found.evidence["edge_factor_2d"] == pytest.approx(factor**0.5, abs=0.1)
    assert found.evidence["worker_threads"] == threads


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("", ""),
        ("inc", "inc"),
        (f"from_pandas-{HASH}", "from_pandas"),
        (f"('sum-aggregate-{HASH}', 0, 1)", "sum-aggregate"),
        ("inc-0d1f2a3b-1111-2222-3333-0123456789ab", "inc"),
        ("my-own-key-1", "my-own-key-1"),
    ],
)
def test_names_are_told_without_their_hash(name: str, short: str) -> None:
    """People know their functions, not what Dask puts behind them."""
    assert prefix(name) == short
