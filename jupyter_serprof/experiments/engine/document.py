"""The document of a sweep, made from whatever was measured until now, and its sentences."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jupyter_serprof.analysis import ranking
from jupyter_serprof.analysis.findings import findings_for, is_cause
from jupyter_serprof.analysis.findings.unpicklable import refused_text, without_parts
from jupyter_serprof.analysis.sizes.crossovers import crossovers_of, with_break_even
from jupyter_serprof.analysis.sizes.fit import fits_of
from jupyter_serprof.analysis.summary import limit_facts
from jupyter_serprof.capture.machine import measure_limits
from jupyter_serprof.model import (
    Finding,
    Limits,
    Quality,
    Summary,
    Sweep,
    SweepTrace,
    Trace,
    Variant,
    units,
)
from jupyter_serprof.model.sweep import groups_text, middle_ns

#: What a transport says of a value that cannot be pickled: the path, and the type there.
_CULPRIT = re.compile(r"(?:because of|;) (\S.*?) \(([^(),]+)")
Walls = Mapping[str, Sequence[int]]
#: Times of which people say so.
_SAME = 1.1
#: Cold only by nature: in a sweep they are shown by the cold bars themselves.
_COLD_RULES = ("python.first-use-imports", "memory.first-touch")
#: What these transports are for: bringing the value back, and the old protocol.
_BY_ITSELF = (("dask-scatter", "dask.large-gather"), ("pickle4", "pickle.protocol-4"))


def warm_text(sweep: Sweep, key: str) -> str:
    """Return the time of the warm runs, or both times of runs in two groups; "" without runs."""
    walls = _warm_walls(sweep, key)
    return groups_text(walls) or units.format_ns(middle_ns(walls)) if walls else ""


def _warm_walls(sweep: Sweep, key: str) -> list[int]:
    return [point.wall_ns for point in sweep.points if point.variant == key and not point.cold]


def summarize_sweep(sweep: Sweep) -> Summary:
    """Return headline and facts of a round trip."""
    return _summary(sweep, _headline(sweep))


def summarize_repeats(sweep: Sweep) -> Summary:
    """Return headline and facts of one piece of code that was run again: the run in the middle."""
    cold = next((point.wall_ns for point in sweep.points if point.cold), None)
    warm = next((warm_text(sweep, variant.key) for variant in sweep.variants), "")
    shown = (one.trace.summary for one in sweep.traces if one.cold is not bool(warm))
    why = next((summary.headline.partition(": ")[2] for summary in shown if summary), "")
    first = f"{units.format_ns(cold)} the first time" if cold else ""
    took = [warm, why, first] if warm else [first or "no run ended", why]
    return _summary(sweep, f"{units.code_text(sweep.name)}: {', '.join(filter(None, took))}")


def _headline(sweep: Sweep) -> str:
    walls = {v.key: own for v in sweep.variants if (own := _warm_walls(sweep, v.key))}
    used = [v for v in sweep.variants if v.state == "ok" and v.key in walls]
    ranked, outside = ranking.ranked_of(used), ranking.outside_texts(used)
    if found := unpicklable(sweep):
        return found.title
    if not ranked:
        cold = {p.variant: p.wall_ns for p in sweep.points if p.cold and p.variant not in walls}
        begun = [v for v in sweep.variants if v.key in cold and v.state != "failed"]
        said = "no transport could move it"
        if begun:
            first = min(
                begun, key=lambda v: (bool(v.unranked), v.key != ranking.BASELINE, cold[v.key])
            )
            took = units.format_ns(cold[first.key])
            said = f"{first.title} took {took} the first time, no warm run of it was made"
        return ", ".join([f"{_what(sweep)}: {said}", *outside])
    judged = [v for v in ranked if ranking.is_comparable(walls[v.key])]
    best, tied = _best(judged or ranked, walls)
    others = [v for v in judged if v not in tied and v is not best]
    if against := _against(best, others, walls):
        return f"{_what(sweep)}: {best.title} {against}"
    if cause := _cause(sweep, best, ranked):
        return cause
    is_whole = len(judged) == len(ranking.ranked_of(sweep.variants))  # the rest may be faster
    is_below = is_whole and others and max(walls[best.key]) < min(min(walls[v.key]) for v in others)
    verb = "is fastest," if is_below and groups_text(walls[best.key]) else "takes"
    said = f"{_what(sweep)}: {best.title} {verb} {warm_text(sweep, best.key)}"
    if tied:
        times = [middle_ns(walls[v.key]) for v in (best, *tied)]
        is_same = max(times) <= _SAME * min(times)
        equals = ranking.listed([v.title for v in tied])
        return f"{said}, {equals} {'the same' if is_same else 'cannot be told from it'}"
    # What did the same as another way takes no part, and its row may be the shorter one.
    same = [walls[v.key] for v in used if v not in ranked and not ranking.outside_texts([v])]
    beyond = " beyond the noise" * any(middle_ns(own) < middle_ns(walls[best.key]) for own in same)
    is_sure = is_whole and others and not any(groups_text(walls[v.key]) for v in judged)
    return f"{said}, no way is faster{beyond}" if is_sure else said


def _cause(sweep: Sweep, best: Variant, ranked: Sequence[Variant]) -> str:
    """Return a cause with the time of the runs in which it was seen, first of all of the best."""
    warned = [(key, one) for key, one in _found(sweep) if one.severity == "warn" and is_cause(one)]
    for variant in (best, *ranked):
        for title in (one.title for key, one in warned if key == variant.key):
            took = warm_text(sweep, variant.key)
            if title.startswith(f"{units.code_text(sweep.name)} of "):  # with bytes of its own
                return f"{title}: {variant.title} takes {took}"
            said = f"{took}, {title}"
            named = f"{_what(sweep)}: {variant.title} takes {said}"
            is_long = len(named) > units.LONGEST_HEADLINE
            return f"{_what(sweep)}: {said}" if variant is best or is_long else named
    return ""


def _best(ranked: Sequence[Variant], walls: Walls) -> tuple[Variant, list[Variant]]:
    """Return the fastest, or plain pickle if the difference does not matter; and its equals."""
    # Of those that were run once it is plain pickle, if that is there, and none is an equal. All
    # are held against the fastest, as in the rows: what is equal to the second is not to it.
    fastest = min(ranked, key=lambda variant: middle_ns(walls[variant.key]))
    plain = next((variant for variant in ranked if variant.key == ranking.BASELINE), fastest)
    own, rival = walls[plain.key], walls[fastest.key]
    if not ranking.is_comparable(own):
        return plain, []
    grouped = [bool(groups_text(own)), bool(groups_text(rival))]
    cost_ns = ranking.cost_of(plain, fastest)
    is_open = max(rival) >= min(own) and not ranking.matters(own, rival, cost_ns)
    if all(grouped) or (any(grouped) and is_open):
        return plain, []
    equals = [v for v in ranked if v is fastest or _is_equal(fastest, v, walls)]
    best = plain if plain in equals else fastest
    return best, [variant for variant in equals if variant is not best]


def _is_equal(one: Variant, other: Variant, walls: Walls) -> bool:
    """Tell whether they are equals; two groups of runs are none."""
    both = walls[one.key], walls[other.key]
    is_grouped = any(map(groups_text, both))
    return not is_grouped and ranking.are_alike(*both, ranking.cost_of(one, other))


def _what(sweep: Sweep) -> str:
    # As in the table: in memory it may hold other bytes.
    sizes = [point.moved_bytes or point.size_bytes for point in sweep.points]
    return what_text(sweep.name, next(filter(None, sizes), None))


def what_text(name: str, size_bytes: int | None) -> str:
    """Return what a headline is about: its code, and how large it is where that is known."""
    size = f", {units.format_bytes(size_bytes)}" if size_bytes else ""
    return f"{units.code_text(name)}{size}"


def _against(best: Variant, others: Sequence[Variant], walls: Walls) -> str:
    """Return how many times faster than pickle, by the two times of the rows; not of groups."""
    plain = next((variant for variant in others if variant.key == ranking.BASELINE), best)
    both = walls[best.key], walls[plain.key]
    if plain is best or any(map(groups_text, both)):
        return ""
    own, against = (units.format_ns(middle_ns(each)) for each in both)
    if not ranking.matters(*both, ranking.cost_of(best, plain)):
        return f"takes {own}, {plain.title} {against}, by uneven runs"
    ratio = units.format_ratio(middle_ns(both[1]) / middle_ns(both[0]))
    return f"is {ratio} faster than pickle, {own} against {against}"


def _summary(sweep: Sweep, headline: str) -> Summary:
    begun = {point.variant for point in sweep.points}
    used = [one.key for one in sweep.variants if one.state == "ok" and one.key in begun]
    warm = [_warm_walls(sweep, key) for key in used]
    facts = list[str]()
    if any(warm):
        runs = units.counted_in_each([len(walls) for walls in warm], "warm run")
        is_grouped = any(map(groups_text, warm))
        most = max(map(len, warm))
        middle = ("", "", ", the slower one counts", ", the middle one counts")[min(most, 3)]
        middle += ", of two the slower" * (most > 2 and 2 in map(len, warm))  # noqa: PLR2004
        counts = ", some fast and some slow with none between" if is_grouped else middle
        facts.append(f"{runs}{counts}; the first, cold run stands apart")
    details = tuple(limit_facts(sweep.limits))
    return Summary(units.shortened(headline), tuple(facts), details=details)


def unpicklable(sweep: Sweep) -> Finding | None:
    """Return the part for which nothing could pickle the value, and what to do about it."""
    # Of a function of the notebook pickle writes the name: there cloudpickle decides, by which Dask
    # and Ray send it.
    failed = [variant for variant in sweep.variants if variant.state == "failed"]
    is_by_name = any(variant.state == "ok" for variant in sweep.variants)
    if is_by_name and not any(variant.key == "cloudpickle" for variant in failed):
        return None
    named = [parts for each in failed if (parts := _CULPRIT.findall(each.reason))]
    if not named:
        return None
    # Plain pickle takes no function at all: who takes it says what is wrong in it.
    deepest = max(named, key=lambda parts: len(parts[0][0]))
    parts = [(units.below_global(path), kind) for path, kind in deepest]
    path, kind = parts[0]
    title, evidence = refused_text(units.path_text(path), parts), {"path": path, "type": kind}
    if is_by_name:
        inside = f" in {units.code_text(sweep.name)}" * (not path.startswith(sweep.name))
        title = f"{units.path_text(path)}{inside} cannot be pickled by cloudpickle"
    remedy, why = without_parts(parts)
    return Finding("pickle.unpicklable", "warn", title, evidence, remedy, because=why)


def sweep_findings(sweep: Sweep) -> tuple[Finding, ...]:
    """Return the findings of the warm traces, one of each rule, warnings first."""
    # They point at no span: a sweep has many traces, and a number would name a span in each.
    found: dict[str, Finding] = {}
    if refused := unpicklable(sweep):
        found[refused.rule] = refused
    for _, finding in _found(sweep):
        found.setdefault(finding.rule, replace(finding, spans=()))
    return tuple(sorted(found.values(), key=lambda finding: finding.severity != "warn"))


def _found(sweep: Sweep) -> Iterator[tuple[str, Finding]]:
    for entry in sweep.traces:
        for finding in () if entry.cold else findings_for(entry.trace, sweep.name):
            if finding.rule not in _COLD_RULES and (entry.variant, finding.rule) not in _BY_ITSELF:
                yield entry.variant, finding


def made_here(sweep: Sweep, latest: Trace | None, notes: Iterable[str] = ()) -> Sweep:
    """Add where and when it was made: the latest recording knows all libraries imported so far."""
    quality = latest.quality if latest else Quality()
    return replace(
        sweep,
        started=sweep.started or (latest.started if latest else ""),
        producer=latest.producer if latest else "",
        limits=measure_limits(),
        environment={**(latest.environment if latest else {}), **sweep.environment},
        quality=replace(quality, notes=(*quality.notes, *notes)),
    )


def with_findings(sweep: Sweep, summarize: Callable[[Sweep], Summary]) -> Sweep:
    """Add lines, crossovers, findings and summary; leave out of the traces what is said for all."""
    # The finding of the headline is the first one: its remedy stands below it.
    sweep = ranking.with_ranking(with_break_even(sweep))
    found = replace(
        sweep,
        fits=fits_of(sweep.points),
        crossovers=crossovers_of(sweep.points, ranking.ranked_of(sweep.variants)),
        findings=sweep_findings(sweep),
    )
    summary = summarize(found)
    first = sorted(found.findings, key=lambda finding: finding.title not in summary.headline)
    return lean_traces(replace(found, summary=summary, findings=tuple(first)))


def lean(trace: Trace, told: Container[str] = ()) -> Trace:
    """Leave out what the sweep says once for all of its traces, and the notes of stages by key."""
    plain = tuple(replace(one, note=one.note * (one.key not in told)) for one in trace.stages)
    brief = replace(trace.summary, facts=()) if trace.summary else None
    return replace(
        trace,
        stages=plain,
        summary=brief,
        findings=(),
        environment={},
        limits=Limits(),
        quality=Quality(),
    )


def lean_traces(sweep: Sweep) -> Sweep:
    """Leave out of the traces what is said for all of them."""
    traces, told = list[SweepTrace](), set[str]()
    for entry in sweep.traces:
        traces.append(replace(entry, trace=lean(entry.trace, told)))
        told |= {one.key for one in entry.trace.stages}
    return replace(sweep, traces=tuple(traces))
