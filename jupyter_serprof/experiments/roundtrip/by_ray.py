"""The transport of Ray: put and get."""

import sys

from jupyter_serprof.experiments.roundtrip.transport import Transport, is_installed
from jupyter_serprof.model import ProbeUnavailable
from jupyter_serprof.probes.ray.alive import DEAD, is_alive

_PIP = 'Run: pip install "jupyter_serprof[ray]"'


class Ray(Transport):
    """ray.put and ray.get through the object store of this node."""

    key = "ray"
    title = "ray.put + ray.get"
    hands_over_buffers = True
    takes_functions = True
    needs = "Ray"

    def state(self) -> tuple[str, str]:
        """Tell whether Ray is installed and running; never imports or starts it."""
        ray = sys.modules.get("ray")
        if not is_installed("ray"):
            return "not installed", f"Ray is not installed. {_PIP}"
        if ray is None or not ray.is_initialized():
            start = f"ray.init(include_dashboard=False), or ask for it: --transports {self.key}"
            return "not running", f"Ray is not running. Run: import ray; {start}"
        return ("ok", "") if is_alive() else ("dead", DEAD)

    def start(self) -> str:
        """Start Ray on this machine, without dashboard, if none runs."""
        state, _ = self.state()
        if state in ("ok", "not installed", "dead"):
            return super().start()
        import ray

        try:
            ray.init(include_dashboard=False)
        except Exception as error:
            message = (
                f"the transport {self.key} needs Ray, which did not start "
                f"({type(error).__name__}). Run: import ray; ray.init(include_dashboard=False)"
            )
            raise ProbeUnavailable(message) from error
        return "Ray was started for this and still runs; ray.shutdown() stops it"

    def round_trip(self, value: object) -> object:
        """Put and get; the reference goes away with this call, the result keeps the memory."""
        import ray

        return ray.get(ray.put(value))
