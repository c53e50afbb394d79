"""The pages of findings and stages: where ``SERPROF_DOCS`` has the address of the built site.

None otherwise, none where that would run as a script, and none for what only plug-ins know: a link
to nowhere is worse than none.
"""

import os
import re
from typing import Any
from urllib.parse import urlsplit

from jupyter_serprof.model import Sweep, Trace
from jupyter_serprof.model.stages import OURS

#: Those of probes of others have no page of ours.
_EXPLAINED = ("dask.", "joblib.", "memory.", "pickle.", "python.", "ray.")


def finding_page(rule: str) -> str:
    """Return the address of the page of a finding; empty where there is none."""
    return _under(f"findings/{rule}.html") if rule.startswith(_EXPLAINED) else ""


def stage_page(key: str) -> str:
    """Return the address of what a stage contains; empty where there is none."""
    anchor = re.sub("[^a-z0-9]+", "-", key)  # as docutils makes it
    return _under(f"reference/stages.html#{anchor}") if key in OURS else ""


def _under(page: str) -> str:
    address = os.environ.get("SERPROF_DOCS", "").rstrip("/")
    is_known = urlsplit(address).scheme in {"", "file", "http", "https"}
    return f"{address}/{page}" if address and is_known else ""


def headline_page(doc: Trace | Sweep, headline: str) -> str:
    """Return the page of the finding that the headline tells, if it tells one."""
    told = (finding.rule for finding in doc.findings if finding.title in headline)
    return finding_page(next(told, ""))


def linked(document: Any) -> Any:  # noqa: ANN401  (JSON)
    """Return the data of a document with the pages of its findings and stages."""
    for trace in (document, *(entry["trace"] for entry in document.get("traces", ()))):
        for name, key, page_of in _LINKED:
            for entry in trace.get(name, ()):
                entry.update({"page": page} if (page := page_of(entry[key])) else {})
    return document


_LINKED = (("findings", "rule", finding_page), ("stages", "key", stage_page))
