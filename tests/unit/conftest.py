"""One plain IPython shell for all tests of magics."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

import pytest
from IPython.core.interactiveshell import InteractiveShell
from shells import Ran
from traitlets.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def only_shell() -> Iterator[InteractiveShell]:
    """The shell of this process; the interpreter is as before afterwards."""
    hooks = sys.displayhook, sys.excepthook, sys.modules["__main__"]
    config = Config(
        {"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}}
    )
    shell = InteractiveShell.instance(config=config)
    yield shell
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()  # type: ignore[no-untyped-call]
    InteractiveShell.clear_instance()
    sys.displayhook, sys.excepthook, sys.modules["__main__"] = hooks


@pytest.fixture
def bare(only_shell: InteractiveShell) -> Iterator[InteractiveShell]:
    """The shell without the extension and with nothing in its namespace."""
    known = set(only_shell.user_ns)
    cleanup, events = only_shell.input_transformers_cleanup, only_shell.events.callbacks
    kept = list(cleanup), {name: list(found) for name, found in events.items()}
    yield only_shell
    Ran(only_shell, "%unload_ext jupyter_serprof")
    cleanup[:] = kept[0]
    events.update(kept[1])
    for name in set(only_shell.user_ns) - known:
        del only_shell.user_ns[name]


@pytest.fixture
def shell(bare: InteractiveShell) -> InteractiveShell:
    """The shell with the extension loaded."""
    Ran(bare, "%load_ext jupyter_serprof\nimport pickle, threading")
    return bare
