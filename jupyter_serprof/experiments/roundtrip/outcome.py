"""What came back from a round trip: equal or not, a copy or the same memory; and what travelled."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

from jupyter_serprof.capture.memory import Buffer, buffers_of, lies_inside, overlaps, store_ranges
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import format_share
from jupyter_serprof.objects.differences import Witness, differences
from jupyter_serprof.objects.equality import same_value
from jupyter_serprof.objects.payload import Held, buffer_places, held_by_both
from jupyter_serprof.objects.sizes import size_bytes

#: What is not memory of the original may be the pickle of its shape, or is less than is told.
_WHOLE, _TOLD = 0.995, 0.005
#: What of it stands among the facts of a variant.
CHECKED_FACTS = ("equal", "type", "shared_share", "has_buffers")


def checked_result(before: object, after: object, witness: Witness) -> dict[str, Scalar]:
    """Return ``equal``, ``type``, ``notes`` (in lines) and ``result`` of what came back.

    ``shared_share`` is the part of its bytes that lies in the very memory of the value (None: not
    told), ``has_buffers`` whether there are any that could be handed over.
    """
    is_kept = witness.is_unchanged(before)
    changed = differences(before, after)
    spoilt = [] if is_kept else ["the round trip changed the value itself"]
    held = held_by_both(before, after)
    buffers = list(held[1].buffers if held else ()) or buffers_of(after)
    share = _shared_share(before, after, held)
    return {
        "equal": same_value(before, after) if is_kept else False,
        "type": type(after).__name__,
        "notes": "\n".join([*changed, *spoilt]),
        "result": _result_kind(share, buffers, after),
        "shared_share": share,
        "has_buffers": bool(held[0].buffers) if held else None,
    }


def _shared_share(before: object, after: object, held: tuple[Held, Held] | None) -> float | None:
    if held is None:
        return 1.0 if overlaps(buffers_of(before), buffers_of(after)) else None
    value, result = held
    # What has next to no bytes, a number or a name, is one object wherever it is made.
    if after is before and value.total_bytes:
        return 1.0
    return result.shared_bytes(value) / result.total_bytes if result.total_bytes else 0.0


def _result_kind(share: float | None, buffers: list[Buffer], result: object) -> str:
    if share and share >= _WHOLE:
        return "zero-copy, aliases the original"
    if share and share >= _TOLD:
        return f"{format_share(share, decimals=0)} aliases the original"
    if not buffers:
        return "a new object"
    ranges = store_ranges()
    flags = getattr(result, "flags", None)
    writeable = getattr(flags, "writeable", None)
    access = "" if writeable is None else ", writeable" if writeable else ", read-only"
    if ranges and lies_inside(buffers, ranges):
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
