"""``--blame`` in a plain IPython shell: a value, statements, a cell; nothing is held afterwards."""

import gc
import weakref
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from shells import Ran, Shell

from jupyter_serprof import api
from jupyter_serprof.capture.patching import armed_places
from jupyter_serprof.experiments.engine import live
from jupyter_serprof.model import load
from jupyter_serprof.model.units import format_bytes


def test_a_value_is_opened_and_pickled_beside_it(shell: Shell) -> None:
    """The headline says who is to blame; the stages of plain dumps and loads are there, too."""
    Ran(shell, "import numpy as np\nmodel = {'w': np.zeros(100_000), 'name': 'm'}")

    ran = Ran(shell, "%serprof --blame model")

    [anatomy] = ran.trace.anatomies
    assert ran.trace.summary is not None
    assert ran.trace.summary.headline.startswith('`model["w"]` is 100 % of 800 kB, ndarray')
    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes
    assert {"pickle.dumps", "pickle.loads"} <= {span.stage for span in ran.trace.spans}
    assert '["w"]' in ran.bundles[0]["text/plain"]


def test_a_line_is_there_while_its_own_imports_run(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, record = Event(), api.record
    monkeypatch.setattr(live, "AFTER_S", 0.0)
    monkeypatch.setattr(api.Live, "tell_first", lambda *_: heard.set())
    monkeypatch.setattr(api, "record", lambda *of, **how: heard.wait(30) and record(*of, **how))

    assert Ran(shell, "%serprof --blame [1]").trace.anatomies


@pytest.mark.parametrize("sent", ["dumps(model)", "loads(dumps(model))", "len(dumps(model))"])
def test_an_expression_that_pickles_opens_what_it_pickled(shell: Shell, sent: str) -> None:
    """And not the bytes, the copy or the number that it is worth; as %serprof shows its stages."""
    Ran(shell, "from pickle import *\nmodel = {'big': list(range(5_000)), 'small': 1}")

    ran = Ran(shell, f"%serprof --blame {sent}")

    assert [anatomy.parts[0].kind for anatomy in ran.trace.anatomies] == ["dict (2)"]
    assert ran.trace.name == sent
    assert ran.trace.summary
    assert ran.trace.summary.headline.startswith('5,000 int at `model["big"]')
    assert ran.bundles[0]["text/plain"].count(" int at ") == 1
    loads = [span for span in ran.trace.spans if span.stage == "pickle.loads"]
    assert len(loads) == sent.count("loads")  # none but its own
    table = Ran(shell, f"import numpy\nmodel['big'] = numpy.ones(9_999)\n%serprof --blame {sent}")
    copied = "model was pickled in-band: the 80.0 kB told as out-of-band were copied, too"
    assert copied in table.trace.anatomies[0].notes


def test_what_a_call_packs_alone_is_told_by_its_own_name(shell: Shell) -> None:
    """As `client.run(f, big)` of Dask packs its arguments."""
    Ran(shell, "import pickle\nbig = list(range(9_999))")

    [anatomy] = Ran(shell, "%serprof --blame pickle.dumps((big,))").trace.anatomies

    assert anatomy.name == "big"


def test_a_few_of_very_many_pickles_are_not_the_headline(shell: Shell) -> None:
    said = Ran(shell, "import pickle\n%serprof --blame [pickle.dumps(str(k)) for k in range(999)]")

    assert said.trace.summary
    assert "when pickled" not in said.trace.summary.headline
    assert said.trace.summary.facts[0].startswith("opened: the largest 3 of 999 pickles")


@pytest.mark.parametrize(("rows", "is_cause"), [(1, True), (60_000, False)])
def test_who_has_the_bytes_is_the_headline_where_it_has_the_time(
    shell: Shell, rows: int, *, is_cause: bool
) -> None:
    """Of 8 MB of array and many small objects the objects take the time, said once either way."""
    Ran(shell, f"import numpy as np\nbig, small = np.zeros(10**6), list(zip(range({rows})))")

    said = Ran(shell, "%serprof --blame pickle.dumps([big, small])")

    summary, written = said.trace.summary, said.bundles[0]["text/plain"]
    assert summary is not None
    assert (" of 8." in summary.headline) == is_cause
    assert written.count("`<list>[0]` is ") == 1


def test_what_cannot_be_pickled_is_a_document_not_an_error(shell: Shell) -> None:
    """The cell goes on; the picture names the paths."""
    Ran(shell, "import threading\njob = {'a': [threading.Lock()], 'b': threading.Lock()}")

    ran = Ran(shell, "%serprof --blame job")

    assert ran.result.success
    bad = [part.path for part in ran.trace.anatomies[0].parts if part.state == "unpicklable"]
    assert bad == ['job["a"][0]', 'job["b"]']


def test_a_cell_opens_what_crossed_largest_first(shell: Shell) -> None:
    """Its result is as without the magic; what is next to nothing is left out."""
    code = "import pickle\nbig = [str(i) for i in range(5000)]\nhalf = big[:2500]\n"
    cell = "%%serprof --blame\npickle.dumps(half); pickle.dumps(big); pickle.dumps(1)\n7"
    Ran(shell, code)

    ran = Ran(shell, cell)

    assert ran.value == 7
    kinds = [anatomy.parts[0].kind for anatomy in ran.trace.anatomies]
    assert kinds == ["list (5000)", "list (2500)"]
    assert ran.trace.summary is not None
    assert any("after the timed run" in fact for fact in ran.trace.summary.details)
    many = Ran(shell, "%%serprof --blame\nfor r in [big[at:] for at in range(9)]: pickle.dumps(r)")
    assert many.trace.summary
    assert many.trace.summary.facts[0].startswith("opened: the largest 3 of 9 pickles, ")


def test_a_value_that_crosses_several_times_is_opened_once(shell: Shell) -> None:
    """With how often and how many bytes in all; the next largest are opened beside it."""
    code = "import pickle\nbig = [str(i) for i in range(5000)]\nhalf = big[:2500]\n"
    cell = "%%serprof --blame\nsent = sum(len(pickle.dumps(big)) for _ in range(5))\n"
    Ran(shell, code)

    ran = Ran(shell, cell + "pickle.dumps(half, protocol=5); sent")

    big, half = ran.trace.anatomies
    assert (big.parts[0].kind, half.parts[0].kind) == ("list (5000)", "list (2500)")
    assert big.notes[0] == f"{big.name} was pickled 5 times: {format_bytes(ran.value)} in all"
    assert big.notes[1:] == half.notes
    assert ran.bundles[0]["text/plain"].count(" was pickled 5 times: ") == 1


@pytest.mark.parametrize("line", ["%serprof --blame d = dumps(value)", "%%serprof --blame\n{0}"])
def test_functions_that_the_notebook_imported_by_name_are_seen(
    shell: Shell, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``from pickle import dumps`` is how many call it."""
    monkeypatch.setitem(__import__("sys").modules, "__main__", shell.user_module)
    Ran(shell, "from pickle import dumps\nvalue = list(range(500))")

    ran = Ran(shell, line.format("d = dumps(value)"))

    assert [anatomy.name for anatomy in ran.trace.anatomies] == ["value"]


def test_values_are_held_no_longer_than_they_are_opened(shell: Shell) -> None:
    """Also those of a cell that raised; and no hook is left."""
    shell.user_ns["Held"] = type("Held", (), {"__module__": "__main__"})
    shell.user_ns["found"] = found = list[Any]()
    shell.user_ns["weakref"] = weakref
    cell = (
        "%%serprof --blame -q\nimport cloudpickle\none = Held(); one.x = [1] * 500\n"
        "found.append(weakref.ref(one)); cloudpickle.dumps(one); del one\n"
    )

    Ran(shell, cell)
    raised = Ran(shell, cell + "1 / 0")

    assert isinstance(raised.result.error_in_exec, ZeroDivisionError)
    gc.collect()
    assert [reference() for reference in found[:1]] == [None]
    assert armed_places() == []


def test_o_q_and_save_work_as_ever(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "run.serprof.json"

    ran = Ran(shell, f"%serprof --blame -q -o doc --save {file} [list(range(100))] * 3")

    assert ran.documents == []
    saved = load(file)
    assert saved == shell.user_ns["doc"]
    assert [part.state for part in shell.user_ns["doc"].anatomies[0].parts][-1] == "shared"


def test_an_interrupt_passes_and_shows_what_is_known(shell: Shell) -> None:
    """The document of the pickle is there, the anatomy says that it was interrupted."""
    stops = "Stops.left -= 1\n        if Stops.left < 0: raise KeyboardInterrupt"
    reduce = f"def __reduce__(self):\n        {stops}\n        return list, ()"
    Ran(shell, f"class Stops:\n    left = 1\n    {reduce}")

    ran = Ran(shell, "%serprof --blame [Stops()]")

    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    [anatomy] = ran.trace.anatomies
    assert not anatomy.is_complete
    assert anatomy.plain_bytes
    assert ran.trace.summary is not None
    assert ran.trace.summary.facts[0] == "the anatomy was interrupted: what was measured until then"
    shown = ran.bundles[0]["text/plain"]
    assert "0 B" not in shown.partition("stage ")[0]
    assert f"is {format_bytes(anatomy.plain_bytes)} when pickled: nothing is known" in shown
