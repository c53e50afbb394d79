"""``--split`` as it is typed, where it does not go to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shells import Ran

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

VALUE = """
class Value:
    calls = 0
    def __reduce__(self):
        Value.calls += 1
        if Value.calls >= {first}:
            raise {error}
        return Value, ()
v = Value()
"""


def test_an_interrupt_shows_what_was_measured(shell: InteractiveShell) -> None:
    """Ctrl-C is Ctrl-C, and the passes until then are there and kept under their name."""
    Ran(shell, VALUE.format(first=4, error="KeyboardInterrupt"))

    ran = Ran(shell, "%serprof --split -o found v")

    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert ran.trace.outcome == "interrupted"
    assert "interrupted" in ran.bundles[0]["text/plain"]
    assert shell.user_ns["found"].spans


def test_an_error_of_a_reducer_is_one_sentence(shell: InteractiveShell) -> None:
    """Its own words are in it."""
    Ran(shell, VALUE.format(first=1, error="RuntimeError('no!')"))

    ran = Ran(shell, "%serprof --split v")

    assert "RuntimeError: no!" in ran.err + ran.out
    assert "Traceback" not in ran.err + ran.out
