"""Documents for other tools, and timelines of other tools as documents."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_serprof import export
from jupyter_serprof.export.chrome import chrome_trace
from jupyter_serprof.export.markdown import markdown
from jupyter_serprof.export.rows import csv_text, rows_of
from jupyter_serprof.export.timelines import import_timeline as timeline_of
from jupyter_serprof.export.timelines import is_timeline
from jupyter_serprof.model import DocumentError, Sweep, Trace
from jupyter_serprof.model import load as load_document

if TYPE_CHECKING:
    import pandas as pd

#: Endings of Chrome traces; they end in .json, too, so they are asked for first.
CHROME = (".trace.json", ".chrome.json", ".perfetto.json")


def exported(document: Trace | Sweep, ending: str) -> str | None:
    """Return the text of a file for another tool; None if the ending is none of theirs."""
    if ending.endswith(CHROME):
        return json.dumps(chrome_trace(document), separators=(",", ":"))
    if ending.endswith(".csv"):
        return csv_text(rows_of(document))
    if ending.endswith(".md"):
        return markdown(document)
    return None


def load(path: str | os.PathLike[str]) -> Trace | Sweep:
    """Read a document, or a timeline of Ray or Dask; nothing in it is executed.

    Parameters
    ----------
    path
        A file written by ``--save`` or ``sp.save``, by ``ray.timeline(filename=...)``, or a list of
        ``client.get_task_stream()`` saved as JSON.

    Raises
    ------
    DocumentError
        If the file cannot be read, is neither, is damaged or cut off, or is newer than this
        version.
    """
    try:
        return load_document(path)
    except DocumentError:
        if not _holds_timeline(Path(path)):
            raise
    return timeline_of(path)


def _holds_timeline(file: Path) -> bool:
    try:
        return is_timeline(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return False


def import_timeline(
    source: str | os.PathLike[str] | Sequence[object], name: str | None = None
) -> Trace:
    """Return a timeline of Ray or a task stream of Dask as a trace.

    Parameters
    ----------
    source
        A file of ``ray.timeline(filename=...)``; the list that ``ray.timeline()`` or
        ``client.get_task_stream()`` returns, or a file with it as JSON; or a ``.trace.json`` that
        ``sp.save`` wrote.
    name
        What the document calls it; None takes the name of the file.

    Returns
    -------
    Trace
        Steps of tasks on lanes of workers. What the caller did between its calls is not in these
        files: it is taken to wait, so that the steps of the workers own the wall time.

    Raises
    ------
    DocumentError
        If it is no timeline that is known, or is damaged.
    """
    return timeline_of(source, name or "")


def to_dataframe(document: Trace | Sweep, what: str | None = None) -> pd.DataFrame:
    """Return a document as a pandas data frame.

    Parameters
    ----------
    what
        ``spans`` or ``summary`` of a trace, ``points`` or ``summary`` of a sweep; None takes the
        first. Spans: (n_spans, 9), times in ns, sizes in bytes, as Int64, which knows unknown.

    Raises
    ------
    UsageError
        If the document has no such table.
    ImportError
        If pandas is not installed: ``pip install "jupyter_serprof[dataframe]"``.
    """
    return export.data_frame(document, what)


def to_markdown(document: Trace | Sweep) -> str:
    """Return a document as Markdown tables, for an issue: paste it as it is."""
    return markdown(document)
