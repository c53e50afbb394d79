"""The page of the stages: each with what its number contains, and what it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from jupyter_serprof.model.trace import Stage

_FAMILIES = {
    "build": "building a graph",
    "pickle": "making or reading bytes",
    "move": "moving bytes",
    "schedule": "deciding what runs where",
    "store": "the object store and disks",
    "execute": "your own code",
    "other": "waits and the interpreter",
}
_TITLES = {
    "ray": "Ray",
    "dask": "Dask",
    "pickle": "pickle and cloudpickle",
    "python": "This process",
    "memory": "Computed, for comparison",
}
_SAME = {"import": "python", "gc": "python", "recording": "python", "user": "python"}
_HEAD = """\
# Stages

Every nanosecond of the caller's time has one owner. Where the caller runs, it is the innermost
stage that runs; where the caller only waits, it is the stage elsewhere that is furthest along the
road, else the wait itself. What no stage explains is the row *Unaccounted*. So the rows add up to
the wall time, and a stage that works while the caller does something else is in the column of busy
time only.

A title says what is done; the lane says where. The colours are families:
"""


def pages(root: Path) -> dict[str, str]:
    """Return the page; stages of plug-ins that are installed here are not ours to tell."""
    table = json.loads((root / "jupyter_serprof/model/stages.json").read_text("utf-8"))
    return {"reference/stages.md": "\n".join(_page([Stage(**entry) for entry in table]))}


def _page(stages: list[Stage]) -> Iterator[str]:
    yield _HEAD
    yield "\n".join(f"- `{family}`: {said}" for family, said in _FAMILIES.items()) + "\n"
    for kind, title in _TITLES.items():
        members = sorted((s for s in stages if _kind(s) == kind), key=lambda s: s.order)
        yield f"## {title}\n"
        for stage in members:
            yield from _entry(stage)


def _kind(stage: Stage) -> str:
    first = stage.key.partition(".")[0]
    return _SAME.get(first, first if first in _TITLES else "memory")


def _entry(stage: Stage) -> Iterator[str]:
    yield f"({stage.key})="
    yield f"### {stage.title}\n"
    part = f" A part of [](#{stage.parent})." if stage.parent else ""
    waits = " The caller only waits in it." if stage.waits else ""
    yield f"`{stage.key}`, {_FAMILIES[stage.family]}.{part}{waits}\n"
    yield f"{stage.note[:1].upper()}{stage.note[1:]}.\n"
