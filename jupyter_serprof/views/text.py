"""A document as plain text: for terminals, logs and notebooks without our extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_serprof.model import Trace, UsageError
from jupyter_serprof.model.units import clean
from jupyter_serprof.views.blame.text import anatomy_blocks
from jupyter_serprof.views.compare.text import comparison_lines
from jupyter_serprof.views.kit.cells import hang, wrap
from jupyter_serprof.views.kit.facts import table_blocks
from jupyter_serprof.views.kit.remarks import headline_of, outcome_of, remarks_of
from jupyter_serprof.views.sweep.text import sweep_lines
from jupyter_serprof.views.waterfall.text import trace_lines

if TYPE_CHECKING:
    from jupyter_serprof.model import Sweep

#: Fits a log, a narrow terminal and a printed page.
WIDTH = 100
_NARROWEST = 40
#: Front ends draw more of them; where one has no picture of its own here, the usual one is given.
VIEWS = (
    *("anatomy", "compare", "waterfall", "lanes", "table", "details", "findings"),
    *("roundtrip", "sweep"),
)


def text(doc: Trace | Sweep, *, view: str | None = None, width: int | None = None) -> str:
    """Return a document as text: headline, facts, bars, findings, remarks and tables.

    Parameters
    ----------
    doc
        A trace or a sweep.
    view
        A name of ``VIEWS``; ``"table"`` leaves out the bars. Default: bars and table.
    width
        Columns of the terminal that no line goes beyond, at least 40. Default: 100.

    Returns
    -------
    str
        Lines without colours or control characters, without a newline at the end.

    Raises
    ------
    UsageError
        If there is no view of that name.

    Notes
    -----
    The numbers of a column of stages add up to the number below it. A bar stands at its true
    time and is as high as the part of that instant which the stage owned. ``–`` does not apply;
    ``n/a`` applies and was not seen; ``0`` measured zero.
    """  # noqa: RUF002
    check_view(view)
    columns = max(_NARROWEST, WIDTH if width is None else width)
    has_bars = view != "table"
    body = trace_lines if isinstance(doc, Trace) else sweep_lines
    blocks = [
        _head(doc, columns),
        *(anatomy_blocks(doc, columns) if isinstance(doc, Trace) else ()),
        comparison_lines(doc.comparison, columns, has_headline=False) if doc.comparison else [],
        body(doc, columns, has_bars=has_bars),  # type: ignore[arg-type]  # chosen by its type
        [line for label, said in remarks_of(doc) for line in hang(label, said, columns)],
        *(table_blocks(doc, columns) if isinstance(doc, Trace) else ()),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def check_view(view: str | None) -> None:
    """Raise `UsageError` if there is no view of that name."""
    if view is not None and view not in VIEWS:
        message = f"there is no view {view!r}. Choose one of: {', '.join(VIEWS)}"
        raise UsageError(message)


def _head(doc: Trace | Sweep, columns: int) -> list[str]:
    facts = " · ".join(doc.summary.facts) if doc.summary else ""
    sentences = [headline_of(doc), outcome_of(doc), facts]
    return [
        line
        for sentence in sentences
        if sentence
        for line in wrap(clean(sentence).strip(), columns)
    ]
