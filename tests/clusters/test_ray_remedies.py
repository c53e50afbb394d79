"""Remedies with a real Ray: putting once is tried where Ray runs, and equal."""

import numpy as np
import pytest
import ray

from jupyter_serprof.api import Tryout, run, try_remedies

#: Time for every pair on the slowest machine.
AMPLE_S = 1e6


@pytest.mark.usefixtures("cluster")
def test_putting_once_is_measured_as_the_user_would_have_it() -> None:
    """One put and five gets against five puts and gets: nothing is paid beside the gain."""
    value = np.arange(500_000.0)

    sweep = try_remedies(value, budget_s=AMPLE_S, pairs=3, name="a")

    [tried] = [v for v in sweep.variants if v.key == "put-once"]
    assert tried.facts["baseline"] == "now: 5 × (ray.put + ray.get)"  # noqa: RUF001
    assert tried.facts["equal"] is True
    assert tried.facts["prepare_ns"] is None
    stages = {key for p in sweep.points if p.variant == "put-once" for key in p.stages}
    assert stages == {"ray.store", "ray.fetch"}
    titles = [f.title for f in sweep.findings if f.rule == "ray.same-object"]
    assert all("(gain: against 5 × (ray.put + ray.get))" in title for title in titles)  # noqa: RUF001
    assert value.sum() == 124_999_750_000


@pytest.mark.usefixtures("cluster")
def test_what_ray_sends_is_tried_as_ray_sends_it() -> None:
    """Ray hands buffers over by itself: nothing about pickles, and no put that was not made."""
    rows = [{"id": at, "x": at / 7} for at in range(2_000)]

    array = run(Tryout(np.arange(2_000_000.0), now="ray", puts=1, budget_s=AMPLE_S, pairs=2))
    twice = run(Tryout(np.arange(2_000_000.0), now="ray", puts=2, budget_s=AMPLE_S, pairs=2))
    texts = run(Tryout(rows, now="ray", puts=1, budget_s=AMPLE_S, pairs=2))

    assert [v.key for v in array.variants if v.facts.get("tried")] == []
    assert [v.key for v in twice.variants if v.facts.get("tried")] == ["put-once"]
    [columns] = [v for v in texts.variants if v.facts.get("tried")]
    assert (columns.key, columns.facts["baseline"]) == ("columns", "now: ray.put + ray.get")
    assert columns.facts["equal"] is True


@pytest.mark.usefixtures("cluster")
def test_a_reference_is_small_already() -> None:
    """What to try is the object behind it."""
    ref = ray.put(np.arange(500_000.0))

    sweep = try_remedies(ref, name="ref")

    assert sweep.variants == ()
    assert sweep.summary
    assert "ref is a reference" in sweep.summary.headline
    assert "%serprof --try ray.get(ref)" in sweep.summary.headline
