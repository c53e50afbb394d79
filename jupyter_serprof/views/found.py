"""What was found out beside times, as flat tables: the parts of a pickle, the changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jupyter_serprof.model import Anatomy, Comparison
from jupyter_serprof.model.trace import Scalar

PARTS = (
    *("anatomy", "index", "parent", "path", "kind", "count", "self_bytes", "in_band_bytes"),
    *("out_of_band_bytes", "total_bytes", "share", "duration_ns", "state", "note"),
)
CHANGES = (
    *("before", "after", "variant", "size_bytes", "cold", "stage", "title", "before_ns"),
    *("after_ns", "ratio", "low", "high", "verdict", "reason", "before_runs", "after_runs"),
)
_Line = tuple[Scalar, ...]


def part_lines(anatomies: Sequence[Anatomy]) -> list[_Line]:
    """Return a line for each part; ``share`` is that of all bytes of its anatomy, 0 to 1."""
    return [line for anatomy in anatomies for line in _parts(anatomy)]


def _parts(anatomy: Anatomy) -> Iterator[_Line]:
    for index, part in enumerate(anatomy.parts):
        yield (
            *(anatomy.name, index, None if part.parent < 0 else part.parent, part.path, part.kind),
            *(part.count, part.self_bytes, part.in_band_bytes, part.out_of_band_bytes, part.bytes),
            part.bytes / anatomy.total_bytes if anatomy.total_bytes else None,
            *(part.duration_ns, part.state, part.note),
        )


def change_lines(comparison: Comparison) -> list[_Line]:
    """Return a line for each change, in the order of the comparison."""
    return [
        (
            *(comparison.before, comparison.after, change.variant, change.size_bytes, change.cold),
            *(change.stage, change.title, _whole(change.before_ns), _whole(change.after_ns)),
            *(change.ratio, change.low, change.high, change.verdict, change.reason),
            *(change.before_runs, change.after_runs),
        )
        for change in comparison.changes
    ]


def _whole(duration_ns: float | None) -> int | None:
    """Return a median of an even number of runs as whole ns, too."""
    return None if duration_ns is None else round(duration_ns)
