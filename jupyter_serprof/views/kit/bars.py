"""Bars made of block characters, and the logarithmic axes of sweeps.

At each bucket the shares of all rows and of the unaccounted time sum to at most one: this is the
height of a bar where spans are smaller than what can be drawn.
"""

import math
from collections.abc import Iterable, Sequence

from jupyter_serprof.analysis.spans import Piece
from jupyter_serprof.model import Row, Waterfall

_LENGTHS = " ▏▎▍▌▋▊▉█"
#: Below this share of its instant a mark has no height that can be seen.
_THIN = 1 / 16
#: A half, whatever its last digits.
_HALF = 0.499


def work_bar(shares: Sequence[float]) -> str:
    """Return a bar that is as high at each instant as the share (0..1) owned of it."""
    # What is shorter than a character and stands alone is a thin upright line, never nothing.
    around = [0.0, *shares, 0.0]
    return "".join(
        _block(share, is_alone=not (before or after))
        for before, share, after in zip(around, shares, around[2:], strict=False)
    )


def _block(share: float, *, is_alone: bool) -> str:
    if share <= 0:
        return " "
    if share < _THIN:
        return "▏" if is_alone else "▁"
    return " ▁▂▃▄▅▆▇█"[round(share * 8)]


def wait_bar(shares: Sequence[float]) -> str:
    """Return a grey bar where somebody waited, a thin line where that is less than half."""
    return "".join("▒" if share > _HALF else "─" if share > 0 else " " for share in shares)


def rest_bar(shares: Sequence[float]) -> str:
    """Return a bar, hatched, for time without a known owner."""
    return "".join("░" if share > _HALF else "·" if share > _THIN else " " for share in shares)


def length_bar(share: float, columns: int) -> str:
    """Return a bar from the left over a share (0..1) of the columns; never nothing."""
    eighths = max(1, round(share * columns * 8)) if share > 0 else 0
    whole, part = divmod(min(eighths, columns * 8), 8)
    return (_LENGTHS[8] * whole + _LENGTHS[part]).strip().ljust(columns)[:columns]


def pieces_of(row: Row, wall_ns: int) -> list[Piece]:
    """Return what a row owned, inside the wall time, as (start_ns, duration_ns)."""
    pieces = row.pieces or ((row.start_ns, row.self_ns),)
    ends = [(max(0, start), min(wall_ns, start + length)) for start, length in pieces]
    return [(start, end - start) for start, end in ends if end > start]


def density(row: Row, pieces: Iterable[Piece]) -> float:
    """Return the share of its pieces that the row owned: below 1 where pieces were merged."""
    drawn_ns = sum(length for _, length in pieces)
    return min(1.0, row.self_ns / drawn_ns) if drawn_ns else 0.0


def row_shares(row: Row, wall_ns: int, count: int) -> list[float]:
    """Return the share (0..1) of each of ``count`` buckets that a row owned."""
    shares = [0.0] * count
    pieces = pieces_of(row, wall_ns)
    factor = density(row, pieces) * count / wall_ns if pieces else 0.0
    for start, length in pieces:
        _add(shares, start, start + length, wall_ns / count, factor)
    return [min(1.0, share) for share in shares]


def _add(shares: list[float], start: int, end: int, bucket_ns: float, factor: float) -> None:
    first = int(start / bucket_ns)
    last = min(len(shares) - 1, int(end / bucket_ns))
    for index in range(first, last + 1):
        low, high = index * bucket_ns, (index + 1) * bucket_ns
        shares[index] += max(0.0, min(end, high) - max(start, low)) * factor


def unaccounted_shares(waterfall: Waterfall, wall_ns: int, count: int) -> list[float]:
    """Return the share (0..1) of each bucket that no row owned; sums to the unaccounted time."""
    if not waterfall.unaccounted_ns or not wall_ns:
        return [0.0] * count
    owned = [row_shares(row, wall_ns, count) for row in waterfall.rows]
    left = [max(0.0, 1.0 - sum(row[i] for row in owned)) for i in range(count)]
    wanted = waterfall.unaccounted_ns * count / wall_ns
    factor = wanted / sum(left) if sum(left) else 0.0
    return [min(1.0, share * factor) for share in left]


def log_axis(values: Iterable[float]) -> tuple[float, float]:
    """Return the logarithms of the ends of an axis: those of the values, and a little room."""
    logs = [math.log10(value) for value in values if value > 0]
    room = max(0.06 * (max(logs) - min(logs)), 0.1)
    return min(logs) - room, max(logs) + room


def log_ticks(axis: tuple[float, float], most: float) -> list[float]:
    """Return powers of ten on an axis, every second or third of many; of two at most 1, 2, 5."""
    low, high = axis
    powers = range(math.floor(low), math.ceil(high) + 1)
    inside = [power for power in powers if low <= power <= high]
    if len(inside) > 2:  # noqa: PLR2004  (as the browser)
        return [10.0**power for power in inside[:: max(1, math.ceil(len(inside) / most))]]
    fine = (times * 10.0**power for power in powers for times in (1, 2, 5))
    return [value for value in fine if low <= math.log10(value) <= high]
