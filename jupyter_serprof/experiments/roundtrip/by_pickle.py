"""Transports by pickle itself: protocols 4 and 5, in-band and out-of-band, and cloudpickle."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any, ClassVar

from jupyter_serprof.capture.marks import span
from jupyter_serprof.experiments.roundtrip.by_file import OptionalTransport
from jupyter_serprof.experiments.roundtrip.transport import Transport
from jupyter_serprof.model.trace import Scalar


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


class Compressed(OptionalTransport):
    """pickle 5 in-band, compressed: slower here, faster over a link that is slow enough.

    From which bandwidth on it loses is in the facts of the finished sweep
    (``wins_below_bytes_per_s``), from its warm median and that of plain ``pickle``.
    """

    codec: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self._raw_bytes: int | None = None

    def prepare(self, value: object) -> None:  # noqa: ARG002  (the import is what takes long)
        """Import it, so that no run pays for that."""
        self.compress(b"")

    def round_trip(self, value: object) -> object:
        """Pickle, compress, decompress, unpickle."""
        raw = pickle.dumps(value, protocol=5)
        self._raw_bytes = len(raw)
        with span(f"{self.codec} compress"):
            data = self.compress(raw)
        # What is not needed any more would double the peak.
        del raw
        self._written_bytes = len(data)
        with span(f"{self.codec} decompress"):
            raw = self.decompress(data)
        return pickle.loads(raw)  # noqa: S301  (our own bytes)

    def compress(self, raw: bytes) -> bytes:
        """Return a frame that knows its length."""
        raise NotImplementedError

    def decompress(self, data: bytes) -> bytes:
        """Return what was compressed."""
        raise NotImplementedError

    def facts(self) -> Mapping[str, Scalar]:
        """Return the bytes before and after; the bytes after are what would be sent."""
        raw, written = self._raw_bytes, self._written_bytes
        ratio = raw / written if raw is not None and written else None
        more = {"raw_bytes": raw, "compressed_bytes": written, "moved_bytes": written}
        return {**super().facts(), **more, "ratio": ratio}


class Lz4(Compressed):
    """lz4 frames at the default level."""

    key = "lz4"
    title = "pickle 5 + lz4"
    library = "lz4"
    pip = "lz4"
    codec = "lz4"

    def compress(self, raw: bytes) -> bytes:
        """Return a frame that knows its length."""
        return bytes(_lz4().compress(raw, store_size=True))

    def decompress(self, data: bytes) -> bytes:
        """Return what was compressed."""
        return bytes(_lz4().decompress(data))


def _lz4() -> Any:  # noqa: ANN401  (a module without types)
    import lz4.frame

    return lz4.frame


class Zstd(Compressed):
    """zstd at level 1, the fast one."""

    key = "zstd"
    title = "pickle 5 + zstd"
    library = "zstandard"
    pip = "zstandard"
    codec = "zstd"

    def compress(self, raw: bytes) -> bytes:
        """Return a frame that knows its length."""
        import zstandard

        return zstandard.ZstdCompressor(level=1).compress(raw)

    def decompress(self, data: bytes) -> bytes:
        """Return what was compressed."""
        import zstandard

        return zstandard.ZstdDecompressor().decompress(data)
