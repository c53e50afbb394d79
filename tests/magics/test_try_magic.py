"""``--try`` as it is typed: values, code, cells, and what is refused."""

import time
from types import SimpleNamespace

import pytest
from shells import Ran, Shell

from jupyter_serprof.analysis import findings
from jupyter_serprof.analysis.findings import pickle as pickle_findings
from jupyter_serprof.experiments.remedies import ways as remedies_ways
from jupyter_serprof.model import Finding
from jupyter_serprof.objects import look
from jupyter_serprof.probes import pickle as pickle_probe
from jupyter_serprof.views.kit.remarks import finding_remarks

ROWS = "rows = [{'id': at, 'x': at / 7} for at in range(2000)]\n"


@pytest.fixture(autouse=True)
def _own_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the work of this thread: a machine that is busy with others makes nothing slow."""
    clock = SimpleNamespace(perf_counter_ns=time.thread_time_ns, monotonic=time.monotonic)
    monkeypatch.setattr(remedies_ways, "time", clock)


def test_a_value_is_tried(shell: Shell) -> None:
    """The remedies for rows of dicts, ranked, with interval, pairs and equality in the text."""
    ran = Ran(shell, f"{ROWS}%serprof --try -o found rows")

    assert ran.sweep.name == "rows"
    assert [v.key for v in ran.sweep.variants if v.facts.get("tried")] == ["columns"]
    assert "15 pairs, equal" in ran.bundles[0]["text/plain"]
    kept = shell.user_ns["found"]  # the output may leave out a cold trace that is like a warm one
    assert (kept.points, kept.variants) == (ran.sweep.points, ran.sweep.variants)
    assert ran.sweep.findings[0].remedy.startswith("import numpy as np; rows = {key: np.array(")


def test_code_that_serializes_keeps_its_picture(shell: Shell) -> None:
    """One document: the waterfall of the run, its findings measured on what the code names."""
    ran = Ran(shell, f"{ROWS}%serprof --try pickle.loads(pickle.dumps(rows))")

    assert [s.stage for s in ran.trace.spans if "pickle" in s.stage] == [
        "pickle.dumps",
        "pickle.loads",
    ]
    assert ran.trace.findings[0].gain is not None
    assert any(note.startswith("tried on rows") for note in ran.trace.quality.notes)


@pytest.mark.parametrize("above", ["", "%%time\n"])
def test_a_cell_is_tried_on_what_it_names(shell: Shell, above: str) -> None:
    """The cell runs once, as it is, also below another magic; what it sent is tried behind it."""
    code = f"{ROWS}calls = globals().get('calls', 0) + 1\npickle.dumps(rows)\ncalls"

    ran = Ran(shell, f"{above}%%serprof --try\n{code}")

    assert ran.value == 1
    assert ran.trace.findings[0].measured is not None


@pytest.mark.parametrize("typed", ["{}", "pickle.dumps({})", "--repeat 3 pickle.dumps({})"])
@pytest.mark.parametrize("given", ["", "--name n ", "--name 'a b' ", "--compare x --name n "])
@pytest.mark.parametrize("line", ["(at, str(at))", "{at} | {str(at)}"])
def test_only_what_has_another_form_is_to_be_tried(
    shell: Shell, line: str, given: str, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is offered finds something; it names the user's variable, never the label."""
    small = {"SMALL_NS": 0, "SMALL_BYTES": 1_000, "MANY_OBJECTS": 1_000}
    for name, number in {**small, "SMALL_SHARE": 1e9, "PLAIN_NS": 1e9}.items():
        monkeypatch.setattr(pickle_findings, name, number)
    for module in (look, pickle_probe):
        monkeypatch.setattr(module, "LOOK_BYTES", 1_000)
    monkeypatch.setattr(findings, "_LEAST_GAIN", 0.0)  # whatever else the machine does meanwhile
    monkeypatch.setattr(findings, "_FITTING_SHARE", 0.0)
    Ran(shell, f"sent = [{line} for at in range(2_000)]")
    if "--compare" in given:
        Ran(shell, f"%serprof -q --name n -o x {typed.format('sent')}")

    ran = Ran(shell, f"%serprof {given}{typed.format('sent')}")

    (found,) = [one for one in ran.documents[0].findings if one.rule == "pickle.small-objects"]
    is_alike, imported = line.startswith("("), "import numpy as np; "
    assert found.remedy.startswith(f"{imported}sent = [" if is_alike else "")
    assert (
        found.remedy.endswith("; measured by %serprof --try sent") is bool(found.remedy) is is_alike
    )
    assert given.rpartition("--name ")[2].strip(" '") in ("", ran.documents[0].name)


def test_code_that_raises_raises_once_and_tries_nothing(shell: Shell) -> None:
    """The same exception; the picture until then; no remedy for what failed."""
    ran = Ran(shell, f"{ROWS}%serprof --try pickle.dumps(rows) + 1")

    assert isinstance(ran.result.error_in_exec, TypeError)
    assert ran.trace.outcome == "error"
    assert all(found.measured is None for found in ran.trace.findings)


def test_what_cannot_be_pickled_is_said_in_one_line(shell: Shell) -> None:
    """What happened and what to write instead; no traceback of ours."""
    ran = Ran(shell, "%serprof --try threading.Lock()")

    assert "cannot be pickled because of" in ran.err + ran.out
    assert "Traceback" not in ran.err + ran.out


def test_a_measured_gain_is_told_with_all_that_is_known() -> None:
    """A gain from elsewhere, without an interval, is told without one."""
    measured = {"low": 2.9, "high": 3.5, "pairs": 15, "equal": True}
    full = Finding("r", "warn", "t", {}, "x", gain=3.2, measured=measured)
    bare = Finding("r", "warn", "t", {}, "x", gain=3.2)

    said = "measured: 3.2× faster, 95 % interval 2.9× to 3.5×, 15 pairs, equal"  # noqa: RUF001
    assert ("", said) in finding_remarks(full)
    assert ("", "measured: 3.2× faster") in finding_remarks(bare)  # noqa: RUF001


def test_a_value_that_is_no_collection_is_sent_to_the_other_magic(shell: Shell) -> None:
    """%graphstages --try takes collections; without a cluster nothing travels."""
    dask = pytest.importorskip("dask")

    with dask.config.set(scheduler="sync"):  # another test of the session may have a client
        value = Ran(shell, "%graphstages --try [1, 2]")
        local = Ran(shell, "import dask\ny = dask.delayed(sum)([1, 2])\n%graphstages --try y")
        crossed = Ran(shell, "%serprof --try y")

    assert "%serprof --try [1, 2]" in value.err + value.out
    assert "no cluster computes y" in local.err + local.out
    assert "%graphstages --try y" in crossed.err + crossed.out
