"""A server of Ray Client on the loopback and a client that records, each in its own process."""

import json
import os
import socket
import subprocess
import sys
from typing import Any

from pythons import python

_SERVER = """
import sys, tempfile, time
import ray
from ray.util.client.server.server import serve

for _ in range(4):
    try:
        ray.init(
            num_cpus=1, include_dashboard=False, object_store_memory=200_000_000,
            log_to_driver=False, _temp_dir=tempfile.mkdtemp(prefix="sp"),
        )
        break
    except Exception:
        ray.shutdown()
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
print(json.dumps({
    "value": value,
    "level": probe.level,
    "unseen": " ".join(probe.unseen),
    "stages": sorted({s.stage for s in trace.spans if s.stage.startswith("ray.")}),
}))
ray.shutdown()
"""


def run_client() -> dict[str, Any]:
    """Record a put and a get through ``ray://`` and return what the document says."""
    port = str(_free_port())
    # The connection stays inside this machine and this test, so it needs no token.
    connection = {"RAY_AUTH_MODE": "disabled"}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, port],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | connection,
    ) as server:
        assert server.stdout is not None
        while server.stdout.readline().strip() != "ready":
            assert server.poll() is None, "the server of Ray Client did not start"
        said = python(_CLIENT, port, **connection)
        server.communicate(timeout=60)
    answer: dict[str, Any] = json.loads(said.splitlines()[-1])
    return answer


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
