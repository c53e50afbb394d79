"""What the program of a fault imports: the block that is recorded, and what is left after it.

Without SERPROF_FAULTS_RECORD=1 nothing of the package is loaded.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psutil

IS_RECORDED = os.environ.get("SERPROF_FAULTS_RECORD") == "1"
_REPORT = Path(os.environ["SERPROF_FAULTS_REPORT"])
_PROCESS = os.getpid()
#: s; threads and processes of pools may need a moment to end, with us and without.
_SETTLE_S = 2.0
_OURS = ("jupyter_serprof", "__main__", "inside", "faults", "nosy")

if IS_RECORDED:
    import jupyter_serprof as sp

    sp.record  # noqa: B018  (imports now: no fault is to be over before the recording begins)


@contextmanager
def recorded(*, reads: bool = True, looks: bool = True, **options: Any) -> Iterator[Any]:
    """Run the block, under `record` if this run is recorded; report what it leaves behind."""
    recording: Any = sp.record(**options) if IS_RECORDED else nullcontext()
    watched = _watched((lambda: recording.trace) if reads else None) if looks else nullcontext()
    with watched, recording as entered:
        yield entered


def cell(code: str, line: str = "") -> Any:
    """Run a cell of a notebook, under ``%%serprof`` if this run is recorded."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    os.environ.setdefault("IPYTHONDIR", tempfile.gettempdir())
    settings = {"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}}
    shell = InteractiveShell.instance(config=Config(settings))
    with _watched(lambda: shell.user_ns["kept_by_serprof"]):
        if IS_RECORDED:
            shell.run_line_magic("load_ext", "jupyter_serprof")
        # Tracebacks show the magic's line as a comment.
        head = f"{'' if IS_RECORDED else '# '}%%serprof -q -o kept_by_serprof {line}"
        result = shell.run_cell(f"{head}\n{code}")  # type: ignore[no-untyped-call]
        if IS_RECORDED:
            shell.run_line_magic("unload_ext", "jupyter_serprof")
    return result


def storm(number: int, count: int, apart_s: float) -> subprocess.Popen[bytes]:
    """Send this process a signal so many times, from another one."""
    code = (
        "import os, sys, time\nfor _ in range(int(sys.argv[3])):\n"
        "    time.sleep(float(sys.argv[4])); os.kill(int(sys.argv[1]), int(sys.argv[2]))"
    )
    what = map(str, (os.getpid(), int(number), count, apart_s))
    return subprocess.Popen([sys.executable, "-S", "-c", code, *what])


def is_gone(reference: weakref.ref[Any]) -> bool:
    """Tell whether an object has died, after one round of the collector."""
    gc.collect()
    return reference() is None


@contextmanager
def _watched(document: Callable[[], Any] | None) -> Iterator[None]:
    before = _state()
    try:
        yield
    finally:
        deadline = time.monotonic() + _SETTLE_S
        while (left := _left(before, _state())) and time.monotonic() < deadline:
            if not left.keys() & {"threads", "processes"}:
                break
            time.sleep(0.02)
        del before
        _report(left=left)
        if IS_RECORDED and document is not None:
            _report(**_told(document))


def _told(document: Callable[[], Any]) -> dict[str, Any]:
    """Return what the document says; what ours raises here is told, not raised."""
    try:
        trace = document()
        return {"outcome": trace.outcome, "notes": list(trace.quality.notes)}
    except Exception as error:  # noqa: BLE001  (this is a finding)
        return {"outcome": f"no document: {type(error).__name__}: {error}"}


def _report(**facts: Any) -> None:
    if os.getpid() == _PROCESS:  # the child of a fork has no report of its own
        with suppress(OSError), _REPORT.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")


# What a block may leave behind in its process, each by a name.


def _state() -> dict[str, dict[str, object]]:
    return {
        "threads": _numbered(one.name for one in threading.enumerate()),
        "processes": _numbered(_children()),
        "open files": _numbered(_descriptors()),
        "files": {
            str(path): True
            for path in Path(tempfile.gettempdir()).rglob("*")
            if "/ray/session_" not in str(path)  # logs, by the number of a process
        },
        "signal handlers": {
            signal.Signals(number).name: signal.getsignal(number)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1)
        },
        "interpreter": _interpreter(),
        "functions": dict(_functions()),
    }


def _left(
    before: dict[str, dict[str, object]], after: dict[str, dict[str, object]]
) -> dict[str, list[str]]:
    """Return what is new or another one now; functions of new modules are no change."""
    found = {}
    for kind, known in before.items():
        now = after[kind]
        looked_at = known if kind == "functions" else now
        names = [n for n in looked_at if n not in known or now.get(n) is not known[n]]
        if names:
            found[kind] = sorted(names)
    return found


def _numbered(names: Iterable[str]) -> dict[str, object]:
    """Return names without the numbers that differ from run to run, each with its count."""
    counts: Counter[str] = Counter()
    for name in names:
        counts[re.sub(r"\d+", "N", name)] += 1
    return {f"{name}, {n + 1}": True for name, count in counts.items() for n in range(count)}


def _children() -> Iterator[str]:
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it ends just now
            yield child.name()


def _descriptors() -> Iterator[str]:
    # Ray connects to each of its processes when it comes to it.
    varying = ("socket:", "anon_inode:") if "ray" in sys.modules else ()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            name = str(each.readlink()).replace(str(Path.home()), "~")
            if not name.startswith(varying):
                yield name


def _interpreter() -> dict[str, object]:
    umask = os.umask(0)
    os.umask(umask)
    return {
        "trace function": sys.gettrace(),
        "profile function": sys.getprofile(),
        **{name: getattr(sys, name) for name in ("excepthook", "displayhook", "unraisablehook")},
        **{name: getattr(sys, name) for name in ("stdout", "stderr")},
        "import": builtins.__import__,
        **{f"finder {one!r}": one for one in (*sys.meta_path, *sys.path_hooks)},
        **{f"collector's {one!r}": one for one in gc.callbacks},
        f"collector {gc.isenabled()} {gc.get_threshold()}": True,
        f"limits {sys.getrecursionlimit()} {sys.getswitchinterval()}": True,
        f"umask {umask:o} folder {Path('/proc/self/cwd').readlink()}": True,
        f"{len(warnings.filters)} filters of warnings": True,
    }


def _functions() -> Iterator[tuple[str, object]]:
    """Yield the functions of all modules and of their classes."""
    of_class = type.__getattribute__
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in _OURS:
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                # By type: what a program holds may note who asks it.
                if issubclass(type(value), type) and of_class(value, "__module__") == name:
                    methods = list(of_class(value, "__dict__").items())
                    yield from (
                        (f"{name}.{attribute}.{key}", one) for key, one in methods if callable(one)
                    )
                elif issubclass(type(value), types.FunctionType | types.BuiltinFunctionType):
                    yield f"{name}.{attribute}", value
