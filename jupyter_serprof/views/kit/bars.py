"""Bars made of block characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEIGHTS = " ▁▂▃▄▅▆▇█"
_LENGTHS = " ▏▎▍▌▋▊▉█"
#: Below this share of its instant a mark has no height that can be seen.
_THIN = 1 / 16


def work_bar(shares: Sequence[float]) -> str:
    """Return a bar that is as high at each instant as the share (0..1) owned of it.

    What is shorter than a character and stands alone is a thin upright line, never nothing.
    """
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
    return _HEIGHTS[round(share * 8)]


def wait_bar(shares: Sequence[float]) -> str:
    """Return a thin line where somebody waited."""
    return "".join("─" if share > 0 else " " for share in shares)


def rest_bar(shares: Sequence[float]) -> str:
    """Return a bar, hatched, where nobody knows what happened."""
    return "".join("░" if share >= 0.5 else "·" if share > _THIN else " " for share in shares)  # noqa: PLR2004


def length_bar(share: float, columns: int) -> str:
    """Return a bar from the left over a share (0..1) of the columns; never nothing."""
    eighths = max(1, round(share * columns * 8)) if share > 0 else 0
    whole, part = divmod(min(eighths, columns * 8), 8)
    return (_LENGTHS[8] * whole + _LENGTHS[part]).strip().ljust(columns)[:columns]
