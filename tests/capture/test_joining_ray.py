"""Puts and gets of Ray, joined: as many and as large as one by one."""

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from jupyter_serprof.capture import freeze as freezing
from jupyter_serprof.capture.hook import Record
from jupyter_serprof.capture.joining import entries_of
from jupyter_serprof.capture.recorder import Recorder
from jupyter_serprof.probes.ray.driver import driver_places
from jupyter_serprof.probes.ray.values import complete_calls
from jupyter_serprof.testing import TickClock

PLACES = {place.name.rpartition(".")[2]: place for place in driver_places(detail=False)}


def _put(start: int, noted: tuple[object, ...]) -> Iterator[Record]:
    yield PLACES["serialize"], 1, start + 10, start + 40, None, noted, None
    yield PLACES["put_object"], 1, start, start + 90, None, None, None


def _get(start: int) -> Iterator[Record]:
    yield PLACES["deserialize_objects"], 1, start + 5, start + 40, None, 5 << 8, None
    yield PLACES["get_objects"], 1, start, start + 90, None, None, None


def _recorded(count: int) -> Recorder:
    recorder = Recorder((), clock=TickClock())
    recorder.thread = 1
    for at in range(count):
        for record in (*_put(at * 300, (7, "MessagePack", None, "int", "")), *_get(at * 300 + 100)):
            recorder.add(record)
    recorder.end_ns = count * 300
    return recorder


def test_puts_and_gets_are_few_and_as_large_as_before() -> None:
    """Ten thousand of each: bytes by place, and calls."""
    page = freezing.page_of(_recorded(10_000))

    complete_calls(page.drafts)

    sizes, calls = Counter[str](), Counter[str]()
    for draft in page.drafts:
        name = draft.name.rpartition(".")[2]
        sizes[name] += draft.size_bytes or 0
        calls[name] += draft.details.get("calls", 1)
    assert len(page.drafts) <= 1_000
    assert set(calls.values()) == {10_000}
    assert sizes["put_object"] == 70_000
    assert sizes["deserialize_objects"] == sizes["get_objects"] == 50_000


def test_a_large_value_is_told_by_itself() -> None:
    """So that it has its name, and whoever puts it again is told."""
    recorder = _recorded(5_000)
    for record in _put(2_000_000, (200_000, "MessagePack", None, "list", "")):
        recorder.add(record)

    entries = entries_of(recorder.page)

    large = [e for e in entries if isinstance(e.record[5], tuple) and e.record[5][3:4] == ("list",)]
    assert [entry.calls for entry in large] == [1]


@pytest.mark.parametrize(
    ("metadata", "value", "noted"),
    [
        ([b"PYTHON"], {"a": (1, 2)}, 5 << 8),
        ([b"RAW", b"RAW"], b"bytes", 10 << 8 | 1),
        ([b"RAW", b"PYTHON"], b"bytes", (10, 5, [], [], 2, False, "")),
    ],
    ids=["plain", "raw", "both"],
)
def test_what_came_out_of_the_store_is_noted_once_a_call(
    metadata: list[bytes], value: object, noted: object
) -> None:
    """As a number, which the collector does not count, where there is nothing more to say."""
    after = PLACES["deserialize_objects"].after
    out = [(SimpleNamespace(size=5), kind, None) for kind in metadata]

    assert after is not None
    assert after(None, (None, out, []), {}, [value] * len(out)) == noted
    assert "_deserialize_object" not in PLACES
