"""The versions that are supported: a smoke set (``smoke/flows.py``) for pairs over all of them.

Each two values of two axes meet in a pair, installed as a user would, with the newest of what it
does not name; the first pair takes the lowest version of everything that is declared.

Run: uv run python tests/matrix.py [--list] [--markdown] [PAIR ...]   (a part of its name)
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: s; a pair that takes longer is stopped, and red; alone on two cores it takes less than half.
MOST_S = 600
NEWEST = "newest"
AXES = {
    "python": ("3.11", "3.12", "3.13", "3.14"),
    "ray": ("2.40", "2.44", "2.50", "2.57", NEWEST),
    "dask": ("2024.8", "2025.1", "2025.7", NEWEST),
    "numpy": ("1", "2"),
    "pandas": ("2", "3"),
    "lab": ("4.4", NEWEST),
}
#: Pythons for which there is no wheel of some values of another axis, and why.
IMPOSSIBLE = (
    (("3.13", "3.14"), "ray", ("2.40", "2.44"), "Ray has wheels for Python 3.13 from 2.45 on"),
    (("3.14",), "ray", ("2.50",), "Ray 2.50 has no wheel for Python 3.14"),
    (("3.13", "3.14"), "numpy", ("1",), "numpy 1.26 has wheels up to Python 3.12"),
)
#: What is asked of each axis; Notebook 7.4 is of the same release as JupyterLab 4.4.
REQUIREMENTS = {
    "ray": ("ray",),
    "dask": ("dask", "distributed"),
    "numpy": ("numpy",),
    "pandas": ("pandas",),
    "lab": ("jupyterlab", "notebook"),
}
NOTEBOOKS = {"4.4": "7.4"}
#: What pip would install although it cannot be imported: pyarrow 26 says so only when it is loaded.
BESIDE = {("numpy", "1"): "pyarrow<26"}
#: What runs the flows; not what is tested.
TOOLS = ("hypothesis", "playwright", "pytest", "pytest-timeout", "pytest-xdist")
COLUMNS = ("pair", "versions", "flows", "strict, Ray tasks", "strict, Dask", "time", "red")
#: The flows that measure a coverage, in the order of their columns.
COVERAGES = ("ray: coverage of tasks", "dask: coverage")


class Pair(NamedTuple):
    """One environment: a value of each axis."""

    python: str
    ray: str
    dask: str
    numpy: str
    pandas: str
    lab: str

    @property
    def name(self) -> str:
        values = zip(AXES, self, strict=True)
        return "-".join(f"{axis}{value}" for axis, value in values).removeprefix("python")

    @property
    def is_lowest(self) -> bool:
        return self == LOWEST

    @property
    def requirements(self) -> list[str]:
        """What pip is asked for, beside this package."""
        values = list(zip(AXES, self, strict=True))
        asked = [
            required(name, value) for axis, value in values for name in REQUIREMENTS.get(axis, ())
        ]
        return asked + [BESIDE[value] for value in values if value in BESIDE]


#: It differs most from the default; Python 3.12, because most people run it.
LOWEST = Pair("3.12", *(values[0] for axis, values in AXES.items() if axis != "python"))


@dataclass(slots=True)
class Result:
    """What a pair gave."""

    pair: Pair
    versions: Mapping[str, str] = field(default_factory=dict)
    ok_count: int = 0
    count: int = 0
    strict: Mapping[str, str] = field(default_factory=dict)
    duration_s: float = 0
    red: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    #: Why it was not run, or None.
    absent: str | None = None

    @property
    def row(self) -> list[str]:
        if self.absent is not None:
            return [self.pair.name, "", "not run", "", "", "", self.absent]
        versions = " ".join(f"{name} {version}" for name, version in self.versions.items())
        strict = [self.strict.get(flow, "") for flow in COVERAGES]
        flows = f"{self.ok_count}/{self.count}"
        return [
            *(self.pair.name, versions, flows, *strict),
            *(f"{self.duration_s:.0f} s", "; ".join(self.red + self.skipped)),
        ]


def required(name: str, value: str) -> str:
    if value == NEWEST:
        return name
    return f"{name}=={NOTEBOOKS[value] if name == 'notebook' else value}.*"


def can_be_had(pair: Sequence[str]) -> bool:
    """Tell whether all values of a pair have wheels for its Python."""
    at = dict(zip(AXES, pair, strict=True))
    return not any(
        at["python"] in pythons and at[axis] in values for pythons, axis, values, _ in IMPOSSIBLE
    )


def meetings(pair: Sequence[str]) -> set[tuple[tuple[str, str], tuple[str, str]]]:
    return set(combinations(zip(AXES, pair, strict=True), 2))


@cache
def pairs() -> tuple[Pair, ...]:
    """Return the pairs: always the one next in which most values meet that have not met."""
    # Those of the newest Python come last and for its own values only: where it is missing, all
    # others have met all the same.
    chosen = [LOWEST]
    for pythons in (AXES["python"][:-1], AXES["python"]):
        possible = [
            Pair(*pair) for pair in product(pythons, *list(AXES.values())[1:]) if can_be_had(pair)
        ]
        open_ = set().union(*map(meetings, possible)).difference(*map(meetings, chosen))
        while open_:
            chosen.append(max(possible, key=lambda pair: len(meetings(pair) & open_)))
            open_ -= meetings(chosen[-1])
    return tuple(chosen)


# The machine


@cache
def interpreter(version: str) -> str | None:
    """Return a Python of this machine: of PATH, of uv, of pyenv; none is downloaded."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    of_pyenv = sorted(map(str, pyenv.glob(f"versions/{version}.*/bin/python")))
    on_path = shutil.which(f"python{version}")
    of_uv = ran(uv(), "python", "find", "--no-project", "--no-python-downloads", version)
    for found in (*of_pyenv, on_path, of_uv.stdout.strip()):
        if found and ran(found, "-c", "import sys; print(sys.version)").stdout.startswith(version):
            return found
    return None


def uv() -> str:
    return os.environ.get("UV") or shutil.which("uv") or sys.exit("uv is not on PATH")


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command; its output is text, whatever it returns."""
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def checked(*command: str) -> str:
    """Run a command that has to work; return what it printed."""
    done = ran(*command)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def wheel(folder: Path) -> Path:
    """Build what a user installs."""
    checked(uv(), "build", "--quiet", "--wheel", "--out-dir", str(folder))
    (built,) = folder.glob("*.whl")
    return built


def install(pair: Pair, python: str, package: Path, place: Path) -> None:
    checked(uv(), "venv", "--quiet", "--no-config", "--python", python, str(place))
    pip = (uv(), "pip", "install", "--quiet", "--no-config", "--no-build", "--python", str(place))
    # What a wheel depends on is not direct: without its file the newest of it would be taken.
    declared = ("-r", str(ROOT / "pyproject.toml"), "--all-extras")
    lowest = ("--resolution", "lowest-direct", *declared) if pair.is_lowest else ()
    checked(*pip, *lowest, f"jupyter_serprof[all] @ {package.as_uri()}", *pair.requirements)
    checked(*pip, *TOOLS)
    # Costs each process of Ray 2.5 s at its start (pyproject.toml).
    checked(uv(), "pip", "uninstall", "--quiet", "--python", str(place), "rfc3987-syntax")


_VERSIONS = """
import json, platform
from importlib.metadata import version
names = ("ray", "dask", "numpy", "pandas", "jupyterlab", "notebook")
print(json.dumps({"Python": platform.python_version(), **{name: version(name) for name in names}}))
"""


def run(pair: Pair, package: Path, chosen: str = "") -> Result:
    """Install a pair and run the flows in it, or those whose name holds a text."""
    python = interpreter(pair.python)
    if python is None:
        return Result(pair, absent=f"no Python {pair.python} on this machine")
    with tempfile.TemporaryDirectory(prefix="sp", ignore_cleanup_errors=True) as folder:
        place, report = Path(folder, "venv"), Path(folder, "report.xml")
        try:
            install(pair, python, package, place)
        except RuntimeError as error:
            return Result(pair, red=[f"not installed: {error}"])
        versions = json.loads(checked(str(place / "bin/python"), "-c", _VERSIONS))
        began_s = time.monotonic()
        said = smoke(place, report, chosen)
        result = Result(pair, versions, duration_s=time.monotonic() - began_s)
        if report.is_file():
            read(report, result)
        if said:
            result.red.append(said)
        return result


def smoke(place: Path, report: Path, chosen: str) -> str:
    """Run the flows with the Python of an environment; return what ended them too early."""
    flows = str(ROOT / "tests/smoke/flows.py")
    options = (
        *("-q", "-n0", "--tb=line", "-k", chosen),
        *("-p", "no:cacheprovider", "-o", "junit_family=xunit1"),
    )
    command = [str(place / "bin/pytest"), *options, flows]
    path = os.pathsep.join([str(place / "bin"), os.environ["PATH"]])
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(place / "compiled")}
    process = subprocess.Popen(
        [*command, f"--junitxml={report}"],
        env={**os.environ, **compiled, "PATH": path, "VIRTUAL_ENV": str(place)},
        stdout=sys.stderr,
        start_new_session=True,
        cwd=report.parent,
    )
    try:
        code = process.wait(MOST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return f"took more than {MOST_S} s"
    return "" if code in {0, 1} else f"pytest ended with {code}"


def read(report: Path, result: Result) -> None:
    """Put what pytest has written into a result."""
    strict: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314  (pytest has just written it)
        name = re.sub(r"^test_(flow\[(.*)\])?", r"\2", case.attrib["name"])
        strict |= {e.attrib["name"]: e.attrib["value"] for e in case.iter("property")}
        told = [e for e in case if e.tag in {"failure", "error", "skipped"}]
        result.count += 1
        result.ok_count += not told
        for e in told:
            where = result.skipped if e.tag == "skipped" else result.red
            where.append(f"{name} {e.tag}: {shortened(e)}")
    result.strict = strict


def shortened(told: ET.Element) -> str:
    """Return the first line of what pytest says about a test."""
    return told.attrib.get("message", "").partition("\n")[0][:120].replace("|", "/")


# The table


def as_text(results: Sequence[Result], *, markdown: bool) -> str:
    """Return the results as a table."""
    rows = [list(COLUMNS), *(result.row for result in results)]
    if markdown:
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([lines[0], "|---" * len(COLUMNS) + "|", *lines[1:]])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def asked_for(names: Sequence[str]) -> Iterator[Pair]:
    """Give the pairs whose name holds one of these texts; all without any."""
    for pair in pairs():
        if not names or any(fnmatch(pair.name, f"*{name}*") for name in names):
            yield pair


def main(arguments: Sequence[str]) -> int:
    """Run the pairs that are asked for; print the table; 1 if one is red."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the pairs, run nothing")
    parser.add_argument("--lowest", action="store_true", help="the lowest, without a browser")
    parser.add_argument("--markdown", action="store_true", help="print the table for a page")
    parser.add_argument("pair", nargs="*", help="those whose name holds this; 3.12, ray2.40-*")
    options: Any = parser.parse_args(arguments)
    chosen = [LOWEST] if options.lowest else list(asked_for(options.pair))
    if options.list:
        print(*(pair.name for pair in chosen), sep="\n")
        return 0
    results = []
    with tempfile.TemporaryDirectory(prefix="wheel") as folder:
        can_run = any(interpreter(pair.python) for pair in chosen)
        package = wheel(Path(folder)) if can_run else Path(folder)
        for pair in chosen:
            results.append(run(pair, package, "test_flow" if options.lowest else ""))
            print(as_text(results[-1:], markdown=False), file=sys.stderr, flush=True)
    print(as_text(results, markdown=options.markdown))
    return int(any(result.red for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
