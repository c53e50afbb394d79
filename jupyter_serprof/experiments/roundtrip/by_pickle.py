"""Transports in this process: by pickle and cloudpickle, compressed, and by formats of files."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, ClassVar

from jupyter_serprof.capture.recorder import span
from jupyter_serprof.experiments.roundtrip.transport import Transport, is_installed
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.objects.ask import is_exactly_of

#: Signed, unsigned and floating: what an Arrow tensor holds.
_TENSOR_KINDS = "iuf"
_MOST_DIMENSIONS, _MOST_TENSOR_BYTES = 2, 8
_Codec = Callable[[bytes], bytes]


class OptionalTransport(Transport):
    """A transport that takes part when it is named, and needs a library that may be missing."""

    is_extra = True
    #: What installs it; "" where it has the name of the library.
    pip: ClassVar[str] = ""

    def state(self) -> tuple[str, str]:
        """Tell whether the library is installed; never imports it."""
        if is_installed(self.needs):
            return "ok", ""
        line = f"pip install {self.pip or self.needs}"
        return "not installed", f"{self.needs} is not installed. Run: {line}"

    def wrote(self, size_bytes: int, **more: Scalar) -> None:
        """Tell how many bytes were written: all of them in one stream."""
        stream = {"in_band_bytes": size_bytes, "out_of_band_bytes": 0, "total_bytes": size_bytes}
        self.latest = {**stream, **more}


class ArrowIpc(OptionalTransport):
    """The stream format of Arrow; a frame is converted to a table and back.

    Arrays travel as one tensor message. The result of an array or a table reads the stream's
    memory in place, so it is read-only.
    """

    key = "arrow"
    title = "Arrow IPC"
    needs = "pyarrow"
    pip = '"jupyter_serprof[dataframe]"'

    def refuses(self, value: object) -> str:
        """Refuse what Arrow has no message for."""
        if is_exactly_of(value, "numpy", "ndarray"):
            return _array_refusal(value)
        if is_exactly_of(value, "pandas", "DataFrame") or is_exactly_of(value, "pyarrow", "Table"):
            return ""
        return (
            "Arrow IPC is for tables, DataFrames and arrays of numbers, "
            f"not for the type {type(value).__name__}"
        )

    def round_trip(self, value: object) -> object:
        """Write the stream into memory and read it back to the type that went in."""
        import pyarrow as pa

        write, read = _arrow_ways(value)
        with span("to Arrow IPC"):
            sink = pa.BufferOutputStream()
            write(sink)
            buffer = sink.getvalue()
        self.wrote(buffer.size)
        with span("from Arrow IPC"):
            return read(pa.BufferReader(buffer))


def _array_refusal(value: Any) -> str:  # noqa: ANN401  (an array)
    dtype = value.dtype
    is_number = dtype.kind in _TENSOR_KINDS and dtype.itemsize <= _MOST_TENSOR_BYTES
    if not is_number or not dtype.isnative:
        return f"Arrow tensors hold native integers and floats, not {dtype}"
    if not 1 <= value.ndim <= _MOST_DIMENSIONS:
        return f"arrays of 1 or 2 dimensions travel as Arrow tensors, not of {value.ndim}"
    return ""


def _arrow_ways(value: Any) -> tuple[Callable[[Any], None], Callable[[Any], object]]:  # noqa: ANN401
    import pyarrow as pa

    if is_exactly_of(value, "numpy", "ndarray"):
        return (
            lambda sink: pa.ipc.write_tensor(pa.Tensor.from_numpy(value), sink),
            lambda source: pa.ipc.read_tensor(source).to_numpy(),
        )
    is_frame = is_exactly_of(value, "pandas", "DataFrame")

    def write(sink: Any) -> None:  # noqa: ANN401  (pyarrow has no types)
        table = pa.Table.from_pandas(value) if is_frame else value
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write(table)

    def read(source: Any) -> object:  # noqa: ANN401  (as above)
        table = pa.ipc.open_stream(source).read_all()
        return table.to_pandas() if is_frame else table

    return write, read


class PickleInBand(Transport):
    """pickle, protocol 5, everything in one bytes object."""

    key = "pickle"
    title = "pickle in-band"
    protocol: ClassVar[int] = 5

    def round_trip(self, value: object) -> object:
        """Send through one bytes object, which is dropped before this returns."""
        return pickle.loads(pickle.dumps(value, protocol=self.protocol))  # noqa: S301  (our own bytes)


class Pickle4(PickleInBand):
    """pickle, protocol 4: no buffers, so arrays are copied once more than by protocol 5."""

    key = "pickle4"
    title = "pickle 4"
    is_extra = True
    protocol = 4


class PickleOutOfBand(Transport):
    """pickle, protocol 5, buffers handed over without a copy; the result may alias the value."""

    key = "pickle-oob"
    title = "pickle out-of-band"
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
    same_as = "pickle"
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

    def prepare(self, value: object) -> None:  # noqa: ARG002  (the import is what takes long)
        """Import it, so that no run pays for that."""
        self.codec()

    def round_trip(self, value: object) -> object:
        """Pickle, compress, decompress, unpickle."""
        raw = pickle.dumps(value, protocol=5)
        raw_bytes = len(raw)
        with span(f"{self.key} compress"):
            compress, decompress = self.codec()
            data = compress(raw)
        # What is not needed any more would double the peak.
        del raw
        size = len(data)
        moved = {"raw_bytes": raw_bytes, "compressed_bytes": size, "moved_bytes": size}
        self.wrote(size, **moved, ratio=raw_bytes / size)
        with span(f"{self.key} decompress"):
            raw = decompress(data)
        return pickle.loads(raw)  # noqa: S301  (our own bytes)

    def codec(self) -> tuple[_Codec, _Codec]:
        """Return what makes a frame that knows its length, and what opens it."""
        raise NotImplementedError


class Lz4(Compressed):
    """lz4 frames at the default level."""

    key = "lz4"
    title = "pickle 5 + lz4"
    needs = "lz4"

    def codec(self) -> tuple[_Codec, _Codec]:
        """Return the functions of lz4, which tell the length by themselves."""
        import lz4.frame

        return lz4.frame.compress, lz4.frame.decompress


class Zstd(Compressed):
    """zstd at level 1, the fast one."""

    key = "zstd"
    title = "pickle 5 + zstd"
    needs = "zstandard"

    def codec(self) -> tuple[_Codec, _Codec]:
        """Return methods of a new pair of zstandard."""
        import zstandard

        return zstandard.ZstdCompressor(level=1).compress, zstandard.ZstdDecompressor().decompress


#: Those that take part unasked, and those that take part when they are named.
UNASKED = (PickleInBand, PickleOutOfBand, Cloudpickle)
NAMED = (Pickle4, ArrowIpc, Lz4, Zstd)
