"""The widget, the view while something runs, and who shows what is displayed."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from pythons import python

from jupyter_serprof.model import Sweep, Trace, UsageError, load, to_document
from jupyter_serprof.model.anatomy import Anatomy
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.notebook import widget as widget_module
from jupyter_serprof.views.notebook.widget import WIDGET_VIEW, front_end, widget_for, widget_view
from jupyter_serprof.views.text import text

DATA = Path(__file__).parents[1] / "data"


def small(name: str = "small") -> Trace:
    return make_trace([("pickle.dumps", "client/main", 0, 4, 800)], name=name)


def sweep() -> Sweep:
    doc = load(DATA / "sweep.v1.serprof.json")
    assert isinstance(doc, Sweep)
    return doc


def shell(monkeypatch: pytest.MonkeyPatch, **attributes: object) -> None:
    made = SimpleNamespace(**{"user_ns": {}, **attributes})
    module = ModuleType("IPython")
    module.get_ipython = lambda: made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)


def test_a_program_has_no_front_end() -> None:
    """Nor does a line while something runs wait for what draws."""
    program = "import sys; from jupyter_serprof.views.notebook.live import front_end as found\n"
    said = python(f"{program}print(found(), 'jupyter_serprof.views.figure' in sys.modules)")
    assert said == "none False\n"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, "terminal"),
        ({"kernel": object()}, "jupyter"),
        ({"kernel": object(), "user_ns": {"__vsc_ipynb_file__": "x.ipynb"}}, "vscode"),
    ],
)
def test_the_shell_tells_the_front_end(
    monkeypatch: pytest.MonkeyPatch, attributes: dict[str, object], expected: str
) -> None:
    shell(monkeypatch, **attributes)

    assert front_end() == expected


def test_colab_and_marimo_are_known_by_their_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marimo counts only in its notebook: an imported marimo is no front end."""
    marimo = ModuleType("marimo")
    marimo.running_in_notebook = lambda: True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "marimo", marimo)

    assert front_end() == "marimo"
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    assert front_end() == "colab"


@pytest.mark.parametrize(
    ("front", "carries"), [("vscode", True), ("colab", True), ("jupyter", False), ("none", False)]
)
def test_only_front_ends_without_our_extension_get_a_widget(
    monkeypatch: pytest.MonkeyPatch, front: str, *, carries: bool
) -> None:
    """In JupyterLab the document itself is drawn; a widget would be dead tomorrow."""
    monkeypatch.setattr(widget_module, "front_end", lambda: front)

    assert (WIDGET_VIEW in widget_view(small())) is carries


def test_a_widget_carries_the_document_and_says_it_in_words() -> None:
    made = widget_for(small(), view="waterfall")
    data, _ = made._repr_mimebundle_()

    assert json.loads(made.document) == to_document(small())
    assert data["text/plain"] == text(small(), view="waterfall") == repr(made)
    assert data[WIDGET_VIEW]["model_id"] == made.model_id


def test_each_document_has_its_widget_and_show_replaces_it() -> None:
    made = widget_for(sweep())

    made.show(small())

    blamed = replace(small(), anatomies=(Anatomy(name="a"),))
    widgets = [widget_for(doc) for doc in (sweep(), small(), blamed)]
    names = [type(widget).__name__ for widget in (made, *widgets)]
    assert names == ["SweepWidget", "SweepWidget", "TraceWidget", "AnatomyWidget"]
    assert len({widget._esm for widget in widgets}) == 3
    assert json.loads(made.document) == to_document(small())


def test_a_widget_of_an_unknown_view_is_refused() -> None:
    with pytest.raises(UsageError):
        widget_for(small(), view="pie")


def test_a_live_view_loads_no_library_that_is_measured() -> None:
    program = (
        "import sys; from jupyter_serprof.testing import make_trace\n"
        "from jupyter_serprof.views.notebook import live\n"
        "from jupyter_serprof.views.notebook.widget import widget_for\n"
        "widget_for(make_trace([('gc', 'client/main', 0, 1)]))\n"
        "print(*sys.modules)"
    )

    loaded = set(python(program).split())

    assert "anywidget" in loaded
    assert not {"cloudpickle", "ray", "dask", "distributed", "numpy", "pandas"} & loaded
