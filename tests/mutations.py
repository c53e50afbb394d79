"""Faults of one line that the tests have to find: each makes the tests named beside it red.

In a copy of the project the text of one line is replaced, and those tests run until one is red.

Run: uv run python tests/mutations.py [NAME ...]   (a part of the file's path)
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MODULES = "labextension/node_modules"
NO_CACHE = ("-p", "no:cacheprovider")
#: A plug-in of pytest, which ends with 9 if another package than the copy was tested.
PROOF = """
import pathlib, sys
def pytest_sessionfinish(session):
    place = pathlib.Path(sys.modules["jupyter_serprof"].__file__)
    session.exitstatus = session.exitstatus if place.is_relative_to(pathlib.Path.cwd()) else 9
"""
#: Two lines each: file and its tests (below ``tests``, ``labextension/test``); text => broken text.
TABLE = ROOT / "tests/data/mutations.txt"


class Mutation(NamedTuple):
    """One line that is broken, and the tests that find it."""

    name: str
    tests: tuple[str, ...]
    text: str
    broken: str

    @property
    def is_front(self) -> bool:
        return self.name.endswith(".ts")


def mutations(chosen: Sequence[str]) -> Iterator[Mutation]:
    """Give the rows of the table whose name holds one of these texts; all without any."""
    lines = TABLE.read_text().splitlines()
    for place, change in zip(lines[::2], lines[1::2], strict=True):
        name, tests = place.split(": ")
        if not chosen or any(part in name for part in chosen):
            yield Mutation(name, tuple(tests.split()), *change.split(" => "))


def copy(folder: Path) -> None:
    """Copy the project; bytecode would outlive the line that it was made of."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "node_modules")
    shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored)
    (folder / MODULES).symlink_to(ROOT / MODULES)
    (folder / "proof.py").write_text(PROOF)


def ran(folder: Path, tests: Sequence[str], *, is_front: bool) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy until one is red; what is returned is 0 if none is, 1 if one is."""
    pytest = (sys.executable, "-m", "pytest", "-n0", "-x", "-q", *("-p", "proof"), *NO_CACHE)
    vitest = (str(folder / MODULES / ".bin/vitest"), "run", "--bail=1")
    here, tool = (folder / "labextension", vitest) if is_front else (folder, pytest)
    files = [f"{'test' if is_front else 'tests'}/{test}" for test in dict.fromkeys(tests)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PATH": path}
    command, env = [*tool, *files], os.environ | own
    return subprocess.run(command, cwd=here, env=env, capture_output=True, text=True, check=False)


def result(folder: Path, mutation: Mutation) -> str:
    """Break the line, run its tests, mend it: ``red``, or what is wrong."""
    package = "labextension/src" if mutation.is_front else "jupyter_serprof"
    source = folder / package / mutation.name
    content = source.read_text() if source.is_file() else ""
    if (count := content.count(mutation.text)) != 1:
        return f"the line to be broken stands {count} times: {mutation.text}"
    source.write_text(content.replace(mutation.text, mutation.broken))
    ended = ran(folder, mutation.tests, is_front=mutation.is_front).returncode
    source.write_text(content)
    return {0: "NOT FOUND", 1: "red"}.get(ended, f"the tests ended with {ended}")


def main(chosen: Sequence[str]) -> int:
    """Break each line that is asked for; 1 if a fault is not found, or cannot be tried."""
    asked = list(mutations(chosen)) or sys.exit(f"no file of the table has {chosen} in its path")
    results = []
    with tempfile.TemporaryDirectory(prefix="mutations") as place:
        folder = Path(place).resolve() / "project"
        copy(folder)
        for is_front in sorted({each.is_front for each in asked}):
            tests = [test for each in asked if each.is_front == is_front for test in each.tests]
            if (unbroken := ran(folder, tests, is_front=is_front)).returncode:
                print(unbroken.stdout, unbroken.stderr, "not green before a line was broken")
                return 1
        for mutation in asked:
            began_s = time.monotonic()
            results.append(result(folder, mutation))
            took_s = time.monotonic() - began_s
            print(f"{mutation.name:30} {results[-1]:9} {took_s:4.0f} s", flush=True)
    return int(set(results) != {"red"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
