"""Transports: the ways in which a value can travel and come back. A new one is one class here."""

from __future__ import annotations

import pickle
import sys
from importlib.util import find_spec

from jupyter_serprof.experiments.dask_transport import DaskProtocol, DaskScatter
from jupyter_serprof.experiments.transport import Transport
from jupyter_serprof.model import ProbeUnavailable

__all__ = ["TRANSPORTS", "Cloudpickle", "PickleInBand", "PickleOutOfBand", "Ray", "Transport"]

_RAY_PIP = 'Run: pip install "jupyter_serprof[ray]"'
_RAY_START = "Run: import ray; ray.init(include_dashboard=False), or ask for it: --transports ray"


class PickleInBand(Transport):
    """pickle, protocol 5, everything in one bytes object."""

    key = "pickle"
    title = "pickle 5, in-band"

    def round_trip(self, value: object) -> object:
        """Send through one bytes object, which is dropped before this returns."""
        return pickle.loads(pickle.dumps(value, protocol=5))  # noqa: S301  (our own bytes)


class PickleOutOfBand(Transport):
    """pickle, protocol 5, buffers handed over without a copy; the result may alias the value."""

    key = "pickle-oob"
    title = "pickle 5, out-of-band"
    hands_over_buffers = True

    def round_trip(self, value: object) -> object:
        """Send the bytes and the buffers."""
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        return pickle.loads(data, buffers=buffers)  # noqa: S301  (our own bytes)


class Cloudpickle(Transport):
    """cloudpickle, everything in one bytes object."""

    key = "cloudpickle"
    title = "cloudpickle"
    takes_functions = True

    def round_trip(self, value: object) -> object:
        """Send through one bytes object."""
        import cloudpickle

        return cloudpickle.loads(cloudpickle.dumps(value))


class Ray(Transport):
    """ray.put and ray.get through the object store of this node."""

    key = "ray"
    title = "ray.put + ray.get"
    hands_over_buffers = True
    takes_functions = True

    def state(self) -> tuple[str, str]:
        """Tell whether Ray is installed and running; never imports or starts it."""
        ray = sys.modules.get("ray")
        if ray is None and find_spec("ray") is None:
            return "not installed", f"Ray is not installed. {_RAY_PIP}"
        if ray is None or not ray.is_initialized():
            return "not running", f"Ray is not running. {_RAY_START}"
        return "ok", ""

    def start(self) -> str:
        """Start Ray on this machine, without dashboard, if none runs."""
        state, reason = self.state()
        if state == "not installed":
            message = f"the transport ray needs Ray. {reason}"
            raise ProbeUnavailable(message)
        if state == "ok":
            return ""
        import ray

        try:
            ray.init(include_dashboard=False)
        except Exception as error:
            message = (
                f"the transport ray needs Ray, which did not start ({type(error).__name__}). "
                "Run: import ray; ray.init(include_dashboard=False)"
            )
            raise ProbeUnavailable(message) from error
        return "Ray was started for this and still runs; ray.shutdown() stops it"

    def round_trip(self, value: object) -> object:
        """Put and get; the reference goes away with this call, the result keeps the memory."""
        import ray

        return ray.get(ray.put(value))


TRANSPORTS: dict[str, type[Transport]] = {
    kind.key: kind
    for kind in (PickleInBand, PickleOutOfBand, Cloudpickle, Ray, DaskProtocol, DaskScatter)
}
