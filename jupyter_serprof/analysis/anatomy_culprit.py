"""Who holds most of the bytes of a pickle: one part, or siblings that are equally to blame."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from jupyter_serprof.model import Anatomy, Part

#: The walk to the culprit goes on into what has at least so much of what holds it.
_MOST_OF_IT = 0.5
#: What has less of the whole is no culprit.
_CULPRIT_SHARE = 0.3
#: One part is named alone if no part of its type beside it has more than so much of its bytes.
_RIVAL = 0.5
#: A sibling with less of the bytes of the largest one is not meant.
_MEANT = 0.1
#: Sizes that differ by less are told as equal.
_EVEN = 0.01
#: Steps of a path by what tells siblings apart: an item or key, a captured variable, an attribute.
_STEPS = (
    (re.compile(r"\[.*\]", re.DOTALL), "[*]"),
    (re.compile(r"<(closure|global|default|key|argument) .*>", re.DOTALL), r"<\1 *>"),
    (re.compile(r"\.[^<].*", re.DOTALL), ".*"),
)
#: Columns that pandas keeps together are no sibling of a single one.
_COLUMNS = re.compile(r'", "|, and \d+ more\]')


@dataclass(frozen=True, slots=True)
class Culprit:
    """Parts of one kind that stand side by side, or under one name in such parts.

    Attributes
    ----------
    path
        Of a single part its path, of several what their paths have in common:
        ``model.layers[*].w``.
    parts
        At least one; none is inside another.
    """

    path: str
    parts: tuple[Part, ...]

    @property
    def bytes(self) -> int:
        """In-band and out-of-band bytes of all."""
        return sum(part.bytes for part in self.parts)

    @property
    def count(self) -> int:
        """How many objects they are, at least one: a part can stand for a run of items."""
        return max(1, sum(part.count for part in self.parts))

    @property
    def kind(self) -> str:
        """Type of a single object in full; of several without what is not the same in all."""
        first = self.parts[0]
        has_one = all(part.kind == first.kind for part in self.parts)
        is_array = first.kind.startswith("ndarray ")
        return first.kind if has_one and (self.count == 1 or is_array) else _type(first)

    @property
    def is_even(self) -> bool:
        """Tell whether all have the same size, as far as anybody looked."""
        sizes = [part.bytes for part in self.parts]
        return len(sizes) == self.count and max(sizes) - min(sizes) <= _EVEN * max(sizes)


def culprit(anatomy: Anatomy) -> Culprit | None:
    """Return who holds most of the bytes; None if there is no such part and no such siblings.

    Notes
    -----
    From the root on into what has at least half of the bytes of what holds it, and 30 % of the
    whole: a single part, else siblings of one type, none below a tenth of the largest. From
    siblings the walk goes on into all of them at once, by the steps that they have in common.
    References to shared objects have only the bytes that are written for them.
    """
    if not anatomy.parts or not anatomy.parts[0].bytes:
        return None
    inside = parts_inside(anatomy)
    root = anatomy.parts[0]
    found, at = Culprit(root.path, (root,)), [0]
    while True:
        indices = [index for one in at for index in inside[one]]
        parts = [anatomy.parts[index] for index in indices]
        chosen = _under_one_name(parts, found) or _of_one_type(parts, found)
        if chosen is None or chosen.bytes < _CULPRIT_SHARE * root.bytes:
            return found if at != [0] else None
        found = chosen
        meant = set(map(id, chosen.parts))
        at = [index for index in indices if id(anatomy.parts[index]) in meant]


def parts_inside(anatomy: Anatomy) -> list[list[int]]:
    """Return for each part the indices of those directly in it."""
    inside: list[list[int]] = [[] for _ in anatomy.parts]
    for index, part in enumerate(anatomy.parts):
        if part.parent >= 0:
            inside[part.parent].append(index)
    return inside


def _under_one_name(parts: Sequence[Part], holder: Culprit) -> Culprit | None:
    """Return the parts with the label that has most, if none of their type stands beside them."""
    named = _grouped((part.label, part) for part in parts)
    if not named:
        return None
    most = max(named, key=_bytes)
    least = _RIVAL * _bytes(most)
    others = (one for one in named if one is not most and _is_alike(one[0], most[0]))
    if any(_bytes(one) > least for one in others):
        return None
    return _culprit(most, holder)


def _of_one_type(parts: Sequence[Part], holder: Culprit) -> Culprit | None:
    """Return the siblings of the type that has most; references are not counted again."""
    told = (part for part in parts if part.kind and not part.state)
    alike = _grouped(((_step(part.label), _type(part)), part) for part in told)
    return _culprit(max(alike, key=_bytes), holder) if alike else None


def _culprit(parts: Sequence[Part], holder: Culprit) -> Culprit | None:
    least = _MEANT * max(map(_bytes_each, parts))
    meant = tuple(part for part in parts if _bytes_each(part) >= least)
    if _bytes(meant) < _MOST_OF_IT * holder.bytes:
        return None
    if len(meant) == 1:
        return Culprit(meant[0].path, meant)
    labels = {part.label for part in meant}
    step = labels.pop() if len(labels) == 1 else _step(meant[0].label)
    return Culprit(holder.path + step, meant)


def _bytes_each(part: Part) -> float:
    return part.bytes / max(1, part.count)  # a document may say that a part is no object at all


def _grouped(parts: Iterable[tuple[Hashable, Part]]) -> list[list[Part]]:
    groups: dict[Hashable, list[Part]] = defaultdict(list)
    for key, part in parts:
        groups[key].append(part)
    return list(groups.values())


def _bytes(parts: Sequence[Part]) -> int:
    return sum(part.bytes for part in parts)


def _is_alike(one: Part, other: Part) -> bool:
    return _type(one) == _type(other) and _step(one.label) == _step(other.label)


def _type(part: Part) -> str:
    """Return the type without length and shape; of an array with its dtype."""
    return part.kind.partition(" (")[0]


def _step(label: str) -> str:
    """Return a step without what tells siblings apart; any other step as it is.

    >>> _step(".w"), _step("[0..31]"), _step("<closure buf>"), _step('["a", "b"]')
    ('.*', '[*]', '<closure *>', '["a", "b"]')
    """
    if _COLUMNS.search(label):
        return label
    for pattern, pattern_step in _STEPS:
        if pattern.fullmatch(label):
            return pattern.sub(pattern_step, label)
    return label
