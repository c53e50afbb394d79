"""See where serialization time goes: in pickle, cloudpickle, Ray and Dask, from one line typed.

In a notebook: ``%load_ext jupyter_serprof``, then ``%serprof ray.get(ray.put(a))``. In a program:
``import jupyter_serprof as sp`` and ``with sp.record() as recording: ...``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from jupyter_serprof.model import lazy

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.api import (
        blame,
        cancel_left,
        chunk_sweep,
        compare,
        graphstages,
        import_timeline,
        load,
        objects,
        profile,
        record,
        resume,
        roundtrip,
        save,
        show,
        span,
        sweep,
        to_dataframe,
        to_markdown,
        try_remedies,
    )
    from jupyter_serprof.model import RegressionError, SerprofError, Sweep, Trace

__version__ = "0.2.0"

__all__ = [
    "RegressionError",
    "SerprofError",
    "Sweep",
    "Trace",
    "blame",
    "cancel_left",
    "chunk_sweep",
    "compare",
    "graphstages",
    "import_timeline",
    "load",
    "objects",
    "profile",
    "record",
    "resume",
    "roundtrip",
    "save",
    "show",
    "span",
    "sweep",
    "to_dataframe",
    "to_markdown",
    "try_remedies",
]

#: Importing the package stays cheap.
__getattr__ = lazy(__name__)


class _Package(ModuleType):
    """A module whose ``objects`` is the function, also when the folder of that name is loaded."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "objects" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    """List the public names, for completion."""
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Load ``%serprof`` into a shell (``%load_ext jupyter_serprof``)."""
    from jupyter_serprof.magics import load as load_into

    load_into(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Take everything away that loading gave (``%unload_ext jupyter_serprof``)."""
    from jupyter_serprof.magics import unload

    unload(ipython)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyter-serprof"}]
