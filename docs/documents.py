"""Keep one recorded document of each finding for its page.

uv run --group corpus python -m tests.corpus --save FOLDER
uv run python docs/documents.py FOLDER
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import programs

from jupyter_serprof.analysis.spans import longest
from jupyter_serprof.model import Trace, load, save_document
from jupyter_serprof.views.notebook.thin import embedded
from tests.corpus import entries

HERE = ROOT / "docs/documents"
#: Of the longest, and of those that findings point at.
MOST_SPANS, MOST_ROWS = 150, 12


def main(folder: str) -> None:
    """Write ``documents/FINDING@ENTRY.serprof.json`` from the documents of a run of the corpus.

    Those that docs/programs.py records stay.
    Of several entries with a finding it is the first one that is about it, else the first one in
    which it is told before others.
    """
    best: dict[str, tuple[tuple[bool, int], str, Trace]] = {}
    for entry in entries([]):
        path = Path(folder, f"{entry.name}.serprof.json")
        trace = load(path) if path.exists() else None
        for at, finding in enumerate(trace.findings if isinstance(trace, Trace) else ()):
            if finding.rule in programs.RULES:
                continue
            rank = (finding.rule != entry.rule, at)
            if finding.rule not in best or rank < best[finding.rule][0]:
                best[finding.rule] = rank, entry.name, trace
    HERE.mkdir(exist_ok=True)
    for rule, (_, name, trace) in best.items():
        for old in HERE.glob(f"{rule}@*"):
            old.unlink()
        save_document(small(trace), HERE / f"{rule}@{name}.serprof.json")


def small(trace: Trace) -> Trace:
    """Cut it to what a page shows; every total stays exact."""
    trace = embedded(trace)
    tables = tuple(replace(table, rows=table.rows[:MOST_ROWS]) for table in trace.tables[:3])
    pointed = [at for finding in trace.findings for at in finding.spans]
    kept, places = longest(trace.spans, MOST_SPANS, pointed)
    findings = tuple(
        replace(each, spans=tuple(places[at] for at in each.spans if at in places))
        for each in trace.findings
    )
    return replace(trace, spans=kept, findings=findings, tables=tables)


if __name__ == "__main__":
    main(sys.argv[1])
