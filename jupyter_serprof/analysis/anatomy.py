"""What an anatomy says in one sentence: which part is to blame, and what cannot be pickled."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_serprof.model import Anatomy, Part
from jupyter_serprof.model.units import format_bytes, format_count, format_share

#: The walk to the culprit goes on into a part that has at least so much of what holds it.
_MOST_OF_IT = 0.5
#: A part with less of the whole is no culprit.
_CULPRIT_SHARE = 0.3
_NAMED = 4
_UNPICKLABLE = "unpicklable"


def culprit(anatomy: Anatomy) -> Part | None:
    """Return the innermost part that holds most of the bytes; None if there is no such part.

    Notes
    -----
    From the root on into the largest part, as long as it has at least half of what holds it, and
    once more where it still has 30 % of the whole.
    """
    if not anatomy.parts or not anatomy.parts[0].bytes:
        return None
    inside = parts_inside(anatomy)
    at, total = 0, anatomy.parts[0].bytes
    while inside[at]:
        largest = max(inside[at], key=lambda index: anatomy.parts[index].bytes)
        size = anatomy.parts[largest].bytes
        if size < _CULPRIT_SHARE * total or size < _MOST_OF_IT * anatomy.parts[at].bytes:
            break
        at = largest
    return anatomy.parts[at] if at else None


def parts_inside(anatomy: Anatomy) -> list[list[int]]:
    """Return for each part the indices of those directly in it."""
    inside: list[list[int]] = [[] for _ in anatomy.parts]
    for index, part in enumerate(anatomy.parts):
        if part.parent >= 0:
            inside[part.parent].append(index)
    return inside


def unpicklable_parts(anatomy: Anatomy) -> list[Part]:
    """Return the parts that cannot be pickled."""
    return [part for part in anatomy.parts if part.state == _UNPICKLABLE]


def blame_sentence(anatomy: Anatomy) -> str:
    """Return who is to blame: ``model.layers[3].w is 92 % of 120 MB``."""
    bad = unpicklable_parts(anatomy)
    if bad:
        named = "; ".join(f"{part.path} ({part.kind})" for part in bad[:_NAMED])
        more = f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
        return f"{anatomy.name} cannot be pickled because of {named}{more}"
    if not anatomy.parts or not anatomy.total_bytes:
        return f"{anatomy.name}: nothing is known about its parts"
    total = format_bytes(anatomy.total_bytes)
    part = culprit(anatomy)
    if part is None:
        has_parts = len(anatomy.parts) > 1
        return f"{anatomy.name} is {total} when pickled" + ": no part has most" * has_parts
    share = format_share(part.bytes / anatomy.total_bytes, decimals=0)
    kind = f"{format_count(part.count)} {part.kind}" if part.count > 1 else part.kind
    return f"{part.path} is {share} of {total} ({kind})"


def blame_facts(anatomy: Anatomy) -> list[str]:
    """Return how the bytes travel, and what is known besides."""
    inside, beside = format_bytes(anatomy.in_band_bytes), format_bytes(anatomy.out_of_band_bytes)
    facts = [f"in-band {inside}, out-of-band {beside}"]
    if anatomy.plain_bytes is not None and anatomy.out_of_band_bytes:
        facts.append(f"plain dumps writes {format_bytes(anatomy.plain_bytes)}")
    shared = sum(part.state == "shared" for part in anatomy.parts)
    if shared:
        facts.append(f"{shared} shared reference{'' if shared == 1 else 's'} charged once")
    return facts


def largest_sentence(anatomies: Sequence[Anatomy]) -> str:
    """Return who is to blame in the largest of several objects."""
    if not anatomies:
        return ""
    return blame_sentence(max(anatomies, key=lambda anatomy: anatomy.total_bytes))
