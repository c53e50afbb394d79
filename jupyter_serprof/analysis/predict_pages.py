"""How many fresh pages a stage of one size will need: the part of its time that jumps.

Fresh pages are most of the time of large copies, and whether memory is fresh is decided by the
allocator, not by the size alone: blocks that are freed and taken again are warm as long as the
allocator keeps them. glibc keeps none of 32 MiB and more: each such block is mapped anew
(``DEFAULT_MMAP_THRESHOLD_MAX``, 64 bit; the threshold below it moves up to there by itself). So a
stage that copies into one large block takes a page fault for each page of it, however warm it ran
at smaller sizes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from jupyter_serprof.model import Sweep, Trace

PAGE_BYTES = 4096
#: glibc maps larger blocks anew each time.
ALWAYS_FRESH_BYTES = 32 * 2**20
#: The last sizes that tell how often a block was new in a first run.
_LAST = 3
#: Whole blocks are counted, of which a few pages may be known.
_SLACK = 0.2
_WRITES = ("pickle.dumps",)
COPIES = ("pickle.dumps", "pickle.loads")


@dataclass(frozen=True, slots=True)
class Pages:
    """Fresh pages of one stage, as a share of the pages of the value, at the measured sizes.

    Attributes
    ----------
    warm, cold
        Of the variant itself, by size; runs where faults were not counted are missing.
    first
        The most of any variant that ran at that size for the first time.
    """

    warm: Mapping[int, float]
    cold: Mapping[int, float]
    first: Mapping[int, float]

    def expected_share(self, size_bytes: int, fresh_blocks_share: float) -> float:
        """Return the share at a size that was not measured.

        Parameters
        ----------
        fresh_blocks_share
            Bytes in blocks that are always fresh over bytes of the value, at that size.
        """
        last = _last(self.warm, size_bytes)[-1]
        if size_bytes < ALWAYS_FRESH_BYTES:
            return last
        # What the allocator does not keep is as fresh each time as it was the first time.
        first = statistics.median(_last(self.first, size_bytes))
        if fresh_blocks_share == 0.0:
            return max(last, first)
        blocks = math.floor(first + _SLACK) * fresh_blocks_share
        return max(last, blocks, fresh_blocks_share)


def _last(shares: Mapping[int, float], size_bytes: int) -> list[float]:
    last = sorted(size for size in shares if size < size_bytes)[-_LAST:]
    return [shares[size] for size in last] or [0.0]


def pages_of(sweep: Sweep, variant: str, stage: str, known_bytes: int) -> Pages:
    """Return the fresh pages of a stage of one variant at the sizes up to the last known one.

    The first runs of all variants count: after the first of them the memory is warm for the others.
    """
    warm: dict[int, float] = {}
    own: dict[int, float] = {}
    first: dict[int, float] = {}
    for entry in sweep.traces:
        size = entry.size_bytes
        faults = _faults(entry.trace, stage)
        if size is None or not 0 < size <= known_bytes or faults is None:
            continue
        share = faults * PAGE_BYTES / size
        if entry.variant == variant:
            (own if entry.cold else warm)[size] = share
        if entry.cold:
            first[size] = max(first.get(size, 0.0), share)
    return Pages(warm, own, first)


def _faults(trace: Trace, stage: str) -> int | None:
    rows = trace.waterfall.rows if trace.waterfall else ()
    counted = [row.minor_faults for row in rows if row.stage == stage]
    known = [count for count in counted if count is not None]
    return sum(known) if known else None


def fresh_blocks_share(sweep: Sweep, variant: str, stage: str, size_bytes: int) -> float:
    """Return the bytes of the value in always fresh blocks, over all of its bytes.

    0 where it is no matter of a few large blocks: for many small objects and for stages that copy
    nothing.
    """
    if "linux" not in str(sweep.environment.get("platform", "linux")).lower():
        return 0.0
    described = next((entry for entry in sweep.variants if entry.key == variant), None)
    blocks = [size for size, place in described.buffers if place == "in-band"] if described else []
    largest = max((p.size_bytes or 0 for p in sweep.points if p.variant == variant), default=0)
    if not blocks or stage not in COPIES:
        return 0.0
    if stage in _WRITES:
        return 1.0 if size_bytes >= ALWAYS_FRESH_BYTES else 0.0  # the pickle is one block
    fresh = sum(size for size in blocks if size * size_bytes >= ALWAYS_FRESH_BYTES * largest)
    return min(1.0, fresh / largest)


def has_blocks(sweep: Sweep, variant: str) -> bool:
    """Tell whether most bytes of the value lie in buffers and not in many small objects."""
    described = next((entry for entry in sweep.variants if entry.key == variant), None)
    listed = sum(size for size, _ in described.buffers) if described else 0
    largest = max((p.size_bytes or 0 for p in sweep.points if p.variant == variant), default=0)
    return listed > largest / 2
