"""The round trip: one value through every transport and back, cold and warm, side by side."""

from __future__ import annotations

import pickle
import time
from collections.abc import Generator, Mapping, Sequence

from jupyter_serprof.capture.machine import Buffer, buffers_of, lies_inside, overlaps, store_ranges
from jupyter_serprof.experiments.engine.document import made_here, summarize_sweep, with_findings
from jupyter_serprof.experiments.engine.experiment import Progress, Steps
from jupyter_serprof.experiments.engine.machine import Control
from jupyter_serprof.experiments.engine.order import ROUND_TRIP, checked_repeat
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.engine.runs import bytes_written, point_of
from jupyter_serprof.experiments.roundtrip.by_dask import DaskProtocol, DaskScatter
from jupyter_serprof.experiments.roundtrip.by_pickle import (
    ArrowIpc,
    Cloudpickle,
    Joblib,
    Lz4,
    Npy,
    Pickle4,
    PickleInBand,
    PickleOutOfBand,
    Zstd,
)
from jupyter_serprof.experiments.roundtrip.by_ray import Ray, RayChunked, RaySerializer
from jupyter_serprof.experiments.roundtrip.transport import Transport, TransportRuns
from jupyter_serprof.model import ProbeUnavailable, Sweep, Trace, UsageError, Variant
from jupyter_serprof.model.errors import closest
from jupyter_serprof.model.sweep import middle_ns, quartiles
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import counted, format_share
from jupyter_serprof.objects.ask import size_bytes
from jupyter_serprof.objects.classes import classes_kept
from jupyter_serprof.objects.culprits import refusal_text
from jupyter_serprof.objects.equality import Witness, differences, same_value
from jupyter_serprof.objects.picklers import CountingFile, Held, buffer_places, held_by_both

__all__ = ["ALL", "TRANSPORTS", "Cloudpickle", "PickleInBand", "PickleOutOfBand", "Ray"]
__all__ += ["Transport"]

#: In place of keys: every transport, and a row that says why for each that is not available.
ALL = "all"

TRANSPORTS: dict[str, type[Transport]] = {
    kind.key: kind
    for kind in (
        *(PickleInBand, PickleOutOfBand, Cloudpickle, Ray, DaskProtocol, DaskScatter),
        *(Pickle4, RaySerializer, RayChunked, ArrowIpc, Npy, Joblib, Lz4, Zstd),
    )
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
    changed = differences(before, after)
    spoilt = [] if is_kept else ["the round trip changed the value itself"]
    held = held_by_both(before, after)
    buffers = list(held[1].buffers if held else ()) or buffers_of(after)
    share = _shared_share(before, after, held)
    return {
        "equal": same_value(before, after) if is_kept else False,
        "type": type(after).__name__,
        "notes": "\n".join([*changed, *spoilt]),
        "result": _result_kind(share, buffers, after),
        "shared_share": share,
        "has_buffers": bool(held[0].buffers) if held else None,
    }


def _shared_share(before: object, after: object, held: tuple[Held, Held] | None) -> float | None:
    if held is None:
        return 1.0 if overlaps(buffers_of(before), buffers_of(after)) else None
    value, result = held
    # What has next to no bytes, a number or a name, is one object wherever it is made.
    if after is before and value.total_bytes:
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
    flags = getattr(result, "flags", None)
    writeable = getattr(flags, "writeable", None)
    access = "" if writeable is None else ", writeable" if writeable else ", read-only"
    if ranges and lies_inside(buffers, ranges):
        return f"zero-copy{access}"
    return f"a copy{access}"


def payload_places(
    value: object, facts: Mapping[str, object], *, hands_over: bool
) -> tuple[tuple[int, str], ...]:
    """Return (size, place) of the large payloads of a value; none where that cannot be told."""
    if isinstance(value, bytes | bytearray | str):
        size = size_bytes(value)
        place = "out-of-band" if facts["out_of_band_bytes"] == size else "in-band"
        return ((size, place),) if size else ()
    try:
        return buffer_places(value, hands_over=hands_over)
    except Exception:  # noqa: BLE001  (it was pickled a moment ago; a list of buffers is extra)
        return ()


def pickled_bytes(value: object) -> int | None:
    """Return the length of the pickle of a value, which is not made; None if pickle refuses."""
    count = CountingFile()
    try:
        pickle.Pickler(count, protocol=5).dump(value)
    except Exception:  # noqa: BLE001  (the transports will say why)
        return None
    return count.size_bytes


#: Spread (interquartile range over median) above which a number is called unstable.
UNSTABLE_SHARE = 0.1


class RoundTrip:
    """A round trip of one value. An `Experiment`.

    Parameters
    ----------
    value, name, transports, repeat, detail
        As of `jupyter_serprof.roundtrip`.
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
        self._ended: set[str] = set()
        self._running = ""
        self._latest: Trace | None = None
        self._control = Control(self._repeat or 0)

    def steps(self) -> Steps:
        """Run every transport whose turn has not ended, and yield between two runs."""
        __tracebackhide__ = True
        try:
            for transport in self._transports:
                if transport.key not in self._ended:
                    self._running = transport.key
                    self._variants.pop(transport.key, None)
                    self._variants[transport.key] = yield from self._variant(transport)
                    self._ended.add(transport.key)
        finally:
            self._running = ""

    @property
    def is_done(self) -> bool:
        """Whether every transport had its turn."""
        return len(self._ended) == len(self._transports)

    @property
    def progress(self) -> Progress:
        """How far it is; how much is left depends on how long the runs take."""
        return Progress(sum(len(runs.points) for runs in list(self._runs.values())))

    @property
    def document(self) -> Sweep:
        """The document of what was measured so far."""
        sweep = Sweep(
            name=self._name,
            started="",
            variants=tuple(self._row(transport) for transport in self._transports),
            points=tuple(point for runs in self._runs.values() for point in runs.points),
            traces=tuple(shown for runs in self._runs.values() for shown in runs.shown),
            control=self._control.times_ns,
        )
        return with_findings(made_here(sweep, self._latest), summarize_sweep)

    def _row(self, transport: Transport) -> Variant:
        """Return a transport as the document has it now."""
        key, title = transport.key, transport.title
        if key in self._variants:
            return self._variants[key]
        if key != self._running:
            left = "waits for its turn" if self._running else "stopped before its turn"
            return Variant(key, title, "skipped", left)
        count = len(self._runs[key].points) if key in self._runs else 0
        if not count:
            return Variant(key, title, "skipped", "runs for the first time now")
        return Variant(key, title, notes=(f"{counted(count, 'run')} so far",))

    def _variant(self, transport: Transport) -> Generator[None, None, Variant]:
        __tracebackhide__ = True
        note = self._start(transport)
        state, reason = transport.state()
        if state != "ok":
            return Variant(transport.key, transport.title, state, reason)
        if refusal := transport.refuses(self._value):
            return Variant(transport.key, transport.title, "skipped", refusal)
        runs = self._runs.setdefault(
            transport.key, TransportRuns(key=transport.key, size_bytes=self._size)
        )
        try:
            yield from self._run_all(transport, runs)
        except Exception as error:  # noqa: BLE001  (one transport fails in its row, others go on)
            takes, notes = transport.takes_functions, (note,) if note else ()
            why = refusal_text(self._value, self._name, error, takes_functions=takes)
            return Variant(transport.key, transport.title, "failed", why, notes=notes)
        except BaseException:
            why = f"interrupted after {len(runs.points)} runs; the unfinished one is left out"
            self._variants[transport.key] = _interrupted(transport, runs, why)
            raise
        try:
            return self._described(transport, runs, note)
        except BaseException:
            why = "interrupted before its result was looked at"
            self._variants[transport.key] = _interrupted(transport, runs, why)
            raise

    def _start(self, transport: Transport) -> str:
        try:
            return transport.start() if self._starts(transport) else ""
        except ProbeUnavailable as error:
            failed = Variant(transport.key, transport.title, "failed", str(error))
            self._variants[transport.key] = failed
            raise

    def _starts(self, transport: Transport) -> bool:
        """Start what is named; of all of them what needs nothing but an import."""
        return self._asked and (not self._is_all or transport.state()[0] == "ok")

    def _run_all(self, transport: Transport, runs: TransportRuns) -> Steps:
        __tracebackhide__ = True
        transport.prepare(self._value)
        deadline = time.monotonic() + ROUND_TRIP.budget_s
        for number in range(len(runs.points), 1 + (self._repeat or ROUND_TRIP.most)):
            is_enough = self._repeat is None and number > ROUND_TRIP.fewest
            if is_enough and time.monotonic() > deadline:
                return
            if number == 1:
                self._control.measure(0)
            if self.progress.done:
                paused_s = time.monotonic()
                yield
                deadline += time.monotonic() - paused_s
            self._run_once(transport, runs, number)
        self._control.measure(self._repeat or 0)

    def _run_once(self, transport: Transport, runs: TransportRuns, number: int) -> None:
        __tracebackhide__ = True
        recording = Recording(transport.title, detail=self._detail)
        witness = None if runs.checked else Witness(self._value)
        try:
            with classes_kept(*transport.threads), recording:
                result = transport.round_trip(self._value)
        except BaseException:
            # Nothing else may ever tell when this was and on which machine.
            self._latest = self._latest or recording.trace
            raise
        trace = recording.trace
        point = point_of(transport.key, self._size, number, trace)
        runs.facts = transport.facts()
        if runs.cold is None:
            runs.cold = trace
        else:
            runs.warm.append(trace)
        runs.points.append(runs.with_moved(point))
        self._latest = trace
        if witness:
            runs.checked = checked_result(self._value, result, witness)

    def _described(self, transport: Transport, runs: TransportRuns, note: str) -> Variant:
        totals = bytes_written(runs.cold) if runs.cold else {}
        notes = [note, *_notes(runs)]
        facts = {
            **totals,
            **runs.facts,
            **{key: runs.checked[key] for key in CHECKED_FACTS},
        }
        return Variant(
            transport.key,
            transport.title,
            result=str(runs.checked["result"]),
            facts=facts,
            buffers=payload_places(self._value, facts, hands_over=transport.hands_over_buffers),
            notes=tuple(entry for entry in notes if entry),
        )


def is_all(keys: Sequence[str]) -> bool:
    """Tell whether every transport was asked for."""
    return list(keys) == [ALL] or keys == ALL


def chosen_transports(keys: Sequence[str] | None) -> list[Transport]:
    """Return transports by key, or those that take part unasked; `UsageError` if unknown."""
    if keys is not None and is_all(keys):
        return [kind() for kind in TRANSPORTS.values()]
    if keys is None:
        known = [kind() for kind in TRANSPORTS.values()]
        return [transport for transport in known if transport.is_asked()]
    keys = keys.split(",") if isinstance(keys, str) else keys
    unknown = [key for key in keys if key not in TRANSPORTS]
    if unknown or not keys:
        shown = ", ".join([*TRANSPORTS, ALL])
        hint = closest(unknown[0], TRANSPORTS) if unknown else ""
        message = f"unknown transport {(unknown or [''])[0]!r}; {hint}there are: {shown}"
        raise UsageError(message)
    return [TRANSPORTS[key]() for key in dict.fromkeys(keys)]


def _interrupted(transport: Transport, runs: TransportRuns, why: str) -> Variant:
    """Return a variant with the runs that it has; one whose result is not known has no rank."""
    if not runs.checked:
        return Variant(transport.key, transport.title, "skipped", why)
    facts = {**runs.facts, **{key: runs.checked[key] for key in CHECKED_FACTS}}
    return Variant(transport.key, transport.title, "ok", facts=facts, notes=(why,))


def _notes(runs: TransportRuns) -> list[str]:
    notes = str(runs.checked["notes"]).splitlines()
    if runs.checked["equal"] is False:
        notes.append("what comes back is not equal to what was sent")
    warm = [point.wall_ns for point in runs.points if not point.cold]
    if len(warm) > ROUND_TRIP.fewest:
        low, high = quartiles(warm) or (min(warm), max(warm))
        middle = middle_ns(warm)
        if high - low > UNSTABLE_SHARE * middle:
            spread = format_share((high - low) / middle, decimals=0)
            notes.append(f"unstable: the middle half of {len(warm)} warm runs spreads {spread}")
    return notes
