"""``--compare`` in a shell and ``sp.compare`` with functions: runs of now against a document."""

import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import CODE, FAST_NS, SLOW_NS, made
from shells import Ran, Shell

import jupyter_serprof as sp
from jupyter_serprof.analysis.comparison import interval_text, ratio_text, times_of
from jupyter_serprof.experiments.compare.repeats import runs_within_budget
from jupyter_serprof.experiments.compare.runs import Pairs
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.model import Sweep, Trace, UsageError, load, save_document
from jupyter_serprof.model.units import format_ns
from jupyter_serprof.views.figure import alt_text, sheet_of
from jupyter_serprof.views.kit.sheet import Label
from jupyter_serprof.views.notebook.page import html


def test_a_name_without_an_ending_is_one_file(shell: Shell, folder: Path) -> None:
    """What ``--save before`` writes, ``--compare before`` reads."""
    saved = Ran(shell, f"%serprof -q --repeat 6 --save before {CODE}")

    ran = Ran(shell, f"%serprof --compare before --repeat 1 {CODE}")

    assert saved.result.success
    assert [path.name for path in folder.iterdir()] == ["before.serprof.json"]
    assert ran.sweep.comparison is not None


def test_code_is_compared_with_a_file(shell: Shell, folder: Path) -> None:
    """Saved before, run 15 times now; the document of now carries the comparison."""
    save_document(made(FAST_NS), folder / "before.serprof.json")

    ran = Ran(shell, f"%serprof --compare before --save after.serprof.json {CODE}")

    comparison = ran.sweep.comparison
    assert comparison is not None
    assert (comparison.before, comparison.after) == (CODE, CODE)
    wall = next(c for c in comparison.changes if not c.stage and not c.cold)
    assert (wall.before_runs, wall.after_runs, wall.verdict) == (15, 15, "slower")
    assert comparison.noise_share is not None
    assert "compared with `" in ran.bundles[0]["text/plain"]
    saved = load(folder / "after.serprof.json")
    assert isinstance(saved, Sweep)
    assert saved.comparison == comparison


def test_a_comparison_is_in_every_form_that_a_viewer_may_choose(shell: Shell) -> None:
    """Without our extension too: before, after, ratio and verdict, as the document has them."""
    shell.user_ns["before"] = made(FAST_NS)

    ran = Ran(shell, f"%serprof --compare before {CODE}")

    comparison = ran.sweep.comparison
    assert comparison is not None
    assert ran.sweep.summary is not None
    wall = next(c for c in comparison.changes if not c.stage and not c.cold)
    told = [format_ns(wall.before_ns), format_ns(wall.after_ns), ratio_text(wall.ratio), "slower"]
    cells = [*times_of(comparison.changes)[wall], *told[2:], interval_text(wall)]
    drawn = [mark.text for mark in sheet_of(ran.sweep).marks if isinstance(mark, Label)]
    said = ran.sweep.summary.headline, ran.bundles[0]["text/plain"], sp.to_markdown(ran.sweep)
    plain = (" ".join(text.split()) for text in said)  # on one line, however it was wrapped
    forms = [*plain, alt_text(ran.sweep), html(ran.sweep)]
    for form in forms:
        assert not [word for word in told if word not in form]
    assert not [cell for cell in cells if cell not in drawn]
    assert (sp.to_dataframe(ran.sweep).verdict == "slower").any()


def test_a_regression_stops_the_cell_after_the_document_is_shown(shell: Shell) -> None:
    """Run All stops there; the numbers are on the screen, and in the variable."""
    shell.user_ns["before"] = made(FAST_NS)

    ran = Ran(shell, f"%serprof --compare before --fail-above 10% -o after {CODE}\nreached = 1")

    assert "RegressionError: slower by more than 10.0 %: Wall time" in ran.err
    assert not ran.result.success
    assert "reached" not in shell.user_ns
    assert ran.sweep.comparison == shell.user_ns["after"].comparison


def test_a_limit_that_nobody_can_judge_says_so(shell: Shell) -> None:
    """It passes, and not silently: the machine was as much slower as the code."""
    shell.user_ns["before"] = replace(made(FAST_NS), control={"pickle": (10**15,) * 10})

    ran = Ran(shell, f"%serprof --compare before --fail-above 10% --repeat 6 {CODE}")

    assert ran.result.success
    assert "cannot tell whether it is slower by more than 10.0 %: Wall time" in ran.err


def test_a_comparison_that_is_the_last_value_is_readable(shell: Shell) -> None:
    """Of two documents, in a shell; and shown in a program."""
    Ran(shell, f"import jupyter_serprof as sp\n%serprof -q --repeat 6 -o before {CODE}")

    last = Ran(shell, "found = sp.compare(before, before)\nfound")
    shown = Ran(shell, "sp.show(found)")

    assert "cannot tell faster from slower: " in last.out
    assert "Comparison(" not in last.out
    assert shown.result.success


def test_a_value_is_compared_by_the_transports_of_before(shell: Shell) -> None:
    """The round trip has the same variants, so that each has its line."""
    Ran(shell, "%serprof -q --transports pickle --repeat 6 -o before [1, 2, 3]")

    ran = Ran(shell, "%serprof --compare before --repeat 6 [1, 2, 3]")

    assert [variant.key for variant in ran.sweep.variants] == ["pickle"]
    assert ran.sweep.comparison is not None
    assert {change.variant for change in ran.sweep.comparison.changes} == {"pickle"}
    assert {len(times) for times in ran.sweep.control.values()} == {10}


def test_what_cannot_be_compared_is_shown_and_said(shell: Shell) -> None:
    """A round trip against repeats: the one run that shows it is not lost, and nobody waits."""
    Ran(shell, "%serprof -q --transports pickle --repeat 1 --name sent -o before [1, 2, 3]")

    ran = Ran(shell, f"%serprof --compare before --name sent --repeat 9 {CODE}")

    assert "nothing can be compared: before is a round trip (sent), after is runs of" in ran.err
    assert "Traceback" not in ran.err
    assert (len(ran.sweep.points), ran.sweep.comparison) == (1, None)
    assert ran.sweep.summary is not None
    assert "ot compared" not in ran.sweep.summary.headline
    Ran(shell, f"%serprof -q --repeat 1 --name sent -o before {CODE}")
    refused = Ran(shell, "%serprof --name sent --compare before [1, 2, 3]")
    assert ("before is runs of code (sent)" in refused.err, refused.bundles) == (True, [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--compare missing", "cannot read missing.serprof.json: No such file"),
        ("--compare number", "number is a int and no document, and there is no file"),
        ("--compare cut", "cut.serprof.json is not a jupyter_serprof document, or it is cut off"),
        ("--compare number --fail-above ten", "--fail-above needs percent above 0, not 'ten'"),
    ],
)
def test_bad_input_is_told_before_the_code_runs(
    shell: Shell, folder: Path, options: str, said: str
) -> None:
    Ran(shell, "number = 1\nruns = []")
    (folder / "cut.serprof.json").write_text('{"format": "serp', "utf-8")

    ran = Ran(shell, f"%serprof {options} runs.append(1)")

    assert said in ran.err
    assert "Traceback" not in ran.err
    assert shell.user_ns["runs"] == []


INTERRUPTS = (
    "runs = iter(range(99))\n"
    "def f():\n"
    "    pickle.dumps(1)\n"
    "    if next(runs) == {}: raise KeyboardInterrupt"
)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "stopped after 0 warm runs, not compared with `f()`"),
        (4, "stopped after 3 warm runs, not compared with `f()`"),
    ],
)
def test_an_interrupted_comparison_says_what_was_measured(
    shell: Shell, number: int, said: str
) -> None:
    """The runs that ended are shown; nothing is said of faster or slower."""
    shell.user_ns["before"] = made(FAST_NS, "f()")
    Ran(shell, INTERRUPTS.format(number))

    ran = Ran(shell, "%serprof --compare before f()")

    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert "jupyter_serprof/" not in ran.out
    assert ran.sweep.summary is not None
    assert said in ran.sweep.summary.headline
    assert len(ran.sweep.points) == number
    assert ran.sweep.comparison is None


def test_an_interrupt_of_the_first_run_does_not_say_that_nothing_was_serialized(
    shell: Shell,
) -> None:
    """Nobody knows what it would have done: a stage is seen when it has ended."""
    shell.user_ns["before"] = made(FAST_NS, "f()")
    Ran(shell, "def f():\n    raise KeyboardInterrupt")

    compared, alone = Ran(shell, "%serprof --compare before f()"), Ran(shell, "%serprof f()")

    assert compared.trace.summary is not None
    assert compared.trace.summary.headline.startswith("interrupted in the first run, ")
    assert compared.trace.summary.headline.endswith(": nothing to compare")
    assert alone.trace.summary is not None
    assert alone.trace.summary.headline.endswith(": no serialization had ended")
    for ran in (compared, alone):
        assert "serialization was seen" not in ran.bundles[0]["text/plain"]


def test_a_blank_name_is_no_word_for_other_code(shell: Shell) -> None:
    shell.user_ns["before"] = made(FAST_NS)

    ran = Ran(shell, '%serprof --compare before --name " " print("it ran")')

    assert "not the same code" in ran.err
    with pytest.raises(UsageError, match="not the same code"):
        sp.compare(made(FAST_NS), lambda: pytest.fail("it ran"), name=" ")


def test_other_code_is_refused_before_it_runs(shell: Shell) -> None:
    """One line with both and what to type; typed, it compares."""
    shell.user_ns["before"] = made(FAST_NS)
    Ran(shell, "import pickle\nruns = []\ndef g():\n    runs.append(pickle.dumps(1))")

    refused = Ran(shell, "%serprof --compare before --repeat 4 g()")
    count = len(shell.user_ns["runs"])
    typed = re.search("--name '.*?'", refused.err)
    ran = Ran(shell, f"%serprof --compare before --repeat 4 {typed and typed[0]} g()")

    assert f"before is of {CODE}, after of g(): not the same code" in refused.err
    assert count == 0
    assert ran.sweep.comparison is not None


# Functions


def code() -> object:
    return pickle.dumps([1, 2, 3])


def test_two_functions_run_in_turns() -> None:
    """First, second, second, first: neither always runs in the wake of the other."""
    order: list[str] = []

    pairs = Pairs([lambda: order.append("a"), lambda: order.append("b")], ["a", "b"], repeat=3)
    sweep = run(pairs)

    assert "".join(order) == "ab" + "abbaab"
    assert [(p.variant, p.cold) for p in sweep.points].count(("before", False)) == 3
    assert sweep.comparison is not None


def test_two_functions_on_their_way_have_both_times_in_one_short_line() -> None:
    """Before all pairs are made there is no comparison: no full stop, no code quoted whole."""
    pairs = Pairs([code, code], ["f" * 200, "g"], repeat=6)
    for _ in zip(pairs.steps(), range(3), strict=False):
        pass

    assert pairs.document.comparison is None
    assert pairs.document.summary is not None
    told = pairs.document.summary.headline
    assert re.fullmatch(rf"`{'f' * 29}…` takes [\d.]+ .?s, `g` takes [\d.]+ .?s", told)


def test_two_functions_have_a_document_with_their_comparison(tmp_path: Path) -> None:
    sweep = sp.compare(code, lambda: pickle.dumps(1), repeat=6)
    save_document(sweep, tmp_path / "x.serprof.json")

    assert sweep.comparison is not None
    warm = [c for c in sweep.comparison.changes if not c.stage and not c.cold]
    assert [(c.before_runs, c.after_runs, c.low is None) for c in warm] == [(6, 6, False)]
    assert (sweep.comparison.before, sweep.comparison.after) == ("code", "<lambda>")
    assert sweep.summary is not None
    assert sweep.summary.facts[0] == "`<lambda>` compared with `code`"
    assert load(tmp_path / "x.serprof.json") == sweep


def test_two_functions_of_one_name_are_told_apart() -> None:
    """Two lambdas are not "<lambda> compared with <lambda>"."""
    sweep = sp.compare(lambda: pickle.dumps(1), lambda: pickle.dumps(2), repeat=2)

    assert sweep.comparison is not None
    assert (sweep.comparison.before, sweep.comparison.after) == ("<lambda> 1", "<lambda> 2")
    assert [v.title for v in sweep.variants] == ["before: <lambda> 1", "after: <lambda> 2"]


def test_a_dask_computation_against_a_pickle_is_refused_after_one_run_each() -> None:
    """Unless a name says that both answer the same question."""
    dask = pytest.importorskip("dask")
    runs: list[str] = []

    def summed() -> object:
        runs.append("sum")
        return dask.compute(dask.delayed(sum)([1, 2]), scheduler="sync")

    def pickled() -> object:
        runs.append("pickle")
        return pickle.dumps([1, 2])

    with pytest.raises(UsageError, match=r"a Dask computation \(summed\), after is runs of code"):
        sp.compare(summed, pickled, repeat=3)
    assert runs == ["sum", "pickle"]

    sweep = sp.compare(summed, pickled, repeat=2, name="a sum")
    assert sweep.name == "a sum"
    assert sweep.comparison is not None
    assert (sweep.comparison.before, sweep.comparison.after) == ("summed", "pickled")


def test_documents_of_different_code_under_one_name_say_what_each_is_of() -> None:
    """The name is the question; the code stays named."""
    before, after = made(FAST_NS, "f"), made(SLOW_NS, "g")

    found = sp.compare(before, after, name="a pickle")
    now = sp.compare(before, code, name="a pickle", repeat=2).comparison

    assert found.notes[0] == "before is of f, after of g"
    assert now is not None
    assert now.notes[0] == "before is of f, after of code"
    assert not sp.compare(before, before, name="x").notes[0].startswith("before is of")


def test_documents_and_files_are_compared_without_running_anything(tmp_path: Path) -> None:
    """A path, a path without its ending, and a document are the same."""
    _, trace = sp.profile(code)
    save_document(trace, tmp_path / "before.serprof.json")

    found = [
        sp.compare(before, trace)
        for before in (tmp_path / "before", str(tmp_path / "before.serprof.json"), trace)
    ]

    assert found[0] == found[1] == found[2]
    assert found[0].changes[0].ratio == pytest.approx(1)


def test_a_function_is_compared_with_a_document_and_may_fail() -> None:
    with pytest.raises(sp.RegressionError) as caught:
        sp.compare(made(FAST_NS), code, repeat=6, fail_above=0.1, name="a pickle")

    document = caught.value.document
    assert isinstance(document, Sweep)
    assert len(document.points) == 7


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (code, Trace(name="", started="", wall_ns=1), "Turn them"),
        (1, code, "cannot compare a int"),
        (code, None, "cannot compare a NoneType"),
    ],
)
def test_what_is_neither_is_refused(before: object, after: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sp.compare(before, after)  # type: ignore[call-overload]  # that is the mistake


@pytest.mark.parametrize("repeat", [0, -1, 1001, 1.5, True])
def test_a_bad_number_of_runs_is_refused_before_anything_runs(repeat: object) -> None:
    with pytest.raises(UsageError, match="repeat is"):
        sp.compare(code, lambda: pytest.fail("it ran"), repeat=repeat)  # type: ignore[call-overload]


@pytest.mark.parametrize(("first_s", "count"), [(0.001, 15), (2, 10), (60, 8)])
def test_long_runs_are_made_less_often(first_s: float, count: int) -> None:
    """Fifteen, or as many as 20 s allow, and never too few for a verdict."""
    assert runs_within_budget(round(first_s * 1e9)) == count
