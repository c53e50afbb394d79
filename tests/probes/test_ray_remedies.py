"""Remedies with a real Ray: putting once is tried where Ray runs, and equal."""

from __future__ import annotations

import numpy as np
import pytest

from jupyter_serprof.api import try_remedies


@pytest.mark.usefixtures("cluster")
def test_putting_once_is_tried_where_ray_runs() -> None:
    """Its own way is the baseline; the put is paid once and said apart; the value is kept."""
    # given
    value = np.arange(500_000.0)

    # when
    sweep = try_remedies(value, budget_s=3, name="a")

    # then
    [tried] = [v for v in sweep.variants if v.key == "put-once"]
    assert tried.facts["baseline"] == "now: ray.put + ray.get"
    assert tried.facts["equal"] is True
    assert isinstance(tried.facts["prepare_ns"], int)
    assert {p.variant for p in sweep.points} >= {"put-once", "now: ray.put + ray.get"}
    assert {key for p in sweep.points if p.variant == "put-once" for key in p.stages} == {
        "ray.fetch"
    }
    assert value.sum() == 124_999_750_000
