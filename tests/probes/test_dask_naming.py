"""What Dask meets item by item before there is a graph: who asked, for what, and what does not."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_serprof import record
from jupyter_serprof.model import Finding

dask: Any = pytest.importorskip("dask")
db: Any = pytest.importorskip("dask.bag")
ROWS = [{"id": at, "x": at / 7} for at in range(20_000)]
TOLD = "`rows` of 20,000 items was looked through one by one"


def told(code: Callable[[], object]) -> list[Finding]:
    with record("x") as recording:
        code()
    return [one for one in recording.trace.findings if one.rule == "dask.repeated-payload"]


@pytest.mark.parametrize(
    ("call", "is_bag"),
    [(lambda rows: db.from_sequence(rows, npartitions=4), True), (dask.delayed(len), False)],
    ids=["a bag of it", "a call with it"],
)
def test_what_is_looked_through_item_by_item_is_named(
    call: Callable[[Any], object], is_bag: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line below it gives the same, and is told of no more."""
    monkeypatch.setattr(sys.modules["__main__"], "rows", ROWS, raising=False)
    names: dict[str, Any] = {"rows": ROWS, "dask": dask, "db": db}

    [one] = told(lambda: call(ROWS))

    assert one.title.startswith(TOLD)
    assert ("from_sequence" in one.because) == is_bag
    assert told(lambda: exec(one.remedy, names)) == []  # noqa: S102  (as who pastes it)
    made = names["bag" if is_bag else "rows"]
    assert list(made.compute(scheduler="sync")) == ROWS


def test_of_what_has_no_name_the_remedy_is_told_in_words() -> None:
    [one] = told(lambda: db.from_sequence([{"a": at} for at in range(20_000)]))

    assert one.title.startswith("20,000 items were looked through one by one")
    assert (one.remedy, "traverse=False" in one.because) == ("", True)
    [name] = told(lambda: dask.base.tokenize(ROWS))
    assert (name.remedy, name.because) == ("", "`tokenize` makes a name from all of them")
