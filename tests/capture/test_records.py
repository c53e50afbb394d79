"""Records are columns: they leave the collector nothing to count, and their cost is a row."""

import gc
import pickle

from jupyter_serprof import record
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.capture.records import Records


def test_many_short_calls_make_no_garbage_and_their_cost_is_told_apart() -> None:
    """A loop of 30,000 dumps is moved to columns on its way, and nothing of it is lost."""
    with record() as recording:
        before = sum(each["collections"] for each in gc.get_stats())
        for _ in range(30_000):
            pickle.dumps(1)
        collected = sum(each["collections"] for each in gc.get_stats()) - before

    assert collected <= 9  # two objects a call would make 85 of it
    page = recording._recorder.page
    assert sum(type(one) is list for chunk in page._chunks for one in chunk) <= collected + 2
    trace = recording.trace
    assert trace.waterfall is not None
    rows = {row.stage: row for row in trace.waterfall.rows}
    assert (rows["pickle.dumps"].count, rows["pickle.dumps"].size_bytes) == (30_000, 150_000)
    owned_ns = sum(row.self_ns for row in rows.values())
    assert owned_ns + trace.waterfall.unaccounted_ns == trace.wall_ns
    assert rows["recording"].self_ns > rows["pickle.dumps"].self_ns


def test_few_records_wait_to_be_moved_and_their_cost_is_measured_now_and_then() -> None:
    """What waits fits into a cache: else the recorder writes to cold memory, which none tells."""
    recorder = Recorder(())
    waiting = []

    for _ in range(20_000):
        recorder.add((Place("library:function", "user"), 1, 10, 20, None, None, None))
        waiting.append(len(recorder.page.fresh) // Records.WIDTH)

    assert max(waiting) == 1_024
    assert len(recorder.costs) // 5 == 2


def test_a_record_that_comes_while_records_are_moved_waits_for_nobody() -> None:
    """A collection that begins in the middle of the move is a record, too: of the same thread."""
    page = Records()
    place, came = Place("library:function", "user"), list[int]()

    class Arriving:
        """Writes a record when its number is asked for, in the middle of the move."""

        def __index__(self) -> int:
            if not came:
                came.append(1)
                page.fresh += (place, 1, 30, 40, None, None, None)
                page.move()
            return 10

    page.fresh += (place, 1, Arriving(), 20, None, None, None)
    page.move()

    assert [record[2] for record in page] == [10, 30]
    assert len(page) == 2
