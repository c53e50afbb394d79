"""Frozen dataclasses to plain JSON values and back, driven by their own annotations."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from functools import cache
from typing import TypeVar, Union, get_args, get_origin, get_type_hints

Made = TypeVar("Made")


def encode(value: object) -> object:
    """Return dataclasses as dicts, tuples as lists and mappings as dicts, all the way down."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: encode(getattr(value, name)) for name in field_names(type(value))}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return value


def decode(made: type[Made], data: Mapping[str, object]) -> Made:
    """Build a dataclass from a validated dict; keys that it does not know are ignored."""
    hints = _hints(made)
    known = {name: _build(hints[name], data[name]) for name in field_names(made) if name in data}
    return made(**known)


@cache
def field_names(made: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass."""
    return tuple(entry.name for entry in dataclasses.fields(made))


@cache
def _hints(made: type) -> dict[str, object]:
    return get_type_hints(made)


def _build(hint: object, value: object) -> object:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _build_optional(get_args(hint), value)
    if origin is tuple and isinstance(value, list):
        return _build_tuple(get_args(hint), value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return decode(hint, value)
    return value


def _build_optional(choices: tuple[object, ...], value: object) -> object:
    if value is None:
        return None
    made = [choice for choice in choices if dataclasses.is_dataclass(choice)]
    return _build(made[0], value) if made else value


def _build_tuple(items: tuple[object, ...], value: list[object]) -> tuple[object, ...]:
    if len(items) == 2 and items[1] is Ellipsis:
        return tuple(_build(items[0], item) for item in value)
    return tuple(_build(hint, item) for hint, item in zip(items, value, strict=True))
