"""Remedies with a real Ray: other forms go through its store, as the value went."""

import sys
import time
from typing import Any

import numpy as np
import pytest
import ray

from clusters.seen import recorded, trace_of
from jupyter_serprof.analysis import findings
from jupyter_serprof.analysis.findings import ray_runs
from jupyter_serprof.api import Tryout, record, run, try_remedies

pytestmark = pytest.mark.usefixtures("cluster")

pd, _ = (pytest.importorskip(name) for name in ("pandas", "pyarrow"))
#: Time for every pair on the slowest machine.
AMPLE_S = 1e6


def test_what_ray_sends_is_tried_as_ray_sends_it() -> None:
    """Ray hands buffers over by itself: nothing about pickles is tried."""
    rows = [{"id": at, "x": at / 7} for at in range(2_000)]

    array = run(Tryout(np.arange(2_000_000.0), now="ray", budget_s=AMPLE_S, pairs=2))
    texts = run(Tryout(rows, now="ray", budget_s=AMPLE_S, pairs=2))

    assert [v.key for v in array.variants if v.facts.get("tried")] == []
    [columns] = [v for v in texts.variants if v.facts.get("tried")]
    assert (columns.key, columns.facts["baseline"]) == ("columns", "now: ray.put + ray.get")
    assert columns.facts["equal"] is True


def test_a_reference_is_small_already() -> None:
    ref = ray.put(np.arange(500_000.0))

    sweep = try_remedies(ref, name="ref")

    assert sweep.variants == ()
    assert sweep.summary
    assert "`ref` is a reference" in sweep.summary.headline
    assert "%serprof --try ray.get(ref)" in sweep.summary.facts[0]


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("values = ray.get([tiny.remote(x) for x in range(600)])", "ray.tiny-tasks"),
        ("values = [ray.get(slow.remote(x)) for x in range(6)]", "ray.get-in-loop"),
    ],
)
def test_a_remedy_runs_as_it_is_pasted_and_gives_the_same(code: str, rule: str) -> None:
    """The name is that of a remote function, which cannot be called."""

    @ray.remote
    def tiny(x: int) -> int:
        return x + 1

    @ray.remote
    def slow(x: int) -> int:
        time.sleep(0.05)
        return x + 1

    names: dict[str, Any] = {"ray": ray, "tiny": tiny, "slow": slow}
    with record(code) as recording:
        exec(code, names)  # noqa: S102  (what a user types)
    before = names.pop("values")

    [found] = [each for each in trace_of(recording).findings if each.rule == rule]
    exec(found.remedy, names)  # noqa: S102  (our own line)
    assert names["values"] == before


@pytest.mark.parametrize(
    ("value", "back"),
    [
        ([at / 7 for at in range(50_000)], "walked.tolist()"),
        (list(np.arange(20_000.0)), "list(walked)"),
        ([f"w{at}" for at in range(50_000)], "walked.to_pylist()"),
        ([{"a": at, "b": str(at)} for at in range(20_000)], "walked.to_dict('records')"),
        ([1j] * 20_000, "walked"),
        ([*range(50_000), "text"], "walked"),
        ({str(at): at for at in range(50_000)}, "walked"),
    ],
)
def test_what_is_walked_has_its_name_and_another_form(
    value: Any, back: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line gives the user's variable a form that was measured as faster, or there is none."""
    names: dict[str, Any] = {"walked": value, "np": np, "pd": pd, "ray": ray}
    monkeypatch.setattr(sys.modules["__main__"], "walked", value, raising=False)
    monkeypatch.setattr(findings, "WALK_SHARE", 0.0)  # whatever else the machine does meanwhile
    monkeypatch.setattr(ray_runs, "WALKED_SHARE", 0.0)

    _, trace = recorded(lambda: ray.put(value))

    [found] = [each for each in trace.findings if each.rule.endswith("-walk")]
    exec(found.remedy, names)  # noqa: S102  (our own line)
    assert (eval(back, names), bool(found.remedy)) == (value, back != "walked")  # noqa: S307
