"""What a user meets of the model: errors, whose messages end with what to do, and displays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, ClassVar, NoReturn

_LONGEST_SHOWN = 60
_LONGEST_PROBLEM = 300
_LARGEST_SHOWN_BITS = 200


class Displayed:
    """What front ends draw as the last value of a cell, and say in few words everywhere else."""

    __slots__ = ()
    #: Makes data and metadata of an output; set by the layer that draws.
    bundle: ClassVar[Callable[[Any], object]] = {}.get

    def _repr_mimebundle_(self, **_: object) -> object:
        return type(self).bundle(self)

    def __repr__(self) -> str:
        """Return the class and the name: the fields are thousands of numbers."""
        name = getattr(self, "name", "")
        return f"<{type(self).__name__}{' ' * bool(name)}{name}>"


class SerprofError(Exception):
    """What every error of this package derives from."""


class UsageError(SerprofError):
    """Something was asked for in a way that cannot be answered (an unknown option, a bad value)."""


class WrongTypeError(UsageError, TypeError):
    """A value was given that is none of the types that are taken."""


class ProbeUnavailable(SerprofError):  # noqa: N818  (it says what is the case)
    """A library was asked for by name and cannot be watched: missing, too old or not running."""


class DocumentError(SerprofError):
    """A document is damaged, foreign, or newer than this version can read."""


class RegressionError(SerprofError):
    """It got slower by more than ``--fail-above`` allows.

    ``document``: The document or comparison that says so; None where none was made.
    """

    document: object = None


def damaged(problem: str) -> DocumentError:
    """Return the error for a document of this package whose content cannot be right."""
    place = problem if len(problem) <= _LONGEST_PROBLEM else problem[:_LONGEST_PROBLEM] + "..."
    return DocumentError(
        f"the document is damaged: {place}. "
        "Take an undamaged copy, or save it again with sp.save(doc, path)"
    )


def refuse(problem: str) -> NoReturn:
    """Raise the error of `damaged`."""
    raise damaged(problem)


def shown(value: object) -> str:
    """Return a value as a message shows it: short, and of containers the type only."""
    if isinstance(value, int) and value.bit_length() > _LARGEST_SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def closest(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean X? `` or nothing.

    >>> closest("cloudpikle", ["pickle", "cloudpickle"])
    'did you mean cloudpickle? '
    """
    matches = get_close_matches(word, list(known), n=1)
    return f"did you mean {matches[0]}? " if matches else ""
