"""What an anatomy says in one sentence: which part is to blame, and what cannot be pickled."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_serprof.analysis.anatomy_culprit import Culprit, culprit
from jupyter_serprof.model import Anatomy, Part
from jupyter_serprof.model.units import format_bytes, format_count, format_share

_NAMED = 4
#: So many siblings are named one by one, if that is so short.
_FEW, _SHORT = 2, 60
_UNPICKLABLE = "unpicklable"


def unpicklable_parts(anatomy: Anatomy) -> list[Part]:
    """Return the parts that cannot be pickled."""
    return [part for part in anatomy.parts if part.state == _UNPICKLABLE]


def kind_of(part: Part) -> str:
    """Return the type of a part, with how many it stands for."""
    return f"{format_count(part.count)} {part.kind}" if part.count > 1 else part.kind


def blame_sentence(anatomy: Anatomy) -> str:
    """Return who is to blame: ``model.layers[3].w is 92 % of 120 MB``."""
    bad = unpicklable_parts(anatomy)
    if bad:
        named = "; ".join(f"{part.path} ({kind_of(part)})" for part in bad[:_NAMED])
        more = f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
        return f"{anatomy.name} cannot be pickled because of {named}{more}"
    if not anatomy.parts or not anatomy.total_bytes:
        size = (
            f" is {format_bytes(anatomy.plain_bytes)} when pickled" if anatomy.plain_bytes else ""
        )
        return f"{anatomy.name}{size}: nothing is known about its parts"
    found = culprit(anatomy)
    return _nobody(anatomy) if found is None else _accused(anatomy, found)


def _accused(anatomy: Anatomy, found: Culprit) -> str:
    total = format_bytes(anatomy.total_bytes)
    share = format_share(found.bytes / anatomy.total_bytes, decimals=0)
    if found.count == 1:
        return f"{found.path} is {share} of {total} ({found.kind})"
    each = format_bytes(found.bytes / found.count)
    about = "" if found.is_even else "about "
    kind = "items" if found.kind == "mixed" else found.kind
    said = f"{format_count(found.count)} {kind} at {_where(found)} are {share} of {total}"
    return f"{said} ({about}{each} each)"


def _where(found: Culprit) -> str:
    """Return the paths of a few parts, of many what their paths have in common."""
    paths = [part.path for part in found.parts]
    few = " and ".join(paths)
    return few if len(paths) <= _FEW and len(few) <= _SHORT else found.path


def _nobody(anatomy: Anatomy) -> str:
    """Say the size, and which part is the largest although it has not most."""
    said = f"{anatomy.name} is {format_bytes(anatomy.total_bytes)} when pickled"
    parts = [part for part in anatomy.parts if part.parent == 0]
    if not parts:
        return said
    largest = max(parts, key=lambda part: part.bytes)
    share = format_share(largest.bytes / anatomy.total_bytes, decimals=0)
    return f"{said}: no part has most, the largest is {largest.path} with {share}"


def blame_facts(anatomy: Anatomy) -> list[str]:
    """Return how the bytes travel, and what is known besides."""
    inside, beside = format_bytes(anatomy.in_band_bytes), format_bytes(anatomy.out_of_band_bytes)
    facts = [f"in-band {inside}, out-of-band {beside}"] if anatomy.total_bytes else []
    if unpicklable_parts(anatomy):
        facts.insert(0, "remove what is named, or recreate it in __setstate__")
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
