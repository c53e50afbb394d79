"""Documents for other tools: Chrome traces, CSV, data frames, Markdown; and timelines of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.views.flat import Given, Rows, no_document, rows_of

if TYPE_CHECKING:
    import pandas as pd

#: Columns of whole numbers, some of them unknown.
_WHOLE = ("_ns", "_bytes", "_faults", "index", "parent", "group", "count", "repeat")
__all__ = ["Given", "Rows", "data_frame", "no_document", "rows_of"]


def data_frame(doc: Given, what: str | None = None) -> pd.DataFrame:
    """Return a table of a document as a data frame; numbers that may be unknown are nullable."""
    rows = rows_of(doc, what)
    import pandas as pd

    frame = pd.DataFrame(rows.lines, columns=list(rows.heads))
    return frame.astype({head: "Int64" for head in rows.heads if head.endswith(_WHOLE)})
