"""The line that is shown while something runs: how large, of which, and in a terminal."""

import _thread
import json
import sys
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_serprof.model import Summary
from jupyter_serprof.model.document import MIME_TYPE
from jupyter_serprof.model.live import LiveFacts
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.notebook import live as live_module
from jupyter_serprof.views.notebook.live import Live
from jupyter_serprof.views.notebook.widget import WIDGET_VIEW

FACTS = LiveFacts("dask.execute", "Execution", 12, 37, ran_s=6.1, share=0.3, left_s=(10, 15))
LONG = LiveFacts("x", "<" * 900 + "\n\x1b[31m", 1, 2, ran_s=8, share=0.5, why="&" * 900)
LINE = "Execution: 12 of 37 tasks, 6.1 s, 10 to 15 s left"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []

    def display(data: dict[str, Any], **_: object) -> Any:
        made.append(data)
        return SimpleNamespace(update=display)

    made_up = {"display": display, "_hooks": list, "front_end": lambda: "jupyter"}
    for name, value in (made_up | {"_is_watched": lambda: True}).items():
        monkeypatch.setattr(live_module, name, value)
    return made


def test_a_document_takes_the_place_of_a_picture_that_says_how_far_it_is(
    shown: list[dict[str, Any]],
) -> None:
    """Until it is whole: what is saved says nothing of it."""
    live, trace = Live(), make_trace([("gc", "client/main", 0, 1)])
    trace = replace(trace, summary=Summary("all of it", ("one fact",)))

    live.tell(FACTS)
    live.show(trace)
    live.tell(replace(FACTS, done=13))
    said, stop = live._widget.told, live._widget.stop

    assert (said, stop) == (LINE.replace("12", "13"), "kernelmenu:interrupt")
    assert [live.replace(trace), live.replace(trace)] == [True, False]
    kinds = [kind for data in shown for kind in data.keys() & {MIME_TYPE, WIDGET_VIEW}]
    assert kinds == [WIDGET_VIEW, MIME_TYPE]
    assert [LINE in data["text/plain"] for data in shown] == [True, True, False]
    assert ["one fact" in data["text/plain"] for data in shown] == [False, True, True]


def test_of_nested_ones_the_outermost_shows_a_line_of_a_thousand_bytes(
    shown: list[dict[str, Any]],
) -> None:
    """At most, also where a name is long, or holds anything."""
    outer, inner = Live("outer"), Live("inner")

    for live, facts in ((outer, FACTS), (inner, FACTS), (outer, LONG)):
        live.tell(facts)
    for live in (outer, inner):
        live.tell(replace(FACTS, ran_s=9.1))
        live.close()

    ended = [f"{name} ended after 9.1 s" for name in ("outer", "inner")]
    line = LINE.replace("6.1", "9.1")
    said = [data["text/plain"] for data in shown]
    assert said == [LINE, said[1], line, ended[0], line, ended[1]]
    assert (len(json.dumps(shown[1])) <= 1_000, "\n" in said[1]) == (True, False)
    assert 'aria-valuenow="50"' in shown[1]["text/html"]


@pytest.mark.parametrize(
    ("front_end", "how"), [("jupyter", ""), ("vscode", "; to stop: interrupt the kernel")]
)
def test_how_to_stop_it_stands_beside_the_line(
    shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, front_end: str, how: str
) -> None:
    """A button where a click can do it; it is not drawn anew while somebody presses it."""
    monkeypatch.setattr(live_module, "front_end", lambda: front_end)
    live = Live()

    for ran_s in (1.0, 1.25, 1.5, 1.75, 2.0):
        live.tell(replace(FACTS, ran_s=ran_s))
    live.close()

    assert [data["text/plain"][27:] for data in shown[:-1]] == [
        f"{second}.0 s, 10 to 15 s left{how}" for second in (1, 2)
    ]
    button = 'data-commandlinker-command="kernelmenu:interrupt"'
    assert [button in data.get("text/html", "") for data in shown] == [not how, not how, False]


def test_how_long_is_read_is_told_until_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, live = StringIO(), Live()
    monkeypatch.setattr(live_module, "_STAYS_S", 0.002)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    before = _thread._count()

    live.tell(FACTS)
    live.tell(replace(FACTS, is_over=True))
    while terminal.getvalue().count("reading what was measured, 0.0 s") < 2:
        pass  # a test that hangs is red
    live.close()

    while _thread._count() > before:
        pass
    assert terminal.getvalue().endswith("reading what was measured, 0.0 s\r\x1b[K")


def test_in_a_terminal_one_line_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, live = StringIO(), Live()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "61")
    monkeypatch.setenv("TERM", "xterm")

    live.tell(FACTS)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    live.tell(FACTS)
    live.tell(replace(FACTS, is_over=True))
    live.tell(FACTS)  # of what follows: the runs of an experiment

    said = f"{LINE}; Ctrl-C stops"[:60]
    ended = "\r\x1b[Kreading what was measured"
    assert terminal.getvalue() == f"\r\x1b[K{said}{ended}\r\x1b[K{said}"
