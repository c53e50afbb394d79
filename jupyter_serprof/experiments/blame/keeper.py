"""The largest different values that cross while a recording runs, kept until they are opened."""

from __future__ import annotations

import pickle
import sys
import threading
import types
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from jupyter_serprof.capture.hook import Place
from jupyter_serprof.capture.patching import Subscription, arm, remove_all
from jupyter_serprof.experiments.engine.recording import Deaf, Raised, Recording
from jupyter_serprof.objects.walk import payloads
from jupyter_serprof.probes import Probe
from jupyter_serprof.probes.pickle import pickle_places, unhooked
from jupyter_serprof.probes.ray.driver import driver_places

_KEPT, _WORTH_SHARE = 3, 0.01
_RAY = "SerializationContext.serialize"
#: Pickles what `_RAY` sees, and besides the functions and classes that are exported.
_RAY_PICKLE = "ray.cloudpickle"


@dataclass(frozen=True, slots=True)
class Crossed:
    """An object that was pickled, once or again and again.

    ``value``, ``holder``: The object, as it was handed to a pickler (of a graph of Dask, a large
        object in it), and the outermost object of the user that it was first met in.
    ``size_bytes``: Of the largest of its pickles, buffers included.
    ``ways``: How often it went each way: the ways of `Tryout`.
    ``total_bytes``: Of all its pickles; None if it was pickled as a part of something else.
    """

    value: object
    holder: object
    size_bytes: int
    ways: Counter[str]
    total_bytes: int | None = None

    @property
    def now(self) -> str:
        """How it went, mostly."""
        [(now, _)] = self.ways.most_common(1)
        return now

    def again(self, other: Crossed) -> Crossed:
        """Return both times as one."""
        apart = (self.total_bytes, other.total_bytes)
        return replace(
            self,
            size_bytes=max(self.size_bytes, other.size_bytes),
            ways=self.ways + other.ways,
            total_bytes=None if None in apart else sum(size or 0 for size in apart),
        )


class KeepingRecording(Recording):
    """A recording that keeps the three largest different values that cross in it, until `let_go`.

    It listens where values are handed to a pickler: at the places of the probes, noted as the
    probes note them, so that both listen to the same hooks.
    """

    def __init__(self, name: str, *, detail: bool, also: Sequence[Probe] = ()) -> None:
        super().__init__(name, detail=detail, also=also)
        self._kept: dict[Hashable, Crossed] = {}
        #: Bytes of each that crossed, also of those that are not kept.
        self.met_bytes = array("q")
        # Threads of Dask and finalizers pickle, too.
        self._lock = threading.RLock()
        self._is_keeping = False
        self._subscriptions: list[Subscription] = []

    def start(self) -> None:
        """Listen, record, and keep what crosses from then on."""
        # What probes send for themselves is not kept, as a recording begins and ends.
        for place in _places():
            with suppress(AttributeError, ImportError, TypeError):
                keeping = replace(place, after=self._keeping(place))
                for owner, name in _names_of(place):
                    self._subscriptions.append(arm(keeping, Deaf(), owner=owner, attribute=name))
        super().start()
        self._is_keeping = True

    def stop(self, error: Raised = None) -> None:
        """Keep and record no more; called again it does nothing."""
        self._is_keeping = False
        super().stop(error)
        remove_all(self._subscriptions)
        self._subscriptions.clear()

    @property
    def sent(self) -> list[Crossed]:
        """What crossed, the largest first; not what is next to nothing beside it."""
        kept = sorted(self._kept.values(), key=lambda one: -one.size_bytes)
        return [one for one in kept if one.size_bytes >= _WORTH_SHARE * kept[0].size_bytes]

    def let_go(self) -> None:
        """Hold the values no longer."""
        self._kept.clear()

    def _keeping(self, place: Place) -> Callable[..., object]:
        """Return what notes as the probe does, and keeps the value, which can stand behind self."""
        at = 0 if place.role == "pickle.dumps" else 1
        is_ray_pickle = place.path.startswith(_RAY_PICKLE)

        def note(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401
            noted = place.after(token, args, kwargs, result) if place.after else None
            is_met = self._is_keeping and len(args) > at
            if is_met and (not is_ray_pickle or isinstance(args[at], types.FunctionType | type)):
                with suppress(Exception):  # the recording needs what was noted
                    self._keep(args[at], _size_bytes(noted), way_of(place.path, kwargs, result))
            return noted

        return note

    def _keep(self, value: object, size_bytes: int, way: str) -> None:
        self.met_bytes.append(size_bytes)
        for found in payloads(value, size_bytes):
            total = size_bytes if found.value is value else None
            new = Crossed(found.value, found.holder, found.size_bytes, Counter([way]), total)
            with self._lock:
                known = self._kept.get(found.key)
                self._kept[found.key] = new if known is None else known.again(new)
                if len(self._kept) > _KEPT:
                    del self._kept[min(self._kept, key=lambda key: self._kept[key].size_bytes)]


def _places() -> Iterator[Place]:
    yield from (pickle_places(of)[0] for of in ("pickle", "cloudpickle") if of in sys.modules)
    if "ray" in sys.modules:
        yield from (p for p in driver_places(detail=False) if p.path.endswith(_RAY))
        yield pickle_places(_RAY_PICKLE)[0]


def _names_of(place: Place) -> Iterator[tuple[object, str]]:
    """Yield the owner and name of a place, and what the notebook calls the same function."""
    owner, name = place.owner()
    yield owner, name
    original = unhooked(getattr(owner, name))
    main = sys.modules.get("__main__")
    for given, value in list(vars(main).items()) if main else ():
        if not given.startswith("_") and unhooked(value) is original:
            yield main, given


def _size_bytes(noted: object) -> int:
    if isinstance(noted, tuple) and noted and isinstance(noted[0], int):
        beside = noted[1] if len(noted) > 1 else ()
        return noted[0] + (sum(beside) if isinstance(beside, list | tuple) else 0)
    return noted >> 8 if isinstance(noted, int) else 0


def way_of(place: str, keywords: dict[str, Any], result: object) -> str:
    """Return how a pickler was called: a way of `Tryout`.

    >>> import pickle
    >>> [way_of("pickle:dumps", {}, pickle.dumps(1, protocol=number)) for number in (4, 5)]
    ['pickle4', 'pickle']
    """
    if place.startswith("ray"):
        return "ray"
    is_beside = keywords.get("buffer_callback") is not None
    if place.startswith("cloudpickle"):
        return "cloudpickle-out-of-band" if is_beside else "cloudpickle"
    if is_beside:
        return "out-of-band"
    head = result[:2] if isinstance(result, bytes) else b""
    is_newest = head[:1] == pickle.PROTO and head[1] >= 5  # noqa: PLR2004  (a protocol)
    return "pickle" if is_newest or not head else "pickle4"


class TryingRecording(KeepingRecording):
    """A recording whose values are tried; of code that raised nothing is kept."""

    def stop(self, error: Raised = None) -> None:
        """Stop both, and let go after an error."""
        super().stop(error)
        if error is not None:
            self.let_go()
