"""Ray Client (``ray://``): put and get are timed from outside, and the document says why."""

import json
import socket
import subprocess
import sys

import pytest
import ray
from pythons import python

pytestmark = [pytest.mark.ray]

#: A server of Ray Client on the loopback, before the cluster of all tests.
_SERVER = """
import sys
import ray
from ray.util.client.server.server import serve

ray.init(sys.argv[2], log_to_driver=False)
server = serve("127.0.0.1", int(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
server.stop(0)
ray.shutdown()
"""

_CLIENT = """
import json, sys
import ray
from jupyter_serprof.api import record

ray.init(f"ray://127.0.0.1:{sys.argv[1]}")
with record("client") as recording:
    value = ray.get(ray.put([1, 2, 3]))
trace = recording.trace
(probe,) = [p for p in trace.quality.probes if p.name == "ray"]
found = [(s.stage, s.name, s.size_bytes) for s in trace.spans if s.stage.startswith("ray.")]
print(json.dumps([value, probe.level, probe.unseen[-1], found]))
ray.shutdown()
"""


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.usefixtures("cluster")
def test_a_client_gets_outer_timings_and_a_sentence() -> None:
    """A process outside the cluster: one span for each put and get, no stages invented."""
    pytest.importorskip("grpc", reason="Ray Client needs grpcio: pip install 'ray[client]'")
    port, address = _free_port(), ray.get_runtime_context().gcs_address
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, port, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        while server.stdout.readline().strip() != "ready":
            assert server.poll() is None, "the server of Ray Client did not start"
        said = python(_CLIENT, port)
        server.communicate(timeout=60)

    value, level, unseen, spans = json.loads(said.splitlines()[-1])
    assert (value, level) == ([1, 2, 3], "outer")
    assert unseen.startswith("Ray Client (ray://)")
    assert spans == [["ray.store", "put", None], ["ray.fetch", "get", None]]
