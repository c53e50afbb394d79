"""A private file: none of what was planted in a document is in it, and the picture still reads."""

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from strategies import sweeps, traces

import jupyter_serprof as sp
from jupyter_serprof import model
from jupyter_serprof.analysis import analyse
from jupyter_serprof.model.private import _Replacements, without_names
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.notebook.page import html
from jupyter_serprof.views.text import text

#: What is planted, by where; some are words that our own sentences have, too.
SECRETS = {
    "code literal": "hunter2",
    "variable": "salaries_df",
    "dict key": "Alice Aardvark",
    "array": "patients_xyz",
    "class": "AcmeLedger",
    "function": "score_debtors",
    "module path": "/home/zaphod/acme_corp/ledger.py",
    "task": "load_payroll-9f8e7d",
    "message": "no route to vault 17",
    "span": "decrypt the mailbox",
    "run": "merger of Foobaz and Barqux",
    "host": "tcp://10.20.30.40:8786",
    "note": "seen by zebediah",
    "error class": "QuuxError",
}
#: The parts by which each could be known.
TRACES_OF_THEM = (
    *("hunter", "salaries", "Aardvark", "Alice", "patients", "Acme", "debtors", "zaphod", "acme"),
    *("payroll", "9f8e7d", "vault", "mailbox", "decrypt", "merger", "10.20", "30.40", "zebediah"),
    *("Foobaz", "Barqux", "Ledger", "ledger.py", "Quux"),
)
CHANGES = (model.Change("ray.store", "Store", 5, None, "only before"),)
FORMATS = ("serprof.json", "html", "svg", "png", "md", "csv", "trace.json")


def secret_trace() -> model.Trace:
    """Return a trace that holds every secret, in fields and in sentences."""
    of = SECRETS
    code = f"connect('{of['code literal']}').send({of['variable']})"
    error = f"{of['error class']}: {of['message']}"
    spans = [
        ("ray.store", "client/main", 0, 4, 80_000, -1, {"captured": [[of["variable"], 9, "x"]]}),
        ("ray.pickle", "client/main", 1, 1, 80_000, 0, {"error": error, "value_type": of["class"]}),
        (f"user:{of['span']}", "client/main", 5, 2),
        ("dask.compute", f"worker {of['host']}/thread 1", 7, 2),
    ]
    bare = analyse(make_trace(spans, name=code))
    named = [bare.spans[0], *(span._replace(name=of["task"]) for span in bare.spans[1:])]
    parts = (
        model.Part(of["array"], of["array"], of["class"], -1, 10, 90),
        model.Part(
            f'["{of["dict key"]}"]', f'{of["array"]}["{of["dict key"]}"]', "ndarray (3)", 0, 50, 50
        ),
        model.Part(
            f"<class {of['class']}>",
            f"{of['array']}<class {of['class']}>",
            f"class {of['class']}",
            *(0, 30, 30),
            note=error,
            state="unpicklable",
        ),
        model.Part(
            f".{of['function']}", f"{of['array']}.{of['function']}", f"function {of['function']}",
            *(0, 0, 0),
        ),
    )  # fmt: skip
    culprit = parts[1].path
    rows = (
        (of["task"], of["host"], of["array"], 5),
        (of["function"], of["module path"], "dict", 6),
    )
    columns = (
        *(model.TableColumn("prefix", "Prefix"), model.TableColumn("worker", "Worker")),
        *(model.TableColumn("object", "Object"), model.TableColumn("bytes", "Bytes", "bytes")),
    )
    return replace(
        bare,
        spans=tuple(named),
        lanes=(*bare.lanes, model.Lane(f"worker {of['host']}/comm", "worker")),
        summary=model.Summary(
            headline=f"`{culprit}` is 55 % of 90 B; {code} took 9.00 ms",
            facts=(f"{of['span']} 2.00 ms", f"memcpy here 10.0 GB/s for {of['class']}"),
        ),
        findings=(
            model.Finding(
                "ray.captured-variable",
                "warn",
                f"the function captures global {of['variable']}: 1.00 MB travel with its code",
                {"name": of["variable"], "size_bytes": 9, "layer": of["task"], "why": of["note"]},
                f"ref = ray.put({of['variable']})   # then pass ref: {of['function']}.remote(ref)",
                spans=(0,),
            ),
        ),
        groups=(model.Group(f"{of['function']}().compute()", 0, 9),),
        tables=(
            model.Table("dask.tasks", f"Tasks of {of['task']}", columns, rows, f"On {of['host']}."),
        ),
        anatomies=(model.Anatomy(name=of["array"], parts=parts, notes=(f"by {of['note']}",)),),
        comparison=model.Comparison(
            before=of["run"],
            after=code,
            changes=(model.Change("ray.store", "Store", 5, 4, "faster"),),
        ),
        quality=model.Quality(
            probes=(model.ProbeReport("ray", "2.60.0", unseen=(of["module path"], of["note"])),),
            notes=(f"{of['run']}: {of['host']} does not answer: {error}",),
        ),
        environment={"python": "3.11.7", "host": of["host"], "dask": "2026.8.0"},
    )


def secret_sweep() -> model.Sweep:
    """Return a sweep with the same secrets, and the trace in it."""
    of = SECRETS
    key = f"way of {of['function']}"
    return model.Sweep(
        name=of["run"],
        started="2026-01-31T12:00:00+00:00",
        kind="sweep",
        parameter=of["variable"],
        producer="jupyter_serprof 0.1.0",
        variants=(
            model.Variant(
                *(key, f"{of['class']} by {of['function']}", "failed"),
                reason=f"{of['error class']}: {of['message']}",
                facts={"unranked": f"same as {of['class']}", "file": of["module path"]},
                notes=(f"{of['dict key']} changed its type",),
            ),
            model.Variant("pickle", "pickle in-band"),
        ),
        points=(
            model.Point(key, 1_000, 0, True, 9_000, 5, {f"user:{of['span']}": 8_000}),  # noqa: FBT003
            model.Point("pickle", 1_000, 0, True, 9_000, 5, {"pickle.dumps": 8_000}),  # noqa: FBT003
        ),
        traces=(model.SweepTrace(key, 1_000, True, secret_trace()),),  # noqa: FBT003
        fits=(
            model.Fit(
                variant=key, cold=True, from_bytes=1, to_bytes=9, growth="linear", cause=of["note"]
            ),
        ),
        crossovers=(
            model.Crossover(
                title=f"{of['function']} overtakes pickle",
                cold=True,
                faster=key,
                from_bytes=1,
                to_bytes=9,
            ),
        ),
        summary=model.Summary(f"{of['run']}: {of['class']} is fastest"),
        findings=(
            model.Finding("a.b", "info", f"see {of['module path']}", {}, f"{of['variable']} = 1"),
        ),
    )


def told(content: bytes) -> list[str]:
    """Return what of the secrets is in a file."""
    return [part for part in TRACES_OF_THEM if part.encode() in content]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("make", [secret_trace, secret_sweep])
def test_no_secret_is_in_a_private_file(ending: str, make: Any, tmp_path: Path) -> None:
    """Whatever the format; a public file of text has them, so the search finds them."""
    sp.save(make(), tmp_path / f"public.{ending}")
    sp.save(make(), tmp_path / f"private.{ending}", private=True)

    assert told((tmp_path / f"private.{ending}").read_bytes()) == []
    assert ending == "png" or told((tmp_path / f"public.{ending}").read_bytes())


@pytest.mark.parametrize("ending", ["md", "csv"])
def test_what_is_only_text_is_private_too(ending: str, tmp_path: Path) -> None:
    trace = secret_trace()
    assert trace.comparison is not None

    for document in (trace.comparison, trace.anatomies[0]):
        sp.save(document, tmp_path / f"x.{ending}", private=True)

        assert told((tmp_path / f"x.{ending}").read_bytes()) == []


@pytest.mark.parametrize("make", [secret_trace, secret_sweep])
def test_every_secret_stands_in_the_public_document(make: Any) -> None:
    everything = repr(model.to_document(make()))

    assert [name for name, secret in SECRETS.items() if secret not in everything] == []


@pytest.mark.parametrize("make", [secret_trace, secret_sweep])
def test_a_private_file_is_read_and_drawn(make: Any, tmp_path: Path) -> None:
    """As text and as a page; stages, numbers and findings are what they were."""
    sp.save(make(), tmp_path / "x.serprof.json", private=True)
    loaded = sp.load(tmp_path / "x.serprof.json")

    assert told((text(loaded) + html(loaded)).encode()) == []
    assert model.to_document(loaded) == model.to_document(without_names(make()))
    if isinstance(loaded, model.Trace):
        assert "Store" in text(loaded)
        assert [stage.title for stage in loaded.stages if stage.key == "ray.store"] == ["Store"]
        assert loaded.environment["dask"] == "2026.8.0"
        assert loaded.wall_ns == make().wall_ns


def test_the_same_name_has_the_same_replacement() -> None:
    """In fields, paths and sentences; a key, a code and a name are told apart."""
    private = without_names(secret_trace())

    parts = private.anatomies[0].parts
    array, variable = parts[0].path, str(private.findings[0].evidence["name"])
    assert array.startswith("[name ")
    assert parts[1].path == f"{array}[key 1]"
    assert private.tables[0].rows[0][2] == private.anatomies[0].name == array
    assert private.name.startswith("[code ")
    assert private.summary is not None
    assert private.summary.headline == (
        f"`{array}[key 1]` is 55 % of 90 B; {private.name} took 9.00 ms"
    )
    assert private.findings[0].title == (
        f"the function captures global {variable}: 1.00 MB travel with its code"
    )
    assert private.findings[0].remedy.startswith(f"ref = ray.put({variable})   # then pass ref:")


def test_a_real_recording_keeps_our_own_words() -> None:
    """No word of headline, facts and notes is lost but names."""
    import pickle

    with sp.record("zz top") as recording:
        pickle.dumps(list(range(50_000)))

    private = without_names(recording.trace)

    assert recording.trace.summary is not None
    assert private.summary is not None
    assert private.summary.facts == recording.trace.summary.facts
    told_now = recording.trace.summary.headline.replace("zz top", "[name 1]")
    assert private.summary.headline == told_now
    seen = [replace(each.quality, probes=()) for each in (private, recording.trace)]
    assert seen[0] == seen[1]  # probes name modules of the user
    assert private.stages == recording.trace.stages


@pytest.mark.parametrize("name", ["error", "only before", "sweep", "failed", "not running", "warn"])
def test_a_name_that_our_format_has_too_damages_nothing(name: str) -> None:
    """What is chosen from a few words stays what it is."""
    sweep = secret_sweep()
    trace = replace(sweep.traces[0].trace, name=name, outcome="error")
    trace = replace(trace, comparison=model.Comparison(before=name, after="b", changes=CHANGES))
    made = replace(sweep, name=name, traces=(model.SweepTrace("pickle", 1_000, True, trace),))  # noqa: FBT003

    for document in (made, trace):
        private = without_names(document)

        assert private.name == "[name 1]"
        assert model.from_document(model.to_document(private)) is not None


def test_what_a_span_has_is_not_compared_with_all_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand spans, each with names of its own, took more than ten minutes."""
    own = [{"captured": [[f"v{at}q", 1, "global"]], "why": f"w{at}q"} for at in range(50)]
    trace = make_trace([("ray.store", "client/main", 0, 1, 5, -1, details) for details in own])
    compared: list[tuple[str, int]] = []

    def noted(self: Any, text: str) -> str:
        compared.append((text, len(self._known)))
        return text

    monkeypatch.setattr(_Replacements, "_without_known", noted)
    private = without_names(replace(trace, name="zz"))

    assert len({str(span.details) for span in private.spans}) == len(own)
    assert not any(text.endswith("q") for text, _ in compared)
    assert max(count for _, count in compared) < len(own)


def test_a_round_trip_keeps_its_transports() -> None:
    sweep = sp.roundtrip(list(range(2_000)), transports=["pickle", "cloudpickle"], name="zz")

    private = without_names(sweep)

    assert private.variants == sweep.variants
    assert [entry.trace.name for entry in private.traces] == [
        entry.trace.name for entry in sweep.traces
    ]


@settings(max_examples=50)
@given(traces() | sweeps())
def test_any_document_can_be_made_private(document: model.Trace | model.Sweep) -> None:
    """Its copy is a document: numbers and places as before, and what it does not hold stays out."""
    private = without_names(document)

    assert model.to_document(model.from_document(model.to_document(private))) == model.to_document(
        private
    )
    assert numbers(private) == numbers(document)


def numbers(value: Any) -> list[object]:
    """Return all that is no text, in order; mappings aside, whose keys may fall together."""
    if is_dataclass(value):
        return [found for field in fields(value) for found in numbers(getattr(value, field.name))]
    if isinstance(value, tuple | list):
        return [found for item in value for found in numbers(item)]
    return [] if isinstance(value, str | dict) else [value]


def test_the_environment_makes_it_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERPROF_PRIVATE", "1")

    sp.save(secret_trace(), tmp_path / "default.md")
    sp.save(secret_trace(), tmp_path / "asked.md", private=False)
    monkeypatch.setenv("SERPROF_PRIVATE", "0")
    sp.save(secret_trace(), tmp_path / "off.md")

    assert told((tmp_path / "default.md").read_bytes()) == []
    assert told((tmp_path / "asked.md").read_bytes())
    assert told((tmp_path / "off.md").read_bytes())


def test_a_pdf_is_refused_as_ever(tmp_path: Path) -> None:
    with pytest.raises(model.UsageError, match=r"\.html, \.png"):
        sp.save(secret_trace(), tmp_path / "x.pdf", private=True)
