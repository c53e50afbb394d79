"""Which buffers of a value travel inside the pickle and which beside it; moves no bytes itself."""

from __future__ import annotations

import pickle

#: The C pickler hands payloads of at least this size to ``write`` on their own, without a copy.
_OWN_WRITE_BYTES = 64 * 1024
_LISTED = 50


class _Sink:
    """A file that keeps only the sizes of large writes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def write(self, data: object) -> int:
        size = memoryview(data).nbytes  # type: ignore[arg-type]  # bytes or a PickleBuffer
        if size >= _OWN_WRITE_BYTES:
            self.sizes.append(size)
        return size


def buffer_places(value: object, *, hands_over: bool) -> tuple[tuple[int, str], ...]:
    """Return (size in bytes, ``in-band`` or ``out-of-band``) of the largest payloads of a value.

    Parameters
    ----------
    value
        What is sent; must be picklable by cloudpickle.
    hands_over
        True if the transport takes buffers out-of-band.

    Notes
    -----
    Runs the pickler once into a sink that keeps nothing, so large arrays cost no copy. Payloads up
    to 128 KiB inside the pickle are not listed: many small objects reach the sink in frames of
    about 64 KiB, which are not buffers.
    """
    import cloudpickle

    sink, beside = _Sink(), list[int]()

    def hand_over(buffer: pickle.PickleBuffer) -> bool:
        beside.append(memoryview(buffer).nbytes)
        return False

    callback = hand_over if hands_over else None
    cloudpickle.Pickler(sink, protocol=5, buffer_callback=callback).dump(value)
    inside = [size for size in sink.sizes if size > 2 * _OWN_WRITE_BYTES]
    found = [(size, "in-band") for size in inside] + [(size, "out-of-band") for size in beside]
    return tuple(sorted(found, key=lambda entry: -entry[0])[:_LISTED])
