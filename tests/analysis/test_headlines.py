"""The first line: one short sentence, whatever the document is."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from real import real_documents
from strategies import sweeps, traces

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.sizes.words import summarize_growth
from jupyter_serprof.experiments.engine.document import summarize_repeats, summarize_sweep
from jupyter_serprof.model import Sweep, Trace
from jupyter_serprof.model.document import from_document, to_document
from jupyter_serprof.model.units import LONGEST_HEADLINE

DATA = Path(__file__).parents[1] / "data"
#: Goldens whose sections begin with the headline that our code wrote.
TOLD = ("anatomies", "compare", "growth", "summaries", "sweeps")
_CODE = re.compile("`[^`]*`")


def faults(headline: str) -> list[str]:
    """Return a headline that is too long, or that has a bracket outside of code."""
    is_wrong = len(headline) > LONGEST_HEADLINE or "(" in _CODE.sub("", headline)
    return [headline] if is_wrong else []


def headlines(document: Trace | Sweep) -> Iterator[str]:
    """Yield what is said of a document, by each of those who speak of its kind."""
    if isinstance(document, Trace):
        analysed = analyse(document)
        assert analysed.summary is not None
        yield analysed.summary.headline
        return
    for summarize in (summarize_sweep, summarize_repeats, summarize_growth):
        yield summarize(document).headline
    for entry in document.traces:
        yield from headlines(entry.trace)


def plain(document: Trace | Sweep) -> Trace | Sweep:
    """Return a document whose texts, which are the user's own words, have no bracket."""
    return from_document(json.loads(json.dumps(to_document(document)).replace("(", "[")))


@given(traces() | sweeps())
@settings(max_examples=60, phases=[Phase.generate])
def test_any_document_has_a_short_headline_without_brackets(document: Trace | Sweep) -> None:
    """At most 90 characters, one sentence; a bracket stands in code only."""
    assert [fault for said in headlines(plain(document)) for fault in faults(said)] == []


@pytest.mark.parametrize("name", TOLD)
def test_what_people_reviewed_has_short_headlines_without_a_full_stop(name: str) -> None:
    written = (DATA / "told" / f"{name}.txt").read_text("utf-8")
    said = re.findall(r"^=== .*\n(.*)", written, re.MULTILINE)
    assert said
    assert [fault for one in said for fault in faults(one)] == []
    assert [one for one in said if one.endswith(".")] == []


def test_real_documents_have_short_headlines_without_brackets() -> None:
    """At most 90 characters in 95 of 100, as they were told and as they are told today."""
    real = [from_document(each) for each in real_documents().values()]
    today = [analyse(each).summary for each in real if isinstance(each, Trace)]

    said = [it.headline for it in (*today, *(each.summary for each in real)) if it]

    wrong = [fault for one in said for fault in faults(one)]
    assert min(len(real), len(said)) >= 60
    assert len(wrong) <= 0.05 * len(said)
