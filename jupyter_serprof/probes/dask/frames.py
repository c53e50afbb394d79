"""Stacks: which call of Dask, or which code of the user, a sampled stack belongs to.

Frames are looked at from the outside in. What lies below the user's code (a kernel, a test runner,
our own magic) is skipped; the first frame of Dask above it names the sample, whatever it calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, FrameType
from typing import NamedTuple

#: The name of a sample in the cell itself.
YOUR_CODE = "your code"
_OURS = "jupyter_serprof"
_DASK = ("dask", "distributed")
#: Who runs the user's code. Above the user's code they are called by it, and count as its own.
_RUNNERS = frozenset(
    (
        *("IPython", "ipykernel", "ipywidgets", "comm", "jupyter_client", "traitlets"),
        *("asyncio", "tornado", "zmq", "selectors", "nest_asyncio", "concurrent", "threading"),
        *("contextlib", "runpy", "_pytest", "pytest", "pluggy", "debugpy", "_pydevd_bundle"),
    )
)
#: What may lie below the user's code, a magic of ours included.
_BELOW = _RUNNERS | {_OURS}
#: Parts of module names that say nothing to people: ``dask.array.core`` is ``array``.
_SILENT_PARTS = ("core", "dask_expr")
#: Calls that do not build a graph; their own time, between the calls that probes watch.
_OTHER_CALLS = {
    "compute": "dask.prepare",
    "persist": "dask.prepare",
    "Client.submit": "dask.submit",
    "Client.map": "dask.submit",
    "Client.get": "dask.submit",
    "Client.compute": "dask.submit",
    "Client.persist": "dask.submit",
    "Client.gather": "dask.gather",
    "Future.result": "dask.gather",
    "Client.scatter": "dask.scatter",
    "wait": "dask.wait",
    # Starting or closing a cluster or a client is what the cell does beside the graph.
    "Client.__init__": "python.code",
    "Client.close": "python.code",
    "LocalCluster.__init__": "python.code",
    "SyncMethodMixin.__exit__": "python.code",
}


class Seen(NamedTuple):
    """What a sample belongs to."""

    stage: str
    name: str


class _Kind(NamedTuple):
    """What is known of a code object: the top of its module's name, and its name for people."""

    top: str
    name: str


class StackReader:
    """Reads stacks of one thread; remembers where the recording began, and holds no frame.

    Parameters
    ----------
    frame
        The innermost frame when the recording begins: the frames that are still there in a sample
        are around the user's code, or are the code that began to record.
    """

    def __init__(self, frame: FrameType | None = None) -> None:
        self._kinds: dict[CodeType, _Kind] = {}
        self._base: dict[int, CodeType] = {}
        while frame is not None:
            self._base[id(frame)] = frame.f_code
            frame = frame.f_back

    def read(self, frame: FrameType) -> Seen | None:
        """Return what the stack belongs to; None if it is not in code that the user wrote."""
        above = self._above_the_base(frame)
        user = next((at for at, kind in enumerate(above) if kind.top not in _BELOW), None)
        if user is None or _is_ours(above[user + 1 :]):
            return None
        if above[user].top in _DASK:
            # A magic of ours calls Dask in the user's name; an event loop calls it in its own.
            is_for_user = user > 0 and above[user - 1].top == _OURS
            return _dask_call(above[user:]) if is_for_user else None
        dask = next((at for at in range(user + 1, len(above)) if above[at].top in _DASK), None)
        if dask is None:
            return Seen("python.code", _called(above[user + 1 :]))
        return _dask_call(above[dask:])

    def _above_the_base(self, frame: FrameType | None) -> list[_Kind]:
        """Return the frames that may be the user's, from the outside in.

        The first is the one that began to record: our own frames were above it then, and are gone.
        A frame's address may be used again, but hardly for the same code while the frames below it
        are the same.
        """
        kinds, base, found = self._kinds, self._base, []
        while frame is not None:
            code = frame.f_code
            found.append(kinds.get(code) or self._learn(frame))
            if base.get(id(frame)) is code:
                break
            frame = frame.f_back
        found.reverse()
        return found

    def _learn(self, frame: FrameType) -> _Kind:
        module, code = str(frame.f_globals.get("__name__") or ""), frame.f_code
        kind = self._kinds[code] = _Kind(module.partition(".")[0], _name(module, code))
        return kind


def _is_ours(above: Sequence[_Kind]) -> bool:
    """Tell whether the user's code called us: the end of a ``with record()`` block."""
    return bool(above) and above[0].top == _OURS


def _called(above: Sequence[_Kind]) -> str:
    """Return the name of the function that the cell called."""
    name = above[0].name if above else ""
    return YOUR_CODE if not name or "<" in name else name


def _dask_call(above: Sequence[_Kind]) -> Seen:
    """Name a call of Dask; a wrapper made by a decorator is named by what it wraps."""
    named = (kind.name for kind in above if kind.top in _DASK and "<" not in kind.name)
    name = next(named, "dask")
    last_two = ".".join(name.split(".")[-2:])
    stage = _OTHER_CALLS.get(last_two) or _OTHER_CALLS.get(name.rpartition(".")[2])
    return Seen(stage or "dask.construct", name)


def _name(module: str, code: CodeType) -> str:
    """Return ``Array.__add__`` for a method, ``array.concatenate`` for a function of Dask."""
    qualified = code.co_qualname
    top, _, rest = module.partition(".")
    if top not in _DASK:
        return qualified.rpartition("<locals>.")[2]
    parts = [part for part in rest.split(".") if part not in _SILENT_PARTS]
    home = ".".join(part for part in parts if part and not part.startswith("_"))
    return qualified if "." in qualified or not home else f"{home}.{qualified}"
