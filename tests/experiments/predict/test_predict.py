"""A prediction is checked on a size that was held out, and refused where nothing can check it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jupyter_serprof import predict
from jupyter_serprof.model import (
    Limits,
    Point,
    Sweep,
    Trace,
    UsageError,
    Variant,
    from_document,
    to_document,
)
from jupyter_serprof.views.kit.sheet import Box, Label
from jupyter_serprof.views.picture import sheet_of

SIZES = [round(10 ** (3 + step / 3)) for step in range(13)]  # 1 kB to 10 MB
DUMPS, LOADS = "pickle.dumps", "pickle.loads"
PAGE = 4096
FRESH_NS_PER_BYTE = 0.5
Law = Callable[[int, bool], tuple[float, float]]


def sweep_of(laws: Mapping[str, Law], sizes: list[int], warm_runs: int = 3) -> Sweep:
    """Return a sweep without noise; a law gives time (ns) and fresh pages of a stage by size.

    Laws get the size and whether the run is the cold one.
    """
    points = []
    for size in sizes:
        for repeat in range(1 + warm_runs):
            is_cold = repeat == 0
            seen = {key: law(size, is_cold) for key, law in laws.items()}
            stages = {key: round(time) for key, (time, _) in seen.items()}
            pages = round(sum(pages for _, pages in seen.values()))
            wall_ns = sum(stages.values())
            points.append(Point("pickle", size, repeat, is_cold, wall_ns, size, stages, pages))
    return Sweep(
        name="a",
        started="2026-01-01T00:00:00.000Z",
        kind="sweep",
        variants=(Variant("pickle", "pickle 5, in-band"),),
        points=tuple(points),
        environment={"platform": "linux"},
    )


def copied(size: int, is_fresh: bool) -> tuple[float, float]:
    """Return time and pages of a copy: 2 us, 10 GB/s, and half a nanosecond a fresh byte."""
    fresh = size if is_fresh else 0
    return 2_000 + 0.1 * size + FRESH_NS_PER_BYTE * fresh, fresh / PAGE


def always_fresh(size: int, is_cold: bool) -> tuple[float, float]:  # noqa: ARG001  (a law)
    """Take fresh pages in every run."""
    return copied(size, is_fresh=True)


def fresh_when_large(size: int, is_cold: bool) -> tuple[float, float]:
    """Take fresh pages in the first run, and in every run from 32 MiB on, as glibc's blocks do."""
    return copied(size, is_fresh=is_cold or size >= 32 * 2**20)


ARRAYS = {DUMPS: always_fresh, LOADS: fresh_when_large}


def test_the_fresh_pages_of_large_blocks_are_foreseen() -> None:
    """Loads was warm at every small size; at 100 MB its pages are fresh, and that is predicted."""
    sweep = sweep_of(ARRAYS, [*SIZES, 100_000_000])

    trace = predict(sweep, 110e6)

    truth_ns = copied(110_000_000, is_fresh=True)[0]
    seen = {span.stage: span.duration_ns for span in trace.spans}
    assert seen[LOADS] == pytest.approx(truth_ns, rel=0.05)
    assert seen[DUMPS] == pytest.approx(truth_ns, rel=0.05)
    assert trace.prediction is not None
    assert trace.prediction.holdout_bytes == 100_000_000
    assert abs(trace.prediction.error_share or 1) < 0.05
    assert (trace.prediction.straight_error_share or 0) < -0.2


def test_pages_that_no_run_took_cost_what_the_machine_takes() -> None:
    """Where all small runs were warm, the limits of the machine say what large blocks will pay."""

    def kept(size: int, is_cold: bool) -> tuple[float, float]:  # noqa: ARG001  (a law)
        return copied(size, is_fresh=size >= 32 * 2**20)

    sweep = replace(
        sweep_of({DUMPS: kept, LOADS: kept}, [*SIZES, 100_000_000]),
        limits=Limits(memcpy_bytes_per_s=10e9, first_touch_bytes_per_s=1e9 / 0.6),
    )

    about = predict(sweep, 110e6).prediction

    assert about is not None
    assert abs(about.error_share or 1) < 0.1
    assert (about.straight_error_share or 0) < -0.7


def test_between_measured_sizes_the_nearest_one_is_met() -> None:
    """Loads never met a fresh page at small sizes; between two large ones it takes what they do."""

    def two_blocks(size: int, is_cold: bool) -> tuple[float, float]:
        blocks = 1 if size >= 32 * 2**20 else 2 if is_cold else 0
        return 0.1 * size + blocks * FRESH_NS_PER_BYTE * size, blocks * size / PAGE

    def warm_when_small(size: int, is_cold: bool) -> tuple[float, float]:  # noqa: ARG001  (a law)
        return copied(size, is_fresh=size >= 32 * 2**20)

    sweep = sweep_of({DUMPS: two_blocks, LOADS: warm_when_small}, [*SIZES, 60_000_000, 100_000_000])

    seen = {span.stage: span.duration_ns for span in predict(sweep, 80e6).spans}

    assert seen[LOADS] == pytest.approx(copied(80_000_000, is_fresh=True)[0], rel=0.05)
    assert seen[DUMPS] == pytest.approx(0.6 * 80_000_000, rel=0.05)


def test_the_error_is_that_of_the_held_out_size() -> None:
    """If the machine breaks the law at the held-out size, the error says by how much."""

    def slower(size: int, is_cold: bool) -> tuple[float, float]:
        time, pages = fresh_when_large(size, is_cold)
        return time * (1.5 if size > 50_000_000 else 1), pages

    sweep = sweep_of({LOADS: slower}, [*SIZES, 100_000_000])

    about = predict(sweep, 110e6).prediction

    assert about is not None
    assert about.error_share == pytest.approx(-1 / 3, abs=0.03)
    assert about.low_ns is not None
    assert about.high_ns is not None
    assert about.high_ns == pytest.approx(2 * about.low_ns, rel=0.1)
    assert any("from sizes up to 10.0 MB" in text for text in about.assumptions)


def test_beyond_the_last_size_it_is_checked_with_the_same_reach() -> None:
    """Three times beyond the last size is checked at the last size, from a third of it below."""
    sweep = sweep_of(ARRAYS, SIZES)

    trace = predict(sweep, 3 * SIZES[-1])

    assert trace.prediction is not None
    assert trace.prediction.holdout_bytes == SIZES[-1]
    assert abs(trace.prediction.error_share or 1) < 0.05


def test_growth_of_a_memo_is_followed_where_there_are_no_buffers() -> None:
    """Time for each byte that grows with the logarithm of the size is carried on."""

    def memo(size: int, is_cold: bool) -> tuple[float, float]:  # noqa: ARG001  (a law)
        import math

        return size * (10 + 4 * max(0.0, math.log10(size / 200_000))), 0

    sweep = sweep_of({DUMPS: memo}, [*SIZES, 100_000_000])

    about = predict(sweep, 110e6).prediction

    assert about is not None
    assert abs(about.error_share or 1) < 0.05
    assert (about.straight_error_share or 0) < -0.1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        *(((size,), "number of bytes") for size in (0, -1, float("nan"), float("inf"), "1e6")),
        *(((size,), "number of bytes") for size in (True, 1e300, 10**400)),
        *(((1e6, rate), "Gbit/s") for rate in (0, -1.0, float("nan"), "1 Gbit/s", 1e-300, 1e300)),
        ((1e6, 10**400), "Gbit/s"),
        ((1e9,), r"no size within a factor of 10 of 1\.00 GB.*holdout="),
    ],
)
def test_what_cannot_be_predicted_is_refused(arguments: tuple[Any, ...], said: str) -> None:
    """With the value, an example, and what to do; nothing is drawn far from what was measured."""
    with pytest.raises(UsageError, match=said):
        predict(sweep_of(ARRAYS, SIZES), *arguments)


def test_an_unknown_transport_is_refused() -> None:
    """The message names what the sweep has."""
    with pytest.raises(UsageError, match="it has: pickle"):
        predict(sweep_of(ARRAYS, SIZES), 1e6, variant="ray")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (sweep_of(ARRAYS, [1_000, 10_000, 100_000]), "Measure more small sizes"),
        (replace(sweep_of(ARRAYS, SIZES), kind="chunks"), "over chunk sizes"),
        (Trace(name="x", started="", wall_ns=0), "needs a sweep"),
    ],
)
def test_what_cannot_carry_a_prediction_is_refused(given: Any, said: str) -> None:
    """Three sizes; sizes of chunks, whose bytes are those of the graph; no sweep at all."""
    with pytest.raises(UsageError, match=said):
        predict(given, 500_000)


def test_numbers_of_numpy_are_numbers() -> None:
    """What an array gives is taken like any other number."""
    sweep = sweep_of(ARRAYS, SIZES)

    trace = predict(sweep, np.int64(SIZES[-1]), np.float32(1e9))  # type: ignore[arg-type]  # as it is

    assert trace == predict(sweep, SIZES[-1], 1e9)


def test_at_a_measured_size_the_range_is_that_of_its_runs() -> None:
    """A median of runs that spread is no exact number, also with a link behind it."""
    sweep = sweep_of(ARRAYS, SIZES)
    there = [p for p in sweep.points if p.size_bytes == SIZES[-1] and not p.cold]
    slower = replace(there[0], wall_ns=3 * there[0].wall_ns)
    sweep = replace(sweep, points=(*sweep.points, slower))

    trace = predict(sweep, SIZES[-1], 1e9)

    wire_ns = SIZES[-1]
    walls = [p.wall_ns for p in (*there, slower)]
    assert trace.prediction is not None
    assert trace.prediction.low_ns == pytest.approx(min(walls) + wire_ns, rel=1e-6)
    assert trace.prediction.high_ns == pytest.approx(max(walls) + wire_ns, rel=1e-6)
    assert trace.summary is not None
    assert any(" to " in fact and "runs" in fact for fact in trace.summary.facts)


def test_a_link_adds_its_bytes_over_its_rate() -> None:
    """At a measured size only the wire is predicted: 10 MB at 1 GB/s are 10 ms between the two."""
    sweep = sweep_of(ARRAYS, SIZES)

    bare, linked = predict(sweep, SIZES[-1]), predict(sweep, SIZES[-1], 1e9)

    assert linked.wall_ns - bare.wall_ns == pytest.approx(SIZES[-1], rel=1e-3)
    assert [span.stage for span in linked.spans] == [DUMPS, "network.wire", LOADS]
    assert linked.prediction is not None
    assert linked.prediction.error_share is None
    assert linked.spans[1].size_bytes == SIZES[-1]


def test_a_prediction_adds_up_and_travels() -> None:
    """Its rows sum to its wall time, and its document comes back equal."""
    trace = predict(sweep_of(ARRAYS, [*SIZES, 100_000_000]), 80e6, 1e9)

    again = from_document(to_document(trace))

    assert again == trace
    assert trace.waterfall is not None
    assert (
        sum(row.self_ns for row in trace.waterfall.rows) + trace.waterfall.unaccounted_ns
        == trace.wall_ns
    )
    assert trace.summary is not None
    assert trace.summary.headline.startswith("Predicted, not measured: 80.0 MB")


def test_the_picture_of_a_prediction_is_hatched_and_says_so() -> None:
    """No bar of a predicted stage is filled, so that nobody takes it for a measurement."""
    trace = predict(sweep_of(ARRAYS, [*SIZES, 100_000_000]), 80e6)

    marks = sheet_of(trace).marks

    bars = [mark for mark in marks if isinstance(mark, Box) and mark.width > 50 and mark.height > 5]
    assert len(bars) == 2
    assert {bar.hatch for bar in bars} == {"/"}
    texts = [mark.text for mark in marks if isinstance(mark, Label)]
    assert any(text.startswith("predicted, not measured") for text in texts)


def test_a_check_that_failed_refuses_beyond_the_sizes() -> None:
    """A model that missed the last size by more than a factor of 2 says nothing beyond it."""

    def jumps(size: int, is_cold: bool) -> tuple[float, float]:
        time, pages = fresh_when_large(size, is_cold)
        return time * (12 if size > 50_000_000 else 1), pages

    sweep = sweep_of({LOADS: jumps}, [*SIZES, 100_000_000])

    with pytest.raises(UsageError, match=r"100 MB .*sizes up to 10\.0 MB.*92 %.*factor of 2"):
        predict(sweep, 110e6)


def test_the_straight_line_answers_beyond_the_sizes_where_it_was_better() -> None:
    """Fresh pages that this machine never takes are not paid: the line knew better, and says so."""

    def warm(size: int, is_cold: bool) -> tuple[float, float]:  # noqa: ARG001  (a law)
        return copied(size, is_fresh=False)

    limits = Limits(memcpy_bytes_per_s=10e9, first_touch_bytes_per_s=0.4e9)
    sweep = replace(sweep_of({DUMPS: warm}, [*SIZES, 100_000_000]), limits=limits)

    trace = predict(sweep, 110e6)

    assert trace.wall_ns == pytest.approx(copied(110_000_000, is_fresh=False)[0], rel=0.01)
    assert trace.prediction is not None
    assert abs(trace.prediction.error_share or 1) < 0.01
    assert trace.prediction.straight_error_share == trace.prediction.error_share
    assert any("a straight line answers" in text for text in trace.prediction.assumptions)


def test_what_moved_nothing_here_has_no_known_time_on_a_link() -> None:
    """Its bytes would have to cross; that none were written says nothing about how many."""
    sweep = sweep_of(ARRAYS, SIZES)
    points = tuple(replace(point, moved_bytes=0) for point in sweep.points)

    with pytest.raises(UsageError, match="nobody saw how many bytes 'pickle' moves"):
        predict(replace(sweep, points=points), bandwidth_bytes_per_s=1e9)


def test_what_aliases_here_needs_new_memory_behind_a_link() -> None:
    """Nobody measured that memory, so the prediction says that it lacks it."""
    sweep = sweep_of(ARRAYS, SIZES)
    variants = tuple(replace(each, result="aliases the original") for each in sweep.variants)

    linked = predict(replace(sweep, variants=variants), bandwidth_bytes_per_s=1e9)
    bare = predict(replace(sweep, variants=variants))
    copied_too = predict(sweep, bandwidth_bytes_per_s=1e9)

    made = [each.prediction for each in (linked, bare, copied_too)]
    said = [" ".join(about.assumptions) for about in made if about]
    assert ["new memory" in text for text in said] == [True, False, False]


def test_the_wire_carries_what_moved_at_the_nearest_size() -> None:
    """The header of a small pickle is not lost: 139 bytes more than the value, as measured."""
    sweep = sweep_of(ARRAYS, SIZES)
    points = tuple(replace(p, moved_bytes=(p.size_bytes or 0) + 139) for p in sweep.points)

    trace = predict(replace(sweep, points=points), SIZES[0], 1e6)

    wire = next(span for span in trace.spans if span.stage == "network.wire")
    assert wire.size_bytes == SIZES[0] + 139
    assert wire.duration_ns == (SIZES[0] + 139) * 1_000
