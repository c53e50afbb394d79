"""The summary of a trace: one sentence with the cause, facts below it, strict and total shares."""

from typing import Any

import pytest

from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import Limits, Summary
from jupyter_serprof.testing import make_trace

CALLER = "client/main"
WORKERS = ("worker/1", "worker/2")


def summary(spans: list[tuple[Any, ...]], **options: Any) -> Summary:
    """Return the summary of a trace."""
    found = analyse(make_trace(spans, name="f(a)", **options)).summary
    assert found is not None
    return found


def fact(found: Summary, word: str) -> str | None:
    """Return the fact with a word in it; None if there is none."""
    return next((fact for fact in found.facts if word in fact), None)


def results(*judged: tuple[object, int | None]) -> Summary:
    """Return the summary of gets, each with (is it zero-copy, bytes of its result)."""
    pickled = {"in_band_bytes": 100, "out_of_band_bytes": 8_000_000, "buffers": 1}
    spans: list[tuple[Any, ...]] = [("ray.pickle", CALLER, 0, 1, None, -1, pickled)]
    for at, (zero_copy, size) in enumerate(judged):
        noted = {"zero_copy": zero_copy, "result_bytes": size}
        spans.append(("ray.unpack", CALLER, at + 1, 1, None, -1, noted))
    return summary(spans)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("ok", "f(a) took 100 ms: "),
        ("error", "f(a) raised after 100 ms: "),
        ("interrupted", "f(a) interrupted after 100 ms: "),
    ],
)
def test_the_headline_says_how_it_ended_and_names_the_cause(outcome: str, said: str) -> None:
    """The largest stage with its share, its bytes, its time and its rate."""
    copied = {"copied_bytes": 800_000_000}
    spans = [
        ("ray.store", CALLER, 0, 80, 800_000_000, -1, copied),
        ("ray.pickle", CALLER, 80, 20),
    ]

    found = summary(spans, outcome=outcome)

    assert found.headline == f"{said}80 % Store of 800 MB (80.0 ms at 10.0 GB/s)."


@pytest.mark.parametrize("outcome", ["ok", "error", "interrupted"])
@pytest.mark.parametrize("key", [None, "import", "gc", "python.wait"])
def test_code_that_serializes_nothing_is_told_so(key: str | None, outcome: str) -> None:
    """Imports, garbage collection and waits for threads are not serialization.

    A pickle that was interrupted has no end and is not seen: that it was none would be a guess.
    """
    spans = [] if key is None else [(key, CALLER, 0, 90)]

    found = summary(spans, wall_ms=100, outcome=outcome)

    is_cut = outcome == "interrupted"
    told = "no serialization had ended" if is_cut else "nothing was serialized in it"
    assert found.headline.endswith(f"100 ms; {told}.")


def test_time_outside_the_stages_is_named_first_when_it_is_the_cause() -> None:
    """The user's own code is the answer then; the largest stage comes second."""
    found = summary([("ray.store", CALLER, 0, 20)], wall_ms=100)

    assert found.headline == (
        "f(a) took 100 ms: 80 % outside the stages seen (your own code); "
        "next, 20 % Store (20.0 ms)."
    )


def test_work_of_other_lanes_only_is_told_beside_the_cause() -> None:
    """Threads that pickle beside the user's own code explain none of the wall time."""
    found = summary([("pickle.dumps", "client/thread 1", 0, 50)], wall_ms=100)

    assert found.headline == (
        "f(a) took 100 ms: all of it outside the stages seen (your own code); "
        "meanwhile on other lanes Pickle (50.0 ms)."
    )


def test_no_wall_time_has_no_shares() -> None:
    """A document of an empty run says nothing it does not know."""
    found = summary([("ray.store", CALLER, 0, 0)], wall_ms=0)

    assert (found.strict_share, found.total_share) == (None, None)
    assert found.headline == "f(a) took 0 ns."


@pytest.mark.parametrize(("unaccounted_ms", "is_first"), [(30, False), (31, True)])
def test_a_small_rest_is_not_called_the_cause(unaccounted_ms: int, is_first: bool) -> None:
    """Below three tenths of the wall time the largest stage is named alone."""
    named = (100 - unaccounted_ms) / 4
    spans = [
        (key, CALLER, at * named, named)
        for at, key in enumerate(("ray.store", "ray.pickle", "ray.msgpack", "ray.submit"))
    ]

    found = summary(spans, wall_ms=100)

    assert ("outside the stages" in found.headline) is is_first


@pytest.mark.parametrize("waits", ["ray.fetch", "ray.wait"])
def test_a_wait_for_tasks_that_were_not_seen_is_not_the_cause(waits: str) -> None:
    """Where Ray did not tell the stages of tasks, the headline says that, and names no wait."""
    unseen = {"road": "unseen"}
    submitted = [("ray.submit", CALLER, at, 1, None, -1, unseen) for at in range(2)]

    found = summary([*submitted, (waits, CALLER, 2, 98)])

    assert found.headline == (
        "f(a) took 100 ms: 98 % waiting (98.0 ms), and the stages of 2 tasks of Ray "
        "could not be seen."
    )


def test_waits_count_for_the_total_share_only() -> None:
    """A wait is named as a wait: strict coverage leaves it out."""
    spans = [
        ("ray.fetch", CALLER, 0, 60),
        ("ray.execute", "worker/1", 10, 20),
        ("ray.unpickle", CALLER, 60, 30),
    ]

    found = summary(spans, wall_ms=100)

    assert (found.strict_share, found.total_share) == (0.5, 0.9)
    said = "90.0 % of the wall time in named stages, 50.0 % without waits"
    assert fact(found, "named stages") == said


def test_a_mark_is_told_with_everything_inside() -> None:
    """The row has what is left; the fact has the whole, once, though marks nest or repeat."""
    spans = [
        ("user:load", CALLER, 0, 40),
        ("user:load", CALLER, 10, 20, None, 0),
        ("ray.store", CALLER, 12, 10, None, 1),
        ("user:load", CALLER, 50, 5),
    ]

    found = summary(spans)

    assert "load 45.0 ms" in found.facts


@pytest.mark.parametrize(
    ("counts", "said"),
    [((1,), "8.00 MB out-of-band in 1 buffer"), ((1, 2), "16.0 MB out-of-band in 3 buffers")],
)
def test_buffers_are_summed_over_the_pickles(counts: tuple[int, ...], said: str) -> None:
    """What went in-band and what beside it, in how many buffers."""
    spans = [
        (
            *("pickle.dumps", CALLER, at, 1, None, -1),
            {"in_band_bytes": 100, "out_of_band_bytes": 8_000_000, "buffers": count},
        )
        for at, count in enumerate(counts)
    ]

    found = summary(spans)

    assert fact(found, "in-band") == f"{100 * len(counts)} B in-band, {said}"


def test_a_pickle_inside_a_pickle_is_counted_once() -> None:
    """What an inner pickle wrote lies in the outer one; what was read was not written."""
    spans = [
        ("pickle.dumps", CALLER, 0, 9, None, -1, {"in_band_bytes": 900}),
        ("pickle.dumps", CALLER, 1, 5, None, 0, {"in_band_bytes": 700}),
        ("pickle.loads", CALLER, 10, 5, None, -1, {"in_band_bytes": 900}),
    ]

    found = summary(spans)

    assert fact(found, "in-band") == "900 B in-band, 0 B out-of-band in 0 buffers"


def test_the_pickle_inside_of_one_that_does_not_know_its_bytes_is_counted() -> None:
    """As Ray has it: its own step around the pickle, which alone knows what was written."""
    spans = [
        ("ray.pickle", CALLER, 0, 9, None, -1, {"elements": 1}),
        ("ray.pickle", CALLER, 1, 5, None, 0, {"in_band_bytes": 700, "buffers": 0}),
    ]

    found = summary(spans)

    assert fact(found, "in-band") == "700 B in-band, 0 B out-of-band in 0 buffers"


def test_many_marks_are_told_by_the_longest() -> None:
    """A loop over names does not fill the line of facts."""
    spans = [(f"user:part {at}", CALLER, 10 * at, at + 1) for at in range(7)]

    found = summary(spans)

    marks = [fact for fact in found.facts if "part" in fact or "more" in fact]
    longest = [f"part {at} {at + 1}.00 ms" for at in (6, 5, 4, 3, 2)]
    assert marks == [*longest, "2 more marks"]


def test_what_nobody_waits_for_needs_no_second_share() -> None:
    """Without waits the two shares are one."""
    found = summary([("ray.store", CALLER, 0, 50)], wall_ms=100)

    assert fact(found, "named stages") == "50.0 % of the wall time in named stages"


@pytest.mark.parametrize(
    ("judged", "said"),
    [
        ([(True, 8)], "results zero-copy (by address)"),
        ([(True, 8), (True, 9)], "results zero-copy (by address)"),
        ([(False, 8)], "results copied to the heap"),
        ([(True, 8), (False, 9)], "1 of 2 results zero-copy (by address)"),
        ([(True, 8), (False, 0), (False, None)], "results zero-copy (by address)"),
        ([(True, 8), (None, 9)], "results zero-copy (by address)"),
    ],
)
def test_results_are_zero_copy_only_if_all_that_were_judged_are(
    judged: list[tuple[object, int | None]], said: str
) -> None:
    """Mixed results are told as mixed; results without bytes or without a verdict do not count."""
    assert fact(results(*judged), "results") == said


@pytest.mark.parametrize("judged", [[], [(None, 8)], [(True, 0)], [(False, None)]])
def test_results_that_nobody_judged_are_not_mentioned(
    judged: list[tuple[object, int | None]],
) -> None:
    """Unknown is neither zero-copy nor copied."""
    assert fact(results(*judged), "results") is None


@pytest.mark.parametrize(
    ("lanes", "said"),
    [
        (WORKERS[:1], "1 other lane; all lanes together busy 1.1 times the wall time"),
        (WORKERS, "2 other lanes; all lanes together busy 2.1 times the wall time"),
        ((*WORKERS, "raylet"), "2 other lanes; all lanes together busy 2.1 times the wall time"),
    ],
)
def test_work_in_parallel_is_told_beside_the_wall_time(lanes: tuple[str, ...], said: str) -> None:
    """So that work hidden behind other work is not forgotten; waits are not work."""
    tasks = [
        ("ray.schedule" if lane == "raylet" else "ray.execute", lane, 0, 100) for lane in lanes
    ]
    caller = [("ray.fetch", CALLER, 0, 90), ("ray.unpickle", CALLER, 90, 10)]

    found = summary([*caller, *tasks])

    assert fact(found, "lane") == said


def test_one_lane_is_not_worth_a_word() -> None:
    """Who works alone is not told about lanes."""
    assert fact(summary([("ray.store", CALLER, 0, 1)]), "lane") is None


def test_the_machine_is_named_when_it_was_measured() -> None:
    """Rates are read against memcpy on this machine."""
    spans = [("ray.store", CALLER, 0, 1)]

    known = summary(spans, limits=Limits(12.9e9, 0.9e9))
    unknown = summary(spans)

    assert fact(known, "memcpy") == "memcpy here 12.9 GB/s, 900 MB/s into new pages"
    assert fact(unknown, "memcpy") is None
