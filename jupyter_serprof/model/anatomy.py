"""An Anatomy: what one pickle consists of, part by part, as the pickler visits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jupyter_serprof.model.codec import at, decode, encode, field_names, pack, unpack_columns
from jupyter_serprof.model.errors import Displayed, refuse, shown


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a pickle; what is inside it follows behind it, with its index as ``parent``.

    ``label``: The last step of the path: ``.layers``, ``[3]``, ``<closure buf>``; the name of the
        root.
    ``path``: From the root to here, the labels joined: ``model.layers[3].w``.
    ``kind``: Name of the type.
    ``parent``: Index of the part that holds it; -1 for the root.
    ``self_bytes``: In-band bytes that are written for it and for none of its parts.
    ``in_band_bytes``, ``out_of_band_bytes``: Bytes of it and its parts; ``Part.bytes`` is their
        sum.
    ``duration_ns``: Time to pickle it with its parts: its share of what a probe took for all parts,
        of ``Anatomy.duration_ns``; None when it was not measured apart. A probe takes longer than
        the pickle: up to some microseconds for each part, which small parts share.
    ``count``: How many equal neighbours are told together as one part.
    ``state``: ``""``, ``shared`` (charged where it was met first), ``not opened`` (it has parts
        that were not looked at) or ``unpicklable``.
    ``note``: A sentence: why it cannot be pickled, where it is shared, what a view drags along.
    """

    label: str
    path: str
    kind: str
    parent: int
    self_bytes: int
    in_band_bytes: int
    out_of_band_bytes: int = 0
    duration_ns: int | None = None
    count: int = 1
    state: str = ""
    note: str = ""

    @property
    def bytes(self) -> int:
        """In-band and out-of-band bytes of it and its parts."""
        return self.in_band_bytes + self.out_of_band_bytes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Anatomy(Displayed):
    """The parts of one pickle, the root first, each part before what is inside it.

    ``name``: What the user calls the object.
    ``protocol``, ``pickler``: What it would be pickled with: ``cloudpickle``, protocol 5.
    ``in_band_bytes``, ``out_of_band_bytes``: Of the whole; ``self_bytes`` of all parts sum to the
        first.
    ``plain_bytes``: What plain ``dumps`` writes (no buffers handed over); None when it cannot be
        pickled.
    ``duration_ns``: Time of one pickle, which the times of the parts are shares of: the plain
        ``dumps`` where the parts were timed in-band, else a pickle that hands buffers over and
        keeps no bytes; a note says which. None where none has ended.
    ``is_complete``: False when the time budget ended before everything worth it was opened.
    ``notes``: Sentences about the whole.
    """

    name: str
    pickler: str = "cloudpickle"
    protocol: int = 5
    in_band_bytes: int = 0
    out_of_band_bytes: int = 0
    plain_bytes: int | None = None
    duration_ns: int | None = None
    is_complete: bool = True
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def total_bytes(self) -> int:
        """In-band and out-of-band bytes."""
        return self.in_band_bytes + self.out_of_band_bytes


_LONGEST_PATH = 400


def below(path: str, label: str) -> str:
    """Return the path of what is inside; a long one keeps its ends: ``job.layers…[3].w``."""
    path += label
    half = _LONGEST_PATH // 2
    return path if len(path) <= _LONGEST_PATH else f"{path[: half - 1]}…{path[-half:]}"


_TEXTS = ("label", "kind", "state", "note")
_REQUIRED = ("parent", "self_bytes", "in_band_bytes", "out_of_band_bytes", "count")
PART_COLUMNS = (*_TEXTS, *_REQUIRED, "duration_ns")


def anatomy_document(anatomy: Anatomy) -> dict[str, object]:
    """Return the JSON data of an anatomy; a path is not stored, its labels are."""
    numbers: dict[str, int] = {}
    columns = {name: [getattr(part, name) for part in anatomy.parts] for name in PART_COLUMNS}
    for name in _TEXTS:
        columns[name] = [numbers.setdefault(text, len(numbers)) for text in columns[name]]
    parts = {name: pack(column) for name, column in columns.items()}
    names = [name for name in field_names(Anatomy) if name != "parts"]
    plain = {name: encode(getattr(anatomy, name)) for name in names}
    return {**plain, "strings": list(numbers), "parts": parts}


def anatomy_of(data: Mapping[str, Any]) -> Anatomy:
    """Return the anatomy that validated JSON data describes.

    Raises ``DocumentError``: If columns do not fit together, or a part stands before its holder.
    """
    columns, count = unpack_columns(data["parts"], PART_COLUMNS, "part")
    for name in _TEXTS:
        columns[name] = [at(data["strings"], index) for index in columns[name]]  # type: ignore[misc]  # the texts take the place of their indices
    parts: list[Part] = []
    for index in range(count):
        parts.append(_part({name: columns[name][index] for name in PART_COLUMNS}, parts))
    plain = {key: value for key, value in data.items() if key not in ("parts", "strings")}
    return replace(decode(Anatomy, plain), parts=tuple(parts))


def _part(values: Mapping[str, Any], before: Sequence[Part]) -> Part:
    parent = values["parent"]
    missing = [name for name in _REQUIRED if values[name] is None]
    if missing or not -1 <= parent < len(before) or (parent == -1) != (not before):
        what = f"{missing[0]} is missing" if missing else f"its parent is {shown(parent)}"
        refuse(f"part {len(before)} of an anatomy does not fit: {what}")
    path = below(before[parent].path if before else "", values["label"])
    return Part(**values, path=path)
