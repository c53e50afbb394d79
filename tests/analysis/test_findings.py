"""Findings: each fires just above its threshold and not below, with evidence and a remedy."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from dask_golden import DASK_GOLDEN, DASK_SAMPLES
from goldens import check
from typed_code import DASK_CODE, RAY_CODE

from jupyter_serprof.analysis import analyse
from jupyter_serprof.analysis.findings import RULES, find
from jupyter_serprof.model import Finding, Limits, Quality, Trace, from_document, to_document
from jupyter_serprof.model.trace import FORKED, NO_WORKER, Table, TableColumn
from jupyter_serprof.model.units import counted
from jupyter_serprof.objects.ask import holds_objects
from jupyter_serprof.testing import make_trace

BLOCKS = {"ray.execute": "ReadRange->MapBatches(Embed)"}
CALLER = "client/main"
MANY: dict[str, object] = {"small_bytes": 10**9, "objects": 10**8}
MANY_TEXTS = {"small_bytes": 2_000_000, "objects": 100_000}
WARM = Limits(memcpy_bytes_per_s=10e9, first_touch_bytes_per_s=1e9)


def in_band(
    copied: int | None, form: str = "strided", elements: int | None = 1, **look: object
) -> Trace:
    """Return a put whose pickle holds so many bytes."""
    outer = {"element_type": look.pop("element_type", "ndarray")}
    return make_trace(
        [
            ("ray.store", CALLER, 0, 10, copied),
            ("ray.msgpack", CALLER, 0.1, 5, None, 0, {"value_type": "ndarray", "array_form": form}),
            ("ray.pickle", CALLER, 0.2, 4.8, None, 1, {"elements": elements, **outer}),
            ("ray.pickle", CALLER, 0.3, 4, copied, 2, {"in_band_bytes": copied, **look}),
        ]
    )


def sliced(arrow_bytes: int) -> Trace:
    """Return a pickle of a megabyte that is of an Arrow table with so many bytes."""
    known = {"in_band_bytes": 1_000_000, "arrow_bytes": arrow_bytes}
    return make_trace([("pickle.dumps", CALLER, 0, 10, 1_000_000, -1, known)])


def walked(
    elements: int | None,
    walk_ms: float,
    kind: object = "Point",
    pickle_ms: float = 1,
    size: int = 0,
) -> Trace:
    """Return a put of a list, 100 ms long, in which Ray walks its elements."""
    noted, around = {"elements": elements, "element_type": kind}, {"total_bytes": size or None}
    return make_trace(
        [
            ("ray.msgpack", CALLER, 0, walk_ms + pickle_ms, None, -1, around),
            ("ray.pickle", CALLER, 0, pickle_ms, None, 0, noted),
        ],
        wall_ms=100,
    )


def again(*puts: tuple[int | None, int | None]) -> Trace:
    """Return a put for each (key of the value, size)."""
    return make_trace(
        [
            (
                *("ray.msgpack", CALLER, at, 1, None, -1),
                {"value_key": key, "total_bytes": size, "value_type": "ndarray"},
            )
            for at, (key, size) in enumerate(puts)
        ]
    )


def exported(*sizes: int | None, default: str | None = None, **look: object) -> Trace:
    """Return the export of a function that captures variables of these sizes, maybe by default."""
    how = {"kind": "global"} if default is None else {"kind": "default", "variable": default}
    entries = [
        {"name": f"table_{at}", "type": "dict", "size_bytes": size, **how}
        for at, size in enumerate(sizes)
    ]
    return make_trace([("ray.export", CALLER, 0, 5, None, -1, {"captured": entries, **look})])


def lasting(trace: Trace, wall_ms: float) -> Trace:
    """Return a trace that took longer."""
    return replace(trace, wall_ns=round(wall_ms * 1e6))


def native(size: int, kind: str = "list", call: str = "ray.store", **look: str) -> Trace:
    """Return a put of plain values, or a call with them: without a pickle inside."""
    noted = {"total_bytes": size, "value_type": kind, **look}
    return make_trace([(call, CALLER, 0, 11), ("ray.msgpack", CALLER, 1, 10, size, 0, noted)])


def in_order(own_ms: float, ready: int, lane: str = CALLER) -> Trace:
    """Return a get that waits while others are ready; each result is worked on for some time."""
    gets = [("ray.fetch", lane, 500 + at * (own_ms / 4 + 1), 1) for at in range(1, 5)]
    ends = [400 if at < ready else 501 for at in range(4)]
    tasks = [("ray.execute", f"worker {at}", 0, end) for at, end in enumerate(ends)]
    long = [("ray.fetch", lane, 0, 500), ("ray.execute", "worker 9", 0, 499)]
    return make_trace([("ray.submit", CALLER, 0, 1), *long, *gets, *tasks])


def in_calls(count: int, idle_ms: float, caller: str = "caller", sent: int | None = None) -> Trace:
    """Return calls of an actor with pauses between them, while the task runs that calls it."""
    # If it is known when they were ``sent``: each of those behind the end of the one before it.
    end = count * (40 + idle_ms)
    calls = [("ray.execute", "worker 1", 1 + at * (40 + idle_ms), 40) for at in range(count)]
    around = ("ray.execute", "worker 2", 0, end if caller == "caller" else 1)
    waits = [("ray.schedule", "raylet", at * (40 + idle_ms), 1) for at in range(sent or 0)]
    early = [("ray.schedule", "raylet", 0, 1)] * (count - len(waits)) if sent is not None else []
    made = make_trace([around, *calls, *waits, *early], wall_ms=end)
    return named(made, {"ray.schedule": "ray.execute"})


def in_notebook(
    own_ms: float, ahead: int = 0, name: str = "ActorMethod._remote", actors: int = 1
) -> Trace:
    """Return calls of an actor for 40 ms whose results are worked on; some are asked for before."""
    each, spans = 42 + own_ms, list[Any]()
    for at in range(6):
        asked = max(0, at - ahead) * each
        spans += [
            ("ray.submit", CALLER, asked + (at - asked / each) * 0.1, 0.1),
            ("ray.fetch", CALLER, at * each + 1, 41),
            ("ray.execute", f"worker {at % actors}", at * each + 1, 40),
        ]
    return named(make_trace(spans, wall_ms=6 * each), {"ray.submit": name, "ray.execute": "step"})


def carried(stage: str, details: dict[str, object], size: int | None = None) -> Trace:
    """Return a call of 10 ms with a step that carried something, and a get of 40 ms after it."""
    inside = (stage, CALLER, 1, 8, size, 0, details)
    return make_trace([("ray.fetch", CALLER, 0, 10), inside, ("ray.fetch", CALLER, 20, 40)])


def held(wait_ns: int) -> Trace:
    """Return a task, of 100 ms, that waits for what is inside of its argument."""
    return make_trace([("ray.execute", "worker 1", 0, 100, None, -1, {"nested_wait_ns": wait_ns})])


def passed(key: int, got_ms: float = 50) -> Trace:
    """Return a result that is got and then sent, if it is the same, in 100 ms."""
    taken, sent = {"value_keys": [1]}, {"value_key": key, "total_bytes": 8_000_000}
    got = [("ray.fetch", CALLER, 0, got_ms), ("ray.unpack", CALLER, 0, 0.1, None, 0, taken)]
    submit = [("ray.submit", CALLER, 60, 40), ("ray.msgpack", CALLER, 60, 5, 8_000_000, 2, sent)]
    return make_trace([*got, *submit])


def imported(import_ms: float, wall_ms: float, stage: str = "ray.store") -> Trace:
    """Return a call and an import in it."""
    return make_trace(
        [(stage, CALLER, 0, import_ms + 1), ("import", CALLER, 0, import_ms, None, 0)],
        wall_ms=wall_ms,
    )


def imported_there(import_ms: float) -> Trace:
    """Return 100 ms of a cluster whose worker imports so long."""
    trace = make_trace(
        [("dask.wait", CALLER, 0, 100), ("import", "worker 1/comm", 0, import_ms)], wall_ms=100
    )
    return replace(trace, spans=(trace.spans[0], trace.spans[1]._replace(name="import dask.array")))


def touched(
    copied: int | None,
    faults: int | None,
    copy_ms: float = 8,
    limits: Limits = WARM,
    stage: str = "ray.store",
) -> Trace:
    """Return a copy of so many bytes that met so many new pages, into the store or elsewhere."""
    noted = {"copied_bytes": copied, "minor_faults": faults}
    return make_trace([(stage, CALLER, 0, copy_ms, copied, -1, noted)], limits=limits)


def got(
    copied: int | None,
    around: str = "ray.fetch",
    stage: str = "ray.unpickle",
    form: str = "",
    **look: object,
) -> Trace:
    """Return a get whose result was copied."""
    return make_trace(
        [
            (around, CALLER, 0, 10),
            ("ray.unpack", CALLER, 1, 8, None, 0, {"array_form": form}),
            (stage, CALLER, 2, 6, copied, 1, {"copied_bytes": copied, **look}),
        ]
    )


def made_of(buffers: int, size: int = 128_000, around: str = "ray.fetch") -> Trace:
    """Return a get of a dict of arrays."""
    return got(None, around, buffers=buffers, out_of_band_bytes=size)


def dumped(
    *pickles: tuple[int | None, int | None], ms: float = 30, protocol: object = 5, **look: object
) -> Trace:
    """Return a dumps for each (size, pages that were new), with what a look at it told."""
    return make_trace(
        [
            (
                *("pickle.dumps", CALLER, at * ms, ms, size, -1),
                {"in_band_bytes": size, "minor_faults": faults, "protocol": protocol, **look},
            )
            for at, (size, faults) in enumerate(pickles)
        ],
        limits=WARM,
    )


def old(size: int, faults: int, protocol: int = 4, contiguous: int | None = 10**9) -> Trace:
    """Return a dumps by an old protocol; so many bytes are of contiguous arrays."""
    return dumped((size, faults), protocol=protocol, contiguous_bytes=contiguous)


def many(size: int = 2_000_000, ms: float = 30, **look: int | None) -> Trace:
    """Return a dumps of 50,000 small objects, or as the look tells."""
    faults = look.pop("faults", 0)
    told = {"objects": 50_000, "small_bytes": size, "reduced_objects": 0, **look}
    return dumped((size, faults), ms=ms, **told)


def refused(outcome: str, error: object = "TypeError") -> Trace:
    """Return a dumps that failed inside a call that went on or failed, too."""
    spans = [("ray.store", CALLER, 0, 5), ("pickle.dumps", CALLER, 1, 2, None, 0, {"error": error})]
    return make_trace([*spans, ("gc", CALLER, 6, 1)], outcome=outcome)


def collected(gc_ms: float, wall_ms: float, stage: str = "pickle.loads", parent: int = 0) -> Trace:
    """Return loads with runs of the collector inside, or beside them."""
    return make_trace(
        [(stage, CALLER, 0, wall_ms), ("gc", CALLER, 0, gc_ms, None, parent)], wall_ms=wall_ms
    )


def looped(stage: str, count: int, each_ms: float, size: int | None = 80, calls: int = 1) -> Trace:
    """Return so many calls one after the other, in a second; some are told together."""
    told = (-1, {"calls": calls}) if calls > 1 else ()
    spans = [(stage, CALLER, at * each_ms, each_ms, size, *told) for at in range(count)]
    return make_trace(spans, wall_ms=1_000)


def in_turns(submits: int, get_ms: float = 5, reply_ms: float = 0) -> Trace:
    """Return a hundred gets, before each of the first of which a task is submitted."""
    both = (("ray.fetch", CALLER, get_ms), ("ray.reply", "raylet", reply_ms))
    gets: list[Any] = [
        (stage, lane, 10 * at + 5, ms) for at in range(100) for stage, lane, ms in both if ms
    ]
    before: list[Any] = [("ray.submit", CALLER, 10 * at, 2) for at in range(submits)]
    return make_trace([*before, *gets], wall_ms=1_000)


def in_a_row(
    tasks: int,
    each_ms: float = 10,
    call: str = "RemoteFunction._remote",
    *,
    overlap_ms: float = 0,
    wait_ms: float = 2,
) -> Trace:
    """Return tasks in 100 ms, each submitted behind the get of the one before."""
    spans: list[Any] = []
    for at in range(tasks):
        start = at * (each_ms + wait_ms + 2)
        spans += [
            ("ray.submit", CALLER, start, 1),
            ("ray.execute", f"worker {at % 2 + 1}", start + 2, each_ms + overlap_ms),
            ("ray.fetch", CALLER, start + 1, each_ms + wait_ms),
        ]
    names = {"ray.submit": call, "ray.execute": "work"}
    return named(make_trace(spans, wall_ms=100), names)


def named(trace: Trace, names: Mapping[str, str], without: str = "") -> Trace:
    """Return a trace whose spans of stages have other names, without those of one stage."""
    kept = (span for span in trace.spans if span.stage != without)
    spans = [span._replace(name=names.get(span.stage, span.name)) for span in kept]
    return replace(trace, spans=tuple(spans))


def blocked(name: str, calls: int = 6) -> Trace:
    """Return calls of an actor in turn, of a method that blocks its event loop."""
    asked = [("ray.execute", "worker 1", 5 + at * 20, 20) for at in range(calls)]
    trace = make_trace([("ray.submit", CALLER, 0, 5, None, -1, {"blocks": name}), *asked])
    return named(replace(trace, environment={"cores": 4}), {"ray.execute": "ask"})


def together(
    *ms: float,
    lanes: int = 1,
    gap_ms: float = 0,
    cores: int = 2,
    deps_ms: float = 0,
    call: str = "",
) -> Trace:
    """Return tasks of 100 ms, sent together, that took so long on workers in turn."""
    spans: list[Any] = [("ray.deps", "raylet", 0, deps_ms), ("ray.fetch", CALLER, 5, 95)]
    for at, took in enumerate(ms):
        start = 5 + (sum(ms[: at // lanes * lanes : lanes]) if lanes > 1 else sum(ms[:at]))
        spans.append(("ray.submit", CALLER, at / 10, 0.1))
        spans.append(
            ("ray.execute", f"worker {at % lanes + 1}", start + gap_ms * (at % lanes), took)
        )
    names = {"ray.submit": call or "RemoteFunction._remote", "ray.execute": "work"}
    return replace(named(make_trace(spans, wall_ms=100), names), environment={"cores": cores})


def got_frame(form: str, wall_ms: float = 100) -> Trace:
    """Return a get of a result of a form, whose pickle took 60 ms on both sides."""
    noted = {"array_form": form}
    get = [("ray.fetch", CALLER, 0, 60), ("ray.unpack", CALLER, 40, 20, None, 0, noted)]
    sides = [("ray.unpickle", CALLER, 40, 20, None, 1), ("ray.outputs.pickle", "worker 1", 0, 40)]
    return make_trace([*get, *sides], wall_ms=wall_ms)


def small(tasks: int, call_ms: float = 0.2, work_ms: float = 0.1, *, import_ms: float = 0) -> Trace:
    """Return tasks on one worker in 200 ms, of which the first one has to import."""
    spans = [
        span
        for at in range(tasks)
        for span in (
            ("ray.submit", CALLER, at * call_ms, call_ms),
            ("ray.execute", "worker 1", at * 0.4, work_ms),
        )
    ]
    cold = (("ray.fetch", CALLER), ("ray.arguments.import", "worker 2"))
    spans += [(*where, 100, import_ms) for where in cold if import_ms]
    return named(make_trace(spans, wall_ms=200), {"ray.execute": "double"})


def noted(count: int) -> Trace:
    """Return what is left of many tasks where Ray loses events: an agent noted how many ran."""
    columns = tuple(TableColumn(key, key) for key in ("function", "count", "execute_total"))
    table = Table("ray.tasks", "", columns, (("module.double", count, count * 100_000),))
    few = small(400, 0.25)
    kept = [span for at, span in enumerate(few.spans) if span.stage != "ray.execute" or at < 50]
    return replace(few, spans=tuple(kept), tables=(table,))


def redefined(times: int, each_ms: float = 8, load_ms: float = 0) -> Trace:
    """Return exports of one function, and of one more, and what loading took, in 100 ms."""
    noted = [{"function": "work"}] * times + [{"function": "other"}]
    spans: list[Any] = [
        ("ray.export", CALLER, 10 * at, each_ms, 0, -1, a) for at, a in enumerate(noted)
    ]
    loaded = (("ray.fetch", CALLER), ("ray.load", "worker 1"))
    spans += [(*where, 70, load_ms) for where in loaded if load_ms]
    return make_trace(spans, wall_ms=100)


def test_what_is_made_anew_is_loaded_anew_by_warm_workers_too() -> None:
    """The loads are part of that cause, and no first task of a worker."""
    told = {found.rule: found.share for found in findings(redefined(5, 5, load_ms=25))}

    assert told == {"ray.redefined-in-loop": pytest.approx(0.45)}


@pytest.mark.parametrize("known", [5_000_000, None])
def test_that_workers_load_what_a_function_captures_is_time_of_that(known: int | None) -> None:
    """It was told as the start of workers; of many small things only the pickle has the bytes."""
    kept = [{"name": "cfg", "size_bytes": known}, {"name": "n", "size_bytes": 9}]
    spans: list[Any] = [("ray.export", CALLER, 0, 20, None, -1, {"captured": kept})]
    spans += [("ray.export", CALLER, 0, 20, None, 0, {"in_band_bytes": 5_000_009})]
    spans += [("ray.fetch", CALLER, 20, 80), ("ray.load", "worker 1", 20, 70)]

    (found,) = findings(make_trace(spans, wall_ms=100))

    assert found.title == "`cfg` of 5.00 MB travels inside a function"
    assert found.share == pytest.approx(0.9)


def with_actors(
    count: int, wait_ms: float = 20, name: str = "Model.__init__", *, at_once: bool = False
) -> Trace:
    """Return actors that start in 100 ms, each got from before the next one is made."""
    spans: list[Any] = []
    for at in range(count):
        spans += [
            ("ray.submit", CALLER, at if at_once else 25 * at, 1),
            ("ray.schedule", "raylet", 25 * at + 4, wait_ms),
            ("ray.fetch", CALLER, 25 * at + 4, wait_ms),
        ]
    names = {"ray.submit": "ActorClass._remote", "ray.schedule": name}
    return named(make_trace(spans, wall_ms=100), names)


def cold(start_ms: float, import_ms: float = 0, wall_ms: float = 250, name: str = "") -> Trace:
    """Return a first task whose worker has to start, and to import; or an actor by its name."""
    spans = [
        ("ray.fetch", CALLER, 0, wall_ms),
        ("ray.worker.start", "raylet", 1, start_ms),
        ("ray.arguments.import", "worker 1", 1 + start_ms, import_ms),
        ("ray.execute", "worker 1", 1 + start_ms + import_ms, 1),
        *[("ray.actor.start", "raylet", 1, start_ms)] * bool(name),
    ]
    init = {"ray.worker.start": f"{name}.__init__"} if name else {}
    return named(make_trace(spans, wall_ms=wall_ms), init)


def deployed(ms: float) -> Trace:
    span = ("ray.actor.start", CALLER, 0, ms, None, -1, {"application": "chat"})
    return make_trace([span], wall_ms=100)


def fitted(ms: float) -> Trace:
    spans = [("ray.schedule", "raylet", 0, 5), ("ray.execute", "worker 1", ms, 5)]
    names = {"ray.schedule": "TrainController.__init__", "ray.execute": "run_train_fn"}
    return named(make_trace(spans, wall_ms=100), names)


def served(count: int, sent_ms: float = 1, refused: int = 0) -> Trace:
    """Return calls of a deployment of 10 ms each, others that its replica refused, and a put."""
    spans: list[Any] = [("ray.execute", "worker 1", 90, 1)] * refused
    for at in range(count):
        spans += [("ray.submit", CALLER, 20 * at, sent_ms, None, -1, {"deployment": "Model"})]
        spans += [("ray.execute", "worker 1", 20 * at + sent_ms + 1, 10)]
    spans += [("ray.store", CALLER, 91, 9)]
    return named(make_trace(spans, wall_ms=100), {"ray.execute": "Model"})


@pytest.mark.parametrize(("ms", "whose"), [(44, "1 actor of `A`"), (45, "2 actors of `A` and `B`")])
def test_of_classes_that_start_alike_none_is_blamed_alone(ms: int, whose: str) -> None:
    """Nobody knows which of them was waited for."""
    trace = cold(90, 0, 99, "A")
    other = trace.spans[1]._replace(name="B.__init__", duration_ns=ms * 10**6)

    (found,) = findings(replace(trace, spans=(*trace.spans, other)), "ray.worker-start")

    assert found.title.startswith(whose)


def spilled(spilled_ms: float, code: str | None = None, at: float = 10) -> Trace:
    """Return two puts of 100 ms, one of which waited until others were spilled."""
    note = {"spilled_ns": round(spilled_ms * 1e6), "spilled_bytes": 80_000_000}
    puts = [("ray.store", CALLER, at * n, at, 10**7, -1, note if n else None) for n in range(2)]
    heads = ("name", "count", "bytes", "code")
    row = ("by the variable `keep`", 8, 160_000_000, code)
    columns = tuple(TableColumn(head, head) for head in heads)
    table = Table("ray.holders", "", columns, (row,))
    trace = make_trace(puts, wall_ms=30)
    return trace if code is None else replace(trace, tables=(table,))


def pulled(pull_ms: float, wall_ms: float = 300, name: str = "", link: int = 0) -> Trace:
    """Return a task that waited for 10 MB from another node."""
    told = {"name": name, "link_bytes_per_s": link}
    pull = ("ray.arguments.pull", "raylet", 0, pull_ms, 10**7, -1, told)
    trace = make_trace([("ray.fetch", CALLER, 0, wall_ms), pull], wall_ms=wall_ms)
    return named(trace, {"ray.arguments.pull": "work"})


#: rule -> (below the threshold, at it); what is found at it is told in tests/data/told
def tasks_died(workers: int, calls: int = 1) -> Trace:
    """Return a task that lived, and workers that died while executing tasks."""
    died = [
        ("ray.execute", f"worker {at + 2}", 10 * at + call, 5, None, -1, {"died": "WORKER_DIED"})
        for at in range(workers)
        for call in range(calls)
    ]
    return make_trace([("ray.execute", "worker 1", 0, 100), *died])


GOLDEN: Mapping[str, list[tuple[Trace, Trace]]] = {
    "pickle.in-band-copy": [
        (in_band(999_999), in_band(1_000_000)),
        (in_band(2_000_000, "", 10_000), in_band(2_000_000, "", 9_999)),
        (in_band(9), in_band(9, element_type="TextIOWrapper")),
        (dumped((9, 0), gathered_bytes=3_999_999), dumped((9, 0), gathered_bytes=4_000_000)),
        # Many small objects: nothing of them could have been handed over.
        (in_band(10**6, "", large_bytes=999_999), in_band(10**6, "", large_bytes=10**6)),
        (in_band(2_000_000, "", large_bytes=0), in_band(2_000_000, "object", large_bytes=0)),
    ],
    "pickle.slice": [(sliced(100_001), sliced(100_000))],
    "ray.element-walk": [
        (walked(9_999, 20), walked(10_000, 20)),
        (walked(10_000, 9.9), walked(10_000, 10)),
        (
            walked(10_000, 2, pickle_ms=8, size=40_960_000),
            walked(10_000, 2, pickle_ms=8, size=40_959_999),
        ),
    ],
    "ray.same-object": [
        (again((7, 100_000)), again((7, 100_000), (7, 100_000))),
        (again((7, 99_999), (7, 99_999)), again((7, 100_000), (8, 100_000), (7, 100_000))),
        # What has another size has changed in between.
        (again((7, 100_000), (7, 200_000)), again((7, 100_000), (7, 200_000), (7, 200_000))),
    ],
    "ray.captured-variable": [
        (exported(999_999), exported(1_000_000)),
        (exported(None, 5), exported(None, 3_000_000)),
        (exported(large_bytes=999_999), exported(large_bytes=1_000_000)),
    ],
    "ray.native-walk": [
        (native(99_999), native(100_000)),
        (native(10**6, "Model"), native(10**6, "dict")),
        (lasting(native(10**6), 100.1), lasting(native(10**6), 100)),
    ],
    "ray.submission-order": [
        (in_order(200, ready=2), in_order(200, ready=3)),
        (in_order(120, ready=4), in_order(130, ready=4)),
        # Threads of libraries have loops of their own.
        (in_order(200, 4, lane="client/thread 1"), in_order(200, 4)),
    ],
    "ray.blocking-in-async": [(blocked(""), blocked("ask")), (blocked("", 3), blocked("ask", 3))],
    "ray.unpipelined": [
        (in_calls(3, 40), in_calls(4, 40)),
        (in_calls(6, 7.9), in_calls(6, 40)),
        (in_calls(6, 40, caller="other"), in_calls(6, 40)),
        (in_calls(6, 40, sent=3), in_calls(6, 40, sent=4)),
        # The notebook calls: what it does itself meanwhile would be saved.
        (in_notebook(12), in_notebook(14)),
        (in_notebook(40, ahead=1), in_notebook(40, actors=2)),
        (in_notebook(40, name="RemoteFunction._remote"), in_notebook(40)),
    ],
    "ray.one-at-a-time": [
        (together(*[20] * 3), together(*[20] * 4)),
        (together(*[20] * 4, cores=1), together(*[20] * 4)),
        (together(*[10] * 3, 9.9), together(*[10] * 4, call="ActorMethod._remote")),
        (together(*[20] * 4, deps_ms=40), together(*[20] * 4, deps_ms=39)),
        # One long after the others.
        (together(10, 10, 10, 49, lanes=2), together(10, 10, 10, 50, lanes=2)),
    ],
    "ray.return-put": [
        (carried("ray.unpack", {"references": 9}), carried("ray.unpack", {"references": 10}))
    ],
    "ray.nested-get": [(held(9_999_999), held(10_000_000))],
    "ray.unnecessary-get": [(passed(2), passed(1)), (passed(1, 4.9), passed(1, 5))],
    "ray.object-columns": [
        (got_frame(""), got_frame("object")),
        (got_frame("object", 600.1), got_frame("object", 600)),
    ],
    "ray.too-many-objects": [
        (
            carried("ray.unpack", {"objects": 100}, 199_999_999),
            carried("ray.unpack", {"objects": 100}, 200_000_000),
        ),
        (carried("ray.unpack", {}, 10**9), carried("ray.unpack", {"objects": 100}, 10**9)),
    ],
    "ray.global-write": [
        (
            carried("ray.submit", {"writes": [], "function": "count"}),
            carried("ray.submit", {"writes": ["WRITTEN"], "function": "count"}),
        )
    ],
    "ray.reference-out-of-band": [
        (carried("pickle.dumps", {}), carried("pickle.dumps", {"references": 1}))
    ],
    "python.first-use-imports": [
        (imported(9.9, 20), imported(10, 20)),
        (imported(99, 1_000), imported(100, 1_000)),
        (imported_there(9.9), imported_there(10)),
    ],
    "memory.first-touch": [
        (touched(7_999_999, 2_000), touched(8_000_000, 2_000)),
        (touched(8_192_000, 999), touched(8_192_000, 1_000)),
        (touched(10**7, 2_000, 2), touched(10**7, 2_000, 2.01)),
        # Of a result of malloc: from 32 MiB on each block is mapped anew, also in later runs.
        (
            touched(2**25, 8_192, 40, stage="pickle.loads"),
            touched(2**25 - 1, 8_192, 40, stage="pickle.loads"),
        ),
        # New pages explain the time, or something else does.
        (
            touched(8_192_000, 2_000, 16.4, stage="ray.unpickle"),
            touched(8_192_000, 2_000, 16.3, stage="ray.unpickle"),
        ),
        (
            touched(8_192_000, 2_000, 10, stage="pickle.dumps"),
            touched(8_192_000, 2_000, 10, stage="pickle.loads"),
        ),
    ],
    "ray.many-arrays": [
        (made_of(999), made_of(1_000)),
        (made_of(1_000, 4_096_000), made_of(1_000, 4_095_999)),
        (made_of(1_000, around="ray.store"), made_of(1_000, around="ray.map")),
        (lasting(made_of(1_000), 24.1), lasting(made_of(1_000), 24)),
    ],
    "ray.not-zero-copy": [
        (got(999_999), got(1_000_000)),
        (got(10**6, "ray.store"), got(10**6, "ray.map")),
        (got(10**6, "ray.fetch", "pickle.loads"), got(10**6, "ray.fetch", "ray.unpack")),
    ],
    "pickle.protocol-4": [
        (old(8_192_000, 3_599), old(8_192_000, 3_600)),
        (old(8_192_000, 4_000, 5), old(8_192_000, 4_000, 3)),
        (old(7_999_999, 4_000), old(8_000_000, 4_000)),
        # Arrays with gaps are gathered by protocol 5, too.
        (old(10**7, 5_000, contiguous=7_999_999), old(10**7, 5_000, contiguous=8_000_000)),
        (old(10**7, 5_000, contiguous=None), old(10**7, 5_000, contiguous=10**7)),
        # By protocol 2 each byte is one letter or two.
        (old(10**7, 5_000, 2, 4_499_999), old(10**7, 5_000, 2, 4_500_000)),
    ],
    "pickle.small-objects": [
        (lasting(many(9_000_000), 91), lasting(many(8_990_000), 91)),
        (many(30_000_000, objects=200_000), many(29_900_000, objects=200_000)),
        # Of little, or in a short time, where it takes a third of all.
        (lasting(many(999_999), 91), lasting(many(999_999), 90)),
        (lasting(many(ms=19.9), 60), lasting(many(ms=20), 61)),
        # 5,000 new pages of 4 kB take 20.5 of 40 ms at 1 GB/s.
        (lasting(many(faults=5_000, ms=40), 60), lasting(many(faults=4_000, ms=40), 80)),
        # Few of them, large ones, or the smaller part of the pickle: they are not the cause.
        (
            many(1_000_000, objects=9_999, reduced_objects=9_999),
            many(1_000_000, objects=30_000, reduced_objects=10_000),
        ),
        (many(8_000_000, objects=40_000), many(7_999_999, objects=40_000)),
        (dumped((32_767_000, 0), arrays=999), dumped((32_767_000, 0), arrays=1_000)),
        (many(small_bytes=999_999), many(small_bytes=10**6)),
        # Longer than pickle needs for so many: reducers are slow.
        (many(ms=50.1), many(ms=50)),
        (many(ms=1_001, reduced_objects=50_000), many(ms=1_000, reduced_objects=50_000)),
    ],
    "pickle.slow": [
        (dumped((9_000_000, 0)), dumped((8_990_000, 0))),
        # Of little where it takes a fifth of the time.
        (lasting(dumped((9_999, 0)), 151), lasting(dumped((9_999, 0)), 150)),
        (dumped((30_001, 0)), dumped((30_000, 0))),
        (dumped((999_999, 0)), dumped((1_000_000, 0))),
        (dumped((10**6, 0), ms=19.9), dumped((10**6, 0), ms=20)),
        (dumped((10**6, 0), protocol=2, contiguous_bytes=9), dumped((10**6, 0), protocol=2)),
        (many(), many(objects=5)),
        (many(), many(ms=300)),
    ],
    "pickle.unpicklable": [(refused("ok"), refused("error"))],
    "python.gc": [
        (collected(19.9, 50), collected(20, 50)),
        (collected(39, 200), collected(40, 200)),
        (collected(40, 80, "dask.execute"), collected(40, 80)),
        # The objects of the user's own code: nothing that serializes makes them.
        (collected(40, 80, parent=-1), collected(40, 80)),
    ],
    "ray.many-puts": [
        (looped("ray.store", 499, 1), looped("ray.store", 500, 1)),
        (looped("ray.store", 500, 0.39), looped("ray.store", 500, 0.4)),
        (looped("ray.store", 500, 1, 100_000), looped("ray.store", 500, 1, 99_999)),
        # Short calls are told together: each of them counts, by its part of the bytes.
        (looped("ray.store", 4, 100, calls=124), looped("ray.store", 4, 100, calls=125)),
        (looped("ray.store", 4, 100, 10**8, 1_000), looped("ray.store", 4, 100, 99_999_999, 1_000)),
    ],
    "ray.get-in-loop": [
        (looped("ray.fetch", 99, 5), looped("ray.fetch", 100, 5)),
        (looped("ray.fetch", 100, 2.9), looped("ray.fetch", 100, 3)),
        (looped("ray.fetch", 9, 50, calls=11), looped("ray.fetch", 10, 50, calls=10)),
        # A loop of ray.wait is the remedy.
        (named(looped("ray.wait", 100, 5), {"ray.wait": "wait"}), looped("ray.map", 100, 5)),
        # What --detail asks before a get is no get of its own.
        (named(looped("ray.wait", 100, 5), {"ray.wait": "get"}), looped("ray.map", 100, 5)),
        (in_a_row(3), in_a_row(4)),
        (in_a_row(4, 7.4), in_a_row(4, 7.5)),
        (in_a_row(4, overlap_ms=8), in_a_row(4)),
        # Of short tasks the way there and back, which all but one of them could share.
        (in_a_row(4, 2, wait_ms=7.9), in_a_row(4, 2, wait_ms=8)),
        # The calls of an actor follow each other by themselves.
        (in_a_row(4, call="ActorMethod._remote"), in_a_row(4)),
        # In a way there and back for each the fetch itself has next to nothing.
        (in_turns(100, 2.9, 2.8), in_turns(100, 3, 2.9)),
        (in_turns(49, 5, 4), in_turns(50, 5, 4)),
    ],
    "ray.tiny-tasks": [
        (named(small(249, 0.4), BLOCKS), named(small(250, 0.4), BLOCKS)),
        (small(500, 0.119, 0.01), small(500, 0.12, 0.01)),
        (small(500, work_ms=0.13), small(500, work_ms=0.12)),
        (noted(249), noted(250)),
        (small(500, 0.119, 0.01, import_ms=90), small(500, 0.12, 0.01, import_ms=90)),
    ],
    "ray.redefined-in-loop": [(redefined(4), redefined(5)), (redefined(5, 4.9), redefined(5, 5))],
    "ray.worker-start": [
        (with_actors(1, 40), with_actors(2)),
        (with_actors(2, 14), with_actors(2, 15)),
        (with_actors(2, at_once=True), with_actors(2)),
        (with_actors(2, name="predict"), with_actors(2)),
        (named(with_actors(2), {"ray.submit": "ActorMethod._remote"}), with_actors(2)),
        (cold(83.3, name="Model"), cold(83.4, name="Model")),
        (cold(49.9, 0, 99, "Model"), cold(50, 0, 99, "ReadRange->MapBatches(Embed)")),
        (fitted(33), fitted(34)),
        (deployed(33), deployed(34)),
    ],
    "ray.deployment-calls": [(served(3), served(4)), (served(3, 9), served(4, 9, 2))],
    "ray.cold-workers": [
        (cold(49.9), cold(50)),
        (cold(20, 29.9), cold(20, 30)),
        (cold(51, wall_ms=256), cold(51)),
        (cold(90, 60, name="Model"), cold(90)),
    ],
    "ray.spilling": [
        (spilled(9.9), spilled(10)),
        (spilled(9.9, "del keep"), spilled(10, "del keep")),
        (spilled(9.9, ""), spilled(10, "")),
    ],
    "ray.slow-pull": [(pulled(99), pulled(100)), (pulled(49, 100), pulled(50, 100, "row", 10**9))],
    "ray.worker-died": [
        (tasks_died(0), tasks_died(1)),
        (named(tasks_died(1), {"ray.execute": "__ray_terminate__"}), tasks_died(1)),
    ],
}
ALL = {**GOLDEN, **DASK_GOLDEN}
PAIRS = [(rule, *pair) for rule, pairs in ALL.items() for pair in pairs]
#: What a finding says beyond its threshold.
SAMPLES: Mapping[str, Trace] = {
    "two lists share the time of the walk": make_trace(
        [
            ("ray.msgpack", CALLER, 0, 40),
            ("ray.pickle", CALLER, 0, 1, None, 0, {"elements": 20_000, "element_type": "A"}),
            ("ray.msgpack", CALLER, 50, 40),
            ("ray.pickle", CALLER, 50, 1, None, 2, {"elements": 30_000, "element_type": "B"}),
        ]
    ),
    "an unknown type of elements is not named": walked(10_000, 50, None),
    "numbers are walked": native(10**6, name="values", block_form="np.array"),
    "texts are walked": native(10**6, name="words", block_form="pa.array"),
    "what a task is given is walked": native(
        10**6, call="ray.submit", name="words", block_form="pa.array"
    ),
    "a dict is walked": native(10**6, "dict", name="prices", block_form=""),
    "an array of Python objects": in_band(2_000_000, "object"),
    "a non-contiguous array": in_band(2_000_000),
    "the largest captured variable": exported(None, 2_000_000, 9_000_000),
    "a default": exported(9_000_000, default="lookup", function="score"),
    "a default without a name": exported(9_000_000, default="", function="score"),
    "a first run and a later one, and another object": make_trace(
        [
            ("pickle.dumps", CALLER, at, ms, size, -1, {"in_band_bytes": size, **MANY_TEXTS})
            for at, ms, size in ((0, 50, 2_000_000), (60, 40, 2_000_000), (110, 70, 3_000_000))
        ],
        limits=WARM,
    ),
    "imports in a put": imported(50, 100),
    "imports in a pickle": imported(50, 100, "pickle.loads"),
    "imports beside a put": make_trace(
        [("import", CALLER, 0, 50), ("ray.store", CALLER, 50, 1)], wall_ms=100
    ),
    "an array of a get": got(10**6, large_bytes=10**6),
    "a frame of polars": got(10**6, form="polars"),
    "a frame of polars that was put": in_band(2_000_000, "polars"),
    "many small objects of a get": got(10**6, large_bytes=999_999),
    "raw bytes of a get": got(10**6, stage="ray.unpack"),
    **{
        f"a pickle failed: {error}": refused("error", error)
        for error in ("TypeError", "AttributeError", "PicklingError", "ValueError")
    },
    "each task is submitted after the get before": in_turns(50),
    "tasks without a name, in a row": named(in_a_row(4), {"ray.execute": "<lambda>"}),
    "small tasks without a name": named(small(500), {"ray.execute": "<lambda>"}),
    "tasks are submitted before": in_turns(49),
    "warnings first, each title once": make_trace(
        [
            ("ray.fetch", CALLER, 0, 10),
            ("ray.unpickle", CALLER, 1, 3, None, 0, {"copied_bytes": 10**6}),
            ("ray.pickle", CALLER, 11, 1, None, -1, {"in_band_bytes": 10**6}),
            ("ray.pickle", CALLER, 12, 1, None, -1, {"in_band_bytes": 10**6}),
        ]
    ),
    "one finding names all spans of its cause": make_trace(
        [("ray.pickle", CALLER, at, 1, None, -1, {"in_band_bytes": 10**6}) for at in range(10)]
    ),
    "of 200 sizes the three that took longest": make_trace(
        [
            ("ray.pickle", CALLER, 30 * at, 10 + at / 100, None, -1, {"in_band_bytes": size})
            for at, size in enumerate(range(2_000_000, 4_000_000, 10_000))
        ]
    ),
    "three tries of a task": tasks_died(3),
    "an actor, and the calls that waited for it": tasks_died(1, 3),
    "a loop": again(*[(7, 100_000)] * 1_000),
}
#: What each rule reads; without it the rule knows nothing.
UNKNOWN: Mapping[str, Trace] = {
    "in-band bytes": in_band(None),
    "elements": walked(None, 50),
    "anything": make_trace([], wall_ms=0),
    "key of the value": again((None, 10**6), (None, 10**6)),
    "size of the value": again((7, None), (7, None)),
    "size of a variable": exported(None, None),
    "nothing captured": exported(),
    "copied bytes": touched(None, 2_000),
    "faults": touched(10**8, None, 80),
    "limits": touched(10**8, 25_000, 80, Limits()),
    "copied bytes of a result": got(None),
    "bytes of a pickle": dumped(*[(None, 10_000)] * 5, protocol=4),
    "pages of a pickle": dumped(*[(10**9, None)] * 5, protocol=4),
    "protocol": dumped((10**9, 10**6), protocol=None),
    "error": refused("error", None),
    "tasks of a loop": named(in_a_row(4), {}, without="ray.execute"),
    "bytes of puts": looped("ray.store", 500, 1, None),
}


def findings(trace: Trace, rule: str | None = None) -> list[Finding]:
    """Return the findings of a trace, of one rule or of all."""
    is_dask = any(span.stage.startswith("dask.") for span in trace.spans)
    named = replace(trace, name=DASK_CODE if is_dask else RAY_CODE)
    return [found for found in analyse(named).findings if rule in {None, found.rule}]


def test_a_loop_of_pickles_is_told_whole_with_its_collections() -> None:
    """Of many small objects, and of nothing beside them: another pickle counts for itself."""
    look = {"in_band_bytes": 200_000, "objects": 50_000, "small_bytes": 200_000}
    array = {"in_band_bytes": 8_000_000, "objects": 1, "small_bytes": 0}
    spans: list[Any] = [("pickle.dumps", CALLER, at * 10, 10, None, -1, look) for at in range(8)]
    spans += [("gc", CALLER, at * 10 + 1, 5, None, at) for at in range(8)]
    spans += [(f"pickle.{what}", CALLER, 90, 30, None, -1, array) for what in ("dumps", "loads")]

    (found,) = findings(make_trace(spans, wall_ms=160, limits=WARM), "pickle.small-objects")

    assert found.title == "about 400,000 small objects were pickled one by one"
    assert found.because.startswith("1.60 MB at 20.0 MB/s, ")
    assert found.because.endswith("200 ns each in 8 pickles")
    assert found.share == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("pickled", "beside", "title", "share"),
    [
        ({}, 0, "`words` of 1.00 MB, 90,000 items, was sent element by element", 0.9),
        ({}, 10**6, "`words` of 1.00 MB, 90,000 items, was sent element by element", 0.2),
        ({"elements": 90_000}, 0, "Ray pickled 90,000 elements of `words` one by one", 0.9),
        ({"objects": 90_000}, 0, "about 90,000 small objects were pickled one by one", 0.9),
    ],
)
def test_that_a_task_makes_it_anew_is_time_of_what_is_sent_in_small_things(
    pickled: dict[str, int], beside: int, title: str, share: float
) -> None:
    """The first line said "Deserialize arguments", which nobody can do anything about."""
    sent = {"name": "words", "total_bytes": 10**6, "value_type": "list", "items": 90_000}
    look = {"in_band_bytes": 10**6, "small_bytes": 10**6, "large_bytes": 0, **pickled}
    spans: list[Any] = [
        *(("ray.msgpack", CALLER, 0, 20, None, -1, sent), ("ray.fetch", CALLER, 20, 80)),
        ("ray.msgpack", CALLER, 0, 0, None, -1, {"total_bytes": beside, "value_type": "Model"}),
        *[("ray.pickle", CALLER, 0, 20, None, 0, look)] * bool(pickled),
        ("ray.arguments.unpickle", "worker 1", 20, 70, 10**6),
    ]

    (found, *_) = findings(make_trace(spans, wall_ms=100, limits=WARM))

    assert (found.title, round(found.share or 0, 3)) == (title, share)


def test_one_variable_is_known_again_by_its_name() -> None:
    """A dict has no weak reference, by which others are known: it was sent five times."""
    sent = {"name": "model", "total_bytes": 1_000_000, "value_type": "dict"}
    trace = make_trace([("ray.msgpack", CALLER, at, 1, None, -1, sent) for at in range(5)])

    (found,) = findings(trace, "ray.same-object")

    assert (found.title, found.remedy) == (
        "`model` was sent 5 times, 5.00 MB in all",
        "ref = ray.put(model)   # would save up to 80 %: once, if it stays as it is; then pass ref",
    )


def test_a_remedy_of_something_else_saves_a_third_of_the_cause_or_is_not_told() -> None:
    """Below "78 % were copied" a line that moves 22 % reads as what to do about the copies."""
    remedies = {0.78: "", 0.27: "f()", 0.22: "g()"}
    made = [Finding("x", "warn", f"{s}", {}, code, share=s) for s, code in remedies.items()]

    found = find(analyse(make_trace([])), [lambda _: made])

    assert [finding.remedy for finding in found] == ["", "f()   # would save up to 27 %", ""]


def test_what_tasks_put_themselves_is_time_of_a_returned_reference() -> None:
    """Shared among the workers, and with the replies that tell of references, also of few tasks."""
    spans = [
        ("ray.reply", "raylet", 61, 8),
        ("ray.fetch", CALLER, 0, 80),
        ("ray.unpack", CALLER, 71, 8, None, 1, {"references": 99}),
    ]
    tasks = [("ray.execute", f"worker {at}", 1, 60) for at in range(2)]
    keys = ("function", "put_total", "execute_total")
    columns = tuple(TableColumn(key, key, "ns") for key in keys)
    table = Table("ray.tasks", "Tasks", columns, (("square", 80_000_000, 120_000_000),))
    trace = make_trace([*spans, ("ray.fetch", CALLER, 80, 10), *tasks], wall_ms=100)

    (found,) = findings(replace(trace, tables=(table,)), "ray.return-put")

    assert found.because.startswith("`ray.put` in the tasks took 80.0 ms in all; ")
    assert found.share == pytest.approx(0.54)


def test_calls_of_several_names_are_not_told_as_calls_of_one() -> None:
    """One is what the cell has sent; those before it in the queue were sent by an earlier one."""
    queue = together(*[20] * 4, call="ActorMethod._remote")
    *_, last = (at for at, span in enumerate(queue.spans) if span.stage == "ray.execute")
    spans = [s._replace(name="ready") if at == last else s for at, s in enumerate(queue.spans)]
    nothing_sent = [s for s in queue.spans if s.stage != "ray.submit"]

    (one,) = findings(replace(queue, spans=tuple(spans)), "ray.one-at-a-time")
    (other,) = findings(replace(queue, spans=tuple(nothing_sent)), "ray.one-at-a-time")

    assert one.title == "4 calls went to one actor, 80 % of the time"
    assert "actor" not in other.title


@pytest.mark.parametrize("made", [in_a_row(4), in_turns(100)])
def test_what_needs_the_value_of_the_one_before_is_not_told_to_run_beside_it(made: Trace) -> None:
    code = {
        True: "for _ in xs: v = ray.get(f.remote(v))",
        False: "[ray.get(f.remote(v)) for v in vs]",
    }

    told = {
        is_so: {one.rule for one in find(analyse(replace(made, name=code[is_so])))}
        for is_so in code
    }

    assert ("ray.get-in-loop" in told[True], "ray.get-in-loop" in told[False]) == (False, True)


@pytest.mark.parametrize(
    "code",
    ["pipe()", "for x in xs: w = ray.get(a.step.remote(w))", "while go: ray.get(a.f.remote())"],
)
def test_a_notebook_is_told_to_ask_ahead_where_its_code_shows_that_it_can(code: str) -> None:
    """A call that needs what was made of the one before has to wait."""
    told = find(analyse(replace(in_notebook(40), name=code)))

    assert "ray.unpipelined" not in {one.rule for one in told}


def test_asking_ahead_as_printed_calls_the_actor_as_often_and_gives_the_same() -> None:
    """The line, and the two that stand behind it, in place of a get in a loop."""
    code = "for x in range(5): out.append(ray.get(a.step.remote(x)))"
    (found,) = (f for f in find(analyse(replace(in_notebook(40), name=code))) if f.remedy)
    before, _, behind = found.remedy.partition("   # ")
    asked, out = list[int](), list[int]()

    def ask(x: int) -> int:
        asked.append(x)
        return x

    step = SimpleNamespace(remote=ask)
    names = {"a": SimpleNamespace(step=step), "ray": SimpleNamespace(get=out.append)}

    turn = behind[behind.index("ref, ahead") :]
    exec(f"{before}\nfor x in range(5):\n    {turn}", names)  # noqa: S102  (our own line)

    assert (asked, out) == ([*range(5)], [*range(5)])


@pytest.mark.parametrize("name", ["dumps(1)", "sent", "pickle.dumps(a) + pickle.dumps(b)"])
def test_a_remedy_without_the_name_of_the_user_is_not_shown(name: str) -> None:
    """A name that was given, no variable, or two of them: which one is meant is not known."""
    told = [find(analyse(replace(trace, name=name))) for trace in (many(), refused("error"))]

    assert [finding.remedy for (finding,) in told] == ["", ""]


@pytest.mark.parametrize(("rule", "below", "above"), PAIRS)
def test_a_finding_fires_at_its_threshold_not_below(rule: str, below: Trace, above: Trace) -> None:
    """One at the threshold, none just below it; its remedy can be pasted, its evidence printed."""
    trace = analyse(above)
    (found,) = findings(above, rule)

    assert findings(below, rule) == []
    assert all(isinstance(v, str | int | float | None) for v in found.evidence.values())
    assert (found.gain, bool(found.evidence)) == (None, True)
    assert found.spans
    assert all(0 <= index < len(trace.spans) for index in found.spans)
    assert "\n" not in found.remedy
    ast.parse("" if found.remedy.startswith(("!", "%")) else found.remedy)
    assert (len(found.title) <= 180, len(found.remedy) <= 260) == (True, True)
    assert from_document(to_document(trace)).findings == trace.findings


def test_of_what_is_sent_again_workers_leave_no_more_than_they_do_not_work() -> None:
    """They load it each time also when it is put once."""
    sent = [
        ("ray.msgpack", CALLER, at * 20, 20, 10**6, -1, {"value_key": 7, "total_bytes": 10**6})
        for at in range(5)
    ]
    loading = [("ray.arguments", "worker 1", at * 20, 15) for at in range(5)]

    alone, beside = (
        findings(make_trace(spans), "ray.same-object")[0].share
        for spans in (sent, [*sent, *loading])
    )

    assert [alone, beside] == pytest.approx([0.8, 0.25])


def test_a_frame_without_columns_of_objects_is_another_and_holds_the_same() -> None:
    """The remedy as it is printed, pasted where the frame is."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    trace = DASK_GOLDEN["dask.object-columns"][0][1]
    (found,) = (one for one in find(analyse(trace), name="frame") if "object-c" in one.rule)
    names = {"frame": pd.DataFrame({"w": pd.Series(["a", "b"], dtype=object)})}

    exec(found.remedy, names)  # noqa: S102  (our own line)

    assert not holds_objects(names["frame"])
    assert list(names["frame"].w) == ["a", "b"]


def test_joblib_uses_threads_where_the_remedy_stands() -> None:
    """The remedy as it is printed, until the block ends."""
    joblib = pytest.importorskip("joblib")
    (found,) = findings(DASK_GOLDEN["joblib.pool-start"][0][1], "joblib.pool-start")

    with joblib.parallel_config(n_jobs=2):
        exec(found.remedy, {})  # noqa: S102  (our own line)
        backend = type(joblib.parallel.get_active_backend()[0]).__name__

    assert backend == "ThreadingBackend"


def test_a_cluster_without_workers_is_the_cause() -> None:
    waited = make_trace([("dask.wait", CALLER, 0, 90)], wall_ms=100)

    (found,) = analyse(replace(waited, quality=Quality(notes=(f"dask: {NO_WORKER}",)))).findings

    assert (found.title, found.share) == ("the cluster had no worker: nothing could run", 0.9)
    ast.parse(found.remedy)
    assert not find(waited)


def test_forks_beside_ray_are_an_error_in_the_making() -> None:
    """Told by the note of the probe; nothing is claimed of the time."""
    forked, plain = (
        Quality(notes=(note,)) for note in (f"{counted(2, 'fork')} {FORKED}", "2 forks")
    )

    (found,) = find(replace(make_trace([]), quality=forked))

    assert (found.title, found.share) == ("2 forks of this process while Ray ran", None)
    ast.parse(found.remedy)
    assert not find(replace(make_trace([]), quality=plain))


def test_findings_are_told_in_words() -> None:
    """Title, evidence and remedy of each sample are those of a file that people read."""
    at_thresholds = {
        f"{rule} {at}": tuple(findings(above, rule))
        for rule, pairs in ALL.items()
        for at, (_, above) in enumerate(pairs)
    }
    found = {name: tuple(findings(trace)) for name, trace in {**SAMPLES, **DASK_SAMPLES}.items()}

    titles = [each.title for some in (*at_thresholds.values(), *found.values()) for each in some]
    assert [each for each in titles if len(each) > 70 or "(" in each.replace("s(E", "")] == []
    assert len(ALL) >= len(RULES)  # each with a trace on either side of its threshold
    check("findings", {name: told(each) for name, each in {**at_thresholds, **found}.items()})


def told(found: Iterable[Finding]) -> str:
    """Return findings as one reads them in the document."""
    return "\n".join(line for each in found for line in _lines(each))


def _lines(each: Finding) -> Iterator[str]:
    yield f"{each.severity}: {each.title}"
    yield from [f"  because {each.because}"] if each.because else []
    yield from [f"  {each.remedy}"] if each.remedy else []
    share = "" if each.share is None else f"{each.share:.0%}"
    few = f"spans {each.spans}" if len(each.spans) < 9 else f"{len(each.spans)} spans"
    yield f"  {share} {dict(each.evidence)}, {few}"


@pytest.mark.parametrize("trace", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_is_found_in_what_nobody_saw(trace: Trace) -> None:
    """Unknown is neither zero nor large: a rule without its numbers is silent."""
    assert findings(trace) == []
    assert find(trace) == find(walked(50_000, 50)) == ()  # nor without a waterfall


@pytest.mark.parametrize("value", [True, "many", [10**9], 1e9, {"size": 1}])
@pytest.mark.parametrize("make", [in_band, got, exported, lambda v: again((7, v), (7, v))])
def test_details_of_another_type_are_unknown(make: Callable[[Any], Trace], value: object) -> None:
    """A document of a foreign writer gives no findings instead of an error."""
    assert findings(replace(make(5), spans=_spans_with(make(5), value))) == []


def _spans_with(trace: Trace, value: object) -> tuple[Any, ...]:
    """Replace every number in the details."""

    def changed(old: object) -> object:
        if isinstance(old, list):
            return [value, {"size_bytes": value}]
        return value if isinstance(old, int) else old

    return tuple(
        span._replace(details={key: changed(old) for key, old in (span.details or {}).items()})
        for span in trace.spans
    )
