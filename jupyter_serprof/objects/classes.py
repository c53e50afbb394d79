"""Classes that travel by value: those of the user stay as they are when they come back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, current_thread, get_ident
from typing import Any

#: Ray has a copy of its own; the second of each is where it stood before cloudpickle 3.
_PICKLERS = (
    *("cloudpickle.cloudpickle", "cloudpickle.cloudpickle_fast"),
    *("ray.cloudpickle.cloudpickle", "ray.cloudpickle.cloudpickle_fast"),
)
_NAME, _LOCK = "_class_setstate", Lock()
#: Who loads for us; while there is anybody, the original functions by their modules.
_ASKED: list[Callable[[], bool]] = []
_ORIGINALS: dict[str, Callable[..., Any]] = {}


@contextmanager
def classes_kept(*threads: str) -> Iterator[None]:
    """Keep the classes of the user from being written to by what this thread loads.

    cloudpickle knows a class again that was pickled in this process, and sets all of its attributes
    to what it read: its methods would be copies, with globals as they were then.

    ``threads``: How the names of other threads begin that load for this one.

    Source: cloudpickle 3.1.2, cloudpickle.py: _lookup_class_or_track, _class_setstate; the same in
    ray.cloudpickle of Ray 2.60.0.
    """
    import cloudpickle  # noqa: F401  (what is loaded later could not be held back)

    own = get_ident()

    def is_ours() -> bool:
        return get_ident() == own or current_thread().name.startswith(threads)

    with _LOCK:
        _ASKED.append(is_ours)
        for module in _PICKLERS:
            known = vars(sys.modules.get(module, object)).get(_NAME)
            if known is not None and module not in _ORIGINALS:
                _ORIGINALS[module] = known
                setattr(sys.modules[module], _NAME, _kept(known))
    try:
        yield
    finally:
        with _LOCK:
            _ASKED.remove(is_ours)
            while _ORIGINALS and not _ASKED:
                name, original = _ORIGINALS.popitem()
                setattr(sys.modules[name], _NAME, original)


def _kept(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands for it: of the same name, since pickles hold that."""

    @wraps(original)
    def set_state(made: Any, state: Any) -> Any:  # noqa: ANN401  (a class; what pickle holds of it)
        is_whole = state[0].keys() <= vars(made).keys()
        if is_whole and any(is_ours() for is_ours in tuple(_ASKED)):
            return made
        return original(made, state)

    return set_state
