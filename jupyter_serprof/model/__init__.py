"""The nouns as immutable data, their document format and its files (standard library only).

In: numbers and names. Out: documents, which JSON carries and every view draws.

>>> from jupyter_serprof.model.document import from_document, to_document
>>> trace = Trace(name="a cell", started="2026-01-31T12:00:00+00:00", wall_ns=5_000_000)
>>> from_document(to_document(trace)) == trace
True
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
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

#: Where each name lives.
_HOMES = {
    "jupyter_serprof.model.anatomy": "Anatomy Part",
    "jupyter_serprof.model.document": "from_document to_document",
    "jupyter_serprof.model.errors": (
        "DocumentError ProbeUnavailable RegressionError SerprofError UsageError WrongTypeError"
    ),
    "jupyter_serprof.model.files": "load save_document",
    "jupyter_serprof.model.stages": "STAGES describe stage stages_of",
    "jupyter_serprof.model.sweep": "Crossover Fit Point Sweep SweepTrace Variant",
    "jupyter_serprof.model.trace": (
        "Change Comparison Finding Group Heading Lane Limits ProbeReport Quality Row Span Stage "
        "Summary Table TableColumn Trace Waterfall"
    ),
}


def lazy(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a module that imports a name from its home at first use."""

    def get(name: str) -> object:
        for home, names in homes.items():
            if name in names.split():
                known = vars(sys.modules[module])
                return known.setdefault(name, getattr(import_module(home), name))
        message = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(message)

    return get


__getattr__ = lazy(__name__, _HOMES)
