"""Places where Dask meets each item of what it is given: for a name, and for objects of its own.

What the user gave is told by the call, the number of its items and the variable of the notebook;
no item is asked for anything. Source: dask 2026.8.0, tokenize.py:_tokenize, delayed.py:
call_function; bag/core.py:from_sequence makes a list of its own first.
"""

import sys
from collections.abc import Iterable
from itertools import chain
from traceback import walk_stack
from typing import Any

from jupyter_serprof.capture.freeze import Draft
from jupyter_serprof.capture.hook import Place
from jupyter_serprof.objects import ask

_ROLE, _CONTAINERS = "dask.named", (list, dict)
#: Shorter calls leave no record, nor are containers of fewer items told.
_LEAST_NS, _MANY = 5_000_000, 1_000
_OF_CLIENT = {f"dask.call:{name}": "dask.submit" for name in ("submit", "map", "get", "compute")}


def naming_places() -> list[Place]:
    """Return the places; of those modules only that this version has, and that are there."""
    known = {"after": _note_items, "least_ns": _LEAST_NS}
    paths = {"dask.tokenize": "_tokenize", "dask.delayed": "call_function"}
    return [
        Place(f"{module}:{name}", "dask.construct", _ROLE, _OF_CLIENT, **known)  # type: ignore[arg-type]  # as named
        for module, name in paths.items()
        if module in sys.modules
    ]


def _note_items(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    given = chain(args, *(one for one in args if type(one) is tuple))
    many = [one for one in given if is_many(one)]
    return (_call(), len(many[0]), variable_of(many[0])) if many else None


def is_many(value: Any) -> bool:  # noqa: ANN401  (anything)
    """Tell a list or a dict of a thousand items or more."""
    return ask.is_exactly(value, _CONTAINERS) and len(value) >= _MANY


def _call() -> str:
    """Return what of Dask the user's code called."""
    name = ""
    for frame, _ in walk_stack(None):
        top = str(frame.f_globals.get("__name__")).partition(".")[0]
        if top == "dask":
            name = frame.f_code.co_name
        elif name and top != __name__.partition(".")[0]:
            break
    return name


def variable_of(value: Any) -> str:  # noqa: ANN401  (a list or a dict)
    """Return the variable of the notebook that a container, or what it is a copy of, stands in."""
    main, first = vars(sys.modules["__main__"]), next(iter(value))
    kept = [(name, one) for name, one in list(main.items()) if ask.is_exactly(one, _CONTAINERS)]
    same = (name for name, one in kept if len(one) == len(value) and next(iter(one)) is first)
    return next((name for name in same if not name.startswith("_")), "")


def complete_names(drafts: Iterable[Draft]) -> None:
    """Turn what was noted into names and details."""
    for draft in drafts:
        if draft.role == _ROLE and draft.extra:
            draft.name, items, variable = draft.extra
            draft.details |= {"items": items, "name": variable}
            draft.extra = None
