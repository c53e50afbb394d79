"""What an anatomy says in one sentence: which part is to blame, and what cannot be pickled."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from jupyter_serprof.model import Anatomy, Part, units

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
class Accused:
    """Parts of one kind that stand side by side, or under one name in such parts.

    ``path``: Of a single part its path, of several what their paths have in common:
        ``model.layers[*].w``.
    ``parts``: At least one; none is inside another.
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


def culprit(anatomy: Anatomy) -> Accused | None:
    """Return who holds most of the bytes; None if there is no such part and no such siblings.

    From the root on into what has at least half of the bytes of what holds it, and 30 % of the
    whole: a single part, else siblings of one type, none below a tenth of the largest. From
    siblings the walk goes on into all of them at once, by the steps that they have in common.
    References to shared objects have only the bytes that are written for them.
    """
    if not anatomy.parts or not anatomy.parts[0].bytes:
        return None
    inside = parts_inside(anatomy)
    root = anatomy.parts[0]
    found, at = Accused(root.path, (root,)), [0]
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


def _under_one_name(parts: Sequence[Part], holder: Accused) -> Accused | None:
    """Return the parts with the label that has most, if none of their type stands beside them."""
    named = _grouped((part.label, part) for part in parts)
    if not named:
        return None
    most = max(named, key=_bytes)
    kind, step = _type(most[0]), _step(most[0].label)
    same = (one for one in named if (_type(one[0]), _step(one[0].label)) == (kind, step))
    rivals = (one for one in same if one is not most and _bytes(one) > _RIVAL * _bytes(most))
    return None if any(rivals) else _culprit(most, holder)


def _of_one_type(parts: Sequence[Part], holder: Accused) -> Accused | None:
    """Return the siblings of the type that has most; references are not counted again."""
    told = (part for part in parts if part.kind and not part.state)
    alike = _grouped(((_step(part.label), _type(part)), part) for part in told)
    return _culprit(max(alike, key=_bytes), holder) if alike else None


def _culprit(parts: Sequence[Part], holder: Accused) -> Accused | None:
    least = _MEANT * max(map(_bytes_each, parts))
    meant = tuple(part for part in parts if _bytes_each(part) >= least)
    if _bytes(meant) < _MOST_OF_IT * holder.bytes:
        return None
    if len(meant) == 1:
        return Accused(meant[0].path, meant)
    labels = {part.label for part in meant}
    step = labels.pop() if len(labels) == 1 else _step(meant[0].label)
    return Accused(holder.path + step, meant)


def _bytes_each(part: Part) -> float:
    return part.bytes / max(1, part.count)  # a document may say that a part is no object at all


def _grouped(parts: Iterable[tuple[Hashable, Part]]) -> list[list[Part]]:
    groups: dict[Hashable, list[Part]] = defaultdict(list)
    for key, part in parts:
        groups[key].append(part)
    return list(groups.values())


def _bytes(parts: Sequence[Part]) -> int:
    return sum(part.bytes for part in parts)


def _type(part: Part) -> str:
    """Return the type without length and shape; of an array with its dtype."""
    return part.kind.partition(" (")[0]


def _step(label: str) -> str:
    """Return a step without what tells siblings apart, '[*]'; any other step as it is."""
    if _COLUMNS.search(label):
        return label
    for pattern, pattern_step in _STEPS:
        if pattern.fullmatch(label):
            return pattern.sub(pattern_step, label)
    return label


#: Between them one would read 100 %, and the rows below 99.5 to 99.9 %.
_NEARLY, _ALL = 0.995, 0.9995
#: Siblings that are named one by one, if their names are short.
_FEW, _SHORT = 2, 60


def unpicklable_parts(anatomy: Anatomy) -> list[Part]:
    """Return the parts that cannot be pickled."""
    return [part for part in anatomy.parts if part.state == "unpicklable"]


def kind_of(part: Part) -> str:
    """Return the type of a part, with how many it stands for."""
    return f"{units.format_count(part.count)} {part.kind}" if part.count > 1 else part.kind


def blame_sentence(anatomy: Anatomy) -> str:
    """Return who is to blame: ``model.layers[3].w is 92 % of 120 MB``; "" for what is no pickle."""
    if not anatomy.pickler:
        return ""
    bad = unpicklable_parts(anatomy)
    if bad:
        counts = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
        counts = f", {kind_of(bad[0])}" if bad[0].count > 1 else counts
        return f"{units.path_text(bad[0].path)} cannot be pickled{counts}"
    if not anatomy.parts or not anatomy.total_bytes:
        known = anatomy.plain_bytes
        size = f" is {units.format_bytes(known)} when pickled" if known else ""
        return f"{units.code_text(anatomy.name)}{size}: nothing is known about its parts"
    found = culprit(anatomy)
    return _nobody(anatomy) if found is None else _accused(anatomy, found)


def _accused(anatomy: Anatomy, found: Accused) -> str:
    total = units.format_bytes(anatomy.total_bytes)
    share = _share_text(found.bytes / anatomy.total_bytes)
    kind = found.kind.replace("(", "`(").replace(")", ")`")  # its shape is code
    if found.count == 1:
        return f"{units.path_text(found.path)} is {share} of {total}, {kind}"
    each = units.format_bytes(found.bytes / found.count)
    about = "" if found.is_even else "about "
    kind = "items" if kind == "mixed" else kind
    said = f"{units.format_count(found.count)} {kind} at `{_where(found)}` are {share} of {total}"
    return f"{said}, {about}{each} each"


def _share_text(share: float) -> str:
    """Return whole percent; what is not all is not called 100 %."""
    return units.format_share(share, decimals=int(_NEARLY <= share < _ALL))


def _where(found: Accused) -> str:
    paths = [part.path for part in found.parts]
    few = " and ".join(paths)
    return few if len(paths) <= _FEW and len(few) <= _SHORT else found.path


def _nobody(anatomy: Anatomy) -> str:
    said = (
        f"{units.code_text(anatomy.name)} is {units.format_bytes(anatomy.total_bytes)} when pickled"
    )
    parts = [part for part in anatomy.parts if part.parent == 0]
    if not parts:
        return said
    largest = max(parts, key=lambda part: part.bytes)
    share = _share_text(largest.bytes / anatomy.total_bytes)
    return f"{said}: no part has most, the largest is {units.path_text(largest.path)}, {share}"


def blame_facts(anatomy: Anatomy) -> list[str]:
    """Return how the bytes travel, and what is known besides."""
    sizes = anatomy.in_band_bytes, anatomy.out_of_band_bytes
    inside, beside = map(units.format_bytes, sizes)
    is_told = anatomy.total_bytes and anatomy.pickler
    facts = [f"in-band {inside}, out-of-band {beside}"] if is_told else []
    if anatomy.plain_bytes is not None and anatomy.out_of_band_bytes:
        facts.append(f"plain dumps writes {units.format_bytes(anatomy.plain_bytes)}")
    shared = sum(part.state == "shared" for part in anatomy.parts)
    if shared:
        facts.append(f"{units.counted(shared, 'shared reference')} charged once")
    return facts


def largest_sentence(anatomies: Sequence[Anatomy], *, is_of_time: bool = False) -> str:
    """Return who is to blame in the largest of several objects; or only for half its time, too."""
    largest = max(anatomies, key=lambda anatomy: anatomy.total_bytes, default=None)
    if largest and is_of_time and (found := culprit(largest)):
        took_ns = sum(part.duration_ns or 0 for part in found.parts)
        largest = largest if 2 * took_ns >= (largest.duration_ns or 0) else None
    return blame_sentence(largest) if largest else ""
