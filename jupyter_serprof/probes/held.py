"""What the last stop left on clusters, the line that ends it, and the user's variables in lines."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from jupyter_serprof.model.trace import STAYED
from jupyter_serprof.objects.ask import is_exactly, is_of


def variables() -> dict[str, object]:
    """Return the variables of the notebook or program, but for those that begin with ``_``."""
    known = list(vars(sys.modules["__main__"]).items())
    return {name: value for name, value in known if not name.startswith("_")}


#: What ends what the last stop left, by cluster.
LEFT: dict[str, Callable[[], object]] = {}


def left_note(what: str, cluster: str, end: Callable[[], object], more: str = "") -> str:
    """Say what is left, with the line that ends it by calling ``end``."""
    LEFT[cluster] = end
    ours = sys.modules[__package__.partition(".")[0]]
    known = [name for name, value in variables().items() if value is ours]
    line = "" if known else f"import {ours.__name__} as sp; "
    return f"{what}{STAYED}{line}{[*known, 'sp'][0]}.cancel_left(){more}"


def cancel_left() -> None:
    """Cancel what the last run that was stopped has left on a cluster of Dask or Ray.

    Notes
    -----
    What was sent before that run, and was not waited for, goes on. Dask ends no task that has
    begun; the process of a task of Ray that runs is ended, calls of an actor that run are not.
    """
    while LEFT:
        LEFT.popitem()[1]()


def parts_of(value: Any, library: str, kind: str) -> Iterator[Any]:  # noqa: ANN401
    """Yield a value that is of a class, or those in a list, tuple, set or dict of such values."""
    inside = value.values() if type(value) is dict else value
    for part in inside if is_exactly(value, (dict, list, set, tuple)) else [value]:
        if not is_of(part, library, kind):  # one tells of all the others: they may be many
            return
        yield part
