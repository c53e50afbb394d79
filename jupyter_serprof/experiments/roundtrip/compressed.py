"""Transports that compress: pickle, protocol 5, then lz4 or zstd, and the way back."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any, ClassVar

from jupyter_serprof.capture.marks import span
from jupyter_serprof.experiments.roundtrip.by_file import OptionalTransport
from jupyter_serprof.model.trace import Scalar


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
