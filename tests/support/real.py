"""Real documents: of each finding, of small runs (docs/runs.py), and what the notebooks show."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_serprof.model.document import MIME_TYPE

ROOT = Path(__file__).parents[2]


def real_documents() -> dict[str, dict[str, Any]]:
    """Return them by name, as they are stored."""
    texts = {path.stem: path.read_bytes() for path in ROOT.glob("docs/documents/*.json")}
    kept = ROOT.glob("tests/data/runs/*.gz")
    texts |= {path.stem: gzip.decompress(path.read_bytes()) for path in kept}
    found = {name: json.loads(text) for name, text in texts.items()}
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        found |= {f"{path.stem}-{at}": each for at, each in enumerate(_outputs(path))}
    return found


def _outputs(path: Path) -> Iterator[dict[str, Any]]:
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            if MIME_TYPE in output.get("data", {}):
                yield output["data"][MIME_TYPE]
