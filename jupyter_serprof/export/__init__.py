"""Documents for other tools: Chrome traces, CSV, data frames, Markdown; and timelines of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.export.rows import Rows, rows_of

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_serprof.model import Sweep, Trace

#: Columns of whole numbers, some of them unknown.
_WHOLE = ("_ns", "_bytes", "_faults", "index", "parent", "group", "count", "repeat")
__all__ = ["Rows", "data_frame", "rows_of"]


def data_frame(doc: Trace | Sweep, what: str | None = None) -> pd.DataFrame:
    """Return spans, summary or points as a data frame; numbers that may be unknown are nullable."""
    import pandas as pd

    rows = rows_of(doc, what)
    frame = pd.DataFrame(rows.lines, columns=list(rows.heads))
    return frame.astype({head: "Int64" for head in rows.heads if head.endswith(_WHOLE)})
