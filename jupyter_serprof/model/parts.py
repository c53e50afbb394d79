"""The parts of an anatomy as columns with a string table, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jupyter_serprof.model.anatomy import Anatomy, Part
from jupyter_serprof.model.codec import decode, encode, field_names
from jupyter_serprof.model.columns import pack, unpack
from jupyter_serprof.model.errors import damaged, shown

_TEXTS = ("label", "kind", "state", "note")
_REQUIRED = ("parent", "self_bytes", "in_band_bytes", "out_of_band_bytes", "count")
_COLUMNS = (*_TEXTS, *_REQUIRED, "duration_ns")


def anatomy_document(anatomy: Anatomy) -> dict[str, object]:
    """Return the JSON data of an anatomy; a path is not stored, its labels are."""
    numbers: dict[str, int] = {}
    columns = {
        name: pack(
            [
                numbers.setdefault(value, len(numbers)) if name in _TEXTS else value
                for value in (getattr(part, name) for part in anatomy.parts)
            ]
        )
        for name in _COLUMNS
    }
    plain = {
        name: encode(getattr(anatomy, name)) for name in field_names(Anatomy) if name != "parts"
    }
    return {**plain, "strings": list(numbers), "parts": columns}


def anatomy_of(data: Mapping[str, Any]) -> Anatomy:
    """Return the anatomy that validated JSON data describes.

    Raises
    ------
    DocumentError
        If columns do not fit together, or a part stands before the one that holds it.
    """
    columns = {name: unpack(data["parts"][name]) for name in _COLUMNS}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        problem = f"the columns of its parts have lengths {sorted(lengths)}"
        raise damaged(problem)
    for name in _TEXTS:
        columns[name] = [_text(data["strings"], index) for index in columns[name]]  # type: ignore[misc]  # the texts take the place of their indices
    parts: list[Part] = []
    for index in range(lengths.pop()):
        parts.append(_part({name: columns[name][index] for name in _COLUMNS}, parts))
    plain = {key: value for key, value in data.items() if key not in ("parts", "strings")}
    return replace(decode(Anatomy, plain), parts=tuple(parts))


def _text(strings: Sequence[str], index: int | None) -> str:
    if index is None or not 0 <= index < len(strings):
        problem = f"a part points at string {shown(index)} of {len(strings)}"
        raise damaged(problem)
    return strings[index]


def _part(values: Mapping[str, Any], before: Sequence[Part]) -> Part:
    parent = values["parent"]
    missing = [name for name in _REQUIRED if values[name] is None]
    if missing or not -1 <= parent < len(before) or (parent == -1) != (not before):
        what = f"{missing[0]} is missing" if missing else f"its parent is {shown(parent)}"
        problem = f"part {len(before)} of an anatomy does not fit: {what}"
        raise damaged(problem)
    path = (before[parent].path if before else "") + values["label"]
    return Part(**values, path=path)
