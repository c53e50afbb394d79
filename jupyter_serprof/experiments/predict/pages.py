"""How many fresh pages a size will need: the part of the time that jumps.

Fresh pages are most of the time of large copies, and whether memory is fresh is decided by the
allocator, not by the size alone: blocks that are freed and taken again are warm as long as the
allocator keeps them. glibc keeps none of 32 MiB and more: each such block is mapped anew
(``DEFAULT_MMAP_THRESHOLD_MAX``, 64 bit; the threshold below it moves up to there by itself). So at
large sizes every run takes the pages that smaller sizes took only in their worst run.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from jupyter_serprof.model import Point

PAGE_BYTES = 4096
#: glibc maps larger blocks anew each time.
ALWAYS_FRESH_BYTES = 32 * 2**20
#: The last sizes that tell what is usual.
_LAST = 3


def expected_pages(points: Sequence[Point], size_bytes: int, *, blocks: int) -> float:
    """Return the fresh pages of a run at a size that was not measured.

    Parameters
    ----------
    points
        Runs of the same value at smaller sizes, of all variants that move it the same way.
    size_bytes
        The size that is asked for.
    blocks
        How many stages copy the value; each puts it into fresh pages when it is large.

    Notes
    -----
    Pages are told as a share of the pages of the value. A share near a whole number is that many
    blocks as large as the value, of which a few pages happened to be known.
    """
    shares = _shares(points)
    last = [shares[size] for size in sorted(shares)[-_LAST:]]
    if not last:
        return 0.0  # this platform counts none
    if size_bytes < ALWAYS_FRESH_BYTES:
        share = statistics.median(statistics.median(found) for found in last)
    else:
        most = max(max(found) for found in last)
        share = max(most, round(most), blocks)
    return share * size_bytes / PAGE_BYTES


def _shares(points: Sequence[Point]) -> Mapping[int, list[float]]:
    found: dict[int, list[float]] = defaultdict(list)
    for point in points:
        if point.size_bytes and point.minor_faults is not None:
            found[point.size_bytes].append(point.minor_faults * PAGE_BYTES / point.size_bytes)
    return found
