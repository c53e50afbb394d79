"""Generators of users, stepped through: each item is made by their code, then handed over."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from .hooks import note, without_us
from .notes import clock


def stepped(original: Any) -> Any:
    """Note of each item what the user's code took, and what happened to the item after that."""
    # What is no generator function stays as it is.
    if not inspect.isgeneratorfunction(original):
        return original

    @functools.wraps(original)
    def steps(*args: Any, **kwargs: Any) -> Any:
        items = original(*args, **kwargs)
        step = functools.partial(items.send, None)
        try:
            while True:
                start = clock()
                try:
                    item = step()
                except StopIteration as end:
                    note("user", start)
                    return end.value
                except BaseException as error:
                    without_us(error)
                    raise
                note("user", start)
                start = clock()
                try:
                    step = functools.partial(items.send, (yield item))
                except Exception as error:  # what is thrown into it is for the user's code
                    step = functools.partial(items.throw, error)
                note("out", start, functools.partial(_size_of, item))
        finally:
            items.close()

    return steps


def _size_of(item: Any) -> int:
    """Return the bytes of an array or a table, 0 of what else it is."""
    is_known = type(item).__module__.partition(".")[0] in {"numpy", "pyarrow"}
    return int(item.nbytes) if is_known else 0
