"""The environment: the versions that a number belongs to, and nothing that names a person."""

import getpass
import json
import os
import platform
import socket
import sys

import pytest

from jupyter_serprof import __version__
from jupyter_serprof.capture import machine as environment
from jupyter_serprof.capture.machine import (
    describe_environment,
    installed_version,
    producer,
    usable_cores,
)

#: Stands for the names of a person and a machine.
SECRET = "someone-private"  # noqa: S105  (not a password: a name that must not be found)


def test_nothing_names_the_user_or_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the host and the user are called, they are not in it; nor is any path."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "HOSTNAME", "HOME"):
        monkeypatch.setenv(name, SECRET)
    for module, name in ((platform, "node"), (socket, "gethostname"), (getpass, "getuser")):
        monkeypatch.setattr(module, name, lambda: SECRET)

    found = describe_environment()

    assert SECRET not in json.dumps(found)
    assert os.sep not in json.dumps(found)


def test_the_environment_names_the_libraries_of_the_list_that_are_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that matter to serialization, on what kind of machine, and nothing else."""
    for name in environment._LIBRARIES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "numpy", sys)

    found = describe_environment()

    assert set(found) == {"python", "platform", "machine", "cores", "numpy"}
    assert (found["python"], found["platform"]) == (platform.python_version(), sys.platform)
    assert found["cores"] == usable_cores()


def test_what_is_not_installed_has_no_version() -> None:
    assert installed_version("no-such-distribution-at-all") is None
    assert installed_version("pytest") == pytest.__version__


def test_the_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container with three cores of a large machine three; elsewhere all of the machine."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 7}, raising=False)
    limited = usable_cores()

    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 64)

    assert (limited, usable_cores()) == (3, 64)


def test_the_producer_is_the_package_and_its_version() -> None:
    assert producer() == f"jupyter_serprof {__version__}"
