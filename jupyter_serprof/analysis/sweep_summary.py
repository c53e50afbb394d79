"""The sentence above a round trip, and the findings of its traces."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from jupyter_serprof.model import Finding, Summary, Sweep, Variant
from jupyter_serprof.model.times import groups_text, middle_ns
from jupyter_serprof.model.units import format_bytes, format_ns, format_rate, format_ratio

_ALIASES = "aliases the original"
_BASELINE = "pickle"
#: A smaller ratio is within the noise of one run.
_FASTER = 1.1
#: Cold only by nature: in a sweep they are shown by the cold bars themselves.
_COLD_RULES = ("python.first-use-imports", "memory.first-touch")


def warm_ns(sweep: Sweep, key: str) -> float | None:
    """Return the time of the warm runs of a variant; None without warm runs."""
    walls = _warm_walls(sweep, key)
    return middle_ns(walls) if walls else None


def warm_text(sweep: Sweep, key: str) -> str:
    """Return the time of the warm runs, or both times of runs in two groups; "" without runs."""
    walls = _warm_walls(sweep, key)
    return groups_text(walls) or format_ns(middle_ns(walls)) if walls else ""


def _warm_walls(sweep: Sweep, key: str) -> list[int]:
    return [point.wall_ns for point in sweep.points if point.variant == key and not point.cold]


def summarize_sweep(sweep: Sweep) -> Summary:
    """Return headline and facts of a round trip."""
    return Summary(_headline(sweep), tuple(_facts(sweep)))


def summarize_repeats(sweep: Sweep) -> Summary:
    """Return headline and facts of one piece of code that was run again."""
    cold = next((point.wall_ns for point in sweep.points if point.cold), None)
    warm = next((warm_text(sweep, variant.key) for variant in sweep.variants), "")
    if cold is None and not warm:
        return Summary(f"{sweep.name}: no run ended.", tuple(_facts(sweep)))
    first = f" {format_ns(cold)} the first time" if cold is not None else ""
    again = f"{' and' if first else ''} {warm} again" if warm else ""
    return Summary(f"{sweep.name} took{first}{again}.", tuple(_facts(sweep)))


def _headline(sweep: Sweep) -> str:
    medians = {
        variant.key: time_ns
        for variant in sweep.variants
        if variant.state == "ok" and (time_ns := warm_ns(sweep, variant.key)) is not None
    }
    used = [variant for variant in sweep.variants if variant.key in medians]
    moving = [variant for variant in used if _ALIASES not in variant.result]
    what = _what(sweep)
    if not moving:
        return f"{what}: no transport could move it{_alias(sweep, used, medians)}."
    best = _best(moving, medians)
    sentence = f"{what}: {best.title} moves it in {warm_text(sweep, best.key)}"
    return f"{sentence}{_against(sweep, best, medians)}{_cold(sweep, best, medians[best.key])}."


def _alias(sweep: Sweep, aliasing: list[Variant], medians: dict[str, float]) -> str:
    if not aliasing:
        return ""
    best = _best(aliasing, medians)
    return f"; {best.title} {_ALIASES} in {warm_text(sweep, best.key)}"


def _best(variants: list[Variant], medians: dict[str, float]) -> Variant:
    """Return the fastest; plain pickle if it is as fast within the noise."""
    fastest = min(variants, key=lambda variant: medians[variant.key])
    plain = next((variant for variant in variants if variant.key == _BASELINE), fastest)
    return plain if medians[plain.key] < _FASTER * medians[fastest.key] else fastest


def _what(sweep: Sweep) -> str:
    sizes = [point.size_bytes or point.moved_bytes for point in sweep.points]
    size = next((size for size in sizes if size), None)
    return f"{sweep.name} ({format_bytes(size)})" if size else sweep.name


def _against(sweep: Sweep, best: Variant, medians: dict[str, float]) -> str:
    """Return how many times faster than pickle, by the two times of the rows; not of groups."""
    if best.key == _BASELINE or _BASELINE not in medians:
        return ""
    if any(groups_text(_warm_walls(sweep, key)) for key in (best.key, _BASELINE)):
        return ""
    ratio = medians[_BASELINE] / medians[best.key]
    return f", {format_ratio(ratio)} faster than pickle in-band" if ratio >= _FASTER else ""


def _cold(sweep: Sweep, best: Variant, warm_ns: float) -> str:
    cold = next((p.wall_ns for p in sweep.points if p.variant == best.key and p.cold), None)
    if cold is None or cold < 1.5 * warm_ns:
        return ""
    return f"; the first time took {format_ns(cold)}"


def _facts(sweep: Sweep) -> list[str]:
    used = [variant.key for variant in sweep.variants if variant.state == "ok"]
    warm = Counter(p.variant for p in sweep.points if p.variant in used and not p.cold)
    facts = []
    if warm:
        low, high = min(warm.values()), max(warm.values())
        runs = str(low) if low == high else f"{low} to {high}"
        plural = "" if high == 1 else "s"
        facts.append(f"median of {runs} warm run{plural}; the first run is shown apart")
    if sweep.limits.memcpy_bytes_per_s:
        facts.append(
            f"memcpy here {format_rate(sweep.limits.memcpy_bytes_per_s)}, "
            f"{format_rate(sweep.limits.first_touch_bytes_per_s)} into new pages"
        )
    return facts


def sweep_findings(sweep: Sweep) -> tuple[Finding, ...]:
    """Return the findings of the warm traces, one of each rule, warnings first.

    They point at no span: a sweep has many traces, and a number would name a span in each.
    """
    found: dict[str, Finding] = {}
    for entry in sweep.traces:
        for finding in () if entry.cold else entry.trace.findings:
            if finding.rule not in _COLD_RULES:
                found.setdefault(finding.rule, replace(finding, spans=()))
    return tuple(sorted(found.values(), key=lambda finding: finding.severity != "warn"))
