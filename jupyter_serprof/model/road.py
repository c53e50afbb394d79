"""The Stage: a named step on the road."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """A named step on the road.

    Attributes
    ----------
    key
        ``library.step``, stable for ever.
    title
        What people read; a term of the library's documentation.
    order
        Position on the road; smaller is earlier.
    family
        One of ``build``, ``pickle``, ``move``, ``schedule``, ``store``, ``execute``, ``other``; it
        gives the colour.
    waits
        True if the caller does nothing but wait in it.
    note
        What the number contains and what it does not.
    parent
        Key of the stage that this one is a part of; pictures draw its row under that one's.
    """

    key: str
    title: str
    order: int
    family: str = "other"
    waits: bool = False
    note: str = ""
    parent: str = ""
