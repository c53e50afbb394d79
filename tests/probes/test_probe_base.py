"""Probes: what the base class promises, tried on a made-up library and held to `ProbeContract`."""

import json
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from unittest.mock import Mock

import pytest
from pythons import python

from jupyter_serprof import probes
from jupyter_serprof.analysis import analyse
from jupyter_serprof.capture.freeze import freeze
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.experiments.compare.verdict import compare
from jupyter_serprof.model import STAGES, Stage, Trace, from_document, stage, to_document
from jupyter_serprof.probes import Probe, available_probes
from jupyter_serprof.testing import ProbeContract, TickClock, make_trace
from jupyter_serprof.views.flat import csv_text, rows_of
from jupyter_serprof.views.text import markdown, text
from jupyter_serprof.views.waterfall.table import table_of

NAME = "serprof_probed"


class Client:
    """What the made-up library offers."""

    def send(self, data: bytes) -> int:
        if not data:
            message = "nothing to send"
            raise ValueError(message)
        return len(data)


class Courier(Client):
    """Inherits everything."""


class CourierProbe(Probe):
    """Watches the inherited method and a function."""

    name, library = "courier", NAME

    def places(self) -> list[Place]:
        places = ("Client.send", "Courier.send", "ping")
        return [Place(f"{NAME}:{place}", "user") for place in places]


@pytest.fixture(autouse=True)
def courier(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    module = types.ModuleType(NAME)
    module.__spec__ = ModuleSpec(NAME, None)
    vars(module).update(Client=Client, Courier=Courier, ping=lambda: "pong")
    monkeypatch.setitem(sys.modules, NAME, module)
    return module


class TestCourier(ProbeContract):
    """The contract holds for the simplest probe there is."""

    probe = CourierProbe

    def call(self) -> object:
        return Courier().send(b"abc"), sys.modules[NAME].ping()

    def failing_call(self) -> object:
        return Courier().send(b"")


class Careless(CourierProbe):
    """Does what a probe must not do."""

    def remove(self) -> None:
        self._subscriptions.clear()


class Littering(CourierProbe):
    """Patches by hand."""

    def arm(self, recorder: Recorder) -> None:
        super().arm(recorder)
        hook = Client.send
        setattr(Client, "send", lambda self, data: hook(self, data))  # noqa: B010, PLW0108


class Forgetful(CourierProbe):
    """Hides what it could not see."""

    def unseen(self) -> tuple[str, ...]:
        return ()


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Littering, "test_removing_leaves_the_identical_attributes"),
        (Littering, "test_nested_recordings_both_have_the_spans"),
        (Forgetful, "test_a_missing_place_is_listed_and_the_others_still_work"),
    ],
)
def test_the_contract_catches_careless_probes(kind: type[Probe], test: str) -> None:
    """A probe that breaks a promise is told which one: the contract can fail."""
    original = vars(Client)["send"]

    class Contract(TestCourier):
        probe = kind  # type: ignore[assignment]

    with pytest.raises(AssertionError, match=r"identical|spans|not listed"):
        getattr(Contract(), test)()
    setattr(Client, "send", original)  # noqa: B010


def test_a_recording_removes_what_a_probe_forgets() -> None:
    """Even a probe whose ``remove`` does nothing leaves no hook: the recorder silences its own."""
    original = vars(Client)["send"]
    recorder = Recorder([Careless()])
    recorder.start()
    recorder.stop()

    assert vars(Client)["send"] is original
    assert "send" not in vars(Courier)


def test_a_place_that_is_missing_drops_one_rung(courier: types.ModuleType) -> None:
    """The others are watched; the missing one is listed once for each recording."""
    del courier.ping
    probe = CourierProbe()
    recorder = Recorder([probe], clock=TickClock(10))
    recorder.start()
    Client().send(b"abc")
    recorder.stop()

    trace = freeze(recorder, name="test")
    assert [span.name for span in trace.spans] == ["Client.send"]
    assert trace.quality.probes[0].unseen == ("ping (not in this version)",)


def test_the_report_of_a_dotted_library_that_is_not_installed_is_not_an_error() -> None:
    """A probe of ``library.part`` without ``library`` reports like any other that is missing."""

    class Dotted(CourierProbe):
        library = "no_such_library_.part"

    recorder = Recorder([Dotted()])
    recorder.start()
    recorder.stop()

    (report,) = freeze(recorder, name="test").quality.probes
    assert report.state in {"not installed", "failed"}


class FakeEntry:
    """An entry place of another distribution."""

    def __init__(self, name: str, value: object) -> None:
        self.name, self.value = name, value

    def load(self) -> object:
        """Return the probe's class, or fail as a broken plug-in does."""
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeEntry]]:
    """Entry points of the test's choice."""
    found: list[FakeEntry] = []
    monkeypatch.setattr(probes, "entry_points", lambda **_: found)
    probes._kinds.cache_clear()
    yield found
    probes._kinds.cache_clear()


def test_probes_come_from_entry_points(entries: list[FakeEntry]) -> None:
    """An additional probe is one entry place away; each recording has new ones."""
    entries.append(FakeEntry("courier", CourierProbe))

    first, second = available_probes(detail=True), available_probes()

    assert [type(probe) for probe in first] == [CourierProbe]
    assert first[0] is not second[0]
    assert (first[0].detail, second[0].detail) == (True, False)


@pytest.mark.parametrize("broken", [ImportError("gone"), Mock(side_effect=TypeError)])
def test_a_plug_in_that_cannot_be_loaded_or_made_is_left_out(
    entries: list[FakeEntry], capsys: pytest.CaptureFixture[str], broken: Exception | Mock
) -> None:
    """Somebody else's broken plug-in costs one line, not the recording."""
    entries += [FakeEntry("broken", broken), FakeEntry("courier", CourierProbe)]

    found = available_probes()

    assert [type(probe) for probe in found] == [CourierProbe]
    assert "the probe broken is left out" in capsys.readouterr().err


def test_our_own_probes_are_found() -> None:
    names = {probe.name for probe in available_probes()}

    assert {"cloudpickle", "interpreter", "pickle", "ray"} <= names


def test_the_test_tools_need_neither_pytest_nor_a_library() -> None:
    """``jupyter_serprof.testing`` works with any runner, and loads nothing heavy."""
    heavy = "{'pytest', 'numpy', 'ray', 'dask', 'pandas', 'matplotlib', 'hypothesis'}"
    script = f"import sys, jupyter_serprof.testing; print(sorted({heavy} & set(sys.modules)))"

    assert python(script) == "[]\n"


def test_make_trace_fills_in_what_is_left_out() -> None:
    """Tuples as short as they can be; wall time, lanes and their kinds follow from them."""
    trace = make_trace(
        [
            ("ray.fetch", "client/main", 0, 10),
            ("ray.execute", "worker 1", 2, 9.5, 800, 0, {"error": "ValueError"}),
        ]
    )

    assert (trace.wall_ns, trace.waterfall) == (11_500_000, None)
    assert [(lane.key, lane.kind, lane.process) for lane in trace.lanes] == [
        ("client/main", "client", 0),
        ("worker 1", "worker", 1),
    ]
    assert trace.spans[0].parent == -1
    assert trace.spans[1].size_bytes == 800
    assert trace.spans[1].details == {"error": "ValueError"}
    assert make_trace([], wall_ms=1.5).wall_ns == 1_500_000


class ParcelProbe(Probe):
    """Brings stages of its own."""

    name, library = "parcel", "parcel"
    stages = (
        Stage("parcel.send", "Send a parcel", 47, "move", note="until it is in the bag"),
        Stage("parcel.wait", "Wait for the postman", 46, "other", waits=True),
        Stage("parcel.stamp", "Stamp", 48, "store", parent="parcel.send"),
    )


def test_stages_of_a_plug_in_are_told_by_every_view_where_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A document carries title, order, family, waits and note of the stages that occur."""
    spans = [
        *(("parcel.send", "client/main", 0, 3), ("parcel.wait", "client/main", 5, 2)),
        *(("parcel.stamp", "client/main", 3, 1), ("parcel.other", "client/main", 8, 1)),
    ]
    document = to_document(analyse(make_trace(spans, wall_ms=10)))
    for entry in ParcelProbe.stages:
        monkeypatch.delitem(STAGES, entry.key)

    trace = from_document(json.loads(json.dumps(document)))

    assert isinstance(trace, Trace)
    assert set(ParcelProbe.stages) < set(trace.stages)
    lines = [(line.title, line.family, line.waits, line.depth) for line in table_of(trace).lines]
    assert lines == [
        ("Wait for the postman", "other", True, 0),
        *(("Send a parcel", "move", False, 0), ("itself", "move", False, 1)),
        *(("Stamp", "store", False, 1), ("parcel.other", "other", False, 0)),
        ("Unaccounted", "other", False, 0),
    ]
    for told in (text(trace, width=100), markdown(trace), csv_text(rows_of(trace, "summary"))):
        assert "Wait for the postman" in told
    assert "Wait for the postman" in text(analyse(trace), width=100)
    compared = compare(trace, trace)
    assert "Send a parcel" in [change.title for change in compared.changes]


def test_a_plug_in_renames_no_stage_of_ours() -> None:
    """Keys are stable for ever, and what they are called is said in one place."""

    class Renaming(Probe):
        stages = (Stage("ray.store", "Mine", 1),)

    assert Renaming.stages[0].title == "Mine"
    assert stage("ray.store").title == "Store"


def test_a_recording_says_nothing_of_libraries_that_are_not_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing arms such a probe, and it completes the spans of every recording all the same."""
    found = available_probes()
    for probe in found:
        monkeypatch.setattr(probe, "library", "this", raising=False)
    recorder = Recorder(found)

    recorder.start()
    recorder.stop()
    trace = freeze(recorder, name="nothing")

    assert {report.state for report in trace.quality.probes} == {"not imported"}
    assert trace.quality.notes == ()
