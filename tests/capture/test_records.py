"""Records are columns: they leave the collector nothing to count, and their cost is a row."""

import gc
import pickle

from jupyter_serprof import record


def test_many_short_calls_make_no_garbage_and_their_cost_is_told_apart() -> None:
    """A loop of 30,000 dumps is moved to columns on its way, and nothing of it is lost."""
    with record() as recording:
        before = sum(each["collections"] for each in gc.get_stats())
        for _ in range(30_000):
            pickle.dumps(1)
        collected = sum(each["collections"] for each in gc.get_stats()) - before

    assert collected <= 9  # two objects a call would make 85 of it
    trace = recording.trace
    assert trace.waterfall is not None
    rows = {row.stage: row for row in trace.waterfall.rows}
    assert (rows["pickle.dumps"].count, rows["pickle.dumps"].size_bytes) == (30_000, 150_000)
    owned_ns = sum(row.self_ns for row in rows.values())
    assert owned_ns + trace.waterfall.unaccounted_ns == trace.wall_ns
    assert rows["recording"].self_ns > rows["pickle.dumps"].self_ns
