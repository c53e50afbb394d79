"""The times of parts are those of the pickle, not those of the probe that measured them."""

import threading
import time

import numpy as np
import pytest
from anatomy_samples import Model

from jupyter_serprof.api import blame, run
from jupyter_serprof.experiments.blame.recording import Blame, BlameRun
from jupyter_serprof.model import Trace
from jupyter_serprof.views.blame import anatomy_lines

_PLAIN = "times: shares of an in-band probe, scaled to the plain dumps"
_NOWHERE = (
    "times: shares of the probe, scaled to one pickle that hands buffers over and copies nothing"
)


def values() -> list[object]:
    """Return objects for which a probe takes up to 60 times as long as the pickle."""
    return [
        Model(x=[float(i) for i in range(20_000)]),
        Model(n=0, data=list(range(5_000))),
        [{"a": i, "b": float(i)} for i in range(2_000)],
        {"text": "x" * 200_000},
    ]


def dumps_ns(trace: Trace) -> int:
    """Return what the document says of the plain dumps: the last run is the warm median."""
    return [s.duration_ns for s in trace.spans if s.stage == "pickle.dumps" and s.parent < 0][-1]


@pytest.mark.parametrize("at", range(4))
def test_the_times_add_up_to_the_plain_dumps_of_the_same_document(at: int) -> None:
    """The root took what dumps took, its parts less; both are in one output."""
    value = values()[at]

    trace = run(BlameRun(value, "it"))

    [anatomy] = trace.anatomies
    root, leaves = anatomy.parts[0], [part for part in anatomy.parts if part.parent == 0]
    assert root.duration_ns == anatomy.duration_ns == dumps_ns(trace)
    assert sum(leaf.duration_ns or 0 for leaf in leaves) <= root.duration_ns + len(anatomy.parts)
    assert [note for note in anatomy.notes if "times" in note] == [_PLAIN]


@pytest.mark.parametrize("large", [np.ones(4_000_000), b"x" * 32_000_000], ids=["array", "bytes"])
def test_the_part_that_dumps_copies_longest_takes_longest(large: object) -> None:
    """No pickler that keeps nothing copies a large buffer; the plain dumps does."""
    parts = {"small": [str(i) * 20 for i in range(2_000)], "large": large}

    anatomy = run(BlameRun(parts, "it")).anatomies[0]

    took = {part.label: part.duration_ns or 0 for part in anatomy.parts if part.parent == 0}
    assert took['["large"]'] > took['["small"]'] > 0
    assert sum(took.values()) <= (anatomy.duration_ns or 0) + len(took)


def test_without_a_plain_dumps_they_add_up_to_a_pickle_into_nowhere() -> None:
    """The call makes no plain dumps; it says what its times are."""
    value = values()[0]

    anatomy = blame(value)

    assert anatomy.parts[0].duration_ns == anatomy.duration_ns
    assert anatomy.notes == (_NOWHERE,)


def test_shares_are_those_of_the_probe() -> None:
    """Scaling changes no ratio: twice the dumps is twice the time of every part."""
    run = Blame(values()[2], "it")
    run.run()
    run.time_in_band(0.0)

    once, twice = run.anatomy(10**9), run.anatomy(2 * 10**9)

    for part, doubled in zip(once.parts, twice.parts, strict=True):
        assert (part.duration_ns or 0) == pytest.approx((doubled.duration_ns or 0) / 2, abs=1)


def test_what_cannot_be_pickled_has_no_times() -> None:
    """There is no dumps that they could be shares of; the table has no column for them."""
    value = {"lock": threading.Lock(), "rest": list(range(1_000))}

    anatomy = run(BlameRun(value, "it")).anatomies[0]

    assert {part.duration_ns for part in anatomy.parts} == {None}
    assert not any(" ms" in line for line in anatomy_lines(anatomy, 100))


class Stalls:
    """Is held up once, as by anything else on the machine: when it is pickled next."""

    next_is_late = False

    def __reduce__(self) -> tuple[type, tuple[()]]:
        if self.next_is_late:  # a sleep of 0 s lets others run, too
            self.next_is_late = False
            time.sleep(0.05)
        return Stalls, ()


def test_a_short_pass_that_was_held_up_once_blames_nobody() -> None:
    """Of what is over so soon the least of some passes counts, as it does for the whole."""
    late = Stalls()
    run = Blame({"late": late, "large": list(range(20_000))}, "it")
    run.run()
    late.next_is_late = True

    run.time_in_band(0.0)

    took = {part.label: part.duration_ns or 0 for part in run.anatomy(10**6).parts}
    assert took['["late"]'] < took['["large"]']
