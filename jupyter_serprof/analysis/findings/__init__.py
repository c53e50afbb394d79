"""Findings: causes with evidence and a remedy; each a pure function of a trace.

In: a `Trace` with its waterfall. Out: the findings of each of ``RULES``, the worst first. None
claims a gain that was not measured; a remedy is a line that can be pasted.

>>> from jupyter_serprof.testing import make_trace
>>> from jupyter_serprof.analysis import analyse
>>> spans = [("ray.store", "client/main", 0, 1), ("import", "client/main", 0, 900, None, 0)]
>>> [finding.title for finding in analyse(make_trace(spans)).findings]
['modules were imported for the first time, paid once']
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from jupyter_serprof.analysis.findings import dask as dask_findings
from jupyter_serprof.analysis.findings import dask_bytes, ray_runs, ray_values
from jupyter_serprof.analysis.findings import pickle as pickle_findings
from jupyter_serprof.analysis.findings import ray as ray_loops
from jupyter_serprof.analysis.findings.unpicklable import unpicklable
from jupyter_serprof.analysis.spans import (
    NAME,
    WORDS,
    captured,
    covered_ns,
    indexed,
    number,
    row_of,
    self_share,
    text,
    whole,
)
from jupyter_serprof.analysis.typed import PLACE, named, roles_of
from jupyter_serprof.model import Finding, Row, Span, Trace
from jupyter_serprof.model.units import format_bytes, format_count, format_ns, format_share

REPEATED_BYTES, CAPTURED_BYTES = 100_000, 1_000_000
WALKED_ELEMENTS, WALK_SHARE = 10_000, 0.1
#: Of an element; what is larger takes its time for its bytes.
SMALL_BYTES = 4_096
#: What could be saved is told from here on.
_WORTH_SHARE = 0.01
#: A remedy that saves less than such a part is not worth the reading.
_LEAST_GAIN = 0.05
_ELEMENTS = ("ray.pickle", "ray.unpack", "ray.unpickle", "ray.arguments", "gc")
TOUCHED_BYTES = 8_000_000
#: Share of the copied bytes whose pages had to be made first.
TOUCHED_SHARE = 0.5
#: From here on glibc maps each block anew: DEFAULT_MMAP_THRESHOLD_MAX of malloc/malloc.c, 64 bit.
MAPPED_BYTES = 32 * 2**20
#: A finding points at a limited number of spans; a loop over many tasks must not fill the document.
POINTED_SPANS = 20
#: Sentences of one rule; the last one tells how many more there are.
SAID_OF_A_RULE = 3
#: What explains a third of the time is the cause, and the headline.
CAUSE_SHARE = 1 / 3
#: A remedy of something else saves so much of what the headline explains, or is not told.
_FITTING_SHARE = 1 / 3
#: Whatever it took: nothing else matters to who reads it.
_REFUSED = "pickle.unpicklable"
_OF_ITS_OWN = ", an argument of its own, not inside another"
#: Where workers load what a function captures, and fetch it; below these it is no matter.
_LOADING = (("ray.load", ray_loops.LOADED_BYTES), ("ray.schedule", 10_000_000))
_AS_REFERENCE = f"{WORDS}put it once by `ray.put`, and hand over the reference as an argument"
_AS_ARGUMENT = f"{WORDS}given as an argument it is no part of the function"
_ON_WORKERS = f"{WORDS}pass what a task needs of it, or load it once on each worker"
_BY_REFERENCE = f"\n{WORDS}put it once by `ray.put`, and pass the reference"
_SENDING = ("ray.submit", "ray.store", "ray.msgpack", "ray.pickle")
_STORE = "ray.store"
_AGAIN = "; from the third run on, where the result was let go, its memory is known"
_TOUCHED_AGAIN = {
    _STORE: "; a copy into pages that are known is faster",
    "pickle.loads": _AGAIN,
    "ray.unpickle": _AGAIN,
}
_ARRAY_FORMS = {
    "object": "made of Python objects",
    "strided": "a non-contiguous array",
    "polars": "a polars frame",
}
_IN_BAND_REMEDIES = {
    "object": f"%serprof --try {NAME}   # measures it with a fixed dtype, where one fits",
    "strided": f"{NAME} = np.ascontiguousarray({NAME})   # once, before it is sent",
    "polars": f"{NAME} = {NAME}.to_arrow()   # before it is sent; pl.from_arrow({NAME}) goes back",
    "": f"%serprof --blame {NAME}   # tells which part: arrays that are not contiguous, bytes",
}


def in_band_copy(trace: Trace) -> Iterable[Finding]:
    """Large bytes inside the pickle although buffers could have gone out-of-band."""
    for index, span in indexed(trace, "ray.pickle"):
        copied, form = number(span, "in_band_bytes") or 0, ray_values.array_form(trace, index)
        if copied and ray_values.holds_file(trace, span):
            yield ray_values.file_sent(trace, index, copied)
            continue
        beside = number(trace.spans[span.parent], "elements") if span.parent >= 0 else 0
        if copied < ray_values.WORTH_BYTES or (beside or 0) >= WALKED_ELEMENTS:
            continue  # many small ones: another finding
        copies = ray_values.COPIES_OF_POLARS if form == "polars" else ("ray.msgpack", "ray.pickle")
        if form or ray_values.has_payloads(span):
            yield Finding(
                "pickle.in-band-copy",
                "warn",
                f"{format_bytes(copied)} were copied into the pickle instead of handed over",
                {"in_band_bytes": copied, "out_of_band_bytes": number(span, "out_of_band_bytes")},
                _IN_BAND_REMEDIES.get(form, _IN_BAND_REMEDIES[""]),
                spans=(index,),
                because=f"it is {_ARRAY_FORMS[form]}" if form in _ARRAY_FORMS else "",
                share=self_share(trace, *copies),
            )


def element_walk(trace: Trace) -> Iterable[Finding]:
    """Ray's walk over many small elements, one Python callback for each."""
    walked = {
        index: elements
        for index, span in indexed(trace, "ray.pickle")
        if (elements := number(span, "elements") or 0) >= WALKED_ELEMENTS
    }
    if not walked:
        return
    inner = trace.spans[max(walked, key=walked.__getitem__)]
    largest = trace.spans[inner.parent] if inner.parent >= 0 else inner
    size = number(largest, "total_bytes")
    is_small = size is not None and size < SMALL_BYTES * sum(walked.values())
    share = self_share(trace, "ray.msgpack", *_ELEMENTS[: len(_ELEMENTS) * is_small])
    if share >= WALK_SHARE:
        kinds = dict.fromkeys(text(trace.spans[index], "element_type") for index in walked)
        kind, total = ", ".join(filter(None, kinds)), sum(walked.values())
        around = (trace.spans[at].parent for at in walked)
        names = {text(trace.spans[at], "name") for at in around if at >= 0}
        of = f" of `{names.pop()}`" if len(names) == 1 and all(names) else ""
        # Of a list only the first element was looked at.
        first = f"; the first is of type `{kind}`" if kind else ""
        yield Finding(
            "ray.element-walk",
            "warn",
            f"Ray pickled {format_count(total)} elements{of} one by one",
            {"elements": total, "element_type": kind or None},
            ray_runs.as_one_block(trace, largest),
            spans=tuple(walked),
            because=f"a Python callback for each took {format_ns(share * trace.wall_ns)}, with "
            f"what pickles them{first}; few arrays need none",
            share=share,
        )


def same_object_again(trace: Trace) -> Iterable[Finding]:
    """One living object serialized more than once."""
    # Sent once it would save all times but one, and no more than workers leave, who load it each
    # time all the same, and work.
    times: dict[tuple[object, int], dict[int, int]] = defaultdict(dict)
    for index, span in indexed(trace, "ray.msgpack"):
        key: object = number(span, "value_key")
        key, size = key or text(span, "name") or None, number(span, "total_bytes") or 0
        if key is not None and size >= REPEATED_BYTES:
            # Of another size it has changed: then it must be sent anew.
            times[key, size][index] = size
    all_bytes = max(1, sum(size * len(found) for (_, size), found in times.items()))
    most = max(0.0, 1 - ray_loops.busiest_ns(trace) / max(1, trace.wall_ns))
    for found in times.values():
        if len(found) > 1:
            total = sum(found.values())
            again = (1 - 1 / len(found)) * total / all_bytes
            first = trace.spans[min(found)]
            kind = text(first, "shared_type") or text(first, "value_type") or "object"
            name = text(first, "name")
            is_part = text(first, "shared_type") not in {"", text(first, "value_type")}
            what = f"`{name}`" if name else f"the same {kind}"
            yield Finding(
                "ray.same-object",
                "warn",
                f"{what} was sent {len(found)} times, {format_bytes(total)} in all",
                {"times": len(found), "total_bytes": total, "value_type": kind},
                f"ref = ray.put({name or NAME})   # once, if it stays as it is; then pass ref"
                f"{_OF_ITS_OWN if is_part else ''}{_BY_REFERENCE}",
                spans=tuple(found),
                because="each time it was serialized and copied into the store anew",
                share=min(most, again * self_share(trace, *_SENDING)),
            )


def large_capture(trace: Trace) -> Iterable[Finding]:
    """Name the large variable that travels inside a function."""
    noted = [entry for _, span in indexed(trace, "ray.export") for entry in captured(span)]
    is_named = any((whole(entry, "size_bytes") or 0) >= CAPTURED_BYTES for entry in noted)
    by_hand = [(index, span) for index, span in indexed(trace, "pickle.dumps") if captured(span)]
    by_hand *= not any(dask_bytes.large_object(trace))  # that tells of it
    for index, span in (*indexed(trace, "ray.export"), *by_hand):
        is_sent, of_dask = span.stage == "ray.export", dask_bytes.code_share(trace, span)
        sizes = [(whole(entry, "size_bytes") or 0, entry) for entry in captured(span)]
        size, entry = max(sizes, key=lambda item: item[0], default=(0, {}))
        many = [entry for entry in captured(span) if entry.get("size_bytes") is None]
        if size < CAPTURED_BYTES and len(many) == 1:  # most of what was pickled
            inner = (s for at, s in indexed(trace, span.stage) if index in (at, s.parent))
            pickled = max((number(one, "in_band_bytes") or 0 for one in inner), default=0)
            size, entry = pickled - sum(known for known, _ in sizes), many[0]
        is_inside = span.parent >= 0 and trace.spans[span.parent].stage == "ray.export"
        if size < CAPTURED_BYTES and not (is_named or is_inside):  # what it is nobody could tell
            size, entry = number(span, "large_bytes") or 0, {}
        name, kind = str(entry.get("name", NAME)), str(entry.get("kind", "variable"))
        if size >= CAPTURED_BYTES:
            what = f"the {kind}" if entry else "it by a variable, a default or self"
            # The name of a parameter is none outside: what the notebook calls the value, or words.
            name, parameter = str(entry.get("variable", name)), name
            what += f" `{parameter}`" * (name != parameter)
            function = text(span, "function")
            where = f"`{function}`" if function.isidentifier() else "a function"
            captured_bytes = format_bytes(size)
            yield Finding(
                "ray.captured-variable",
                "warn",
                f"`{name or parameter}` of {captured_bytes} travels inside {where}"
                if entry
                else f"{captured_bytes} travel inside {where}",
                {"name": name or parameter if entry else None, "size_bytes": size, "kind": kind},
                f"ref = ray.put({name})   # then pass ref as an argument instead of capturing it\n"
                * bool(entry and name and is_sent)
                + (_AS_REFERENCE if is_sent else _ON_WORKERS if of_dask else _AS_ARGUMENT),
                spans=(index,),
                because=f"the function captures {what}: pickled with its code"
                + ", loaded by workers" * is_sent
                + " for its key, in the graph and with each task" * bool(of_dask),
                share=self_share(trace, "ray.export", *(k for k, n in _LOADING if size >= n))
                if is_sent
                else min(1.0, _same_share(trace, span) + of_dask),
            )


def _same_share(trace: Trace, span: Span) -> float:
    """Return the share in which a pickle was made and read, as often as that was."""
    pickles = (s for key in ("pickle.dumps", "pickle.loads") for _, s in indexed(trace, key))
    size = number(span, "in_band_bytes")
    same = (one for one in pickles if number(one, "in_band_bytes") == size)
    return covered_ns(same) / max(1, trace.wall_ns)


def cold_first_touch(trace: Trace) -> Iterable[Finding]:
    """Find a copy whose time went into making new pages, where a later one does without."""
    # The pages of Ray's store stay. What ``dumps`` returns is written into new pages each time, and
    # so is each block of 32 MiB and more that ``loads`` makes: there a repetition does not help.
    for key, later in _TOUCHED_AGAIN.items():
        row = row_of(trace, key)
        if row and (row.copied_bytes or 0) >= TOUCHED_BYTES and _is_slowed_by_pages(row, trace):
            faults, copied = row.minor_faults or 0, row.copied_bytes or 0
            if key != _STORE and not _is_used_again(key, row, trace):
                continue
            touching = (i for i, span in indexed(trace, key) if number(span, "minor_faults"))
            with_spills, own = self_share(trace, key, "ray.spill"), self_share(trace, key)
            spilled_ns = sum(number(span, "spilled_ns") or 0 for _, span in indexed(trace, key))
            yield Finding(
                "memory.first-touch",
                "info",
                f"{format_bytes(copied)} were copied into memory that was new",
                {"minor_faults": faults, "copied_bytes": copied, "stage": key},
                "",
                spans=tuple(touching),
                because=f"making {format_count(faults)} pages took longer than copying{later}",
                share=max(0.0, min(own, with_spills - spilled_ns / max(1, trace.wall_ns))),
            )


def _is_used_again(key: str, row: Row, trace: Trace) -> bool:
    rate = trace.limits.first_touch_bytes_per_s
    pages_ns = (row.minor_faults or 0) * pickle_findings.PAGE_BYTES / rate * 1e9 if rate else 0.0
    sizes = [number(span, "copied_bytes") or 0 for _, span in indexed(trace, key)]
    return pages_ns >= TOUCHED_SHARE * row.busy_ns and max(sizes) < MAPPED_BYTES


def _is_slowed_by_pages(row: Row, trace: Trace) -> bool:
    copied, warm = row.copied_bytes or 0, trace.limits.memcpy_bytes_per_s
    touched = (row.minor_faults or 0) * pickle_findings.PAGE_BYTES
    is_slow = warm is not None and row.busy_ns > 0 and copied / row.busy_ns * 1e9 < warm / 2
    return is_slow and touched >= TOUCHED_SHARE * copied


Rule = Callable[[Trace], Iterable[Finding]]
RULES: Sequence[Rule] = (
    *(in_band_copy, element_walk, same_object_again, large_capture, cold_first_touch),
    ray_values.not_zero_copy,
    *pickle_findings.RULES,
    unpicklable,
    *ray_loops.RULES,
    *ray_runs.RULES,
    *ray_values.RULES,
    *dask_findings.RULES,
)


def find(
    trace: Trace, more: Iterable[Rule] = (), name: str = "", code: str = ""
) -> tuple[Finding, ...]:
    """Return the findings of a trace by our rules and more: the cause, warnings, the rest.

    The cause explains most of the time, a third of it at least. A rule that fails is told as a
    finding. Remedies name the variable ``name``, and what stands in the code: that of a line is the
    name of its trace.
    """
    read = replace(trace, name=code or trace.name)  # ours read the code as well
    rules = (*(_found(rule, read) for rule in RULES), *(_found(rule, trace) for rule in more))
    found = [finding for findings in rules for finding in _costliest(findings, trace)]
    found.sort(key=lambda finding: finding.severity != "warn")
    cause = max(found, key=lambda one: (one.rule == _REFUSED, one.share or 0.0), default=None)
    if cause is not None and is_cause(cause):
        found.sort(key=lambda finding: finding is not cause)
    if found[:1] and found[0].rule == _REFUSED:
        del found[1:]  # of a run that failed: nothing of it is to be made faster
    clients = {known for span in trace.spans if (known := text(span, "client"))}
    roles = {"<client>": min(clients, default="client")} | roles_of(read.name)
    roles |= {NAME: name} if PLACE.fullmatch(name) else {}
    told = [named(finding, roles) for finding in found]
    if told and is_cause(told[0]) and not told[0].remedy:
        # Better none than one that leaves the headline as it is.
        least = _FITTING_SHARE * (told[0].share or 0.0)
        told = [one if (one.share or 0.0) >= least else replace(one, remedy="") for one in told]
    vain = [one for one in told if (one.share or 1.0) < _LEAST_GAIN and one.rule != _REFUSED]
    told = [replace(one, remedy="") if one in vain else one for one in told]
    at = next((at for at, finding in enumerate(told) if finding.remedy), 0)
    if told and told[at].remedy and not (at == 0 and is_cause(told[0])):
        told[at] = _introduced(told[at])
    return tuple(told)


def findings_for(trace: Trace, name: str) -> tuple[Finding, ...]:
    """Return the findings of a trace with remedies for the variable that it is of."""
    remedies = {finding.title: finding.remedy for finding in find(trace, name=name)}
    return tuple(
        replace(finding, remedy=remedies.get(finding.title, finding.remedy))
        for finding in trace.findings
    )


def is_cause(finding: Finding) -> bool:
    """Tell whether a finding explains enough of the time to be the headline."""
    return finding.rule == _REFUSED or (finding.share or 0.0) >= CAUSE_SHARE


def _found(rule: Rule, trace: Trace) -> list[Finding]:
    try:
        return list(rule(trace))
    except Exception as error:  # noqa: BLE001  (one rule must not cost the document)
        title = f"the rule {getattr(rule, '__name__', '')} failed: {type(error).__name__}"
        return [Finding("plugin.failed-rule", "info", title, {}, "")]


def _costliest(findings: Sequence[Finding], trace: Trace) -> list[Finding]:
    """Join equal sentences; of many different ones keep those whose spans took longest."""
    spans: dict[str, list[int]] = defaultdict(list)
    for finding in findings:
        spans[finding.title] += finding.spans
    first = {finding.title: finding for finding in reversed(findings)}
    cost_ns = {title: sum(trace.spans[i].duration_ns for i in spans[title]) for title in spans}
    titles = sorted(spans, key=lambda title: -cost_ns[title])
    said = titles[:SAID_OF_A_RULE]
    kept = [replace(first[each], spans=tuple(spans[each][:POINTED_SPANS])) for each in said]
    if len(titles) > SAID_OF_A_RULE:
        more = f"{format_count(len(titles) - SAID_OF_A_RULE)} more like this"
        because = "; ".join(filter(None, (kept[-1].because, more)))
        kept[-1] = replace(kept[-1], because=because)
    return kept


def _introduced(finding: Finding) -> Finding:
    line, _, words = finding.remedy.partition("   # ")
    share = finding.share or 0.0
    most = format_share(share, decimals=0) if share >= _WORTH_SHARE else ""
    saves = f"would save up to {most}" if most else finding.title
    of = f"about {most} of the time" if most and line.startswith("%") else saves
    return replace(finding, remedy=f"{line}   # {of}{': ' * bool(words)}{words}")
