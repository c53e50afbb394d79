"""Send a value through every transport and back."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
from jupyter_serprof.model import Sweep


def roundtrip(
    value: object,
    transports: Sequence[str] | None = None,
    repeat: int | None = None,
    *,
    name: str = "value",
    detail: bool = False,
) -> Sweep:
    """Send a value through every transport and back, cold and warm, side by side.

    Parameters
    ----------
    value
        Anything; it is not changed.
    transports
        Keys of transports, in order: ``pickle``, ``pickle-oob``, ``cloudpickle``, ``ray``,
        ``dask``, ``dask-scatter``; only when named: ``pickle4``, ``ray-serializer``,
        ``ray-chunked``, ``arrow``, ``npy``, ``joblib``, ``lz4``, ``zstd``. None takes the first
        six, those of Dask if it is imported or has a client; one that is not available keeps a row
        that says why. A named one is started if need be. ``"all"`` takes every one that is
        available. What does not take this kind of value is skipped, with the reason.
    repeat
        Warm runs of each, 1 to 1000; None runs at least 3, and more while 2 s last.
    name
        What the document calls the value.
    detail
        Tell waiting, pulling and mapping of ``ray.get`` apart.

    Returns
    -------
    Sweep
        One point for each run; the cold one is never averaged with the warm ones.

    Raises
    ------
    UsageError
        For an unknown transport or a bad number of runs.
    ProbeUnavailable
        If a transport that was asked for by name cannot be started.

    Notes
    -----
    At the peak the value is held three times for an in-band transport (value, pickle, result) and
    once for out-of-band pickle, whose result aliases it. Ray's store holds one copy, and for a
    moment two: it frees that of the run before late.
    """
    trip = RoundTrip(value, name=name, transports=transports, repeat=repeat, detail=detail)
    return trip.run()
