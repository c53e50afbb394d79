"""The nouns as immutable data, their document format and its files (standard library only).

In: numbers and names. Out: documents, which JSON carries and every view draws.

>>> from jupyter_serprof.model.document import from_document, to_document
>>> trace = Trace(name="a cell", started="2026-01-31T12:00:00+00:00", wall_ns=5_000_000)
>>> from_document(to_document(trace)) == trace
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_serprof.model.anatomy import Anatomy, Part
    from jupyter_serprof.model.document import from_document, to_document
    from jupyter_serprof.model.errors import (
        DocumentError,
        ProbeUnavailable,
        RegressionError,
        SerprofError,
        UsageError,
        WrongTypeError,
    )
    from jupyter_serprof.model.files import load, save_document
    from jupyter_serprof.model.stages import STAGES, describe, stage, stages_of
    from jupyter_serprof.model.sweep import Crossover, Fit, Point, Sweep, SweepTrace, Variant
    from jupyter_serprof.model.trace import (
        Change,
        Comparison,
        Finding,
        Group,
        Heading,
        Lane,
        Limits,
        ProbeReport,
        Quality,
        Row,
        Span,
        Stage,
        Summary,
        Table,
        TableColumn,
        Trace,
        Waterfall,
    )

__all__ = [
    "STAGES",
    "Anatomy",
    "Change",
    "Comparison",
    "Crossover",
    "DocumentError",
    "Finding",
    "Fit",
    "Group",
    "Heading",
    "Lane",
    "Limits",
    "Part",
    "Point",
    "ProbeReport",
    "ProbeUnavailable",
    "Quality",
    "RegressionError",
    "Row",
    "SerprofError",
    "Span",
    "Stage",
    "Summary",
    "Sweep",
    "SweepTrace",
    "Table",
    "TableColumn",
    "Trace",
    "UsageError",
    "Variant",
    "Waterfall",
    "WrongTypeError",
    "describe",
    "from_document",
    "load",
    "save_document",
    "stage",
    "stages_of",
    "to_document",
]

#: Errors first: loading the magics needs them, and no dataclass before the first document.
_HOMES = ("errors", "trace", "stages", "sweep", "anatomy", "document", "files")


def __getattr__(name: str) -> object:
    """Import the nouns when they are first used."""
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"{__name__}.{home}")
            if hasattr(module, name):
                return globals().setdefault(name, getattr(module, name))
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
