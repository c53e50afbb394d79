"""Lines to paste: each does exactly what was measured, on the very object that was tried."""

import io
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sized
from dataclasses import replace
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest

from jupyter_serprof.experiments.remedies.forms import forms_of, offered
from jupyter_serprof.experiments.remedies.gain import Trial, finding_of
from jupyter_serprof.experiments.remedies.table import REMEDIES
from jupyter_serprof.experiments.remedies.trial import Candidate, trial_steps
from jupyter_serprof.experiments.remedies.value import Tryout
from jupyter_serprof.experiments.remedies.ways import PickleWay, Trip
from jupyter_serprof.model import Finding
from jupyter_serprof.objects.equality import same_value
from jupyter_serprof.testing import make_trace

NAMES = [f"n{at % 7}" for at in range(2_000)]
NUMBERS = np.arange(40_000.0)


def mixed_frame(*labels: Any) -> pd.DataFrame:
    """Return texts, numbers and texts under these labels."""
    return pd.DataFrame(
        {
            labels[0]: pd.Series(NAMES, dtype=object),
            labels[1]: range(2_000),
            labels[2]: pd.Series([f"text {at}" for at in range(2_000)], dtype=object),
        }
    )


#: By what they are: each is sent in all the forms that it has.
VALUES: dict[str, Callable[[], Any]] = {
    "frame": lambda: mixed_frame("s", "n", "NAME"),
    "frame labelled by dates": lambda: mixed_frame(*map(pd.Timestamp, ("2020", "2021", "2022"))),
    "frame labelled None": lambda: pd.DataFrame(
        {None: pd.Series(NAMES, dtype=object), "n": range(2_000)}
    ),
    "frame with levels": lambda: mixed_frame(("a", "s"), ("a", "n"), ("b", 'q"')),
    "wide frame": lambda: pd.DataFrame({f"c{at}": NAMES for at in range(10)} | {"n": 1}),
    "series": lambda: pd.Series(NAMES, dtype=object),
    "numbers": lambda: pd.DataFrame({"i": range(2_000), "x": [0.5] * 2_000}, dtype=object),
    "rows": lambda: [{"id": at, "x": at / 7, "NAME": f"n{at}"} for at in range(500)],
    "rows of numbers": lambda: tuple({"id": at, "x": at / 7} for at in range(500)),
    "rows of texts": lambda: [{"a": f"{at}", "b": None} for at in range(500)],
    "ragged rows": lambda: [{"id": at, "v": [1] * (at % 3)} for at in range(500)],
    "mostly numbers": lambda: [{"a": 1, "b": 2, "c": 3.5, "t": f"{at}"} for at in range(500)],
    "rows with dates for keys": lambda: [{date(2020, 1, 1): at, "t": "x"} for at in range(500)],
    "floats": lambda: [0.5] * 1_000,
    "ints": lambda: tuple(range(1_000)),
    "objects": lambda: np.array([1.5] * 1_000, dtype=object),
    "tuples of numbers": lambda: [(at, 2 * at) for at in range(500)],
    "tuples of texts and numbers": lambda: [(at, f"{at}") for at in range(500)],
    "texts": lambda: [f"text {at}" for at in range(1_000)],
    "arrays": lambda: [np.arange(9.0)] * 10,
    "strided": lambda: NUMBERS.reshape(200, 200)[:, ::2],
    "array": lambda: np.arange(1_100_000.0),
}


def candidates(value: object, name: str, **keywords: Any) -> Iterator[Candidate]:
    pytest.importorskip("pyarrow")
    tryout = Tryout(value, name=name, **keywords)
    tryout._look()
    yield from tryout._candidates()


def line_of(candidate: Candidate, name: str) -> str:
    """Return the line to paste, as the finding of this candidate has it."""
    long, short = [9_000_000 + at for at in range(15)], [1_000_000 + at for at in range(15)]
    trips = tuple([Trip({"pickle.dumps": ns}, 1, None) for ns in side] for side in (long, short))
    finding = finding_of(replace(candidate.trial, trips=trips, equal=True), name)
    assert finding
    return finding.remedy


def run(line: str, name: str, value: object) -> dict[str, Any]:
    """Paste the line into a notebook that has the usual imports and the value."""
    import pyarrow as pa

    names: dict[str, Any] = {"np": np, "pd": pd, "pa": pa, "pickle": pickle, "io": io}
    names |= {"cloudpickle": cloudpickle, name: value}
    exec(line, names)  # noqa: S102  (what the user would paste)
    return names


def shape_of(value: Any) -> object:
    """Return types and dtypes, down to those of parts."""
    if isinstance(value, pd.DataFrame):
        return [(label, str(dtype)) for label, dtype in value.dtypes.items()]
    if isinstance(value, dict):
        return {key: shape_of(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.flags.c_contiguous
    if isinstance(value, pd.Series):
        return str(value.dtype)
    if not isinstance(value, Sized):
        return type(value)
    parts = {type(part) for part in value} if isinstance(value, list | tuple) else ()
    return type(value), len(value), sorted(map(str, parts))


@pytest.mark.parametrize("name", ["value", "key_of", "rows[3].w"])
@pytest.mark.parametrize("made", VALUES.values(), ids=VALUES)
def test_a_pasted_conversion_gives_what_was_sent(made: Callable[[], Any], name: str) -> None:
    """Values, types and dtypes of all parts; the value itself stays as it was."""
    value, pasted = made(), name if name.isidentifier() else "a"
    root, held = name.partition("[")[0], value if pasted == name else [SimpleNamespace(w=value)] * 4
    before = pickle.dumps(value)
    forms = [c for c in candidates(value, name) if c.form is not None]

    pairs = [(c.form.make(), run(line_of(c, name), root, held)[pasted]) for c in forms if c.form]

    for sent, got in pairs:
        assert type(sent) is type(got)
        assert str(shape_of(sent)) == str(shape_of(got))
        assert same_value(sent, got) is True
    assert same_value(pickle.loads(before), value) is True


@pytest.mark.parametrize("now", ["pickle", "pickle4", "cloudpickle"])
def test_a_conversion_that_goes_out_of_band_is_pasted_with_its_pickle(now: str) -> None:
    """The gain is that of both steps: one of them alone would not give it."""
    value = VALUES["strided"]()
    found = {c.trial.key: c for c in candidates(value, "a", now=now)}
    both = found["contiguous-out-of-band"]
    assert both.form

    names = run(line_of(both, "a"), "a", value)

    sizes = [buffer.raw().nbytes for buffer in names["buffers"]]
    trip = both.after(both.form.make())
    assert (len(names["data"]), sum(sizes)) == (trip.in_band_bytes, trip.out_of_band_bytes)
    assert ("cloudpickle." in line_of(both, "a")) == (now == "cloudpickle")


def test_every_remedy_that_converts_is_pasted_here() -> None:
    seen = {c.trial.key for made in VALUES.values() for c in candidates(made(), "a") if c.form}

    without = {key for key, remedy in REMEDIES.items() if not remedy.code}
    assert seen == without


@pytest.mark.parametrize("now", ["pickle", "pickle4", "cloudpickle"])
def test_a_pasted_pickle_is_what_was_measured(now: str) -> None:
    """The same bytes as in the trial, by the same pickler; they bring the value back."""
    value = np.arange(1_100_000.0)
    found = [c for c in candidates(value, "a", now=now) if c.form is None]

    for candidate in found:
        names = run(line_of(candidate, "a"), "a", value)
        sent = candidate.after(value)
        buffers = names.get("buffers", [])
        data = memoryview(names["data"]).nbytes + sum(b.raw().nbytes for b in buffers)
        assert data == sent.moved_bytes
        assert ("cloudpickle." in line_of(candidate, "a")) == (now == "cloudpickle")
        if candidate.trial.key in ("out-of-band", "reused-buffer", "protocol-5"):
            assert (pickle.loads(names["data"], buffers=buffers) == value).all()
    expected = {"pickle4": {"protocol-5", "reused-buffer"}, "pickle": {"reused-buffer"}}
    assert {c.trial.key for c in found} == {"out-of-band", *expected.get(now, ())}


def test_a_reused_buffer_is_used_again_as_its_line_says() -> None:
    """The remark behind the line can be pasted, too."""
    value = np.arange(1_100_000.0)
    [candidate] = [c for c in candidates(value, "a") if c.trial.key == "reused-buffer"]
    code, _, remark = line_of(candidate, "a").partition("#")
    names = run(code, "a", value)

    exec(remark.partition(": ")[2], names)  # noqa: S102  (what the user would paste)
    names["a"] = value[:3]
    exec(code.partition("; ")[2], names)  # noqa: S102  (what the user would paste)

    assert pickle.loads(names["data"]).tolist() == [0, 1, 2]


def test_only_the_columns_of_the_trial_are_converted() -> None:
    """A column of numbers stays one, and a text stays a text of its own length."""
    frame = VALUES["frame"]()
    rows = [{"id": at, "t": "x" * (100_000 if at == 7 else 3)} for at in range(3_000)]

    lines = {c.trial.key: line_of(c, "df") for c in candidates(frame, "df") if c.form}
    [columns] = [line_of(c, "rows") for c in candidates(rows, "rows") if c.form]

    assert lines["category"].startswith("df = df.astype({'s': 'category'})")
    assert lines["str"].startswith("df = df.astype({'s': 'str', 'NAME': 'str'})")
    made = run(columns, "rows", rows)["rows"]
    assert made["id"].dtype == np.int64
    assert type(made["t"]) is list
    assert len(pickle.dumps(made)) < 1_000_000


def test_what_is_sent_is_made_by_the_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One place: a trial sends what its own line makes, and nothing else."""
    sent: list[object] = []
    real = PickleWay.send

    def send(way: PickleWay, value: object) -> Any:
        sent.append(value)
        return real(way, value)

    monkeypatch.setattr(PickleWay, "send", send)
    value = VALUES["rows"]()
    [candidate] = candidates(value, "rows")

    sides = partial(candidate.sides, value, lambda: True)
    deque(trial_steps(sides, Trial("columns"), lambda: True, 1))

    expected = run(line_of(candidate, "rows"), "rows", value)["rows"]
    assert same_value(sent[1], expected) is True
    assert str(shape_of(sent[1])) == str(shape_of(expected))


@pytest.mark.parametrize("kind", [dict, tuple])
def test_rows_are_offered_as_the_line_that_makes_columns_of_them(kind: type) -> None:
    """In the user's own name, with its import; a value without another form has no line."""
    rows = [kind((("id", at), ("name", f"n{at}"))) for at in range(200)]
    of = ("%serprof --try ray.put(rows)   # w", "%serprof --try x   # w", "d = pickle.dumps(x)")
    asked = tuple(Finding("r", "warn", "t", {}, each) for each in of)
    trace = replace(make_trace([]), findings=asked)
    names: dict[str, Any] = {"rows": rows, "x": 1}

    line, none, sent = (finding.remedy for finding in offered(trace, names).findings)

    assert (none, sent) == ("", "import pickle; d = pickle.dumps(x)")
    assert line.endswith("measured by %serprof --try ray.put(rows)")
    exec(line, names)  # noqa: S102  (what is pasted)
    assert len(names["rows"]) == 2
    back: Any = next(forms_of(rows)).back
    assert back(names["rows"]) == rows
