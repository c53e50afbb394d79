"""Transports: what can travel now, and the exact line that helps where one cannot."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pythons import python

from jupyter_serprof.experiments.roundtrip.by_dask import DaskProtocol, DaskScatter
from jupyter_serprof.experiments.roundtrip.trip import TRANSPORTS, Ray, Transport
from jupyter_serprof.model import ProbeUnavailable

LOCAL = ("pickle", "pickle-oob", "cloudpickle")
PIP = 'Run: pip install "jupyter_serprof[ray]"'
DASK_PIP = 'Run: pip install "jupyter_serprof[dask]"'


class FakeRay(ModuleType):
    """Just enough of Ray to be asked whether it runs."""

    def __init__(self, *, runs: bool = False, error: Exception | None = None) -> None:
        super().__init__("ray")
        self.runs = runs
        self.error = error
        self.calls: list[dict[str, Any]] = []

    def is_initialized(self) -> bool:
        return self.runs

    def init(self, **options: Any) -> None:
        self.calls.append(options)
        if self.error is not None:
            raise self.error
        self.runs = True


def with_ray(monkeypatch: pytest.MonkeyPatch, ray: FakeRay) -> FakeRay:
    monkeypatch.setitem(sys.modules, "ray", ray)
    return ray


@pytest.mark.parametrize("key", TRANSPORTS)
def test_each_transport_says_who_it_is(key: str) -> None:
    """The key is what one types, the title is what the table shows."""
    transport = TRANSPORTS[key]()

    assert transport.key == key
    assert transport.title
    assert isinstance(transport, Transport)


@pytest.mark.parametrize("key", LOCAL)
def test_local_transports_are_always_there(key: str) -> None:
    """Pickle and cloudpickle need nothing to be started."""
    transport = TRANSPORTS[key]()

    assert transport.state() == ("ok", "")
    assert transport.start() == ""


def test_functions_travel_by_value_where_the_transport_says_so() -> None:
    """`takes_functions` is true of cloudpickle and false of pickle."""
    value = [lambda: 7]

    for key in LOCAL:
        transport = TRANSPORTS[key]()

        try:
            back: Any = transport.round_trip(value)
            arrived = back[0]() == 7

        except Exception:  # noqa: BLE001  (pickle raises other errors in other versions)
            arrived = False
        assert arrived is transport.takes_functions


def test_asking_for_the_state_does_not_import_ray() -> None:
    """A look at what is available costs no second of imports: Ray is installed, not imported."""
    code = (
        "import sys\n"
        "from jupyter_serprof.experiments.roundtrip.trip import Ray\n"
        "print(Ray().state()[0], 'ray' in sys.modules)"
    )

    assert python(code) in ("not running False\n", "not installed False\n")


def test_a_ray_that_does_not_run_says_how_to_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row gives both ways: start it, or ask for it by name; nothing is started."""
    ray = with_ray(monkeypatch, FakeRay())

    state, reason = Ray().state()

    assert state == "not running"
    assert "ray.init(include_dashboard=False)" in reason
    assert "--transports ray" in reason
    assert ray.calls == []


def test_a_running_ray_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = with_ray(monkeypatch, FakeRay(runs=True))

    note = Ray().start()

    assert (note, ray.calls) == ("", [])
    assert Ray().state() == ("ok", "")


def test_starting_says_that_it_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is left with a Ray in the background that they do not know of."""
    ray = with_ray(monkeypatch, FakeRay())

    note = Ray().start()

    assert ray.calls == [{"include_dashboard": False}]
    assert "still runs; ray.shutdown() stops it" in note


def test_a_ray_that_cannot_start_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback from inside Ray: what happened, and the line that shows more."""
    with_ray(monkeypatch, FakeRay(error=RuntimeError("port in /home/jane taken")))

    with pytest.raises(ProbeUnavailable) as caught:
        Ray().start()

    assert "did not start (RuntimeError)" in str(caught.value)
    assert "Run: import ray; ray.init(include_dashboard=False)" in str(caught.value)
    assert "jane" not in str(caught.value)


class FakeDistributed(ModuleType):
    """Just enough of distributed to be asked for a client."""

    def __init__(self, client: object = None) -> None:
        super().__init__("distributed")
        self.client = client

    def default_client(self) -> object:
        if self.client is None:
            message = "No clients found"
            raise ValueError(message)
        return self.client


CLIENT_LINE = "from dask.distributed import Client; client = Client()"


@pytest.mark.parametrize(
    ("kind", "module", "state", "line"),
    [
        (DaskProtocol, None, "not installed", DASK_PIP),
        (DaskScatter, None, "not installed", DASK_PIP),
        (DaskScatter, FakeDistributed(), "not running", CLIENT_LINE),
    ],
)
def test_a_missing_dask_or_client_gives_the_line_to_type(
    monkeypatch: pytest.MonkeyPatch, kind: type[Transport], module: Any, state: str, line: str
) -> None:
    """Left out unasked, nothing is started; asked for by name, an error with the line for it."""
    monkeypatch.setitem(sys.modules, "distributed", module)

    transport = kind()
    with pytest.raises(ProbeUnavailable) as caught:
        transport.start()

    assert not transport.is_asked()
    assert transport.state()[0] == state
    assert line in transport.state()[1]
    assert line in str(caught.value)


def test_a_client_of_the_user_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes part unasked and nothing has to be started."""
    client = SimpleNamespace(asynchronous=False, status="running")
    monkeypatch.setitem(sys.modules, "distributed", FakeDistributed(client))

    transport = DaskScatter()

    assert transport.is_asked()
    assert transport.state() == ("ok", "")
    assert transport.start() == ""
