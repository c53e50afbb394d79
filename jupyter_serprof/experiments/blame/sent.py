"""What code sent while it was recorded, and how: kept until remedies are tried on it."""

from __future__ import annotations

import pickle
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_serprof.capture.point import Point
from jupyter_serprof.experiments.blame.keeper import Crossed, Keeper
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.objects.blame_payload import Payload
from jupyter_serprof.probes import Probe


@dataclass(frozen=True, slots=True)
class Sent:
    """An object that crossed.

    Attributes
    ----------
    value
        The object itself, as it was handed to a pickler; of a graph of Dask, a large object in it.
    size_bytes
        Of the largest of its pickles, buffers included.
    now
        How it went, mostly: a way of `Tryout`.
    count
        How often it went so.
    """

    value: object
    size_bytes: int
    now: str
    count: int


class SentKeeper(Keeper):
    """Keeps how each of the largest values went, too."""

    def __init__(self) -> None:
        super().__init__()
        self._ways: dict[Hashable, Counter[str]] = {}
        self._way = threading.local()

    def _keeping(self, point: Point) -> Callable[..., object]:
        keep = super()._keeping(point)

        def note(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401
            self._way.now = way_of(point.place, kwargs, result)
            return keep(token, args, kwargs, result)

        return note

    def _add(self, payload: Payload, new: Crossed) -> None:
        super()._add(payload, new)
        self._ways.setdefault(payload.key, Counter())[self._way.now] += 1
        # What is not kept may give its identity to another object.
        self._ways = {key: ways for key, ways in self._ways.items() if key in self._kept}

    def sent(self) -> list[Sent]:
        """Return what was kept, the largest first."""
        known = {id(one): key for key, one in self._kept.items()}
        found = []
        for one in self.crossed() if self._kept else ():
            [(now, count)] = self._ways[known[id(one)]].most_common(1)
            found.append(Sent(one.value, one.size_bytes, now, count))
        return found


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


class TryingRecording(Recording):
    """A recording that keeps the largest values that crossed in it, until `let_go`."""

    def __init__(self, name: str, *, detail: bool, also: Sequence[Probe] = ()) -> None:
        super().__init__(name, detail=detail, also=also)
        self._keeper = SentKeeper()

    def start(self) -> None:
        """Keep what crosses, and record."""
        self._keeper.start()
        super().start()
        self._keeper.keep(is_on=True)

    def stop(self, error_type: type[BaseException] | None = None) -> None:
        """Stop both; of code that raised nothing is kept."""
        self._keeper.keep(is_on=False)
        super().stop(error_type)
        self._keeper.stop()
        if error_type is not None:
            self.let_go()

    @property
    def sent(self) -> list[Sent]:
        """What crossed, the largest first."""
        return self._keeper.sent()

    def let_go(self) -> None:
        """Hold the values no longer."""
        self._keeper.clear()
