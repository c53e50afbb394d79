"""Record small runs as a reader would type them, and keep their documents for tests.

uv run --group corpus python docs/runs.py [PARTS OF NAMES]    # writes tests/data/runs/NAME.json.gz

Together with the documents of findings and the outputs of the notebooks they are what is looked at
when words or pictures change: tests/support/real.py.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from documents import small
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from jupyter_serprof.model import Sweep, Trace, from_document, to_document
from jupyter_serprof.model.document import MIME_TYPE
from tests.corpus.clusters import settle, start

HERE = ROOT / "tests/data/runs"
_OF_DASK = "%graphstages --sweep chunk=250:2000:4 "
_WAYS = "%serprof --sweep n=1e3:1e6:5 --transports pickle,pickle-oob,ray "
_RAY, _DASK = "import ray\n", "import dask, dask.array as da, dask.dataframe as dd\n"
_NUMPY = "import numpy as np\nimport pandas as pd\n"
_FRAME = "frame = pd.DataFrame({'key': np.arange(200_000) % 99, 'word': ['a', 'bc'] * 100_000})\n"
#: name -> (what has to run: ray, dask, or nothing; what was typed before; the line)
RUNS: dict[str, tuple[str, str, str]] = {
    "put": ("ray", "array = np.ones(5_000_000)", "%serprof ray.get(ray.put(array))"),
    "put-a-frame": ("ray", _FRAME, "%serprof ray.get(ray.put(frame))"),
    "put-rows": (
        "ray",
        "rows = [{'at': at, 'name': f'row {at}'} for at in range(50_000)]",
        "%serprof ray.get(ray.put(rows))",
    ),
    "tasks": (
        "ray",
        "@ray.remote\ndef double(x):\n    return 2 * x",
        "%serprof ray.get([double.remote(at) for at in range(200)])",
    ),
    "captured": (
        "ray",
        "table = np.ones(2_000_000)\n@ray.remote\ndef total(at):\n    return table[at:].sum()",
        "%serprof ray.get([total.remote(at) for at in range(4)])",
    ),
    "actor": (
        "ray",
        (
            "@ray.remote\nclass Model:\n    def predict(self, x):\n        return x.sum()\n"
            "model, batch = Model.remote(), np.ones(500_000)"
        ),
        "%serprof [ray.get(model.predict.remote(batch)) for _ in range(20)]",
    ),
    "unpicklable": (
        "ray",
        (
            "import threading\nclass Service:\n    def __init__(self):\n"
            "        self.lock = threading.Lock()\n        self.at = 100\nsvc = Service()"
        ),
        "%serprof ray.put(svc)",
    ),
    "error": ("ray", "@ray.remote\ndef bad():\n    return 1 / 0", "%serprof ray.get(bad.remote())"),
    "round-trip": ("ray", "array = np.ones(1_000_000)", "%serprof array"),
    "round-trip-of-a-frame": ("ray", _FRAME, "%serprof frame"),
    "round-trip-of-a-dict": (
        "",
        "config = {f'key {at}': [at] * 9 for at in range(5_000)}",
        "%serprof config",
    ),
    "try": ("", "every = np.ones((2_000, 2_000))[:, ::2]", "%serprof --try every"),
    "blame": (
        "",
        "job = {'table': np.ones(100_000), 'words': ['ab'] * 50_000, 'at': 5}",
        "%serprof --blame job",
    ),
    "sweep": ("ray", "", _WAYS + "np.ones(n)"),
    "sweep-of-text": ("", "", "%serprof --sweep n=1e2:1e6:5 'ab' * n"),
    "compare": (
        "",
        (
            "import pickle\nrows = [(n, n + 1) for n in range(100_000)]\ncolumns = np.array(rows)\n"
            "%serprof --repeat 9 -q --name table -o before pickle.dumps(rows)"
        ),
        "%serprof --repeat 9 --name table --compare before pickle.dumps(columns)",
    ),
    "sum": ("dask", "x = da.ones((4_000, 4_000), chunks=(500, 500))", "%graphstages x.sum()"),
    "many-chunks": (
        "dask",
        "x = da.ones((3_000, 3_000), chunks=(60, 60))",
        "%graphstages (x + 1).mean()",
    ),
    "groupby": (
        "dask",
        _FRAME + "df = dd.from_pandas(frame, npartitions=8)",
        "%graphstages df.groupby('word').key.mean()",
    ),
    "embedded": (
        "dask",
        "big = np.ones(3_000_000)",
        "%graphstages da.from_array(big, chunks=1_000_000).sum()",
    ),
    "delayed": (
        "dask",
        "@dask.delayed\ndef load(at):\n    return np.ones(200_000) * at",
        "%graphstages dask.delayed(sum)([load(at) for at in range(12)])",
    ),
    "chunks": ("dask", "", _OF_DASK + "da.ones((2_000, 2_000), chunks=chunk).sum()"),
    "two-computations": (
        "dask",
        "x = da.ones((2_000, 2_000), chunks=500)",
        "%graphstages y = (x.sum().compute(), x.mean().compute())",
    ),
    "unpicklable-in-a-graph": (
        "dask",
        "import threading\nlock = threading.Lock()\n@dask.delayed\ndef use(it):\n    return 1",
        "%graphstages use(lock)",
    ),
}


def main(parts: list[str]) -> None:
    """Record those whose names have one of the parts; all without any."""
    HERE.mkdir(exist_ok=True)
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jupyter_serprof")
    for name, (cluster, before, line) in RUNS.items():
        if not parts or any(part in name for part in parts):
            start(cluster)
            document = _shown(
                shell, (_RAY, _DASK)[cluster == "dask"] * bool(cluster) + before, line
            )
            settle(cluster)
            text = json.dumps(to_document(document), separators=(",", ":"))
            (HERE / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
            print(f"{name:<24}{document.summary.headline if document.summary else ''}", flush=True)


def _shown(shell: InteractiveShell, before: str, line: str) -> Trace | Sweep:
    """Return the document of the output, as small as a notebook keeps it."""
    with capture_output() as captured:
        shell.run_cell(_NUMPY + before)
        shell.run_cell(line)
    found = [o.data[MIME_TYPE] for o in captured.outputs if MIME_TYPE in o.data]
    if len(found) != 1:
        msg = f"{line} gave {len(found)} documents\n{captured.stdout}{captured.stderr}"
        raise SystemExit(msg)
    known = from_document(found[0])
    return small(known) if isinstance(known, Trace) else known


if __name__ == "__main__":
    main(sys.argv[1:])
