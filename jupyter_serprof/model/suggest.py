"""Did you mean: the known word that is closest to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean X? `` or nothing.

    >>> closest("cloudpikle", ["pickle", "cloudpickle"])
    'did you mean cloudpickle? '
    """
    matches = get_close_matches(word, list(known), n=1)
    return f"did you mean {matches[0]}? " if matches else ""
