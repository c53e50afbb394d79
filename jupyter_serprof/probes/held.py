"""Which variables of the user hold what a cluster still makes: a line that ends it has their names.

In: what is left, and a function that tells what of it a value holds. Out: names.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jupyter_serprof.objects.ask import is_exactly, is_of


def variables() -> dict[str, object]:
    """Return the variables of the notebook or program, but for those that begin with ``_``."""
    known = list(vars(sys.modules["__main__"]).items())
    return {name: value for name, value in known if not name.startswith("_")}


def holders(left: Iterable[object], held: Callable[[object], Iterable[object]]) -> list[str]:
    """Return variables that hold all that is left; none where something is in no variable."""
    missing, names = set(left), list[str]()
    for name, value in variables().items():
        if missing & (own := set(held(value))):
            names.append(name)
            missing -= own
    return [] if missing else names


def parts_of(value: Any, library: str, kind: str) -> Iterator[Any]:  # noqa: ANN401
    """Yield a value that is of a class, or those in a list, tuple, set or dict of such values."""
    inside = value.values() if type(value) is dict else value
    for part in inside if is_exactly(value, (dict, list, set, tuple)) else [value]:
        if not is_of(part, library, kind):  # one tells of all the others: they may be many
            return
        yield part
