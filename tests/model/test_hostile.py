"""Hostile files: whatever stands in one, it is refused with a reason, or a document, and small."""

import base64
import json
import random
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from jupyter_serprof.model import Anatomy, DocumentError, Sweep, Trace, load
from jupyter_serprof.model.anatomy import Part, anatomy_document

DATA = Path(__file__).parent.parent / "data"
SEEDS = [json.loads(file.read_text()) for file in sorted(DATA.glob("*.serprof.json"))]
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63 - 1, -(2**63), 2**80, 1e308, 0.5, "", "x" * 999, "\ud800"),
    *([], {}, [[]], {"": {}}, [0] * 999, {"n": 10**9}, "NaN", float("nan"), float("inf")),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container of JSON data with each key in it."""
    if not isinstance(value, dict | list):
        return
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        yield from places(item)


@cache
def packed(values: int, count: int, level: int = 9) -> dict[str, object]:
    """Return a column that says one number again and again."""
    raw = zlib.compress(values.to_bytes(8, "little", signed=True) * count, level)
    data = base64.b64encode(raw).decode()
    return {"enc": "deflate+b64", "dtype": "int64", "n": count, "data": data}


def expanded(draw: random.Random) -> Any:
    """Return a trace whose columns, all of them true, are long and take next to nothing."""
    made = json.loads(json.dumps(SEEDS[-1]))
    count = draw.choice([65, 10_000, 100_000, 1_000_000])
    made["spans"] = {key: packed(0, count) for key in made["spans"]} | {"parent": packed(-1, count)}
    return {**made, "details": {}, "findings": [], "anatomies": [], "waterfall": None}


def many(draw: random.Random) -> Any:
    """Return a sweep of many such traces."""
    made = json.loads(json.dumps(SEEDS[0]))
    entry = made["traces"][0]
    small = expanded(draw)
    small["spans"] = {k: packed(-1 if k == "parent" else 0, 1000) for k in small["spans"]}
    made["traces"] = [{**entry, "trace": small}] * draw.choice([3, 100])
    return made


def deep(draw: random.Random) -> Any:
    """Return a trace with an anatomy that is one long chain of long names."""
    made, count = expanded(draw), draw.choice([100, 3000, 100_000])
    parts = anatomy_document(Anatomy(name="x", parts=(Part("x", "x", "bytes", -1, 1, 1),)))
    chain = {key: packed(0, count) for key in parts["parts"]}  # type: ignore[attr-defined]  # JSON
    numbers = b"".join(number.to_bytes(8, "little", signed=True) for number in range(-1, count - 1))
    data = base64.b64encode(zlib.compress(numbers)).decode()
    chain["parent"] = {**chain["parent"], "data": data}
    made["spans"] = {key: [] for key in made["spans"]}
    made["anatomies"] = [{**parts, "strings": ["k" * draw.choice([3, 999])], "parts": chain}]
    return made


def changed(draw: random.Random) -> Any:
    """Return a document with one to four values replaced, taken out, doubled or moved."""
    made = json.loads(json.dumps(draw.choice(SEEDS)))
    for _ in range(draw.randint(1, 4)):
        around, key = draw.choice(list(places(made)) or [({}, "")])
        what = draw.randrange(4)
        if what == 0:
            around[key] = deepcopy(draw.choice(ODD))
        elif what == 1 and key in around:
            del around[key]
        elif what == 2 and isinstance(around, list):
            around += around[:1] * draw.choice([1, 1000])
        else:
            other, place = draw.choice(list(places(made)))
            around[key] = json.loads(json.dumps(other[place]))
    return made


def torn(draw: random.Random) -> bytes:
    """Return the bytes of a document with some bits turned, or without its end."""
    content = bytearray(json.dumps(draw.choice(SEEDS)).encode())
    for _ in range(draw.randint(1, 8)):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(content[: draw.randrange(len(content))] if draw.random() < 0.3 else content)


def nested(draw: random.Random) -> bytes:
    """Return what is deep, wide, long or given twice."""
    count = draw.choice([50, 5000, 50_000])
    return draw.choice(
        [
            b"[" * count,
            b'{"a":' * count + b"1" + b"}" * count,
            b'{"format":"serprof.trace","version":1,"name":' + b"9" * count + b"}",
            b'{"format":"serprof.trace",' + b'"a":1,' * count + b'"b":1}',
            json.dumps({**SEEDS[-1], "name": "x" * count}).encode(),
            json.dumps({**SEEDS[-1], "strings": [""] * count}).encode(),
        ]
    )


MAKERS: tuple[Callable[[random.Random], Any], ...] = (
    *(changed, changed, changed, torn, torn, nested, expanded, many, deep),
)
#: What JSON itself takes in Python, of a file of empty lists; and what any reading takes.
TIMES, FREE_BYTES = 45, 12_000_000


def check(seed: int, folder: Path) -> str:
    """Load one hostile file; return what became of it."""
    draw = random.Random(seed)  # noqa: S311
    made = draw.choice(MAKERS)(draw)
    content = made if isinstance(made, bytes) else json.dumps(made).encode()
    file = folder / "x.serprof.json"
    file.write_bytes(content)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        document: object = load(file)
    except DocumentError as error:
        document = str(error)
        assert 10 < len(document) < 500
    taken = tracemalloc.get_traced_memory()[1] - before
    assert taken <= TIMES * len(content) + FREE_BYTES, f"seed {seed}: {taken} of {len(content)}"
    assert isinstance(document, str | Trace | Sweep | Anatomy)
    return type(document).__name__


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 10_000), marks=pytest.mark.slow_fault)]
)
def test_whatever_stands_in_a_file_it_is_refused_or_loaded_and_small(
    tmp_path: Path, seeds: range
) -> None:
    """Nothing but `DocumentError`, and memory of the order of the file."""
    tracemalloc.start()
    try:
        results = [check(seed, tmp_path) for seed in seeds]
    finally:
        tracemalloc.stop()

    assert {"str", "Trace"} <= set(results)
