"""Several programs on one Ray: each sees its own tasks; who is killed leaves nothing behind."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from operator import not_
from pathlib import Path
from typing import Any, cast

import pytest
import ray

from clusters.seen import probe, recorded, spans, until
from jupyter_serprof.probes.ray.agent.contact import SPACE

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

#: A program that records beside this one; it says what it does by files, and waits for others.
_HEAD = """
import json, sys, time
from pathlib import Path
import ray
import jupyter_serprof as sp

folder = Path(sys.argv[1])
ray.init(address=sys.argv[2], logging_level="critical", log_to_driver=False)

def say(name, told=""):
    (folder / "half").write_text(told)
    (folder / "half").rename(folder / name)

def wait(name):
    while not (folder / name).exists():
        time.sleep(0.01)

@ray.remote(num_cpus=0)
def theirs(value):
    return value

@ray.remote(num_cpus=0)
class Keeper:
    def value(self):
        return [name for name in list(sys.modules) if "serprof" in name]
"""
_RECORDS = """
with sp.record() as recording:
    ray.get([theirs.remote(n) for n in range(3)])
    say("begun")
    wait("go")
    ray.get([theirs.remote(n) for n in range(3)])
(report,) = [one for one in recording.trace.quality.probes if one.name == "ray"]
names = sorted({span.name for span in recording.trace.spans if span.stage == "ray.execute"})
say("done", json.dumps([report.level, names]))
"""
_STAYS = """
keeper = Keeper.options(lifetime="detached", name="keeper", namespace="kept").remote()
with sp.record():
    ray.get([theirs.remote(1), keeper.value.remote()])
    say("begun", ray.get_runtime_context().get_job_id())
    wait("never")
"""


@contextmanager
def _program(folder: Path, code: str) -> Iterator[subprocess.Popen[bytes]]:
    address = cast("Any", ray)._private.worker._global_node.gcs_address
    command = [sys.executable, "-c", _HEAD + code, str(folder), address]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def _told(folder: Path, name: str, process: subprocess.Popen[bytes]) -> str:
    until(bool, lambda: (folder / name).exists() or process.poll() is not None, 60)
    return (folder / name).read_text()


def test_two_programs_that_record_see_their_own_tasks(tmp_path: Path) -> None:
    """Their workers are others, and so are their agents."""

    @ray.remote(num_cpus=0)
    def ours(value: int) -> int:
        return value

    with _program(tmp_path, _RECORDS) as process:
        _told(tmp_path, "begun", process)

        def run() -> list[int]:
            values: list[int] = ray.get([ours.remote(n) for n in range(4)])
            (tmp_path / "go").touch()
            _told(tmp_path, "done", process)
            return [*values, *ray.get([ours.remote(n) for n in range(4)])]

        values, trace = recorded(run)
        level, names = json.loads(_told(tmp_path, "done", process))

    assert values == [0, 1, 2, 3] * 2
    assert level == "pickle, agent + events: 6 of 6 tasks seen"
    assert names == ["theirs"]
    assert probe(trace).level == "pickle, agent + events: 8 of 8 tasks seen"
    assert {span.name for span in spans(trace, "ray.execute")} == {"ours"}


def test_a_program_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    """Its keys end with its job, and so does the agent in its actor that stays."""
    with _program(tmp_path, _STAYS) as process:
        job = _told(tmp_path, "begun", process)
        during = _keys_of(job)
        process.kill()
        process.wait()

        keeper: Any = ray.get_actor("keeper", namespace="kept")
        left: list[str] = until(not_, lambda: ray.get(keeper.value.remote()))
        ray.kill(keeper)
        keys = until(not_, lambda: _keys_of(job))

    assert during
    assert (left, keys) == ([], [])


def _keys_of(job: str) -> list[bytes]:
    gcs = cast("Any", ray)._private.worker.global_worker.gcs_client
    return list(gcs.internal_kv_keys(f"RemoteFunction:{job}:serprof".encode(), SPACE))
