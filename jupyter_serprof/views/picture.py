"""The layout of a document: a sheet that figures, PNG and SVG are painted from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.model import Trace
from jupyter_serprof.views.kit.raster import measure
from jupyter_serprof.views.kit.sheet import Sheet
from jupyter_serprof.views.kit.theme import DARK, LIGHT
from jupyter_serprof.views.sweep.bars import put_sweep
from jupyter_serprof.views.sweep.chart import put_sizes
from jupyter_serprof.views.sweep.series import is_over_sizes
from jupyter_serprof.views.waterfall.sheet import put_trace
from jupyter_serprof.views.waterfall.table import MOST_ROWS

if TYPE_CHECKING:
    from jupyter_serprof.model import Sweep


def sheet_of(
    doc: Trace | Sweep, *, dark: bool = False, most_rows: int = MOST_ROWS, is_brief: bool = False
) -> Sheet:
    """Return everything that the picture of a document consists of, with its place in pixels."""
    sheet = Sheet(DARK if dark else LIGHT, measure, is_brief=is_brief)
    if isinstance(doc, Trace):
        put_trace(sheet, doc, most_rows)
    elif is_over_sizes(doc):
        put_sizes(sheet, doc)
    else:
        put_sweep(sheet, doc)
    return sheet
