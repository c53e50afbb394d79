"""Arming and removing hooks: the one place that assigns into other libraries.

Each place holds at most one hook, shared by all recordings that listen to it; the last one that
leaves puts the identical original back. If another tool wrapped the place in between, its wrapper
stays and our hook below it falls idle; should that tool put our idle hook back, the next sweep
replaces it by the original.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from jupyter_serprof.capture.hook import COUNTED, Hook, Place, Sink, hook_for

_MISSING = object()
_LOCK = RLock()


@dataclass(eq=False)
class Patch:
    """One hook in its place, and everything that is needed to undo it."""

    owner: Any
    attribute: str
    hook: Hook
    installed: object
    previous: object
    #: One entry for each subscription; a sink that listens twice still takes each record once.
    listeners: list[Sink] = field(default_factory=list)

    def listen(self, listeners: Iterable[Sink]) -> None:
        """Change who listens."""
        self.listeners = list(listeners)
        self.hook.sinks = tuple(dict.fromkeys(self.listeners))
        self.hook.left = COUNTED  # of each recording

    def stands(self) -> bool:
        """Tell whether our hook is still what the place holds."""
        return self._held() is self.installed

    def _held(self) -> object:
        return vars(self.owner).get(self.attribute, _MISSING)

    def undo(self) -> bool:
        """Put the original back if the place holds our hook; tell whether the original is there."""
        if not self.stands():
            # An interrupted undo may have got this far already.
            return self._held() is self.previous
        if self.previous is _MISSING:
            delattr(self.owner, self.attribute)
        else:
            setattr(self.owner, self.attribute, self.previous)
        return True


_PATCHES: list[Patch] = []


@dataclass(eq=False)
class Subscription:
    """A recording that listens to one place; ``remove`` may be called more than once."""

    patch: Patch
    sink: Sink
    is_armed: bool = True

    def remove(self) -> None:
        """Stop listening, and clear the place unless another one listens."""
        with _LOCK:
            if not self.is_armed:
                return
            self.is_armed = False
            left = list(self.patch.listeners)
            if self.sink in left:
                left.remove(self.sink)
            self.patch.listen(left)
            sweep()


def arm(place: Place, sink: Sink, *, owner: object = None, attribute: str = "") -> Subscription:
    """Listen to a place; the caller keeps the subscription and removes it.

    ``sink``: Who takes the records.
    ``owner``, ``attribute``: Where to put the hook instead of at the place: another name for the
        same callable.
    Raises ``AttributeError``, ``ImportError``, ``TypeError``: If there is no such callable; nothing
        was changed.
    """
    if owner is None:
        # Not under the lock: it may wait for another thread's import, which may wait for the lock.
        owner, attribute = place.owner()
    with _LOCK:
        sweep()
        patch = _standing(owner, attribute) or _install(place, owner, attribute)
        patch.listen([*patch.listeners, sink])
        return Subscription(patch, sink)


def remove_all(subscriptions: Iterable[Subscription]) -> None:
    """Remove subscriptions, the newest first."""
    for subscription in reversed(list(subscriptions)):
        subscription.remove()


def silence(sink: Sink) -> None:
    """Take away all that a sink listens to, also what an interrupt kept from being subscribed."""
    with _LOCK:
        for patch in _PATCHES:
            patch.listen(listener for listener in patch.listeners if listener is not sink)
        sweep()


def forget_all() -> None:
    """Take all hooks out in the child of a fork, where whoever held the lock may not exist."""
    global _LOCK  # noqa: PLW0603
    _LOCK = RLock()
    for patch in _PATCHES:
        patch.listen(())
    sweep()


def sweep() -> None:
    """Take idle hooks out of the places that still hold them."""
    with _LOCK:
        for patch in [patch for patch in _PATCHES if not patch.hook.sinks]:
            # A hook buried under another tool's wrapper is kept on the list: it may surface again.
            if patch.undo():
                _PATCHES.remove(patch)


def armed_places() -> list[str]:
    """Return the places that somebody listens to now."""
    with _LOCK:
        return [patch.hook.place.path for patch in _PATCHES if patch.hook.sinks]


def listening(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what listens in the place of a function that was looked up before; else itself."""
    with _LOCK:
        hooks = (patch.hook for patch in _PATCHES if patch.hook.sinks)
        return next((hook for hook in hooks if hook.original is function), function)


def _standing(owner: object, attribute: str) -> Patch | None:
    matching = (p for p in _PATCHES if p.owner is owner and p.attribute == attribute)
    return next((patch for patch in matching if patch.stands()), None)


def _install(place: Place, owner: object, attribute: str) -> Patch:
    raw = inspect.getattr_static(owner, attribute)
    is_wrapped = isinstance(raw, staticmethod | classmethod)
    wrap, function = (type(raw), raw.__func__) if is_wrapped else (lambda hook: hook, raw)
    if why := _why_not(owner, attribute, function):
        message = f"{place.path} cannot be watched: {why}"
        raise TypeError(message)
    hook = hook_for(function, place)
    installed = wrap(hook)
    patch = Patch(owner, attribute, hook, installed, vars(owner).get(attribute, _MISSING))
    try:
        _PATCHES.append(patch)
        setattr(owner, attribute, installed)
    except BaseException:  # the owner refuses, or Ctrl-C
        patch.undo()
        if patch in _PATCHES:
            _PATCHES.remove(patch)
        raise
    return patch


def _why_not(owner: object, attribute: str, function: object) -> str:
    """Say why a hook in this place would break something or measure nothing; empty if it may."""
    if not callable(function):
        return f"it is a {type(function).__name__}, not a callable"
    if isinstance(function, type):
        return "it is a class, which isinstance needs as it is. Watch its methods"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "it is a generator function, whose body runs after the call. Watch what it calls"
    if isinstance(owner, type) and not any(attribute in vars(base) for base in owner.__mro__):
        return "it belongs to the class of the class. Watch it there"
    return ""
