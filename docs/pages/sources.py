"""What docs/sources.toml has of findings: pages of libraries, and reasons."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def sources() -> dict[str, dict[str, Any]]:
    """Return the addresses, and by the name of a finding its pages and why it lacks something."""
    return tomllib.loads(Path(__file__).parents[1].joinpath("sources.toml").read_text("utf-8"))
