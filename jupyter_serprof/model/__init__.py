"""The nouns as immutable data, their document format and its files (standard library only)."""

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
from jupyter_serprof.model.stages import STAGES, stage
from jupyter_serprof.model.sweep import Point, Sweep, SweepTrace, Variant
from jupyter_serprof.model.trace import (
    Change,
    Comparison,
    Finding,
    Group,
    Lane,
    Limits,
    Prediction,
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
    "DocumentError",
    "Finding",
    "Group",
    "Lane",
    "Limits",
    "Part",
    "Point",
    "Prediction",
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
    "from_document",
    "load",
    "save_document",
    "stage",
    "to_document",
]
