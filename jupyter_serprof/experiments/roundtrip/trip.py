"""The round trip: one value through every transport and back, cold and warm, side by side."""

import math
from collections.abc import Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType

from jupyter_serprof.analysis import ranking
from jupyter_serprof.capture.machine import Buffer, buffers_of, lies_inside, overlaps, store_ranges
from jupyter_serprof.experiments.engine.document import made_here, summarize_sweep, with_findings
from jupyter_serprof.experiments.engine.experiment import Progress, Steps
from jupyter_serprof.experiments.engine.machine import MachineCheck
from jupyter_serprof.experiments.engine.order import ROUND_TRIP, Budget, checked_repeat
from jupyter_serprof.experiments.engine.runs import bytes_written
from jupyter_serprof.experiments.roundtrip.by_dask import DaskProtocol, DaskScatter
from jupyter_serprof.experiments.roundtrip.by_pickle import NAMED, UNASKED
from jupyter_serprof.experiments.roundtrip.by_ray import Ray
from jupyter_serprof.experiments.roundtrip.transport import Transport, TransportRuns
from jupyter_serprof.model import ProbeUnavailable, Sweep, Trace, UsageError, Variant
from jupyter_serprof.model.errors import closest
from jupyter_serprof.model.sweep import middle_ns, spread
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import counted, format_share
from jupyter_serprof.objects.ask import is_a, size_bytes
from jupyter_serprof.objects.culprits import refusal_text
from jupyter_serprof.objects.equality import Witness, differences, same_value
from jupyter_serprof.objects.picklers import Held, buffer_places, held_by_both
from jupyter_serprof.objects.walk import is_small_atom

__all__ = ["ALL", "TRANSPORTS", "Ray", "RoundTrip", "Transport"]

#: In place of keys: every transport, and a row that says why for each that is not available.
ALL = "all"

TRANSPORTS: dict[str, type[Transport]] = {
    kind.key: kind for kind in (*UNASKED, Ray, DaskProtocol, DaskScatter, *NAMED)
}


#: What is not memory of the original may be the pickle of its shape, or is less than is told.
_WHOLE, _TOLD = 0.995, 0.005
#: What of it stands among the facts of a variant.
CHECKED_FACTS = ("equal", "type", "shared_share", "has_buffers")


def checked_result(before: object, after: object, witness: Witness) -> dict[str, Scalar]:
    """Return ``equal``, ``type``, ``notes`` (in lines) and ``result`` of what came back.

    ``shared_share`` is the part of its bytes that lies in the very memory of the value (None: not
    told), ``has_buffers`` whether there are any that could be handed over.
    """
    is_kept = witness.is_unchanged(before)
    spoilt = [] if is_kept else ["the round trip changed the value itself"]
    held = held_by_both(before, after)
    # As a recording finds them: pickled once more, texts of pandas are copies.
    buffers = buffers_of(after) or list(held[1].buffers if held else ())
    share = _shared_share(before, after, held)
    return {
        "equal": same_value(before, after) if is_kept else False,
        "type": type(after).__name__,
        "notes": "\n".join([*differences(before, after), *spoilt]),
        "result": _result_kind(share, buffers, after),
        "shared_share": share,
        "has_buffers": bool(held[0].buffers) if held else None,
    }


def _shared_share(before: object, after: object, held: tuple[Held, Held] | None) -> float | None:
    if held is None:
        return 1.0 if overlaps(buffers_of(before), buffers_of(after)) else None
    value, result = held
    # A number or a name is one object wherever it is made.
    is_one = is_small_atom(before) or is_a(before, (type, FunctionType, BuiltinFunctionType))
    if after is before and (value.total_bytes or not is_one):
        return 1.0
    return result.shared_bytes(value) / result.total_bytes if result.total_bytes else 0.0


def _result_kind(share: float | None, buffers: list[Buffer], result: object) -> str:
    if share and share >= _WHOLE:
        return "zero-copy, aliases the original"
    if share and share >= _TOLD:
        return f"{format_share(share, decimals=0)} aliases the original"
    if not buffers:
        return "a new object"
    ranges = store_ranges()
    writeable = getattr(getattr(result, "flags", None), "writeable", None)
    access = "" if writeable is None else ", writeable" if writeable else ", read-only"
    return f"{'zero-copy' if ranges and lies_inside(buffers, ranges) else 'a copy'}{access}"


def payload_places(
    value: object, facts: Mapping[str, object], *, hands_over: bool
) -> tuple[tuple[int, str], ...]:
    """Return (size, place) of the large payloads of a value; none where that cannot be told."""
    if isinstance(value, bytes | bytearray | str):
        size = size_bytes(value)
        place = "out-of-band" if facts["out_of_band_bytes"] == size else "in-band"
        return ((size, place),) if size else ()
    return buffer_places(value, hands_over=hands_over)


#: Spread (interquartile range over median) above which runs are called uneven.
UNSTABLE_SHARE = 0.1


class RoundTrip:
    """A round trip of one value. An `Experiment`.

    ``value``, ``name``, ``transports``, ``repeat``, ``detail``: As of `jupyter_serprof.roundtrip`.
    """

    def __init__(
        self,
        value: object,
        *,
        name: str = "value",
        transports: Sequence[str] | None = None,
        repeat: int | None = None,
        detail: bool = False,
    ) -> None:
        self._value = value
        self._name = name
        self._repeat = checked_repeat(repeat)
        self._detail = detail
        self._asked = transports is not None
        self._is_all = transports is not None and is_all(transports)
        self._transports = chosen_transports(transports)
        self._size = size_bytes(value)
        self._runs: dict[str, TransportRuns] = {}
        self._variants: dict[str, Variant] = {}
        self._started: dict[str, str] = {}
        self._budget = Budget(None if self._repeat else ROUND_TRIP.budget_s)
        self._running = ""
        self._is_stopped = False
        self._latest: Trace | None = None
        self._control = MachineCheck(self._repeat or 0)

    def steps(self) -> Steps:
        """Run within the budget, and yield between two runs."""
        return self._budget.during(self._passes())

    def _passes(self) -> Steps:
        # In turns, so that a machine that slows down meanwhile makes no transport the slower one.
        __tracebackhide__ = True
        self._is_stopped = False
        try:
            while turns := self._turns():
                for transport in turns:
                    self._running = transport.key
                    if self.progress.done:
                        yield
                    self._turn(transport)
            self._control.measure(self._repeat or 0)
        except BaseException:
            self._is_stopped = True
            raise
        finally:
            self._running = ""

    def _turns(self) -> list[Transport]:
        """Return the transports of the next pass: those with the fewest runs, in its order."""
        # Where there is no time for all of them, those whose runs do not agree yet come first, and
        # of those the cheapest. Of two warm runs each has both before the next one begins: a single
        # one is compared with nobody.
        left = [each for each in self._transports if each.key not in self._variants]
        counts = [self._count(each) for each in left]
        fewest = min(counts, default=0)
        turns = [each for each, count in zip(left, counts, strict=True) if count == fewest]
        if fewest:
            ran = (runs.points[-1].wall_ns for runs in self._runs.values() if runs.points)
            self._control.measure(fewest - 1, sum(ran))
            times = max(1, ROUND_TRIP.fewest + 1 - fewest)
            if self._budget.left_s < times * sum(self._runs[each.key].took_s for each in turns):
                return [each for each in sorted(turns, key=self._rank) for _ in range(times)]
        return turns[::-1] if fewest % 2 else turns

    def _rank(self, transport: Transport) -> tuple[bool, float]:
        runs = self._runs[transport.key]
        return _spread_share(runs) <= UNSTABLE_SHARE, runs.took_s

    def _count(self, transport: Transport) -> int:
        return len(self._runs[transport.key].points) if transport.key in self._runs else 0

    @property
    def is_done(self) -> bool:
        """Whether every transport had its turns."""
        return len(self._variants) == len(self._transports)

    @property
    def progress(self) -> Progress:
        """How far it is; how much is left depends on how long the runs take."""
        return Progress(sum(len(runs.points) for runs in list(self._runs.values())))

    @property
    def document(self) -> Sweep:
        """The document of what was measured so far."""
        runs = [self._runs[each.key] for each in self._transports if each.key in self._runs]
        sweep = Sweep(
            name=self._name,
            started="",
            variants=tuple(self._row(transport) for transport in self._transports),
            points=tuple(point for each in runs for point in each.points),
            traces=tuple(shown for each in runs for shown in each.shown),
            control=self._control.times_ns,
        )
        left_out = self._left_out() if self.is_done and not self._repeat else ()
        return with_findings(made_here(sweep, self._latest, left_out), summarize_sweep)

    def _left_out(self) -> Iterator[str]:
        most, missing = ROUND_TRIP.most, dict[int, list[str]]()
        for each in self._transports:
            if self._variants[each.key].state == "ok":
                missing.setdefault(most + 1 - self._count(each), []).append(each.title)
        counts = sorted(filter(None, missing), reverse=True)
        if said := ", ".join(f"{count} of {ranking.listed(missing[count])}" for count in counts):
            after = f"left out after {ROUND_TRIP.budget_s:g} s, of {most} warm runs each"
            yield f"{after}: {said} (--repeat {most} makes them)"

    def _row(self, transport: Transport) -> Variant:
        key, title, count = transport.key, transport.title, self._count(transport)
        if key in self._variants:
            return self._variants[key]
        if count and self._is_stopped:
            return _interrupted(transport, self._runs[key])
        if count:
            return Variant(key, title, notes=(f"{counted(count, 'run')} so far",))
        if self._is_stopped:
            why = "interrupted in its first run" if key in self._runs else "stopped before its turn"
            return Variant(key, title, "skipped", why)
        waits = "runs for the first time now" if key == self._running else "waits for its turn"
        return Variant(key, title, "skipped", waits)

    def _turn(self, transport: Transport) -> None:
        """Run a transport once more; its row is made where that was the last run, or none is."""
        __tracebackhide__ = True
        key, title = transport.key, transport.title
        try:
            if key not in self._runs and not self._is_open(transport):
                return
            if not self._has_enough(transport):
                self._run_once(transport, self._runs[key])
            if self._has_enough(transport):
                self._variants[key] = self._described(transport, self._runs[key])
        except ProbeUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  (one transport fails in its row, others go on)
            takes, note = transport.takes_functions, self._started[key]
            why = refusal_text(self._value, self._name, error, takes_functions=takes)
            notes = (note,) if note else ()
            self._variants[key] = Variant(key, title, "failed", why, notes=notes)

    def _has_enough(self, transport: Transport) -> bool:
        warm_count = self._count(transport) - 1
        if warm_count < 0 or warm_count >= (self._repeat or ROUND_TRIP.most):
            return warm_count >= 0
        took_s = self._runs[transport.key].took_s
        if warm_count < ROUND_TRIP.fewest and took_s < ROUND_TRIP.budget_s / 100:
            return False
        return took_s > self._budget.left_s

    def _is_open(self, transport: Transport) -> bool:
        """Prepare a transport for its runs; where there will be none its row says why."""
        key, title = transport.key, transport.title
        self._started[key] = self._start(transport)
        state, reason = transport.state()
        if state == "ok" and (reason := transport.refuses(self._value) or self._spared(transport)):
            state = "skipped"
        if state != "ok":
            self._variants[key] = Variant(key, title, state, reason)
            return False
        transport.prepare(self._value)
        self._runs[key] = TransportRuns(key=key, size_bytes=self._size)
        return True

    def _spared(self, transport: Transport) -> str:
        """Return why a way waits for no run, so that the other one with its bytes has warm ones."""
        other = None if self._asked or self._repeat else self._runs.get(transport.same_as)
        runs = 1 + 2 * ROUND_TRIP.fewest  # its cold run, and the warm ones of both
        if other is None or not other.points or runs * other.took_s <= self._budget.left_s:
            return ""
        title, most = TRANSPORTS[transport.same_as].title, ROUND_TRIP.budget_s
        return f"skipped within {most:g} s: it copies what {title} copies (--repeat 2 runs it)"

    def _start(self, transport: Transport) -> str:
        # Start what is named; of all of them what needs nothing but an import.
        is_named = self._asked and (not self._is_all or transport.state()[0] == "ok")
        try:
            return transport.start() if is_named else ""
        except ProbeUnavailable as error:
            failed = Variant(transport.key, transport.title, "failed", str(error))
            self._variants[transport.key] = failed
            raise

    def _run_once(self, transport: Transport, runs: TransportRuns) -> None:
        __tracebackhide__ = True
        witness, used_s = None if runs.checked else Witness(self._value), self._budget.used_s
        try:
            _, result = runs.run(transport, self._value, detail=self._detail)
        finally:
            # Of one that failed, too: nothing else may ever tell when this was, and where.
            self._latest = runs.latest or self._latest
        runs.took_s = self._budget.used_s - used_s
        if witness:
            runs.checked = checked_result(self._value, result, witness)

    def _described(self, transport: Transport, runs: TransportRuns) -> Variant:
        totals = bytes_written(runs.cold) if runs.cold else {}
        notes = [self._started[transport.key], *_notes(runs)]
        facts = {**totals, **runs.facts, **{key: runs.checked[key] for key in CHECKED_FACTS}}
        is_known, hands_over = facts["has_buffers"] is not None, transport.hands_over_buffers
        if not is_known and hands_over and totals.get("out_of_band_bytes") == 0:
            facts["has_buffers"] = False
        return Variant(
            transport.key,
            transport.title,
            result=str(runs.checked["result"]),
            facts=facts,
            buffers=payload_places(self._value, facts, hands_over=hands_over) if is_known else (),
            notes=tuple(entry for entry in notes if entry),
        )


def is_all(keys: Sequence[str]) -> bool:
    """Tell whether every transport was asked for."""
    return list(keys) == [ALL] or keys == ALL


def chosen_transports(keys: Sequence[str] | None) -> list[Transport]:
    """Return transports by key, or those that take part unasked; `UsageError` if unknown."""
    every = [kind() for kind in TRANSPORTS.values()]
    if keys is None:
        return [transport for transport in every if transport.is_asked()]
    if is_all(keys):
        return every
    keys = keys.split(",") if isinstance(keys, str) else keys
    unknown = [key for key in keys if key not in TRANSPORTS]
    if unknown or not keys:
        shown = ", ".join([*TRANSPORTS, ALL])
        hint = closest(unknown[0], TRANSPORTS) if unknown else ""
        message = f"unknown transport {(unknown or [''])[0]!r}; {hint}there are: {shown}"
        raise UsageError(message)
    return [TRANSPORTS[key]() for key in dict.fromkeys(keys)]


def _interrupted(transport: Transport, runs: TransportRuns) -> Variant:
    """Return a variant with the runs that it has; one whose result is not known has no rank."""
    if not runs.checked:
        why = "interrupted before its result was looked at"
        return Variant(transport.key, transport.title, "skipped", why)
    why = f"interrupted after {counted(len(runs.points), 'run')}"
    facts = {**runs.facts, **{key: runs.checked[key] for key in CHECKED_FACTS}}
    return Variant(transport.key, transport.title, "ok", facts=facts, notes=(why,))


def _notes(runs: TransportRuns) -> list[str]:
    notes = str(runs.checked["notes"]).splitlines()
    if runs.checked["equal"] is False:
        notes.append("what comes back is not equal to what was sent")
    if len(runs.warm) > ROUND_TRIP.fewest and (share := _spread_share(runs)) > UNSTABLE_SHARE:
        text = format_share(share, decimals=0)
        notes.append(f"uneven: half of its {len(runs.warm)} warm runs lie up to {text} apart")
    return notes


def _spread_share(runs: TransportRuns) -> float:
    """Return how far the warm runs spread over their median; of fewer than two that is open."""
    walls = [trace.wall_ns for trace in runs.warm]
    if not ranking.is_comparable(walls):
        return math.inf
    low, high = spread(walls)
    return (high - low) / max(1, middle_ns(walls))
