"""Dask's transports: what its protocol makes of a value, and the way to a worker and back."""

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from jupyter_serprof.capture.recorder import span
from jupyter_serprof.experiments.roundtrip.transport import Transport, is_installed
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.objects.walk import DASK_THREADS

_PIP = 'Run: pip install "jupyter_serprof[dask]"'
_CLIENT = "Run: from dask.distributed import Client; client = Client()"
#: Without a worker the client would wait for 30 s.
_SCATTER_TIMEOUT_S = 10


def _protocol() -> Any:  # noqa: ANN401  (a module without types)
    """Return ``distributed.protocol.serialize``; the package has a function of the same name."""
    import distributed.protocol.serialize  # noqa: F401

    return sys.modules["distributed.protocol.serialize"]


class DaskProtocol(Transport):
    """serialize and deserialize of distributed, in this process: frames are handed over."""

    key = "dask"
    title = "Dask protocol"
    hands_over_buffers = True
    takes_functions = True
    needs = "distributed"

    def is_asked(self) -> bool:
        """Take part if distributed is imported already: importing it takes most of a second."""
        return sys.modules.get("distributed") is not None

    def state(self) -> tuple[str, str]:
        """Tell whether distributed is installed; never imports it."""
        if not is_installed("distributed"):
            return "not installed", f"Dask's distributed is not installed. {_PIP}"
        return "ok", ""

    def prepare(self, value: object) -> None:  # noqa: ARG002  (the import is what takes long)
        """Import distributed, so that no run pays for that."""
        _protocol()

    def round_trip(self, value: object) -> object:
        """Serialize to a header and frames, and back; nothing is compressed or sent."""
        protocol = _protocol()
        with span("frames from value"):
            header, frames = _serialize(protocol, value)
        self.latest = {}
        with span("value from frames"):
            result: object = protocol.deserialize(header, frames)
        self.latest = _frame_facts(header, frames)
        return result


class DaskScatter(DaskProtocol):
    """scatter to a worker and gather from it, with the client that the user has."""

    key = "dask-scatter"
    title = "client.scatter + gather"
    threads = DASK_THREADS
    needs = "a Dask client"

    def is_asked(self) -> bool:
        """Take part if there is a client."""
        return _client() is not None

    def state(self) -> tuple[str, str]:
        """Tell whether a client is connected; never imports or starts one."""
        state, reason = super().state()
        if state != "ok":
            return state, reason
        client = _client()
        if client is None:
            return "not running", f"There is no Dask client. {_CLIENT}"
        if client.asynchronous:
            how = "Run: client = Client(); outside of async code"
            return "not running", f"The Dask client is asynchronous. {how}"
        if client.status != "running":
            return "not running", f"The Dask client is {client.status}. {_CLIENT}"
        return "ok", ""

    def prepare(self, value: object) -> None:
        """Serialize once: what cannot be sent would be logged with its content by the client."""
        self.latest = _frame_facts(*_serialize(_protocol(), value))

    def round_trip(self, value: object) -> object:
        """Scatter and gather, under a key of its own; the worker's copy is released.

        Without ``hash=True``, the default, whose hash of the content takes time of its own and may
        give the key of data that the user has scattered.
        """
        client = _client()
        # In a list: of a list or a dict Dask would scatter the elements.
        [future] = client.scatter([value], hash=False, timeout=_SCATTER_TIMEOUT_S)
        try:
            [result] = client.gather([future])
        finally:
            future.release()
        return result


def _client() -> Any:  # noqa: ANN401  (a distributed.Client or None)
    """Return the client that the user works with; never makes one."""
    with suppress(AttributeError, KeyError, ValueError):  # there is none
        return sys.modules["distributed"].default_client()
    return None


def _serialize(protocol: Any, value: object) -> tuple[dict[str, Any], Sequence[Any]]:  # noqa: ANN401
    """Serialize as for a worker; an error names the type only, nothing is logged of the value."""
    with _silent("distributed.protocol.pickle"):
        try:
            header, frames = protocol.serialize(value, on_error="raise")
        except Exception as error:
            kind = type(value).__name__
            message = f"no family of Dask can serialize a {kind} ({type(error).__name__})"
            raise TypeError(message) from error
    return header, frames


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Keep a logger quiet: distributed logs the whole value that it cannot pickle."""
    logger = logging.getLogger(name)
    was_disabled = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = was_disabled


def _frame_facts(header: Mapping[str, Any], frames: Sequence[Any]) -> dict[str, Scalar]:
    """Tell what a header says of its frames: the pickle in each is in-band, the rest beside it."""
    headers = list(_headers(header))
    values = [(str(each["serializer"]), at) for each, at in headers if "serializer" in each]
    names = {str(name) for each, _ in headers for name in each.get("compression") or () if name}
    pickles = [at for family, at in values if family == "pickle"]
    sizes = [memoryview(frame).nbytes for frame in frames]
    in_band, total = sum(sizes[at] for at in pickles), sum(sizes)
    return {
        "family": ", ".join(sorted({family for family, _ in values})),
        "frames": len(frames),
        "compression": ", ".join(sorted(names)) or "none",
        "in_band_bytes": in_band,
        "out_of_band_bytes": total - in_band,
        "buffers": len(frames) - len(pickles),
        "total_bytes": total,
    }


def _headers(header: Mapping[str, Any], start: int = 0) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield a header and those of elements that were serialized one by one, and first frames."""
    yield header, start
    parts = header.get("sub-headers", ()) if header.get("is-collection") else ()
    for part, length in zip(parts, header.get("frame-lengths", ()), strict=False):
        yield from _headers(part, start)
        start += length
