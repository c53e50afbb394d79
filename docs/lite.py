"""Build the page to try it without installing: JupyterLite, whose kernel is Pyodide.

It has a notebook that runs there (docs/try), and the tutorials with their pictures alive, each of
which says at its beginning whether its code runs in a browser, too.

uv run --group try python docs/lite.py             # into docs/_build/try
uv run --group try python docs/lite.py --packages ADDRESS
uv run --group try python docs/lite.py --show      # serve it

Python itself comes from npm (the package pyodide), what is pure Python from PyPI; the page has both
beside it and asks no other host. numpy and matplotlib for Pyodide are on neither of them: with
``--packages`` (where Pyodide keeps them, for its version) the page fetches them when they are
imported. Without them everything works but sweeps, PNG and SVG.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jupyterlite_pyodide_kernel.constants import PYODIDE_PYTHON_VERSION, PYODIDE_VERSION
from serve import show

HERE = Path(__file__).parent
PAGE = HERE / "_build/try"
#: In Pyodide's own list of packages, and pure: the kernel, and what ours needs.
LISTED = ("ipython", "jedi", "micropip", "packaging", "cloudpickle")
#: Not in that list.
OTHERS = ("anywidget", "comm", "ipywidgets", "jupyterlab_widgets", "psygnal", "typing_extensions")
#: What our wheel cannot do without; the others are loaded where they are needed.
NEEDED = ["cloudpickle", "ipython"]
#: All cells are drawn, also before they are on the page: one scrolls over pictures.
SETTINGS = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "defer"}}
_IMPORTED = re.compile(r"(?m)^(?:from|import) (\w+)")


def ran(*command: object, where: Path) -> None:
    """Run a command; what it says is shown where it fails."""
    done = subprocess.run(map(str, command), cwd=where, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def needed(packages: dict[str, Any], names: Iterable[str]) -> set[str]:
    """Return the packages of Pyodide's list that some of them need, with themselves."""
    found, left = set[str](), {name.replace("_", "-") for name in names}
    while left:
        found |= left
        left = {
            each.replace("_", "-") for name in left for each in packages[name]["depends"]
        } - found
    return found


def wheels(place: Path, requirements: Iterable[str]) -> None:
    """Fetch wheels of pure Python."""
    pure = ("--platform", "any", "--implementation", "py", "--abi", "none", "--no-deps")
    version = ("--python-version", PYODIDE_PYTHON_VERSION, "--only-binary", ":all:")
    pip = (shutil.which("uv") or "uv", "tool", "run", "pip", "download")
    ran(*pip, "-q", *pure, *version, "-d", place, *requirements, where=place)


def lay_pyodide(place: Path, own: Path, address: str) -> None:
    """Lay Python beside the page, and write its list of packages anew: those that can be had."""
    with tempfile.TemporaryDirectory() as folder:
        ran("npm", "pack", f"pyodide@{PYODIDE_VERSION}", where=Path(folder))
        (packed,) = Path(folder).glob("*.tgz")
        shutil.unpack_archive(packed, folder, filter="data")
        shutil.copytree(Path(folder, "package"), place)
    lock = place / "pyodide-lock.json"
    listed = json.loads(lock.read_text("utf-8"))
    packages = listed["packages"]
    here = needed(packages, LISTED)
    wheels(place, (f"{packages[name]['name']}=={packages[name]['version']}" for name in here))
    shutil.copy(own, place)
    packages["jupyter-serprof"] = {
        **packages["cloudpickle"],
        "name": "jupyter_serprof",
        "version": own.name.split("-")[1],
        "depends": NEEDED,
        "file_name": own.name,
        "imports": ["jupyter_serprof"],
    }
    for name, entry in [*packages.items()]:
        if (file := place / entry["file_name"]).exists():
            entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
        elif address:
            entry["file_name"] = f"{address.rstrip('/')}/{entry['file_name']}"
        else:
            del packages[name]
    lock.write_text(json.dumps(listed), "utf-8")


def lay_notebooks(place: Path, pyodide: Path) -> None:
    """Lay what is to be opened: what runs there as it is, the tutorials with what they need."""
    shutil.copytree(HERE / "try", place)
    listed = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))["packages"].values()
    there = sys.stdlib_module_names.union(*(entry["imports"] for entry in listed))
    for path in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text("utf-8"))
        code = "".join("".join([*c["source"], "\n"]) for c in notebook["cells"] if "outputs" in c)
        lacking = sorted({*_IMPORTED.findall(code)} - there)
        runs = (
            f"does not run here: a browser has no {', '.join(lacking)}" if lacking else "runs, too"
        )
        said = f"**In this page** the pictures are alive as they were saved. The code {runs}."
        first = {"cell_type": "markdown", "id": "in-this-page", "metadata": {}, "source": said}
        notebook["cells"].insert(1, first)
        (place / path.name).write_text(json.dumps(notebook), "utf-8")


def main(arguments: list[str]) -> None:
    """Build the page; the folder is made anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", default="", help="where Pyodide's compiled packages are")
    parser.add_argument("--show", action="store_true", help="serve what was built on this machine")
    options = parser.parse_args(arguments)
    if options.show:
        show(PAGE, "lab/index.html?path=try.ipynb")
        return
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        ran("uv", "build", "-q", "--wheel", "--out-dir", work / "own", where=HERE.parent)
        (own,) = (work / "own").glob("*.whl")
        lay_pyodide(work / "static/pyodide", own, options.packages)
        (work / "pypi").mkdir()
        wheels(work / "pypi", OTHERS)
        shutil.rmtree(PAGE, ignore_errors=True)
        lay_notebooks(work / "notebooks", work / "static/pyodide")
        (work / "overrides.json").write_text(json.dumps(SETTINGS), "utf-8")
        lite = (sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", work)
        ran(*lite, "--contents", work / "notebooks", "--output-dir", PAGE, where=work)
    size = sum(path.stat().st_size for path in PAGE.rglob("*") if path.is_file())
    print(f"{size / 1e6:.0f} MB, for any server of files: {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])
