"""Transports by pickle itself: protocols 4 and 5, in-band and out-of-band, and cloudpickle."""

from __future__ import annotations

import pickle

from jupyter_serprof.experiments.roundtrip.transport import Transport


class PickleInBand(Transport):
    """pickle, protocol 5, everything in one bytes object."""

    key = "pickle"
    title = "pickle 5, in-band"

    def round_trip(self, value: object) -> object:
        """Send through one bytes object, which is dropped before this returns."""
        return pickle.loads(pickle.dumps(value, protocol=5))  # noqa: S301  (our own bytes)


class Pickle4(Transport):
    """pickle, protocol 4: no buffers, so arrays are copied once more than by protocol 5."""

    key = "pickle4"
    title = "pickle 4"

    def is_asked(self) -> bool:
        """Take part only when it is named: everybody else's default is newer."""
        return False

    def round_trip(self, value: object) -> object:
        """Send through one bytes object."""
        return pickle.loads(pickle.dumps(value, protocol=4))  # noqa: S301  (our own bytes)


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
