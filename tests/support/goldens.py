"""Whole outputs as files that people review: one section for each sample, under its name."""

import os
from collections.abc import Mapping
from pathlib import Path

PLACE = Path(__file__).parents[1] / "data" / "told"
_HEAD = "=== "


def check(name: str, told: Mapping[str, str]) -> None:
    """Compare outputs with those of the file; SERPROF_GOLDENS=write writes them for a review."""
    path = PLACE / f"{name}.txt"
    if os.environ.get("SERPROF_GOLDENS") == "write":
        sections = (f"{_HEAD}{sample}\n{text}\n" for sample, text in told.items())
        path.write_text("\n".join(sections), encoding="utf-8")
    assert dict(told) == _sections(path.read_text("utf-8"))


def _sections(written: str) -> dict[str, str]:
    sections = (part.partition("\n") for part in f"\n{written}".split(f"\n{_HEAD}")[1:])
    return {sample: text.rstrip("\n") for sample, _, text in sections}
