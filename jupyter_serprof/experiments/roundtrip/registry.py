"""Transports: the ways in which a value can travel and come back. A new one is one class."""

from __future__ import annotations

from jupyter_serprof.experiments.roundtrip.by_dask import DaskProtocol, DaskScatter
from jupyter_serprof.experiments.roundtrip.by_pickle import (
    ArrowIpc,
    Cloudpickle,
    Joblib,
    Lz4,
    Npy,
    Pickle4,
    PickleInBand,
    PickleOutOfBand,
    Zstd,
)
from jupyter_serprof.experiments.roundtrip.by_ray import Ray, RayChunked, RaySerializer
from jupyter_serprof.experiments.roundtrip.transport import Transport

__all__ = ["ALL", "TRANSPORTS", "Cloudpickle", "PickleInBand", "PickleOutOfBand", "Ray"]
__all__ += ["Transport"]

#: In place of keys: every transport, and a row that says why for each that is not available.
ALL = "all"

TRANSPORTS: dict[str, type[Transport]] = {
    kind.key: kind
    for kind in (
        *(PickleInBand, PickleOutOfBand, Cloudpickle, Ray, DaskProtocol, DaskScatter),
        *(Pickle4, RaySerializer, RayChunked, ArrowIpc, Npy, Joblib, Lz4, Zstd),
    )
}
