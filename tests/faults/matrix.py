"""The matrix of faults: one program, run bare and recorded in real processes, and compared.

A row is a `Fault` in ``FAULTS`` of a file ``rows_*.py``, or a program in ``tests/data/faults.txt``;
it marks what is recorded (``inside.py``). Equal are its output, its traceback without frames of
ours, exit and leavings.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import unified_diff
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import psutil

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = ROOT / "tests/data/faults.txt"
#: s; a program that takes longer hangs.
MOST_S = 180
_PRELUDE = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(HERE)!r}]\nfrom inside import *\n"
_OURS = (str(ROOT / "jupyter_serprof"), "_serprof_agent_")


@dataclass(frozen=True)
class Fault:
    """One row: what happens, and the program to which it happens.

    ``says`` is what the document has to say about it, in a note or as its outcome; ``options`` are
    those of the interpreter; ``differs`` is a pattern of what differs from run to run by itself,
    ``moment_s`` the time that its processes may take to end after it.
    """

    name: str
    program: str
    says: str = ""
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    differs: str = ""
    is_slow: bool = False
    moment_s: float = 3


@dataclass(frozen=True)
class Seen:
    """What one run of the program showed and left."""

    printed: str
    errors: str
    ended: str
    left: Mapping[str, list[str]]
    outcome: str = ""
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """What the user saw, in one line."""
        lines = [line for line in (self.errors or self.printed).splitlines() if line.strip()]
        last = lines[-1].strip() if lines else "nothing"
        return last if self.ended == "exit 0" else f"{last} ({self.ended})"


@dataclass(frozen=True)
class Met:
    """A fault as it was met without us and with us."""

    fault: Fault
    without_us: Seen
    with_us: Seen

    @property
    def difference(self) -> str:
        """What is not as in the bare run, empty if all is; and what the document does not say."""
        bare, ours = self.without_us, self.with_us
        pairs = [("printed", bare.printed, ours.printed), ("errors", bare.errors, ours.errors)]
        found = [_compared(name, one, other) for name, one, other in pairs if one != other]
        if bare.ended != ours.ended:
            found.append(f"ended by {ours.ended}, not by {bare.ended}")
        if self.left:
            found.append(f"left behind: {self.left}")
        if self.fault.says and self.fault.says not in "\n".join((ours.outcome, *ours.notes)):
            found.append(f"the document does not say {self.fault.says!r}: {ours}")
        return "\n".join(found)

    @property
    def left(self) -> str:
        """What only the recorded run leaves behind."""
        bare, ours = self.without_us.left, self.with_us.left
        kinds = {kind: [n for n in ours[kind] if n not in bare.get(kind, ())] for kind in ours}
        return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)


def all_faults() -> list[Fault]:
    files = sorted(HERE.glob("rows_*.py"))
    modules = [import_module(f"{__package__}.{file.stem}") for file in files]
    return [*of_the_interpreter(), *(fault for module in modules for fault in module.FAULTS)]


def of_the_interpreter() -> Iterator[Fault]:
    """Give the programs of the table: behind its name a line ``#: says interrupted`` for each."""
    _, *rows = f"\n{TABLE.read_text('utf-8')}".split("\n=== ")
    for name, _, program in (row.partition("\n") for row in rows):
        told: dict[str, str] = dict(re.findall(r"(?m)^#: (\w+) (.+)$", program))
        says, options, differs = (told.get(key, "") for key in ("says", "options", "differs"))
        is_slow = "is_slow" in told
        yield Fault(name, program, says, tuple(options.split()), {}, differs, is_slow=is_slow)


def compare(fault: Fault) -> Met:
    return Met(fault, run(fault, is_recorded=False), run(fault, is_recorded=True))


def run(fault: Fault, *, is_recorded: bool) -> Seen:
    """Run the program of a fault once, in an empty folder that is also its home."""
    with TemporaryDirectory(prefix="fault-", dir="/tmp") as folder:
        home = Path(folder) / "home"
        (home / "tmp").mkdir(parents=True)
        (home / "program.py").write_text(_PRELUDE + fault.program, "utf-8")
        environment = os.environ | {
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "IPYTHONDIR": str(home / "ipython"),
            "SERPROF_FAULTS_RECORD": "1" if is_recorded else "0",
            "SERPROF_FAULTS_REPORT": f"{folder}/report",
            "PYTHONDONTWRITEBYTECODE": "1",
            "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
            **fault.environment,
        }
        command = [sys.executable, *fault.options, "program.py"]
        printed, errors, ended = _ended(command, home, environment, fault.moment_s)
        report = Path(folder) / "report"
        facts = report.read_text("utf-8").splitlines() if report.exists() else []
        told = _joined(_tidied("\n".join(facts), fault, folder))
        shown = _tidied(printed, fault, folder), _tidied(errors, fault, folder)
        return Seen(*shown, ended=ended, **told)


def _ended(
    command: list[str], home: Path, environment: dict[str, str], moment_s: float
) -> tuple[str, str, str]:
    """Run to the end; what is still there of its session is stopped and told."""
    # Files, not pipes: those are open as long as a child that was left behind.
    with TemporaryFile("w+", errors="replace") as out, TemporaryFile("w+", errors="replace") as err:
        process = subprocess.Popen(
            command, cwd=home, env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=out, stderr=err,
        )  # fmt: skip
        try:
            code = process.wait(MOST_S)
            ended = f"exit {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
        except subprocess.TimeoutExpired:
            ended = "it hangs"
        others = _others(process.pid, moment_s)
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), ended + "".join(f", {one} is still there" for one in others)


def _others(session: int, moment_s: float) -> list[str]:
    """Stop what is left of a session, after a moment to end by itself, and return the names."""
    _, left = psutil.wait_procs(list(_members(session)), timeout=moment_s)
    found = []
    for process in left:
        with suppress(psutil.NoSuchProcess):
            found.append(process.name())
            process.kill()
    return sorted(found)


def _members(session: int) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(ProcessLookupError):
            if os.getsid(process.pid) == session:
                yield process


def _joined(text: str) -> dict[str, Any]:
    """Return what the blocks of one program left, and what the last document says."""
    left: dict[str, list[str]] = {}
    told: dict[str, Any] = {}
    for line in text.splitlines():
        facts = json.loads(line)
        for kind, names in facts.pop("left", {}).items():
            left.setdefault(kind, []).extend(names)
        told |= facts
    return {"left": left, **told, "notes": tuple(told.get("notes", ()))}


#: Addresses, tokens and times of day.
_DIFFERS = r"0x[0-9a-f]+|\b[0-9a-f]{32}\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+"
#: Ray prints of dead workers when it comes to it, also in the middle of a line.
_NOTICE = re.compile(r"\x1b\[\d+m\(raylet\).*\n(?:(?: {4}|\t).*\n)*\n?")
#: Dask says so of what its client had still to send when it was closed, if it had.
_CLOSED = re.compile(
    r"^.*distributed\.batched - INFO - Batched Comm Closed.*\n(?:Traceback.*\n(?: .*\n)+.*\n?)?",
    re.MULTILINE,
)
_EMPTY = re.compile(r"^[ \t]*\n", re.MULTILINE)
_FRAME = re.compile(r'^( *)File "([^"]*)", line \d+.*\n(?:^\1  .*\n)*', re.MULTILINE)


def _tidied(text: str, fault: Fault, folder: str) -> str:
    """Return a text without frames of ours and without what differs by itself."""
    told = _EMPTY.sub("", _CLOSED.sub("", _NOTICE.sub("", text)))
    bare = _FRAME.sub(lambda frame: "" if frame[2].startswith(_OURS) else frame[0], told)
    return re.sub(f"{_DIFFERS}|{fault.differs}" if fault.differs else _DIFFERS, "...",
                  bare.replace(folder, "FOLDER"))  # fmt: skip


def _compared(name: str, one: str, other: str) -> str:
    lines = unified_diff(one.splitlines(), other.splitlines(), "without us", "with us", lineterm="")
    return f"{name} something else:\n" + "\n".join(lines)


def as_table(mets: list[Met]) -> Iterator[str]:
    yield "| fault | without us | with us | the document | left behind |"
    yield "|---|---|---|---|---|"
    for met in mets:
        same = "the same" if not met.difference else met.with_us.shown
        said = [met.with_us.outcome or "none was made", *met.with_us.notes]
        left = met.left or "nothing"
        yield "| " + " | ".join(map(_flat, (met.fault.name, met.without_us.shown, same,
                                           "; ".join(said), left))) + " |"  # fmt: skip


def _flat(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
