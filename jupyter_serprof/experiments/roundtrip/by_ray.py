"""Ray's transports: put and get, the same with a serializer of one's own, and in chunks."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from jupyter_serprof.capture.recorder import span
from jupyter_serprof.experiments.roundtrip.transport import Transport
from jupyter_serprof.model import ProbeUnavailable
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.probes.ray.tasks import DEAD, is_alive

_PIP = 'Run: pip install "jupyter_serprof[ray]"'
#: As large as the chunks in which Ray sends an object to another node, a few times over.
CHUNK_BYTES = 16 * 1024 * 1024
#: Written by msgpack or by the C pickler itself, which look up no reducer for exactly these.
#: Source: ray 2.60.0, _private/serialization.py, _serialize_to_msgpack; CPython, _pickle.c, save.
_BUILT_IN = frozenset(
    {str, int, float, bool, type(None), list, tuple, dict, set, frozenset, bytes, bytearray}
)


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
            return "not installed", f"Ray is not installed. {_PIP}"
        if ray is None or not ray.is_initialized():
            start = f"ray.init(include_dashboard=False), or ask for it: --transports {self.key}"
            return "not running", f"Ray is not running. Run: import ray; {start}"
        return ("ok", "") if is_alive() else ("dead", DEAD)

    def start(self) -> str:
        """Start Ray on this machine, without dashboard, if none runs."""
        state, reason = self.state()
        if state in ("not installed", "dead"):
            message = f"the transport {self.key} needs Ray. {reason}"
            raise ProbeUnavailable(message)
        if state == "ok":
            return ""
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


class RaySerializer(Ray):
    """ray.put and ray.get with a serializer of one's own: plain pickle, buffers out-of-band.

    It stands for what ``ray.util.register_serializer`` costs and saves: the C pickler of the
    standard library does the work instead of cloudpickle.
    """

    key = "ray-serializer"
    title = "Ray, own serializer"
    takes_functions = False

    def is_asked(self) -> bool:
        """Take part only when it is named."""
        return False

    def refuses(self, value: object) -> str:
        """Refuse what Ray writes without asking a serializer, and what has one already."""
        kind = type(value)
        if kind in _BUILT_IN:
            return f"Ray writes the type {kind.__name__} itself, before any serializer is asked"
        is_taken = _has_serializer(kind)
        if is_taken is None:
            return "this Ray does not tell which types have a serializer, so none is registered"
        if is_taken:
            return (
                f"a serializer of {kind.__name__} is registered already and is left alone; "
                "the transport ray uses it"
            )
        return ""

    def round_trip(self, value: object) -> object:
        """Register, put, get, deregister: afterwards Ray is as it was."""
        with _registered(type(value)):
            return super().round_trip(value)


def _has_serializer(kind: type) -> bool | None:
    """Tell whether someone registered a serializer for a type; None where it cannot be seen.

    Source: ray 2.60.0, _private/serialization.py, SerializationContext: registered serializers
    stand in ``ray.cloudpickle.CloudPickler.dispatch``. There is no public question.
    """
    import ray

    known: object = getattr(ray.cloudpickle.CloudPickler, "dispatch", None)
    return kind in known if isinstance(known, Mapping) else None


@contextmanager
def _registered(kind: type) -> Iterator[None]:
    """Have the serializer in Ray for a block, unless there is one that is not ours."""
    import ray

    if _has_serializer(kind) is not False:
        yield
        return
    ray.util.register_serializer(kind, serializer=to_parts, deserializer=from_parts)
    try:
        yield
    finally:
        ray.util.deregister_serializer(kind)


def to_parts(value: object) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """Return a pickle and its buffers, which Ray then stores beside its own."""
    buffers: list[pickle.PickleBuffer] = []
    return pickle.dumps(value, protocol=5, buffer_callback=buffers.append), buffers


def from_parts(parts: tuple[bytes, list[Any]]) -> object:
    """Return the value of `to_parts`; its arrays lie in Ray's store."""
    data, buffers = parts
    return pickle.loads(data, buffers=buffers)  # noqa: S301  (our own bytes)


class RayChunked(Ray):
    """Bytes or an array cut into pieces of 16 MiB, put one by one, got together, joined again.

    What a program does that fills an object while it reads, or that must not need one large free
    block in the store. The join is a copy that ``ray`` does not need.
    """

    key = "ray-chunked"
    title = "Ray, in chunks"
    takes_functions = False

    def __init__(self) -> None:
        self._count: int | None = None

    def is_asked(self) -> bool:
        """Take part only when it is named."""
        return False

    def refuses(self, value: object) -> str:
        """Refuse what is not one run of bytes."""
        if isinstance(value, bytes | bytearray) and type(value) in (bytes, bytearray):
            return ""
        numpy = sys.modules.get("numpy")
        if numpy is None or type(value) is not numpy.ndarray:
            return f"only bytes, bytearrays and arrays are cut, not the type {type(value).__name__}"
        if value.dtype.hasobject:  # type: ignore[attr-defined]  # an array
            return "an array of Python objects has no bytes that can be cut"
        return ""

    def round_trip(self, value: object) -> object:
        """Cut, put, get and join."""
        with span("cut into chunks"):
            flat, join = _flat(value)
        import ray

        places = range(0, max(1, len(flat)), CHUNK_BYTES)
        references = [ray.put(flat[start : start + CHUNK_BYTES]) for start in places]
        pieces = ray.get(references)
        self._count = len(pieces)
        del references
        with span("join chunks"):
            return join(pieces)

    def facts(self) -> Mapping[str, Scalar]:
        """Return how many chunks there were, and how large they are."""
        return {"chunks": self._count, "chunk_bytes": CHUNK_BYTES}


def _flat(value: Any) -> tuple[Any, Callable[[list[Any]], object]]:  # noqa: ANN401  (bytes or an array)
    """Return the bytes of a value, without a copy where they are contiguous, and the way back."""
    if isinstance(value, bytes | bytearray):
        return value, type(value)().join
    numpy = sys.modules["numpy"]

    def join(pieces: list[Any]) -> object:
        result = numpy.empty_like(value)
        # A new array has no gaps, so this is a view of it in the order of its memory.
        numpy.concatenate(pieces, out=result.ravel(order="K").view(numpy.uint8))
        return result

    return value.ravel(order="K").view(numpy.uint8), join
