"""The saved tutorials: not run again, their pictures alive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jupyter_serprof.model.document import MIME_TYPE

from . import pictures


def pages(root: Path) -> dict[str, str]:
    """Return the notebooks, each output of ours as the element that the site draws into."""
    return {
        f"tutorials/{path.name}": json.dumps(_drawn(json.loads(path.read_text("utf-8"))), indent=1)
        for path in sorted((root / "notebooks").glob("*.ipynb"))
    }


def _drawn(notebook: dict[str, Any]) -> dict[str, Any]:
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if MIME_TYPE in data:
                output["data"] = {"text/html": pictures.of_output(data)}
    return notebook
