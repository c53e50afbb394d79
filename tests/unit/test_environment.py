"""The environment: the versions that a number belongs to, and nothing that names a person."""

from __future__ import annotations

import getpass
import json
import os
import platform
import sys
from pathlib import Path

import pytest

from jupyter_serprof import __version__
from jupyter_serprof.capture import environment
from jupyter_serprof.capture.environment import (
    describe_environment,
    imported_versions,
    installed_version,
    producer,
    usable_cores,
)


def test_python_platform_and_cores_are_told() -> None:
    """One can see on what kind of machine a number was measured."""
    found = describe_environment()

    assert found["python"] == platform.python_version()
    assert found["platform"] == sys.platform
    assert found["cores"] == usable_cores()


def test_nothing_names_the_user_the_host_or_a_path() -> None:
    """Documents are shared: no user, host or path names in them."""
    text = json.dumps(describe_environment())

    private = {str(Path.home()), str(Path.cwd()), platform.node(), sys.prefix}
    private |= {getpass.getuser()} - {"root"}
    assert not [name for name in private if len(name) > 1 and name in text]


def test_only_imported_libraries_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that did not take part is not in the document, and is not imported for it."""
    monkeypatch.setitem(sys.modules, "ray", sys)
    monkeypatch.delitem(sys.modules, "dask", raising=False)

    found = imported_versions(["ray", "dask"])

    assert list(found) == ["ray"]
    assert "dask" not in sys.modules


def test_what_is_not_installed_has_no_version() -> None:
    """Unknown is None."""
    assert installed_version("no-such-distribution-at-all") is None
    assert installed_version("pytest") == pytest.__version__


def test_the_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container with two cores of a large machine it is two; elsewhere all of the machine."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5}, raising=False)
    limited = usable_cores()
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 64)

    assert (limited, usable_cores()) == (2, 64)


def test_the_producer_is_the_package_and_its_version() -> None:
    """A document says which version wrote it."""
    assert producer() == f"jupyter_serprof {__version__}"
    assert environment.__doc__
