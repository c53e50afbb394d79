"""Classes that travel by value: a measurement leaves those of the user as they are."""

import pickle
import sys
from collections.abc import Callable
from threading import Thread
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

import jupyter_serprof as sp
from jupyter_serprof.api import run
from jupyter_serprof.experiments.blame.recording import BlameRun
from jupyter_serprof.experiments.remedies.ways import GrowingBlock, PickleWay
from jupyter_serprof.objects.classes import classes_kept

SOURCE = """
import enum
limit = 1
def rebuilt(): return Model()
class Model:
    large = list(range(100))
    def predict(self): return limit
    def __reduce__(self): return rebuilt, ()
class Colour(enum.Enum):
    RED = 1
class Plain:
    def __init__(self): self.kinds = [Model, Colour.RED, Model()]
    def predict(self): return limit
"""


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The namespace of a notebook: its classes travel by value."""
    module = ModuleType("__main__")
    exec(SOURCE, vars(module))  # noqa: S102  (as a cell is)
    monkeypatch.setitem(sys.modules, "__main__", module)
    return module


def _by_value(value: object) -> None:
    PickleWay(GrowingBlock(), by_value=True).send(value)


@pytest.mark.parametrize("kind", ["Model", "Plain"])
@pytest.mark.parametrize(
    "measure",
    [
        lambda value: sp.roundtrip(value, transports=["cloudpickle"], repeat=2),
        lambda value: run(BlameRun(value)),
        lambda value: sp.sweep(lambda _: value, sizes=[1], transports=["cloudpickle"]),
        _by_value,
    ],
    ids=["round trip", "blame", "sweep", "remedy"],
)
def test_classes_of_the_user_stay_as_they_are(
    measure: Callable[[object], object], kind: str, notebook: Any
) -> None:
    """Their methods see the globals of the notebook, and what pickled before does still."""
    value = getattr(notebook, kind)()
    made = vars(type(value)).copy()

    measure(value)
    notebook.limit = 2

    # pickle itself adds `__slotnames__`.
    assert {key: vars(type(value))[key] for key in made} == made
    assert value.predict() == 2
    assert pickle.loads(pickle.dumps(value)).predict() == 2


def test_what_others_load_meanwhile_is_theirs(notebook: Any) -> None:
    """Another thread gets what cloudpickle gives; a class that is not known yet is filled."""
    data, methods = cloudpickle.dumps(notebook.Model), []
    plain = cloudpickle.cloudpickle._class_setstate

    with classes_kept():
        cloudpickle.loads(data)
        methods.append(notebook.Model.predict)
        there = Thread(target=cloudpickle.loads, args=[data])
        there.start()
        there.join()
        methods.append(notebook.Model.predict)
        cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()
        other = cloudpickle.loads(data)

    assert methods[0] is not methods[1]
    assert other.large == notebook.Model.large
    assert other is not notebook.Model
    assert cloudpickle.cloudpickle._class_setstate is plain


def test_pickles_made_meanwhile_are_the_same(notebook: Any) -> None:
    """What stands for cloudpickle's function has its name, and that is what a pickle holds."""
    before = cloudpickle.dumps(notebook.Model)

    with classes_kept():
        during = cloudpickle.dumps(notebook.Model)

    assert during == before
