"""The machine and the versions that a number belongs to; no names of users, hosts or paths."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from jupyter_serprof.model.trace import Scalar

#: Libraries whose versions matter to serialization; only the imported ones are reported.
_LIBRARIES = ("ray", "dask", "distributed", "cloudpickle", "numpy", "pandas", "pyarrow", "polars")


def describe_environment() -> dict[str, Scalar]:
    """Return Python's version, the platform, its cores and the versions of imported libraries."""
    return {
        "python": platform.python_version(),
        "platform": sys.platform,
        "machine": platform.machine(),
        "cores": usable_cores(),
        **imported_versions(_LIBRARIES),
    }


def imported_versions(names: Iterable[str]) -> dict[str, Scalar]:
    """Return the installed versions of those libraries that are imported."""
    return {name: installed_version(name) for name in names if name in sys.modules}


@cache
def installed_version(name: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def usable_cores() -> int | None:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def free_memory_bytes() -> int | None:
    """Return the memory of the machine that can be taken without swapping; None where unknown."""
    import psutil

    try:
        return int(psutil.virtual_memory().available)
    except (OSError, RuntimeError):  # no /proc
        return None


def resident_bytes() -> int | None:
    """Return the memory that this process holds now; None where unknown."""
    import psutil

    try:
        return int(psutil.Process().memory_info().rss)
    except (OSError, psutil.Error):
        return None


def producer() -> str:
    """Return the name and version of this package, as documents carry it."""
    from jupyter_serprof import __version__

    return f"jupyter_serprof {__version__}"
