"""Detail of ``ray.get``: waiting for the producer, pulling from a node, and mapping, told apart.

``ray.get`` would do the same waits itself; doing them before it costs two calls (0.05-0.2 ms).
Source: the public ``ray.wait(..., fetch_local=)``.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from jupyter_serprof.capture.point import Point
from jupyter_serprof.capture.recorder import active_recorders
from jupyter_serprof.probes.ray.alive import is_alive

_WAIT = Point("ray:wait", "ray.wait", "ray.wait")
_PULL = Point("ray:wait", "ray.pull", "ray.wait")


def split_get(args: Any, kwargs: Any) -> tuple[Any, Any, Any]:  # noqa: ANN401
    """Wait for the producers, then for the pull, and note both; the call follows unchanged."""
    given = dict(zip(("self", "object_refs", "timeout"), args, strict=False)) | kwargs
    timeout, references = given.get("timeout"), given.get("object_refs", ())
    # With a timeout the waits would use up time that the call itself is promised.
    # A get of a small value needs no raylet; a wait for it does.
    if timeout in (None, -1) and references and is_alive():
        unique = list(dict.fromkeys(references))
        _timed_wait(unique, _WAIT, fetch_local=False)
        _timed_wait(unique, _PULL, fetch_local=True)
    return args, kwargs, None


def _timed_wait(references: list[Any], point: Point, *, fetch_local: bool) -> None:
    import ray

    recorders = active_recorders()
    start = recorders[0].now() if recorders else 0
    try:
        ray.wait(references, num_returns=len(references), fetch_local=fetch_local)
    finally:
        end = recorders[0].now() if recorders else 0
        for recorder in recorders:
            recorder.add((point, get_ident(), start, end, None, None, None))
