"""``serprof script.py``: the program runs as without us; what is shown goes to stderr."""

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_serprof import __version__
from jupyter_serprof.cli import main
from jupyter_serprof.model import Trace, load

PROGRAM = """
import pickle, sys
from beside import word

class Parcel:
    pass

if __name__ == "__main__":
    copy = pickle.loads(pickle.dumps(Parcel()))
    print(word, sys.argv[1:], type(copy) is Parcel)
    sys.exit(3)
"""
SAID = "beside ['--name', 'x', '-q'] True\n"


@pytest.fixture(autouse=True)
def beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the interpreter itself would set is put back."""
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    (folder / "beside.py").write_text("word = 'beside'\n")
    (folder / "program.py").write_text(PROGRAM)


@pytest.mark.parametrize("what", [["program.py"], ["-m", "program"]], ids=["script", "module"])
def test_a_program_runs_as_without_us(
    capsys: pytest.CaptureFixture[str], folder: Path, what: list[str]
) -> None:
    """Its arguments, its stdout, its exit status; options before it are ours."""
    code = main(
        ["--save", "run", "--html", "run", "--name", "mine", *what, "--name", "x", "-q"], {}
    )

    said = capsys.readouterr()
    assert (code, said.out) == (3, SAID)
    assert "Wall time" in said.err
    trace = load(folder / "run.serprof.json")
    assert isinstance(trace, Trace)
    assert (trace.name, trace.outcome) == ("mine", "ok")  # sys.exit is an end like others
    assert "pickle.dumps" in {span.stage for span in trace.spans}
    assert (folder / "run.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("1 / 0", 1, 'program.py", line 1, in <module>\n'),
        ("import sys; sys.exit('no more')", 1, "no more\n"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
        ("x =", 1, "SyntaxError: invalid syntax"),
    ],
)
def test_the_end_of_a_program_is_its_own(
    capsys: pytest.CaptureFixture[str], folder: Path, text: str, code: int, said: str
) -> None:
    """The traceback begins in it, and the picture is shown all the same."""
    (folder / "program.py").write_text(text)

    ended = main(["program.py"], {})

    err = capsys.readouterr().err
    assert (ended, said in err, "Wall time" in err) == (code, True, True)
    assert ("runpy" in err, "scripts.py" in err) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.py"], "there is no script missing.py. Write"),
        (["--repeat", "3", "program.py"], "--repeat is about statements, and"),
        (["--private", "program.py"], "--private is about a file"),
        (["--save", "x.doc", "program.py"], "cannot tell how to save"),
    ],
)
def test_what_does_not_go_with_a_program_is_refused_before_it_runs(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(arguments, {}) == 2

    out, err = capsys.readouterr()
    assert (out, said in err) == ("", True)


def test_version_and_system_are_what_a_report_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["--version"], {}), main(["--system"], {})) == (0, 0)

    told = capsys.readouterr().out
    assert f"jupyter_serprof {__version__}\n" in told
    assert all(f"\n{name} " in told for name in ("platform", "ray", "dask", "jupyterlab"))


DASK = """
from dask.distributed import Client, LocalCluster

class Parcel:
    count = 7

def weigh(parcel):
    return parcel.count

if __name__ == "__main__":
    with LocalCluster(1, dashboard_address=None) as cluster, Client(cluster) as client:
        print(client.submit(weigh, Parcel()).result())
"""
RAY = """
import ray

ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir={folder!r})

class Parcel:
    count = 7

@ray.remote
def weigh(parcel):
    return parcel.count

print(ray.get(weigh.remote(Parcel())))
"""


@pytest.mark.ray
@pytest.mark.parametrize(
    ("text", "stage"), [(DASK, "dask.execute"), (RAY, "ray.execute")], ids=["dask", "ray"]
)
def test_a_program_with_a_cluster_of_its_own_is_seen_on_it(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, text: str, stage: str
) -> None:
    """Processes that import `__main__` anew, and classes that only it has, work as without us."""
    place = str(tmp_path_factory.mktemp("r"))
    (folder / "program.py").write_text(text.replace("{folder!r}", repr(place)))

    command = [str(Path(sys.executable).with_name("serprof")), "--save", "run", "program.py"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)

    assert (ran.returncode, ran.stdout) == (0, "7\n"), ran.stderr
    trace = load(folder / "run.serprof.json")
    assert isinstance(trace, Trace)
    assert stage in {span.stage for span in trace.spans}
