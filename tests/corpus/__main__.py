"""Run the corpus and print what is said of each entry: see the package."""

from __future__ import annotations

import argparse
import ast
import gc
import inspect
import statistics
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import numpy as np

import jupyter_serprof as sp
from jupyter_serprof.api.recordings import stage_recording
from jupyter_serprof.model import Summary, Trace
from jupyter_serprof.model.units import without_literals

from . import Entry, Run, entries
from .clusters import settle, start

LONGEST_HEADLINE, _MISSING = 90, "not installed"


@dataclass(frozen=True)
class Row:
    """What was seen of an entry; without its traces it was skipped for a reason."""

    entry: Entry
    trace: Trace | None = None
    twin: Trace | None = None
    gain: float | None = None
    reason: str = ""

    @property
    def rules(self) -> list[str]:
        """What fired for the antipattern, warnings with an exclamation mark."""
        findings = self.trace.findings if self.trace else ()
        return list(dict.fromkeys(f.rule + "!" * (f.severity == "warn") for f in findings))

    @property
    def warned(self) -> list[str]:
        """What the healthy twin is warned of: nothing, if all is well."""
        findings = self.twin.findings if self.twin else ()
        return list(dict.fromkeys(f.rule for f in findings if f.severity == "warn"))

    @property
    def is_named(self) -> bool:
        """Whether the rule fired that has to."""
        return self.entry.rule in {rule.rstrip("!") for rule in self.rules}

    @property
    def promise(self) -> float | None:
        """How many times faster the finding says that it would be without its cause."""
        findings = self.trace.findings if self.trace else ()
        found = next((f for f in findings if f.rule == self.entry.rule), None)
        if found is None or (found.gain or found.share) is None:
            return None
        return found.gain or 1 / max(1 - (found.share or 0.0), 1e-3)

    @property
    def is_wrong(self) -> bool:
        """Whether a rule fired that must not, or it could not be run at all."""
        if self.trace is None:
            return not self.reason.startswith(_MISSING)
        return bool(self.warned) or not {rule.rstrip("!") for rule in self.rules}.isdisjoint(
            self.entry.never
        )


def run_entry(entry: Entry, pairs: int) -> Row:
    """Run an entry and its twin warm, then recorded, then in pairs without a recording."""
    missing = [name for name in entry.needs if find_spec(name) is None]
    if missing:
        return Row(entry, reason=f"{_MISSING}: {', '.join(missing)}")
    start(entry.cluster)
    antipattern, healthy = entry.made()
    first = antipattern()
    if entry.rule and not _same(first, healthy()):
        return Row(entry, reason="the twin returns something else")
    del first
    trace, twin = _recorded(entry, antipattern, 0), _recorded(entry, healthy, 1)
    gains = [_gain(entry, antipattern, healthy, turn) for turn in range(pairs)]
    gain = statistics.median(gains) if gains else None
    del antipattern, healthy
    settle(entry.cluster)
    return Row(entry, trace, twin, gain)


def _same(one: object, other: object) -> bool:
    if isinstance(one, list | tuple | float | int):
        return np.allclose(np.asarray(one, float), np.asarray(other, float))
    return type(one) is type(other)


def _recorded(entry: Entry, run: Run, at: int) -> Trace:
    """Record as a user does: `%%serprof`, and `%%graphstages` where Dask is there."""
    settle(entry.cluster)
    record = stage_recording if entry.cluster == "dask" else sp.record
    with record(_typed(entry, at)) as recording:
        run()
    return recording.trace


def _typed(entry: Entry, at: int) -> str:
    """Return what a user would have typed into the cell, as `%%serprof` names a recording."""
    (function,) = ast.parse(dedent(inspect.getsource(inspect.unwrap(entry.prepare)))).body
    *before, last = getattr(function, "body", [None])
    runs = getattr(getattr(last, "value", None), "elts", None)
    if not runs:
        return entry.name
    known = {getattr(node, "name", None): getattr(node, "body", []) for node in before}
    body = known.get(getattr(runs[at], "id", "")) or [getattr(runs[at], "body", runs[at])]
    lines = (
        getattr(line, "value", line) if isinstance(line, ast.Return) else line for line in body
    )
    return without_literals("\n".join(map(ast.unparse, lines)))


def _gain(entry: Entry, antipattern: Run, healthy: Run, turn: int) -> float:
    """Return how many times faster the twin is; who begins changes from turn to turn."""
    took = {}
    for run in (antipattern, healthy) if turn % 2 else (healthy, antipattern):
        settle(entry.cluster)
        begin = time.perf_counter()
        run()
        took[run] = time.perf_counter() - begin
    return took[antipattern] / took[healthy]


def told(row: Row) -> Iterable[str]:
    """Return the lines of an entry."""
    entry, trace, twin = row.entry, row.trace, row.twin
    if trace is None or twin is None:
        yield f"{entry.name:<32} {'FAILED' if row.is_wrong else 'skipped'}: {row.reason}"
        return
    summary = trace.summary or Summary("")
    named = "-" if not entry.rule else "yes" if row.is_named else "NO"
    gain, promise = ("" if n is None else f"{n:.2f}x" for n in (row.gain, row.promise))
    length = len(summary.headline)
    yield (
        f"{entry.name:<32} {_ms(trace):>8} {_ms(twin):>8} {promise:>7} {gain:>7} "
        f"{_share(summary.strict_share):>6} {_share(summary.total_share):>6} {length:>4}"
        f"{'!' if length > LONGEST_HEADLINE else ' '} {entry.rule or '(wait)':<26} {named:<4}"
        f"{', '.join(row.rules) or 'nothing'}; twin: {', '.join(row.warned) or 'none'}"
    )
    yield f"    {summary.headline}"
    for finding in trace.findings:
        if finding.remedy and finding.rule == entry.rule:
            yield f"    {finding.remedy}"


def _ms(trace: Trace) -> str:
    return f"{trace.wall_ns / 1e6:,.0f} ms"


def _share(share: float | None) -> str:
    return "n/a" if share is None else f"{share:.1%}"


_HEAD = """# Causes

Each row is an antipattern that the page beside it documents, and its healthy twin: `tests/corpus`.
*Names* is what the finding says, *share* the part of the time that it explains, *faster* how many
times faster the twin was in {pairs} alternating pairs: the median. Where that is 1 there is nothing
to say. Made by: `uv run --group corpus python -m tests.corpus --pairs 3 --table docs/causes.md`.

| antipattern | page | finding | names | share | faster |
|---|---|---|---|---|---|
"""


def as_table(rows: Iterable[Row], pairs: int) -> str:
    """Return a table of the antipatterns: what is said of each, and what its twin gains."""
    return _HEAD.format(pairs=pairs) + "".join(map(_line, filter(_is_told, rows)))


def _is_told(row: Row) -> bool:
    return bool(row.entry.rule and row.trace)


def _line(row: Row) -> str:
    entry, findings = row.entry, row.trace.findings if row.trace else ()
    found = next((f for f in findings if f.rule == entry.rule), None)
    share = "" if found is None or found.share is None else f"{found.share:.0%}"
    said = (f"`{found.rule}`", found.title, share) if found else ("", "nothing", "")
    gain = "" if row.gain is None else f"{float(f'{row.gain:.2g}'):g}x"
    cells = (entry.title, entry.page.partition(": ")[2], *said, gain)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"


def closing(rows: list[Row]) -> str:
    ran = [row for row in rows if row.trace]
    ruled = [row for row in ran if row.entry.rule]
    headlines = [len((row.trace.summary or Summary("")).headline) for row in ran if row.trace]
    told = [(1 - 1 / row.gain, 1 - 1 / row.promise) for row in ruled if row.gain and row.promise]
    return (
        f"{len(rows)} entries, {len(rows) - len(ran)} skipped; rule fired: "
        f"{sum(row.is_named for row in ruled)} of {len(ruled)}; twins with a warning: "
        f"{sum(bool(row.warned) for row in ran)}; headlines above {LONGEST_HEADLINE}: "
        f"{sum(length > LONGEST_HEADLINE for length in headlines)}; of the time that a cause "
        f"explains its twin saves two thirds or more: "
        f"{sum(1.5 * saved >= promised for saved, promised in told)} of {len(told)}, and no more "
        f"than half as much again: {sum(saved <= 1.5 * promised for saved, promised in told)}"
    )


def save(row: Row, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for trace, name in ((row.trace, ""), (row.twin, ".healthy")):
        if trace is not None and (row.entry.rule or not name):
            sp.save(trace, folder / f"{row.entry.name}{name}.serprof.json")


def main(arguments: list[str]) -> int:
    """Run what is asked for; 1 if a rule fired that must not, or an entry failed."""
    parser = argparse.ArgumentParser(prog="tests.corpus", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names, rules, pages or groups")
    parser.add_argument("--save", type=Path, help="write each document there")
    parser.add_argument("--pairs", type=int, default=0, help="measure the gain in so many pairs")
    parser.add_argument("--table", type=Path, help="write what is said of each as Markdown")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # what Ray and Dask warn of is not what is tested here
    gc.collect()
    gc.freeze()
    print(
        f"{'entry':<32} {'wall':>8} {'twin':>8} {'promise':>7} {'gain':>7} {'strict':>6} "
        f"{'total':>6} {'line':>5} {'rule':<26} fired"
    )
    rows = []
    for entry in entries(given.names):
        try:
            rows.append(run_entry(entry, given.pairs))
        except Exception as error:  # noqa: BLE001  (the others are to be run all the same)
            rows.append(Row(entry, reason=f"{type(error).__name__}: {error}"))
        print("\n".join(told(rows[-1])), flush=True)
        if given.save:
            save(rows[-1], given.save)
    print(closing(rows))
    if given.table:
        given.table.write_text(as_table(rows, given.pairs), "utf-8")
    return int(any(row.is_wrong for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
