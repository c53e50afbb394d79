"""Remedies with a real Ray: other forms go through its store, as the value went."""

import numpy as np
import pytest
import ray

from jupyter_serprof.api import Tryout, run, try_remedies

#: Time for every pair on the slowest machine.
AMPLE_S = 1e6


@pytest.mark.usefixtures("cluster")
def test_what_ray_sends_is_tried_as_ray_sends_it() -> None:
    """Ray hands buffers over by itself: nothing about pickles is tried."""
    rows = [{"id": at, "x": at / 7} for at in range(2_000)]

    array = run(Tryout(np.arange(2_000_000.0), now="ray", budget_s=AMPLE_S, pairs=2))
    texts = run(Tryout(rows, now="ray", budget_s=AMPLE_S, pairs=2))

    assert [v.key for v in array.variants if v.facts.get("tried")] == []
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
    assert "`ref` is a reference" in sweep.summary.headline
    assert "%serprof --try ray.get(ref)" in sweep.summary.facts[0]
