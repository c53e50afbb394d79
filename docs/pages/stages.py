"""The page of the stages: each with what its number contains, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jupyter_serprof.model.stages import STAGES
from jupyter_serprof.model.trace import Stage
from jupyter_serprof.probes import available_probes

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


def pages(_: Path) -> dict[str, str]:
    """Return the page."""
    for probe in available_probes():  # those of probes are known once their classes are
        del probe
    return {"reference/stages.md": "\n".join(_page())}


def _page() -> Iterator[str]:
    yield _HEAD
    yield "\n".join(f"- `{family}`: {said}" for family, said in _FAMILIES.items()) + "\n"
    for kind, title in _TITLES.items():
        members = sorted((s for s in STAGES.values() if _kind(s) == kind), key=lambda s: s.order)
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
