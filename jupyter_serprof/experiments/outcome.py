"""What came back from a round trip: equal or not, a copy or the same memory; and what travelled."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

from jupyter_serprof.capture.memory import Buffer, buffers_of, lies_inside, overlaps, store_ranges
from jupyter_serprof.experiments.differences import Witness, differences
from jupyter_serprof.experiments.equality import same_value
from jupyter_serprof.experiments.payload import buffer_places
from jupyter_serprof.model.sizes import size_bytes


def checked_result(before: object, after: object, witness: Witness) -> dict[str, object]:
    """Return ``equal``, ``type``, ``notes`` (in lines) and ``result`` of what came back."""
    is_kept = witness.is_unchanged(before)
    changed = differences(before, after)
    spoilt = [] if is_kept else ["the round trip changed the value itself"]
    return {
        "equal": same_value(before, after) if is_kept else False,
        "type": type(after).__name__,
        "notes": "\n".join([*changed, *spoilt]),
        "result": _result_kind(buffers_of(before), buffers_of(after), after),
    }


def _result_kind(before: list[Buffer], after: list[Buffer], result: object) -> str:
    if not after:
        return "a new object"
    if overlaps(before, after):
        return "zero-copy, aliases the original"
    ranges = store_ranges()
    flags = getattr(result, "flags", None)
    writeable = getattr(flags, "writeable", None)
    access = "" if writeable is None else ", writeable" if writeable else ", read-only"
    if ranges and lies_inside(after, ranges):
        return f"zero-copy{access}"
    return f"a copy{access}"


def payload_places(
    value: object, facts: Mapping[str, object], *, hands_over: bool
) -> tuple[tuple[int, str], ...]:
    """Return (size, place) of the large payloads of a value; none where that cannot be told."""
    if isinstance(value, bytes | bytearray | str):
        size = size_bytes(value)
        place = "out-of-band" if facts["out_of_band_bytes"] == size else "in-band"
        return ((size, place),) if size else ()
    try:
        return buffer_places(value, hands_over=hands_over)
    except Exception:  # noqa: BLE001  (it was pickled a moment ago; a list of buffers is extra)
        return ()


class _Count:
    """A file that keeps nothing but the number of bytes."""

    def __init__(self) -> None:
        self.size_bytes = 0

    def write(self, data: object) -> int:
        size = memoryview(data).nbytes  # type: ignore[arg-type]  # bytes or a PickleBuffer
        self.size_bytes += size
        return size


def pickled_bytes(value: object) -> int | None:
    """Return the length of the pickle of a value, which is not made; None if pickle refuses."""
    count = _Count()
    try:
        pickle.Pickler(count, protocol=5).dump(value)
    except Exception:  # noqa: BLE001  (the transports will say why)
        return None
    return count.size_bytes
