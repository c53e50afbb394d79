"""The cause is named first: antipatterns of the corpus, of which a busy machine hides none."""

from collections import Counter
from collections.abc import Iterator

import pytest
from corpus import Entry, entries

from clusters.seen import attempts
from jupyter_serprof.model import Trace

CLUSTERS = {"ray": "cluster", "dask": "dask_client"}
CHOSEN = (
    *("captured-in-self", "list-of-floats", "many-small-puts", "no-pipelining", "slow-reducer"),
    *("submission-order", "compute-in-a-loop", "one-giant-task"),
    *("pool-of-processes-for-little", "shared-work-computed-twice", "get-in-a-loop"),
    *("tiny-tasks", "redefined-in-a-loop", "new-actor-for-each-item"),
    *("same-object-in-fresh-containers", "unnecessary-get", "return-of-a-put"),
    *("reference-out-of-band", "global-written-by-a-task", "blocking-get-in-an-async-actor"),
)


@pytest.mark.parametrize(
    "entry", [each for each in entries([]) if each.name in CHOSEN], ids=lambda each: each.name
)
def test_the_cause_is_named_first_and_nothing_is_said_of_the_twin(
    entry: Entry, request: pytest.FixtureRequest
) -> None:
    """All of them: ``python -m tests.corpus``."""
    request.getfixturevalue(CLUSTERS[entry.cluster])
    antipattern, healthy = entry.made()

    is_error = entry.cause == "error"  # it costs no time, so that it is no headline
    assert mostly(entry.rule, (first(t, is_headline=not is_error) for t in attempts(antipattern)))
    assert mostly([], map(warned, attempts(healthy)))


def mostly(wanted: object, told: Iterator[object]) -> bool:
    """Tell whether it is told in two runs of three."""
    seen = Counter[bool]()
    while max(seen.values(), default=0) < 2:
        seen[next(told) == wanted] += 1
    return seen[True] == 2


def first(trace: Trace, *, is_headline: bool) -> str:
    """Return the rule of the headline, or of the first finding."""
    title = trace.findings[0].title if trace.findings else "nothing"
    told = trace.summary is not None and (not is_headline or title in trace.summary.headline)
    return trace.findings[0].rule if told and trace.findings else ""


def warned(trace: Trace) -> list[str]:
    return [finding.rule for finding in trace.findings if finding.severity == "warn"]
