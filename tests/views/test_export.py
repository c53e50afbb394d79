"""Documents for other tools: CSV, data frames, Markdown, and names without an ending."""

from dataclasses import replace

import pytest

import jupyter_serprof as sp
from jupyter_serprof.analysis import analyse
from jupyter_serprof.model import Point, Sweep, Trace, Variant
from jupyter_serprof.testing import make_trace

MS = 1_000_000


def trace() -> Trace:
    spans = [("pickle.dumps", "client/main", 0, 8, 8_000_000), ("gc", "client/main", 1, 2, None, 0)]
    return analyse(make_trace(spans, name='f("a, b")', wall_ms=10))


def sweep() -> Sweep:
    points = (
        Point("ray", 800, 0, True, 9 * MS, 900, {"ray.store": 5 * MS}),  # noqa: FBT003
        Point("ray", 800, 1, False, 4 * MS, None, {"ray.store": 3 * MS, "gc": MS}),  # noqa: FBT003
    )
    variants = (Variant("ray", "Ray"), Variant("dask", "Dask", "failed", "it | broke"))
    return Sweep(name="a", started="", variants=variants, points=points)


def test_a_data_frame_keeps_whole_numbers_whole_and_unknown_unknown() -> None:
    """8 million bytes beside an unknown size do not become 8000000.0 and NaN."""
    pd = pytest.importorskip("pandas")

    spans, summary = sp.to_dataframe(trace()), sp.to_dataframe(trace(), "summary")
    points = sp.to_dataframe(sweep())

    assert str(spans["size_bytes"].dtype) == "Int64"
    assert spans["size_bytes"][0] == 8_000_000
    assert spans["size_bytes"][1] is pd.NA
    assert spans["parent"][0] is pd.NA
    assert summary["self_ns"].sum() == 10 * MS
    assert list(summary["title"]) == ["Pickle", "Garbage collection", "Unaccounted"]
    assert list(points["wall_ns"]) == [9 * MS, 4 * MS]
    assert len(sp.to_dataframe(replace(trace(), spans=()))) == 0
