"""The notebooks and files that the tests open, as plain JSON of notebook format 4.5."""

import json
from pathlib import Path
from typing import Any

from jupyter_serprof.model import Sweep, Trace, from_document, load, to_document
from jupyter_serprof.views.notebook.bundle import bundle

PACKAGE = Path(__file__).parents[2] / "jupyter_serprof"
DATA = Path(__file__).parents[1] / "data"
TRACE = DATA / "trace.v1.serprof.json"
SWEEP = DATA / "sweep.v1.serprof.json"
#: 200,000 small objects: long enough to be drawn, short enough for a test.
LIVE = "import pickle\ndata = pickle.dumps([str(i) for i in range(200_000)])"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def full_trace() -> dict[str, Any]:
    """Return a trace with something at every key: groups, parts of stages, tables of its own."""
    document: dict[str, Any] = json.loads(TRACE.read_text("utf-8"))
    wall_ns = document["wall_ns"]
    document["stages"][1]["parent"] = document["stages"][0]["key"]
    for row, group in zip(document["waterfall"]["rows"], (0, 0, 0, 1, 1), strict=True):
        row["group"] = group
    document["groups"] = [
        {"title": "x.sum()", "start_ns": 0, "end_ns": wall_ns // 2},
        {"title": "x.mean()", "start_ns": wall_ns // 2, "end_ns": wall_ns},
    ]
    rows = document["waterfall"]["rows"]
    first_ns, second_ns, third_ns, *last_ns = (row["self_ns"] for row in rows)
    heading = {"stage": 0, "self_ns": first_ns + second_ns, "inside": [0, 1]}
    document["waterfall"]["outline"] = [
        {"group": 0, "self_ns": first_ns + second_ns + third_ns, "inside": [heading, 2]},
        {"group": 1, "self_ns": sum(last_ns), "inside": [3, 4]},
    ]
    columns = [{"key": "layer", "title": "Layer", "unit": "text"}, {"key": "n", "title": "Tasks"}]
    cells = [["sum", 10], ["mean", None], ["a layer", True]]
    layers = {"title": "Graph layers", "note": "before fusion", "columns": columns, "rows": cells}
    workers = {"key": "workers", "title": "Workers", "columns": columns, "rows": cells[:1]}
    document["tables"] = [{"key": "layers", **layers}, workers]
    finding = document["findings"][0]
    finding["evidence"]["file"] = "model.pt"
    stage = document["stages"][2]["key"]
    times = {"before_ns": wall_ns // 2, "after_ns": wall_ns // 6}
    finding |= {"gain": 3.0, "measured": {"stage": stage, **times, "low": 2.8, "high": 3.3}}
    document["comparison"] = comparison()
    document["anatomies"] = [anatomy("job"), anatomy("other")]
    return document


def lane_trace() -> dict[str, Any]:
    """Return the same without anatomies, so that the bundle with the lanes draws it."""
    return {**full_trace(), "anatomies": []}


def anatomy(name: str) -> dict[str, Any]:
    """Return an anatomy with a part of every state, an array out-of-band, and a note."""
    why = "cannot pickle '_thread.lock' object"
    strings = ["", name, ".cache", "<closure buf>", ".lock", "[0]", "dict", "float64 (8000,)"]
    strings += ["lock", "shared", "not opened", "unpicklable", why]
    parts = {
        "label": [1, 2, 3, 4, 5, 5],
        "kind": [6, 6, 7, 8, 6, 6],
        "state": [0, 0, 0, 11, 9, 10],
        "note": [0, 0, 0, 12, 0, 0],
        "parent": [-1, 0, 0, 1, 1, 1],
        "self_bytes": [100, 300, 128, 0, 40, 60_000],
        "in_band_bytes": [60_568, 60_340, 128, 0, 40, 60_000],
        "out_of_band_bytes": [64_000, 0, 64_000, 0, 0, 0],
        "count": [1, 1, 1, 1, 1, 1000],
        "duration_ns": [900_000, 800_000, 20_000, None, None, 700_000],
    }
    size = {"in_band_bytes": 60_568, "out_of_band_bytes": 64_000, "plain_bytes": None}
    about = {"pickler": "cloudpickle", "protocol": 5, "duration_ns": 900_000, "is_complete": False}
    notes = ["in a pass of its own"]
    return {"name": name, **size, **about, "strings": strings, "parts": parts, "notes": notes}


def comparison() -> dict[str, Any]:
    """Return a comparison with each verdict."""
    runs = {"before_runs": 15, "after_runs": 15, "before_groups": "", "after_groups": ""}
    verdicts = ("faster", "slower", "cannot tell", "only before", "only after")
    ratios = ((0.0182, 0.0099, 0.0193), (2.0, 1.8, 2.2), (1.0, 0.9, 1.1), (None,) * 3, (None,) * 3)
    changes = [
        {
            "stage": f"stage{at}" if at else "",
            "title": f"Graph stage {at}" if at else "Wall time",
            "before_ns": None if verdict == "only after" else 2_000_000,
            "after_ns": None if verdict == "only before" else 1_000_000,
            "verdict": verdict,
            "ratio": ratio,
            "low": low,
            "high": high,
            "variant": "ray",
            "size_bytes": 8_000_000,
            "cold": False,
            "reason": "too few pairs" if verdict == "cannot tell" else "",
            **runs,
        }
        for at, (verdict, (ratio, low, high)) in enumerate(zip(verdicts, ratios, strict=True))
    ]
    few = "1 run before and 1 after are too few for an interval. Run each side again: --repeat 15"
    doubt = {"cold": True, "verdict": "cannot tell", "low": None, "high": None, "reason": few}
    long = {"ratio": 4.56, "before_ns": 1_540_000, "after_ns": 203_000_000, **doubt}
    first = [{**changes[at], **long} for at in range(3)]
    changes[0] |= {"before_ns": 45_800_000, "after_ns": 854_000}
    about = {"noise_share": 0.02, "method": "bootstrap of 15 pairs", "notes": ["imports left out"]}
    return {"before": "monday", "after": "now", "changes": first + changes, **about}


def tried_sweep() -> dict[str, Any]:
    """Return a round trip with a remedy that was tried, with a long name and notes."""
    document: dict[str, Any] = json.loads(SWEEP.read_text("utf-8"))
    *others, last = document["variants"]
    notes = ["made once in 58.6 ms, which is not in the gain; pays from the first send on"]
    facts = {**last.get("facts", {}), "tried": True}
    tried = {**last, "title": "columns instead of rows", "facts": facts, "notes": notes}
    return {**document, "variants": [*others, tried]}


def chunk_sweep() -> dict[str, Any]:
    """Return a sweep over chunk sizes with a recommended one."""
    document = sized_sweep()
    sizes = sorted({point["size_bytes"] for point in document["points"]})
    best = {"size_bytes": sizes[1], "low_bytes": sizes[0] * 3, "high_bytes": sizes[1] * 3}
    best |= {"parameter": 800, "below": "ray.store", "above": "ray.unpickle"}
    finding = {**document["findings"][0], "rule": "dask.chunk-sweep"}
    more = {"kind": "chunks", "parameter": "chunk", "comparison": None, "findings": [finding]}
    return {**document, **more, "best": best}


def sized_sweep() -> dict[str, Any]:
    """Return a sweep over three sizes, made of the round trip, with something at every key."""
    document: dict[str, Any] = json.loads(SWEEP.read_text("utf-8"))
    first = document["points"][0]["size_bytes"]
    points = [
        {
            **point,
            "size_bytes": first * times,
            "parameter": first * times // 8,
            "wall_ns": point["wall_ns"] * times,
        }
        for times in (1, 10, 100)
        for point in document["points"]
    ]
    trace = full_trace()
    for entry in document["traces"]:
        entry["trace"] = trace
    document["variants"][0]["facts"]["codec"] = "none"
    shared = {name: trace[name] for name in ("findings", "quality", "comparison")}
    best = {"size_bytes": first, "low_bytes": first, "high_bytes": first, "above": "Store"}
    shared |= {"best": {**best, "below": "Transfer"}, "kind": "sweep", "parameter": "n"}
    return told({**document, **shared, "points": points})


def told(document: dict[str, Any]) -> dict[str, Any]:
    """Return a sweep with the runs of its points, the first of which has a text in each place."""
    made = to_document(from_document({**document, "runs": [], "traces": []}))["runs"]
    runs: list[dict[str, Any]] = json.loads(json.dumps(made))
    runs[0] |= {"groups": "1 ms in 2 runs, 3 ms in 2"}
    return {**document, "runs": runs}


def markdown_cell(source: str) -> dict[str, Any]:
    """Return a cell of prose."""
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code_cell(source: str, *outputs: dict[str, Any], count: int | None = None) -> dict[str, Any]:
    """Return a cell of code; with a count it was run."""
    run: dict[str, Any] = {"execution_count": count, "outputs": list(outputs)}
    return {"cell_type": "code", "metadata": {}, "source": source, **run}


def output(data: dict[str, object], metadata: dict[str, object]) -> dict[str, Any]:
    """Return an output of a cell, by MIME type."""
    return {"output_type": "display_data", "data": data, "metadata": metadata}


def saved_cell(source: str, doc: Trace | Sweep, *, count: int) -> dict[str, Any]:
    """Return a cell that was run and has drawn a document."""
    return code_cell(source, output(*bundle(doc)), count=count)


def write_notebook(path: Path, cells: list[dict[str, Any]]) -> None:
    """Write a notebook of a Python kernel; nobody has trusted it."""
    numbered = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells)]
    head = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": KERNEL}}
    path.write_text(json.dumps({**head, "cells": numbered}), "utf-8")


def write_notebooks(root: Path) -> None:
    """Write a saved notebook, one to run, and documents as files."""
    root.mkdir(parents=True)
    trace, sweep = load(TRACE), load(SWEEP)
    saved = [
        markdown_cell("# Saved yesterday, by somebody else"),
        saved_cell("%serprof ray.get(ray.put(a))", trace, count=1),
        saved_cell("%serprof a", sweep, count=2),
        saved_cell("%serprof ray.get(ray.put(b))", trace, count=3),
    ]
    live = [code_cell("%load_ext jupyter_serprof"), code_cell(LIVE), code_cell("1 + 1")]
    write_notebook(root / "saved.ipynb", saved)
    write_notebook(root / "live.ipynb", live)
    for name, doc in (("trace", trace), ("sweep", sweep)):
        (root / f"{name}.serprof.json").write_text(json.dumps(to_document(doc)))
