"""An Anatomy: what one pickle consists of, part by part, as the pickler visits it."""

from __future__ import annotations

from dataclasses import dataclass

#: ``shared`` was charged where it was met first; ``not opened`` has parts that nobody looked at.
PART_STATES = ("", "shared", "not opened", "unpicklable")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a pickle; what is inside it follows behind it, with its index as ``parent``.

    Attributes
    ----------
    label
        The last step of the path: ``.layers``, ``[3]``, ``<closure buf>``; the name of the root.
    path
        From the root to here, the labels joined: ``model.layers[3].w``.
    kind
        Name of the type.
    parent
        Index of the part that holds it; -1 for the root.
    self_bytes
        In-band bytes that are written for it and for none of its parts.
    in_band_bytes, out_of_band_bytes
        Bytes of it and its parts; ``Part.bytes`` is their sum.
    duration_ns
        Time to pickle it with its parts: its share of what a probe took for all parts, of
        ``Anatomy.duration_ns``; None when it was not measured apart. A probe takes longer than
        the pickle: up to some microseconds for each part, which small parts share.
    count
        How many equal neighbours are told together as one part.
    state
        One of `PART_STATES`.
    note
        A sentence: why it cannot be pickled, where it is shared, what a view drags along.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy:
    """The parts of one pickle, the root first, each part before what is inside it.

    Attributes
    ----------
    name
        What the user calls the object.
    protocol, pickler
        What it would be pickled with: ``cloudpickle``, protocol 5.
    in_band_bytes, out_of_band_bytes
        Of the whole; ``self_bytes`` of all parts sum to ``in_band_bytes``.
    plain_bytes
        What plain ``dumps`` writes (no buffers handed over); None when it cannot be pickled.
    duration_ns
        Time of one pickle, which the times of the parts are shares of: the plain ``dumps`` where
        one was timed, else a pickle that keeps no bytes. None where none has ended.
    is_complete
        False when the time budget ended before everything worth it was opened.
    notes
        Sentences about the whole.
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
