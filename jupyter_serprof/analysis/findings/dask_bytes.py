"""Findings about the bytes of a Dask graph: what is embedded in it, and how often it travels."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from jupyter_serprof.analysis.findings import dask_facts as facts
from jupyter_serprof.analysis.spans import (
    NAME,
    WORDS,
    covered_ns,
    indexed,
    number,
    self_share,
    text,
    total,
    whole,
    word,
)
from jupyter_serprof.model import Finding, Span, Trace
from jupyter_serprof.model.trace import IN_CODE
from jupyter_serprof.model.units import a_kind, format_bytes, format_count, format_ratio

LARGE_BYTES, KNOWN_SHARE = 10_000_000, 1 / 3
REPEATED_BYTES, REPEATED_RATIO = 100_000_000, 5
#: Below this many bytes for each task their number is the cause, not what they carry.
PAYLOAD_BYTES = 4_000
_SENDING = ("dask.serialize", "dask.communicate", "dask.schedule.unpickle")
#: What Dask calls the layers in which it slices an object that it was given as a whole.
_SLICED_ARRAYS = ("array", "asarray", "from_array", "asanyarray")
_SLICED_FRAMES = ("from_pandas", "frompandas", "from-pandas")
_SLICED = (*_SLICED_ARRAYS, *_SLICED_FRAMES)
#: A frame of pandas with a column of objects, as the table of a graph names it.
_FRAME, OBJECTS_SHARE = re.compile(r"pandas\..* object "), 0.1
_PICKLING = ("dask.serialize", "dask.schedule.unpickle", "dask.materialize", "dask.dispatch")
#: Where Dask makes the name of what it is given: of each object by itself.
_NAMING = ("dask.construct",)
_CUT, _LEFT = ("dask.materialize",), ("dask.dispatch",)
#: A container of small things; how often they are met in all, and for each task of a graph.
_CROWD = re.compile(r"(list|tuple|dict|set|frozenset) \((\d+)\)")
WALKED_ITEMS, WALKED_BY_TASK, WALKED_SHARE = 20_000, 100, 0.1
#: Who meets each item: the search for collections, optimization, and each pickle.
_WALKING = (
    *("dask.construct", "dask.submit", "gc", "dask.optimize", "dask.materialize"),
    *(*_SENDING, "dask.dispatch"),
)
#: Of a bag that is made of parts.
_PARTS, _IN_PARTS = 8, f"\n{WORDS}into what `dask.delayed(part, traverse=False)` gives nobody looks"
_HELD = (
    f"   # a function may hold it\n<held>   # a function may hold it\n{WORDS}what a function holds "
    "(`functools.partial`) is not searched, and a scattered container is sent item by item"
)
#: A method takes its object along.
_BY_METHOD = (
    "sent = <client>.scatter([<bound>], broadcast=True)[0]   # once to each worker; then submit "
    "`type(<bound>).<method>` with `sent` before its other arguments"
)
_BY_ARGUMENT = "<captured>   # as an argument it goes once to each worker"
_GIVEN = (
    "give it to the function as an argument, scattered or by `dask.delayed`: it then goes once to "
    "each worker"
)
_BY_SCATTER = f"\n{WORDS}`client.scatter` sends it once to each worker; tasks carry its key only"


def large_object(trace: Trace) -> Iterable[Finding]:
    """Name objects of 10 MB and more inside the graph; where none is known, the large graph."""
    # A smaller one that is a third of a large graph is no fault, but what the graph is made of.
    # Nothing is said where no graph was pickled: threads share what is embedded.
    entries = _graph_rows(trace) if _sent(trace) else []
    same = [(word(entry, "object"), word(entry, "name")) for entry in entries]
    sent = Counter[object]()  # the same in each of many graphs
    for one, entry in zip(same, entries, strict=True):
        sent[one] += whole(entry, "bytes") or 0
    large = [each for one, each in zip(same, entries, strict=True) if sent[one] >= LARGE_BYTES]
    large = [each for each in large if not _walked_items(each)]
    objects = [_embedded(trace, entry) for entry in large if word(entry, "object")]
    graphs = [] if objects else list(_large_graphs(trace))
    for entry in entries if graphs else ():
        share, is_known = entry.get("share"), word(entry, "object") and not _walked_items(entry)
        if is_known and isinstance(share, float) and share >= KNOWN_SHARE:
            objects.append(replace(_embedded(trace, entry), severity="info"))
    yield from objects or graphs


def _embedded(trace: Trace, entry: facts.Record) -> Finding:
    """Tell of one object; sent by many graphs, or with many tasks, it has to go to each worker."""
    size, count = whole(entry, "bytes"), whole(entry, "references")
    crossing, share = whole(entry, "crossing_bytes"), entry.get("share")
    layer = _layer(entry)
    # A layer of dask.delayed(value) has the name of the class, which says nothing.
    by = f" by `{layer}`" * (layer not in ("", _kind(entry)))
    called = f"`{word(entry, 'name')}`" if word(entry, "name") else _kind(entry)
    referred = f"{format_count(count)} tasks refer to it" if count and count > 1 else ""
    crosses = f"{format_bytes(crossing)} go to workers" if (crossing or 0) > (size or 0) else ""
    times = max(_graphs_of(trace, size or 0), (crossing or 0) / max(1, size or 0))
    is_cut, lanes = layer.lower() in _SLICED, facts.workers(trace).threads
    what = a_kind(word(entry, "object"))
    again = 1 - lanes / times if lanes < times and not is_cut else 1.0
    return Finding(
        "dask.large-object",
        "info" if count == 1 and not by else "warn",  # a key of its own, sent once
        f"{called} of {format_bytes(size)} is embedded in the graph{by}",
        {
            "object": word(entry, "object"),
            "layer": layer or None,
            "size_bytes": size,
            "share": share if isinstance(share, float) else None,
            "references": count,
            "crossing_bytes": crossing,
        },
        _instead_of_embedding(trace, entry, layer.lower()),
        spans=_sent(trace),
        because=", ".join(filter(None, (f"it is {what}", referred, crosses))),
        share=again * self_share(trace, *_SENDING, *_CUT[:is_cut], *_LEFT[: not crosses]),
    )


def _kind(entry: facts.Record) -> str:
    return word(entry, "object").partition(" ")[0].rpartition(".")[2]


def _layer(entry: facts.Record) -> str:
    """Return the layer without its hash; where a graph has none, the task, if one is known."""
    known = word(entry, "layer")
    # "(low-level graph)" and the like stand in for a layer; "('x-0a1b', 0)" is a key.
    if known.endswith(")") and not known.startswith(("('", '("')):
        known = ""
    return facts.prefix(known or word(entry, "key"))


def _instead_of_embedding(trace: Trace, entry: facts.Record, layer: str) -> str:
    name = word(entry, "name") or NAME
    if _CROWD.fullmatch(word(entry, "object")):
        return _unsearched(trace, name)
    if layer in _SLICED_ARRAYS:
        return (
            f'da.to_npy_stack("chunks", da.from_array({name}))   # once; of '
            'da.from_npy_stack("chunks") each task reads its own chunk; or as Zarr'
            f"\n{WORDS}write it once by `da.to_npy_stack` or as Zarr: each task reads its own chunk"
        )
    if layer in _SLICED_FRAMES:
        return (
            f'{name}.to_parquet("data.parquet")   # once; of dd.read_parquet("data.parquet") each '
            f"task reads its own part\n{WORDS}write it once as Parquet: each task of "
            "`dd.read_parquet` reads its own part"
        )
    if not any(lane.key == "scheduler" for lane in trace.lanes):
        return f"{name} = dask.delayed({name})   # one key of the graph, to which all tasks refer"
    return _scattered(trace, entry)


def _scattered(trace: Trace, entry: facts.Record) -> str:
    """Return the line that sends a value once: as a future, for graphs as a task of their own."""
    # What a function captures stays what it is: the function has to be given it.
    name = word(entry, "name") or NAME
    once = f"<client>.scatter([{name}], broadcast=True)[0]"
    is_futures = facts.is_of_futures(trace)
    made = once if is_futures else f"dask.delayed({once})"
    line = f"{name} = {made}   # once to each worker; tasks then carry its key only{_BY_SCATTER}"
    if word(entry, "object").endswith(IN_CODE):
        return f"{_BY_METHOD if is_futures else _BY_ARGUMENT}\n{WORDS}{_GIVEN}"
    return line


def _large_graphs(trace: Trace) -> Iterable[Finding]:
    for index, span in indexed(trace, "dask.serialize"):
        parts = [number(span, "in_band_bytes"), number(span, "out_of_band_bytes")]
        size = total(parts) or 0
        if size >= LARGE_BYTES:
            name = facts.computation_of(trace, span)
            yield Finding(
                "dask.large-object",
                "warn",
                f"the graph{f' of `{name}`' if name else ''} takes {format_bytes(size)}",
                {
                    "size_bytes": size,
                    "in_band_bytes": parts[0],
                    "out_of_band_bytes": parts[1],
                    "buffers": number(span, "buffers"),
                },
                "",
                spans=(index,),
                because="it embeds many small objects, or one that only `--blame` opens; what is "
                "large goes once by client.scatter, or is read inside a task",
                share=self_share(trace, *_SENDING),
            )


def repeated_payload(trace: Trace) -> Iterable[Finding]:
    """Find the same bytes inside many task specifications: each of them is pickled by itself.

    Of what they take one time for each worker is left; of many small things that are met one by one
    in each task, one time in all.
    """
    tasks = facts.task_count(trace)
    walked = max(_graph_rows(trace), key=_walked_items, default={})
    times = whole(walked, "references") or 1
    share = self_share(trace, *_WALKING) * (1 - 1 / times if times > 1 else 1)
    if _walked_items(walked) > WALKED_BY_TASK * (tasks or 0) and share >= WALKED_SHARE:
        yield _walked(trace, walked, share)
        return
    sent, left = facts.graph_bytes(trace), facts.dispatched_bytes(trace)
    least = max(REPEATED_BYTES, REPEATED_RATIO * (sent or 0), PAYLOAD_BYTES * (tasks or 0))
    if not sent or left is None or left < least:
        return
    crossing = [entry for entry in facts.records(trace, "dask.graph") if word(entry, "object")]
    largest = max(crossing, key=lambda entry: whole(entry, "crossing_bytes") or 0, default={})
    what, name, count = word(largest, "object"), word(largest, "name"), whole(largest, "references")
    lanes = facts.workers(trace).threads
    called = f"`{name}`" if name else f"the same {_kind(largest) or 'data'}"
    often = f"with {format_count(count)} tasks" if count else "again and again"
    yield Finding(
        "dask.repeated-payload",
        "warn",
        f"{called} was sent {often}, {format_bytes(left)} in all",
        {"graph_bytes": sent, "dispatched_bytes": left, "tasks": tasks, "object": what or None},
        _scattered(trace, largest),
        spans=facts.spans_of(trace, "dask.dispatch.encode") or _sent(trace),
        because=f"the graph had {format_bytes(sent)}, {format_ratio(left / sent)} as much left the "
        f"scheduler{f', most of it {what}' if what else ''}",
        share=self_share(trace, "dask.dispatch") * (1 - min(1.0, lanes / (count or tasks or 1))),
    )


def _graph_rows(trace: Trace) -> list[facts.Record]:
    """Return who holds the bytes of graphs; what one of many submitted holds counts for all."""
    rows = facts.records(trace, "dask.graph")
    same = Counter((word(row, "object"), word(row, "name")) for row in rows)
    for at, row in enumerate(rows):
        size = whole(row, "bytes") or 0
        is_crowd = _CROWD.fullmatch(word(row, "object"))
        if is_crowd and same[word(row, "object"), word(row, "name")] > 1:
            count = _graphs_of(trace, size)
            rows[at] = {**row, "references": count, "crossing_bytes": count * size}
    return rows


def _graphs_of(trace: Trace, size: int) -> int:
    spans = (span for _, span in indexed(trace, "dask.serialize"))
    parts = ((number(s, "in_band_bytes"), number(s, "out_of_band_bytes")) for s in spans)
    return sum((total(each) or 0) >= size for each in parts)


def _walked_items(entry: facts.Record) -> int:
    """Return how often items of a container are met, in all tasks that hold it; 0 if seldom."""
    found = _CROWD.fullmatch(word(entry, "object"))
    times = int(found[2]) * (whole(entry, "references") or 0) if found else 0
    return times if times >= WALKED_ITEMS else 0


def _walked(trace: Trace, entry: facts.Record, share: float) -> Finding:
    kind, name, count = _kind(entry), word(entry, "name"), whole(entry, "references") or 0
    items, size = _walked_items(entry) // count, whole(entry, "crossing_bytes")
    what = f"{f'`{name}`' if name else a_kind(kind)} of {format_count(items)} items"
    return Finding(
        "dask.repeated-payload",
        "warn",
        f"{what} was looked through for {format_count(count)} tasks"
        if count > 1
        else f"{what}, {format_bytes(size)}, was pickled item by item",
        {"object": word(entry, "object"), "references": count, "crossing_bytes": size},
        _unsearched(trace, name or NAME),
        spans=_sent(trace),
        because="Dask looks for its own objects in each argument and pickles it with each task"
        + f": {format_bytes(size)} in all" * (count > 1),
        share=share,
    )


def _unsearched(trace: Trace, name: str) -> str:
    """Return the line that keeps a container whole: a future of it would be sent item by item."""
    if facts.is_of_futures(trace):
        return f"values = <client>.gather(<client>.map(<call>, <values>)){_HELD}"
    return f"{name} = dask.delayed({name}, traverse=False)   # once, before it is given to a call"


def named_by_items(trace: Trace) -> Iterable[Finding]:
    """Tell of a container whose items Dask meets one by one before there is a graph."""
    spans = {at: s for at, s in indexed(trace, "dask.construct") if number(s, "items")}
    share = covered_ns(spans.values()) / max(1, trace.wall_ns)
    if not spans or share < WALKED_SHARE or any(map(_walked_items, _graph_rows(trace))):
        return
    longest = max(spans.values(), key=lambda span: span.duration_ns)
    name, items = text(longest, "name"), number(longest, "items") or 0
    what = f"`{name}` of {format_count(items)} items was"
    called, each = name or NAME, max(1, items // _PARTS)
    part = f"dask.delayed({called}[i:i + {each}], traverse=False)"
    remedies = {
        "from_sequence": f"bag = db.from_delayed([{part} for i in range(0, {items}, {each})])   # "
        f"nobody looks into these parts{_IN_PARTS}",
        "__call__": f"{called} = dask.delayed({called}, traverse=False)   # once, before it is "
        f"given to a call{_IN_PARTS}",
    }
    yield Finding(
        "dask.repeated-payload",
        "warn",
        f"{what if name else f'{format_count(items)} items were'} looked through one by one",
        {"items": items, "calls": len(spans)},
        remedies.get(longest.name, ""),
        spans=tuple(spans),
        because="Dask looks for its own objects in each argument of a delayed call"
        if longest.name == "__call__"
        else f"`{longest.name}` makes a name from all of them",
        share=share,
    )


def scattered_items(trace: Trace) -> Iterable[Finding]:
    """Tell of a container of which each item became a future of its own."""
    spans = {at: s for at, s in indexed(trace, "dask.scatter") if number(s, "items")}
    share = self_share(trace, "dask.scatter")
    if spans and share >= WALKED_SHARE:
        longest = max(spans.values(), key=lambda span: span.duration_ns)
        name, items = text(longest, "name"), format_count(number(longest, "items") or 0)
        yield Finding(
            "dask.repeated-payload",
            "warn",
            f"{f'`{name}` of {items} items was' if name else f'{items} items were'} scattered one "
            "by one",
            {"items": number(longest, "items")},
            f"whole = <client>.submit(lambda: {name or NAME})   # one future, sent as one pickle",
            spans=tuple(spans),
            because="`client.scatter` makes a future of each item of a list or dict",
            share=share,
        )


def code_share(trace: Trace, span: Span) -> float:
    """Return the share of what sends a pickled function, where graphs are mostly it; else 0."""
    sizes = [number(sent, "in_band_bytes") or 0 for _, sent in indexed(trace, "dask.serialize")]
    is_most = 0 < max(sizes, default=0) < 2 * (number(span, "in_band_bytes") or 0)
    return is_most * self_share(trace, *_SENDING, *_LEFT)


def object_columns(trace: Trace) -> Iterable[Finding]:
    """Columns of Python objects: what pickles each by itself is saved where they are Arrow's."""
    got = [at for at, span in indexed(trace, "ray.unpack") if text(span, "array_form") == "object"]
    known = [row for row in facts.records(trace, "dask.graph") if _FRAME.match(word(row, "object"))]
    paid = ("ray.outputs.pickle", "ray.unpickle") if got else (*_NAMING, *_PICKLING)
    share = self_share(trace, *paid)
    if (got or known) and share >= OBJECTS_SHARE:
        name = next((word(row, "name") for row in known), "") or NAME
        arrow = ".convert_dtypes(dtype_backend='pyarrow')"
        yield Finding(
            f"{'ray' if got else 'dask'}.object-columns",
            "warn",
            "columns of Python objects were pickled one by one",
            {"frames": len(got or known)},
            f"{WORDS}`frame{arrow}` in the task" if got else f"{name} = {name}{arrow}   # once",
            spans=tuple(got) or _sent(trace),
            because="as texts of Arrow a column is one block, which is handed over",
            share=share,
        )


def _sent(trace: Trace) -> tuple[int, ...]:
    return facts.spans_of(trace, "dask.serialize") or facts.spans_of(trace, "dask.dispatch.encode")


RULES: Sequence[Callable[[Trace], Iterable[Finding]]] = (
    large_object,
    repeated_payload,
    named_by_items,
    scattered_items,
    object_columns,
)
