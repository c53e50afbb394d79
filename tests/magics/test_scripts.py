"""``serprof script.py``: the program runs as without us; what is shown goes to stderr."""

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_serprof import __version__
from jupyter_serprof.cli import main
from jupyter_serprof.model import Sweep, Trace, load

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


@pytest.fixture(autouse=True)
def beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the interpreter itself would set is put back."""
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    (folder / "app").mkdir()
    for where, name in ((folder, "program"), (folder / "app", "__main__")):
        (where / "beside.py").write_text("word = 'beside'\n")
        (where / f"{name}.py").write_text(PROGRAM)


@pytest.mark.parametrize("what", [["program.py"], ["-m", "program"], ["app"]])
def test_a_program_runs_as_without_us(
    capsys: pytest.CaptureFixture[str], folder: Path, what: list[str]
) -> None:
    """Its arguments, its stdout, its exit status; options before it are ours."""
    code = main(
        ["--save", "run", "--html", "run", "--name", "mine", *what, "--name", "x", "-q"], {}
    )

    said = capsys.readouterr()
    assert (code, said.out) == (3, "beside ['--name', 'x', '-q'] True\n")
    assert "Wall time" in said.err
    trace = load(folder / "run.serprof.json")
    assert isinstance(trace, Trace)
    assert (trace.name, trace.outcome) == ("mine", "ok")  # sys.exit is an end like others
    assert "pickle.dumps" in {span.stage for span in trace.spans}
    assert (folder / "run.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        # As the interpreter says: a program may go to another folder and read beside itself.
        ("import os; os.chdir('/'); assert os.path.isabs(__file__); exit('there')", 1, "there"),
        ("import sys; exit(f'<{sys.argv[0]}>')", 1, "<program.py>\n"),
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
        (["--setup", "1", "program.py"], "--setup runs before a statement"),
        (["--transports", "pickle", "program.py"], "--transports sends a value, and a program is"),
        (["--try", "program.py"], "--try runs the remedies on objects that are at hand: %%serprof"),
        (["--sweep", "n=1:9:2", "program.py"], "--sweep makes a value of many sizes: sp.sweep("),
        (["--sweep", "n=1:9:2", "1 + n"], "--sweep makes a value of many sizes: sp.sweep("),
        (["--blame", "--repeat", "3", "program.py"], "--blame opens what one run sent. Leave"),
        (["--compare", "missing.py", "program.py"], "there is no script missing.py. Write"),
        (["--fail-above", "9%", "program.py"], "--fail-above needs something to compare with"),
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


PICKLES = "import pickle, sys; pickle.dumps([0]); print(sys.argv[1:])"


def test_a_program_is_repeated_in_a_process_each_time_and_heard_once(
    capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    """Against a file that was made so, and two in turns."""
    (folder / "work.py").write_text(PICKLES)
    (folder / "other.py").write_text(PICKLES)

    first = main(["-n", "1", "--save", "run", "work.py", "a"], {})
    heard = capfd.readouterr()
    against = main(["-n", "1", "--compare", "run.serprof.json", "--save", "now", "work.py"], {})
    capfd.readouterr()
    turns = main(["-n", "1", "--compare", "work.py", "--save", "turns", "other.py", "b"], {})

    both = capfd.readouterr()
    assert (first, against, turns) == (0, 0, 0)
    assert (heard.out, both.out) == ("['a']\n", "['b']\n" * 2)
    made = [load(folder / f"{name}.serprof.json") for name in ("run", "now", "turns")]
    sweeps = [one for one in made if isinstance(one, Sweep)]
    assert [[point.cold for point in one.points] for one in sweeps] == [
        *[[True, False]] * 2,
        [True, False] * 2,
    ]
    assert {"pickle.dumps"} <= sweeps[0].points[1].stages.keys()
    told = [one.comparison and (one.comparison.before, one.comparison.after) for one in sweeps]
    assert told == [None, ("work.py", "work.py"), ("work.py", "other.py")]


def test_a_program_that_fails_is_not_measured_again(
    capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    """Its exit status is ours; the runs until then are shown."""
    (folder / "program.py").write_text(
        "import pickle, sys; pickle.dumps(1); file = open('n', 'a'); file.write('1\\n')\n"
        "sys.exit(5 * (file.tell() > 4))"
    )

    code = main(["-n", "9", "program.py"], {})

    said = capfd.readouterr().err
    assert (code, (folder / "n").read_text()) == (5, "1\n" * 3)
    assert "program.py ended with exit status 5: that run is left out" in said
    assert "1 warm run" in said


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
DASK_LEFT = (
    DASK.partition("    with")[0]
    + """\
    cluster = LocalCluster(1, dashboard_address=None)
    client = Client(cluster)
    print(client.submit(weigh, Parcel()).result())
    cluster.close()
    client.close()
"""
)
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
    ("text", "stage"),
    [
        (DASK, "dask.execute"),
        (DASK_LEFT, "dask.execute"),
        (RAY, "ray.execute"),
        (f"{RAY}ray.shutdown()\n", "ray.lease"),
    ],
    ids=["dask", "dask closed first", "ray", "ray shut down"],
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
