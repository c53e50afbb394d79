"""What is swept: a function of the size, a generator by its key, or the leading rows of a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.sizes.generators import GENERATORS
from jupyter_serprof.model import Trace, UsageError
from jupyter_serprof.model.suggest import closest

Maker = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Subject:
    """What gives a value for each size.

    Attributes
    ----------
    is_bytes
        Sizes are bytes.
    is_unknown
        It is the user's own function, which may serialize by itself.
    """

    make: Maker
    name: str
    parameter: str = "n"
    is_bytes: bool = False
    is_unknown: bool = False


def subject_of(make: object) -> Subject:
    """Return what is swept.

    Parameters
    ----------
    make
        A function of the size; the key of a generator, whose sizes are bytes; or a value whose
        leading rows are taken: a list, tuple, text, array, frame or table.

    Raises
    ------
    UsageError
        For an unknown key, and for a value that has no rows.
    """
    if isinstance(make, str):
        return _generated(make)
    if callable(make):
        name = getattr(make, "__name__", type(make).__name__).replace("<lambda>", "function")
        return Subject(make, name, is_unknown=True)
    return Subject(_leading(make), type(make).__name__, "rows")


def _generated(key: str) -> Subject:
    if key not in GENERATORS:
        shown = ", ".join(GENERATORS)
        message = f"unknown generator {key!r}; {closest(key, GENERATORS)}there are: {shown}"
        raise UsageError(message)
    generator = GENERATORS[key]

    def make(size: float) -> object:
        return generator.make(round(size))

    return Subject(make, generator.title, "bytes", is_bytes=True)


def _leading(value: Any) -> Maker:  # noqa: ANN401  (whatever has rows)
    try:
        count = len(value)
        _rows(value, 1)
    except Exception as error:
        message = (
            f"a {type(value).__name__} has no rows to take; sweep a function of the size instead: "
            "sp.sweep(lambda n: ..., sizes=[10**4, 10**6])"
        )
        raise UsageError(message) from error

    def take(size: float) -> object:
        if size > count:
            message = f"the value has {count:,} rows, not {size:,.0f}"
            raise UsageError(message)
        return _rows(value, round(size))

    return take


def _rows(value: Any, count: int) -> object:  # noqa: ANN401
    """Return leading rows as a value of their own: a view would pickle otherwise than a whole."""
    if hasattr(value, "iloc"):
        return value.iloc[:count].copy()
    if hasattr(value, "slice") and hasattr(value, "schema"):
        return value.slice(0, count)
    part = value[:count]
    return part.copy() if hasattr(part, "shape") else part


def serializes(make: Maker, sizes: Sequence[float], name: str) -> tuple[bool, Trace | None]:
    """Tell whether a function serializes something by itself, by calling it once.

    Returns
    -------
    (bool, Trace or None)
        With the recording, if it was the smallest size. What raises is tried with the next size.
    """
    __tracebackhide__ = True
    for size in sizes:
        recording = Recording(name, detail=False)
        try:
            with recording:
                make(size)
        except Exception:  # noqa: BLE001,S112  (the sweep meets it again, and says so)
            continue
        if not recording.has_spans:
            return False, None
        return True, recording.trace if size == sizes[0] else None
    return False, None
