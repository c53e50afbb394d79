"""The contract of experiments, over all of them."""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from experiment_contract import ExperimentContract

from jupyter_serprof.experiments.blame.keeper import Crossed
from jupyter_serprof.experiments.blame.recording import BlameRun
from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.experiments.compare.repeats import Repeats
from jupyter_serprof.experiments.compare.runs import Against, Pairs
from jupyter_serprof.experiments.engine import experiment
from jupyter_serprof.experiments.engine.experiment import Experiment, run
from jupyter_serprof.experiments.graphs import values
from jupyter_serprof.experiments.graphs.repeats import GraphRepeats
from jupyter_serprof.experiments.graphs.stages import GraphStages
from jupyter_serprof.experiments.remedies import trial
from jupyter_serprof.experiments.remedies.code import CodeTryout
from jupyter_serprof.experiments.remedies.graph import DaskTryout
from jupyter_serprof.experiments.remedies.value import Tryout
from jupyter_serprof.experiments.remedies.ways import Trip
from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
from jupyter_serprof.experiments.sizes.sweep import SizeSweep
from jupyter_serprof.model import Sweep, Trace
from jupyter_serprof.testing import make_trace

Call = Callable[[], object]

TRANSPORTS = ("pickle", "cloudpickle")


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    yield
    experiment._KEPT.clear()


class Calling:
    """A value that calls whenever it is pickled."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        self.call()
        return str, ("value",)


class CallingArray(Calling):
    """An array that calls whenever it is pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        self.call()
        return type(self)._again, (np.zeros(10_000),)

    @staticmethod
    def _again(array: Any) -> Any:
        return array


def summed(call: Call, chunk: float = 5) -> Any:
    call()
    return import_module("dask.array").ones((20, 20), chunks=int(chunk)).sum()


class TestRoundTrip(ExperimentContract):
    """One value, two transports."""

    def make(self, call: Call) -> Experiment[Sweep]:
        return RoundTrip(Calling(call), transports=TRANSPORTS, repeat=2)


class TestSizeSweep(ExperimentContract):
    """Two sizes, two transports."""

    def make(self, call: Call) -> Experiment[Sweep]:
        def made(size: float) -> bytes:
            call()
            return b"x" * int(size)

        return SizeSweep(made, (1000, 9000), transports=TRANSPORTS, repeat=1, seed=1)


class TestSizeSweepOfCode(ExperimentContract):
    """Two sizes of code."""

    def make(self, call: Call) -> Experiment[Sweep]:
        def dumped(size: float) -> bytes:
            call()
            return pickle.dumps(b"x" * int(size))

        return SizeSweep(dumped, (1000, 9000), repeat=1, seed=1, code=True)


class TestRepeats(ExperimentContract):
    """One piece of code."""

    def make(self, call: Call) -> Experiment[Sweep]:
        return Repeats(lambda: pickle.dumps(call()), "f()", repeat=4)


class TestAgainst(ExperimentContract):
    """One piece of code against a document."""

    def make(self, call: Call) -> Experiment[Sweep]:
        before = run(Repeats(lambda: pickle.dumps(1), "f()", repeat=2))
        return Against(before, Repeats(lambda: pickle.dumps(call()), "f()", repeat=3))


class TestPairs(ExperimentContract):
    """Two pieces of code in turns."""

    def make(self, call: Call) -> Experiment[Sweep]:
        return Pairs([lambda: pickle.dumps(call())] * 2, ["f", "f"], repeat=3)


class TestBlameRun(ExperimentContract):
    """The anatomy of one value."""

    def make(self, call: Call) -> Experiment[Trace]:
        return BlameRun([Calling(call)], budget_s=1e6)


@pytest.mark.usefixtures("short")
class TestTryout(ExperimentContract):
    """One value, two remedies."""

    def make(self, call: Call) -> Experiment[Sweep]:
        return Tryout(CallingArray(call), now="pickle4", name="a", budget_s=1e6, pairs=3)


@pytest.mark.usefixtures("short")
class TestCodeTryout(ExperimentContract):
    """One value that code sent, two remedies."""

    def make(self, call: Call) -> Experiment[Trace]:
        sent = [Crossed(CallingArray(call), "pickle4", 60_000, Counter(["pickle"]))]
        return CodeTryout(make_trace([]), sent, {}, budget_s=1e6)


class CalledGraph(DaskTryout):
    """Trials on a graph whose trips only call."""

    def __init__(self, call: Call) -> None:
        table = np.zeros(200_000)
        super().__init__(import_module("dask").delayed(len)(table), budget_s=1e6)
        self._most, self._call = 2, call

    def _trip(self, graph: Any, *, gathers: bool = False) -> Trip:  # noqa: ARG002  (as it is called)
        self._call()
        return Trip({"dask.submit": 1_000_000}, None, [1.0])


@pytest.mark.usefixtures("client")
class TestDaskTryout(ExperimentContract):
    """One graph with an embedded array, two remedies."""

    def make(self, call: Call) -> Experiment[Sweep]:
        return CalledGraph(call)

    def test_all_runs_are_counted_from_the_first_on(self) -> None:
        tried = self.make(lambda: None)
        assert {(now := tried.progress).done + now.left for _ in tried.steps()} == {11}


@pytest.mark.usefixtures("sync")
class TestGraphRepeats(ExperimentContract):
    """One Dask computation."""

    def make(self, call: Call) -> Experiment[Sweep]:
        return GraphRepeats(lambda: summed(call), "x.sum()", repeat=2)


@pytest.mark.usefixtures("sync")
class TestGraphStages(ExperimentContract):
    """One run of one Dask computation."""

    def make(self, call: Call) -> Experiment[Trace]:
        return GraphStages(lambda: summed(call), "x.sum()")


@pytest.mark.usefixtures("sync")
class TestChunkSweep(ExperimentContract):
    """One Dask computation with three chunk sizes."""

    def make(self, call: Call) -> Experiment[Sweep]:
        return ChunkSweep(lambda chunk: summed(call, chunk), (5, 10, 20), repeat=1, seed=1)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each trip be one run."""
    monkeypatch.setattr(trial, "_SHORT_NS", 0)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for a cluster."""
    scattering = SimpleNamespace(scatter=lambda values, **_: list(values))
    monkeypatch.setattr(values, "client_of", lambda _: scattering)
    monkeypatch.setattr(values, "release", list.clear)


@pytest.fixture
def sync() -> Iterator[None]:
    with import_module("dask").config.set(scheduler="sync"):
        yield
