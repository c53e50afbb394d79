"""What the passes of a stage split pickle with: into nowhere, into a known block, watched."""

from __future__ import annotations

import copyreg
import pickle
import time
import types
from typing import Any

PROTOCOL = 5


class TooLongError(Exception):
    """A pass writes far more than the pickle has."""


class Nowhere:
    """A file that counts; large payloads arrive without a copy."""

    def __init__(self, most_bytes: float = float("inf")) -> None:
        self.size_bytes = 0
        self._most = most_bytes

    def write(self, data: Any) -> int:  # noqa: ANN401  (bytes or a PickleBuffer)
        """Count."""
        size = memoryview(data).nbytes
        self.size_bytes += size
        if self.size_bytes > self._most:
            raise TooLongError
        return size


class Block:
    """A file in one block of memory, which is used again and again."""

    def __init__(self, size_bytes: int) -> None:
        self._view = memoryview(bytearray(size_bytes))
        self._at = 0

    def rewind(self) -> None:
        """Begin at the front again."""
        self._at = 0

    def write(self, data: Any) -> int:  # noqa: ANN401  (bytes or a PickleBuffer)
        """Copy."""
        view = _flat(data)
        end = self._at + view.nbytes
        self._view[self._at : end] = view
        self._at = end
        return view.nbytes


def _flat(data: Any) -> memoryview:  # noqa: ANN401  (anything with a buffer)
    return data.raw() if isinstance(data, pickle.PickleBuffer) else memoryview(data).cast("B")


def hand_over(_: pickle.PickleBuffer) -> bool:
    """Let a buffer go out-of-band, to nobody."""
    return False


def watching(base: Any) -> Any:  # noqa: ANN401  (a class of picklers)
    """Return a pickler that adds up the time inside reducers."""
    above = getattr(base, "reducer_override", None)
    now, by_type = time.perf_counter_ns, copyreg.dispatch_table

    class Watching(base):  # type: ignore[misc]  # chosen at run time
        spent_ns = 0

        def reducer_override(self, value: Any) -> Any:  # noqa: ANN401
            start = now()
            try:
                return self._reduced(value)
            finally:
                self.spent_ns += now() - start

        def _reduced(self, value: Any) -> Any:  # noqa: ANN401
            known = above(self, value) if above is not None else NotImplemented
            if known is not NotImplemented or isinstance(value, type | types.FunctionType):
                return known
            reduce = by_type.get(type(value))
            return reduce(value) if reduce is not None else value.__reduce_ex__(PROTOCOL)

    return Watching
