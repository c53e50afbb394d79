"""A document as plain text for terminals and logs, and as Markdown for an issue."""

import shutil
import sys
from collections.abc import Iterable, Iterator

from jupyter_serprof.model import Anatomy, Comparison, Sweep, Trace, UsageError
from jupyter_serprof.model.units import clean
from jupyter_serprof.views.blame import anatomy_blocks, anatomy_markdown
from jupyter_serprof.views.compare import comparison_blocks, comparison_parts
from jupyter_serprof.views.flat import Given, no_document
from jupyter_serprof.views.kit import remarks
from jupyter_serprof.views.kit.lines import coded, hang, listed, plain, wrap
from jupyter_serprof.views.kit.table import markdown_table
from jupyter_serprof.views.sweep.runs import incomplete, label_of, quantities, runs_of
from jupyter_serprof.views.sweep.text import sweep_blocks
from jupyter_serprof.views.waterfall.table import stages_table, trace_lines

#: Fits a log, a narrow terminal and a printed page.
WIDTH = 100
_NARROWEST = 40
#: On a terminal: below it is no table, above it the eye loses the line.
_SCREENS = 60, 160
#: Front ends draw more of them; where one has no picture of its own here, the usual one is given.
VIEWS = (
    *("anatomy", "compare", "waterfall", "lanes", "table", "details", "findings"),
    *("roundtrip", "sweep"),
)


def text(doc: Trace | Sweep, *, view: str | None = None, width: int | None = None) -> str:
    """Return a document as text: headline, facts, bars, findings, remarks and tables.

    ``doc``: A trace or a sweep.
    ``view``: A name of ``VIEWS``; ``"table"`` leaves out the bars. Default: bars and table.
    ``width``: Columns that no line goes beyond, at least 40. Default: 100.

    Lines without colours or control characters, without a newline at the end.

    Raises ``UsageError``: If there is no view of that name.

    The numbers of a column of stages add up to the number below it. A bar stands at its true
    time and is as high as the part of that instant which the stage owned. ``–`` does not apply;
    ``n/a`` applies and was not seen; ``0`` measured zero.
    """  # noqa: RUF002
    if view is not None and view not in VIEWS:
        message = f"there is no view {view!r}. Choose one of: {', '.join(VIEWS)}"
        raise UsageError(message)
    columns = max(_NARROWEST, WIDTH if width is None else width)
    has_bars = view != "table"
    picture, *behind = (
        [trace_lines(doc, columns, has_bars=has_bars)]
        if isinstance(doc, Trace)
        else sweep_blocks(doc, columns, has_bars=has_bars)
    )
    compared = list(comparison_parts(doc.comparison, columns)) if doc.comparison else []
    blocks = [
        _head(doc, columns),
        *(anatomy_blocks(doc, columns) if isinstance(doc, Trace) else ()),
        *compared[:1],
        [] if isinstance(doc, Trace) and not doc.is_of_a_run else picture,
        [line for label, said in remarks.findings_of(doc) for line in hang(label, said, columns)],
    ]
    details = [
        [line for said in remarks.details_of(doc) for line in hang("note", said, columns)],
        *compared[1:],
        *behind,
        *(remarks.table_blocks(doc, columns) if isinstance(doc, Trace) else ()),
    ]
    return "\n\n".join("\n".join(block) for block in (*blocks, *_titled(details)) if block)


def _titled(details: Iterable[list[str]]) -> list[list[str]]:
    first, *others = [block for block in details if block] or [[]]
    return [["Details", *first], *others] if first else []


def screen_width() -> int:
    """Return the columns of the terminal that is printed on, within what is readable; else 100."""
    if not getattr(sys.stdout, "isatty", bool)():  # in a notebook and in marimo it may have none
        return WIDTH
    narrowest, widest = _SCREENS
    return min(max(shutil.get_terminal_size((WIDTH, 0)).columns, narrowest), widest)


def _head(doc: Trace | Sweep, columns: int) -> list[str]:
    facts = " · ".join(doc.summary.facts) if doc.summary else ""
    above, below = [remarks.headline_of(doc), remarks.outcome_of(doc) or ""], [facts]
    return [
        *(line for said in above if said for line in wrap(clean(said).strip(), columns)),
        *(line for label, said in remarks.first_remedy(doc) for line in hang(label, said, columns)),
        *(line for said in below if said for line in wrap(clean(said).strip(), columns)),
    ]


def markdown(doc: Given) -> str:
    """Return a document as Markdown, for an issue: paste it as it is.

    Headline, tables and findings; whatever a name holds, it stays text in its cell.

    Raises ``UsageError``: If it is no document.
    """
    return "\n\n".join(_blocks(doc)) + "\n"


def _blocks(doc: Given) -> Iterator[str]:
    if isinstance(doc, Anatomy):
        yield from anatomy_markdown(doc, "")
    elif isinstance(doc, Comparison):
        yield from comparison_blocks(doc)
    elif isinstance(doc, Trace | Sweep):
        yield from _document(doc)
    else:
        raise no_document(doc)


def _document(doc: Trace | Sweep) -> Iterator[str]:
    headline = doc.summary.headline if doc.summary else doc.name or "unnamed"
    facts = " · ".join(doc.summary.facts) if doc.summary else ""
    yield f"**{coded(headline)}**"
    yield from remarks.remark_blocks(remarks.first_remedy(doc))
    yield from [plain(facts)] if facts else []
    if doc.comparison is not None:
        yield from comparison_blocks(doc.comparison, has_headline=False)
    if isinstance(doc, Trace):
        for anatomy in doc.anatomies:
            yield from anatomy_markdown(anatomy, f"{headline} {facts}")
    if not isinstance(doc, Trace):
        yield _runs_table(doc)
    elif doc.is_of_a_run:
        yield stages_table(doc)
    yield from remarks.remark_blocks(remarks.findings_of(doc, None))
    environment = ", ".join(f"{key} {value}" for key, value in doc.environment.items())
    origin = ", ".join(part for part in (doc.producer, environment) if part)
    results = () if isinstance(doc, Trace) else _results(doc)
    details = listed((*remarks.details_of(doc), *results, *([origin] if origin else [])))
    yield from ["**Details**", *details] if details else []


def _runs_table(sweep: Sweep) -> str:
    runs = [bar for variant in sweep.variants for bar in runs_of(sweep, variant)]
    columns = quantities(sweep, runs)
    silent = [""] * len(columns)
    has_size = len({bar.point.size_bytes for bar in runs}) > 1
    lines = [
        (
            plain(bar.variant.title),
            label_of(bar, has_size=has_size),
            *(q.cell(bar) for q in columns),
        )
        for bar in runs
    ]
    lines += [(plain(f"{title} ({why})"), "", *silent) for title, why in incomplete(sweep).items()]
    return markdown_table(("variant", "run", *(q.head for q in columns)), lines, 2)


def _results(sweep: Sweep) -> Iterator[str]:
    for variant in sweep.variants:
        for sentence in (variant.result, *variant.notes):
            yield from [f"{variant.title}: {sentence}"] if sentence else []
