"""Documents for other tools, and timelines of other tools as documents."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_serprof.model import Anatomy, Comparison, DocumentError, Sweep, Trace, UsageError
from jupyter_serprof.model import load as load_document
from jupyter_serprof.timelines.read import import_timeline as timeline_of
from jupyter_serprof.timelines.read import is_timeline
from jupyter_serprof.views import export
from jupyter_serprof.views.chrome import chrome_trace
from jupyter_serprof.views.flat import csv_text, rows_of
from jupyter_serprof.views.markdown import markdown

if TYPE_CHECKING:
    import pandas as pd

#: Endings of Chrome traces; they end in .json, too, so they are asked for first.
CHROME = (".trace.json", ".chrome.json", ".perfetto.json")


def exported(document: export.Given, ending: str) -> str | None:
    """Return the text of a file for another tool; None if the ending is none of theirs.

    Raises
    ------
    UsageError
        If it is no document, or one that is only a table and the ending is another one.
    """
    if ending.endswith(".csv"):
        return csv_text(rows_of(document))
    if ending.endswith(".md"):
        return markdown(document)
    if not isinstance(document, Trace | Sweep):
        if not isinstance(document, Anatomy | Comparison):
            raise export.no_document(document)
        message = (
            f"{type(document).__name__} is written as .md or .csv only. What can be loaded and "
            "drawn: %serprof --blame x --save FILE, or sp.save(sp.compare(f, g), FILE) of functions"
        )
        raise UsageError(message)
    if ending.endswith(CHROME):
        return json.dumps(chrome_trace(document), separators=(",", ":"))
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


def to_dataframe(document: export.Given, what: str | None = None) -> pd.DataFrame:
    """Return a document as a pandas data frame.

    Parameters
    ----------
    document
        A trace or a sweep, an anatomy of ``sp.blame``, or a comparison.
    what
        ``parts`` of an anatomy or of a trace that has some, ``spans`` or ``summary`` of a trace,
        ``points`` or ``summary`` of a sweep, ``changes`` of a comparison or of what holds one; None
        takes the first that it has. Spans: (n_spans, 9), with groups (first run, again;
        computations) 11, a predicted trace has one more; parts: (n_parts, 14); changes:
        (n_changes, 16). Times in ns and sizes in bytes, as Int64, which knows unknown.

    Raises
    ------
    UsageError
        If it is no document, or has no such table.
    ImportError
        If pandas is not installed: ``pip install "jupyter_serprof[dataframe]"``.
    """
    return export.data_frame(document, what)


def to_markdown(document: export.Given) -> str:
    """Return a document as Markdown, for an issue: paste it as it is.

    Raises
    ------
    UsageError
        If it is no document.
    """
    return markdown(document)
