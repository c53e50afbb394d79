"""Whatever way somebody waits for remote tasks: the tasks own that time."""

from timeit import timeit

import pytest
from corpus import Entry, entries

from clusters.seen import attempts, has_row, self_ns
from clusters.test_corpus import CLUSTERS

#: Their actors and processes start in each run.
NOT_HERE = {f"ray-{name}" for name in ("actor-pool", "data", "joblib", "queue")} | {"dask-joblib"}
#: What two workers sleep, s; a generator makes one item after the other.
SLEPT_S = dict.fromkeys(("ray-async-generator", "ray-streaming-generator"), 0.64)
#: The body of a task, and of a generator its items.
EXECUTE = {"ray": ("ray.execute", "ray.generator.user"), "dask": ("dask.execute",)}


@pytest.mark.parametrize(
    "entry",
    [each for each in entries([]) if not each.rule and each.name not in NOT_HERE],
    ids=lambda each: each.name,
)
def test_tasks_own_the_wait_for_them(entry: Entry, request: pytest.FixtureRequest) -> None:
    """Also those that another thread submitted: it is the caller who waits."""
    request.getfixturevalue(CLUSTERS[entry.cluster])
    run, _ = entry.prepare()
    run()  # what it exports and starts is there then
    most_ns = 1.15e9 * timeit(run, number=1)  # a busy machine sleeps longer, too
    slept_ns, keys, seen = SLEPT_S.get(entry.name, 0.4) * 1e9, EXECUTE[entry.cluster], []
    for trace in attempts(run, count=5):  # a busy machine is late in some
        assert trace.summary is not None
        own_ns = sum(self_ns(trace, key) for key in keys if has_row(trace, key))
        seen.append((trace.summary.total_share or 0, own_ns / slept_ns))
        if min(seen[-1][0] / 0.95, seen[-1][1] / 0.85) >= 1 and own_ns <= most_ns:
            return
    pytest.fail(f"(coverage, what tasks own of what they slept): {seen}")
