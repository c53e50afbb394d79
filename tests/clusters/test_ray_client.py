"""Ray Client (``ray://``): put and get are timed from outside, and the document says why."""

import sys
import types
from typing import Any

import pytest
import ray

from clusters.client import run_client
from clusters.seen import has_row, probe, recorded, row

pytestmark = [pytest.mark.ray]


class _ConnectedClient(types.ModuleType):
    """Stands for ``ray.util.client`` of a process that is connected with ``ray://``."""

    class ray:  # noqa: N801  (its name in Ray)
        """The object that answers for the connection."""

        @staticmethod
        def is_connected() -> bool:
            return True


@pytest.mark.usefixtures("cluster")
def test_a_client_gets_outer_timings_and_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process outside the cluster: one span for each put and get, no stages invented."""
    monkeypatch.setitem(sys.modules, "ray.util.client", _ConnectedClient("ray.util.client"))

    value, trace = recorded(lambda: ray.get(ray.put([1, 2, 3])))

    assert value == [1, 2, 3]
    assert probe(trace).level == "outer"
    assert probe(trace).unseen[-1].startswith("Ray Client (ray://)")
    assert [span.name for span in trace.spans if span.stage not in ("gc", "recording")] == [
        "put",
        "get",
    ]
    assert row(trace, "ray.store").size_bytes is None
    assert not has_row(trace, "ray.pickle")


def test_a_real_client_gets_outer_timings_and_a_sentence() -> None:
    """The same against a server of Ray Client on the loopback; needs grpcio (``ray[client]``)."""
    pytest.importorskip("grpc", reason="Ray Client needs grpcio: pip install 'ray[client]'")
    answer: dict[str, Any] = run_client()

    assert answer["value"] == [1, 2, 3]
    assert answer["level"] == "outer"
    assert answer["stages"] == ["ray.fetch", "ray.store"]
    assert "ray://" in answer["unseen"]
