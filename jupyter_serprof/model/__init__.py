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
from functools import cache
from importlib import import_module
from itertools import chain
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


def lazy(module: str) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a module: what it imports for type checkers, at first use."""

    @cache
    def homes() -> Mapping[str, str]:
        import ast
        import inspect

        tree = ast.parse(inspect.getsource(sys.modules[module]))
        blocks = (node.body for node in tree.body if isinstance(node, ast.If))
        found = (line for line in chain(*blocks) if isinstance(line, ast.ImportFrom))
        ours = [line for line in found if f"{line.module}".startswith("jupyter_serprof.")]
        return {one.name: f"{line.module}" for line in ours for one in line.names}

    def get(name: str) -> object:
        if name.startswith("__") or name not in homes():
            message = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(message)
        known = vars(sys.modules[module])
        return known.setdefault(name, getattr(import_module(homes()[name]), name))

    return get


__getattr__ = lazy(__name__)
