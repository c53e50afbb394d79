"""``%serprof --sweep`` and ``sp.sweep``: what is swept, how it is typed, what stays as it was."""

import numpy as np
import pytest
from shells import Ran, Shell

import jupyter_serprof as sp
from jupyter_serprof.magics.options import Range, parse
from jupyter_serprof.model import Sweep, UsageError

VALUE = "%serprof --sweep n=1e3:1e5:3 --repeat 1 --transports pickle,cloudpickle b'x' * n"
CODE = "%serprof --sweep n=1e3:1e5:3 --repeat 1 pickle.loads(pickle.dumps(b'x' * n))"


def test_a_range_is_a_name_and_three_numbers() -> None:
    """Spelled with a blank or with an equals sign, the rest of the line is the code."""
    options = [parse(f"--sweep{joined}n=1e3:1e8:12 --repeat 5 f(n)") for joined in " ="]

    for found in options:
        assert found.sweep == Range("n", 1e3, 1e8, 12)
        assert (found.repeat, found.code) == (5, "f(n)")


def test_a_value_makes_the_round_trip_and_a_variable_stays(shell: Shell) -> None:
    """What serializes nothing goes through the transports; ``n`` is what it was."""
    shell.user_ns["n"] = "mine"

    sweep = Ran(shell, VALUE).sweep

    assert (sweep.kind, sweep.parameter, sweep.name) == ("sweep", "n", "b'...' * n")
    assert [v.key for v in sweep.variants] == ["pickle", "cloudpickle"]
    assert {p.size_bytes for p in sweep.points} == {1000, 10_000, 100_000}
    assert shell.user_ns["n"] == "mine"


def test_code_that_serializes_is_timed_as_it_is(shell: Shell) -> None:
    """One variant; lambdas and comprehensions inside see the variable."""
    sweep = Ran(shell, CODE).sweep
    nested = Ran(
        shell, "%serprof --sweep n=1e3:1e5:3 --repeat 1 [pickle.dumps(b'x' * n) for _ in range(2)]"
    ).sweep

    assert [v.key for v in sweep.variants] == ["code"]
    assert {p.parameter for p in sweep.points} == {1000, 10_000, 100_000}
    assert len(sweep.points) == 6
    assert [v.key for v in nested.variants] == ["code"]
    assert "n" not in shell.user_ns


def test_inside_a_function_its_variables_are_seen_and_stay(shell: Shell) -> None:
    Ran(
        shell,
        "def f():\n    n, unit = 'local', b'x'\n"
        "    get_ipython().run_line_magic('serprof', "
        "'-q -o s --sweep n=1e3:1e5:3 --repeat 1 --transports pickle unit * n')\n"
        "    return n",
    )

    ran = Ran(shell, "f()")

    assert ran.value == "local"
    assert len(shell.user_ns["s"].points) == 6


def test_an_error_of_the_code_is_its_own(shell: Shell) -> None:
    """Same exception; nothing is shown where nothing was measured."""
    ran = Ran(shell, "%serprof --sweep n=1e3:1e5:3 nobody(n)")

    assert isinstance(ran.result.error_in_exec, NameError)
    assert ran.documents == []


def test_an_interrupt_shows_what_was_measured(shell: Shell) -> None:
    Ran(
        shell,
        "def f(n):\n    if n == 100_000:\n        raise KeyboardInterrupt\n    return b'x' * n",
    )

    ran = Ran(shell, "%serprof --sweep n=1e3:1e5:3 --repeat 1 --transports pickle f(n)")

    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert {p.size_bytes for p in ran.sweep.points} == {1000, 10_000}
    assert "in f(n)" in ran.out
    assert "jupyter_serprof/" not in ran.out


def test_a_generator_is_named_by_its_key() -> None:
    """Sizes are bytes; an unknown key has its closest one."""
    sweep = sp.sweep("float64", [1000, 8000], ["pickle"], repeat=1)

    assert (sweep.name, sweep.parameter) == ("float64 array", "bytes")
    assert {p.size_bytes for p in sweep.points} == {1000, 8000}
    with pytest.raises(UsageError, match="did you mean float64"):
        sp.sweep("flaot64", [1000])


@pytest.mark.parametrize("value", [list(range(1000)), np.arange(1000), b"x" * 1000])
def test_the_leading_rows_of_a_value_are_swept(value: object) -> None:
    """Without a function: the sizes are rows; more than there are is said for that size."""
    sizes = [10, 100, 5000]

    sweep = sp.sweep(value, sizes, ["pickle"], repeat=1)

    assert {p.parameter for p in sweep.points} == {10, 100}
    assert sweep.parameter == "rows"
    assert any("the value has 1,000 rows, not 5,000" in note for note in sweep.quality.notes)


def test_a_value_without_rows_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a object has no rows.*sp\.sweep\(lambda n"):
        sp.sweep(object(), [10, 100])


def test_a_function_that_serializes_by_itself_is_code() -> None:
    """The same rule as in the magic; its first recording is the cold run of the smallest size."""
    import pickle

    called: list[float] = []

    def f(n: float) -> object:
        called.append(n)
        return pickle.dumps(b"x" * int(n))

    sweep = sp.sweep(f, [1000, 1_000_000], repeat=1)

    assert isinstance(sweep, Sweep)
    assert [v.key for v in sweep.variants] == ["code"]
    assert called[:2] == [1000, 1_000_000]
