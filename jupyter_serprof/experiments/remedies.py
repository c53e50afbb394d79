"""``--try``: the remedies that apply to one value, each in pairs against the way it goes now."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import Any

from jupyter_serprof.analysis.limits import measure_limits
from jupyter_serprof.analysis.remedies import Trial
from jupyter_serprof.analysis.remedy_table import REMEDIES, pasted, variable
from jupyter_serprof.capture.machine import available_bytes
from jupyter_serprof.experiments.culprits import culprits_text, find_culprits, told
from jupyter_serprof.experiments.differences import Witness, differences
from jupyter_serprof.experiments.equality import same_value
from jupyter_serprof.experiments.outcome import pickled_bytes
from jupyter_serprof.experiments.progress import Progress
from jupyter_serprof.experiments.remedies_cache import Reducer, Verdict, drops_of
from jupyter_serprof.experiments.remedies_document import Tried, document_of
from jupyter_serprof.experiments.remedies_hints import hints_of
from jupyter_serprof.experiments.remedies_ray import RayWay, is_running
from jupyter_serprof.experiments.remedies_values import Form, forms_of
from jupyter_serprof.experiments.remedies_ways import (
    Block,
    PickleWay,
    Trip,
    codecs,
    private_pickler,
)
from jupyter_serprof.experiments.split_picklers import Nowhere
from jupyter_serprof.model import Finding, Sweep, UsageError
from jupyter_serprof.model.units import format_bytes

PAIRS = 15
BUDGET_S = 20.0
#: What is shorter is run several times within one measurement.
_SHORT_NS = 200_000
_MOST_LOOPS = 500
#: Buffers below this size are not worth handing over, nor is a buffer worth keeping.
_BUFFER_BYTES = 64_000
_FRESH_BYTES = 8_000_000
#: The pickle, where it is moved to, what comes back, another form of the value.
_COPIES = 4.2
_NOW = {"pickle": "pickle 5, in-band", "pickle4": "pickle 4", "cloudpickle": "cloudpickle"}
_RAY = "ray.put + ray.get"

Send = Callable[[object], Trip]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A remedy that applies: both ways, and the form that the second one sends.

    ``form`` is None where the value itself is sent; ``check`` where what came back is to be equal
    as it is. ``told`` are fields of the trial that the table of remedies does not know.
    """

    key: str
    before: Send
    after: Send
    form: Form | None = None
    baseline: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[object, object], Verdict] | None = None
    prepare_ns: Callable[[], int | None] = field(default=lambda: None)
    end: Callable[[], None] = field(default=lambda: None)


class Tryout:
    """Trials that can be interrupted: `sweep` is whatever was measured until then.

    Parameters
    ----------
    value
        It is not changed; its reducers run, as in any round trip.
    name
        What the document and the lines to paste call it.
    link_bytes_per_s
        A link over which it is sent: adds its bytes over that rate to every trip, and compression
        to the remedies. None: no link.
    now
        How it goes now: ``pickle`` (protocol 5, in-band), ``pickle4``, ``cloudpickle``; None takes
        pickle, or cloudpickle for what only that takes.
    budget_s
        Seconds for all pairs; a trip that has begun is ended.
    pairs
        Pairs of each remedy, fewer where the budget ends before.

    Raises
    ------
    UsageError
        For an unknown way, a rate or a budget that is no number above 0.
    """

    def __init__(  # noqa: PLR0913  (the keywords of the function)
        self,
        value: object,
        *,
        name: str = "value",
        link_bytes_per_s: float | None = None,
        now: str | None = None,
        budget_s: float = BUDGET_S,
        pairs: int = PAIRS,
    ) -> None:
        _check("link_bytes_per_s", link_bytes_per_s, "100e6")
        _check("budget_s", budget_s, "20")
        if now is not None and now not in _NOW:
            message = f"now is {now!r}; it goes by one of: {', '.join(_NOW)}"
            raise UsageError(message)
        self._value, self._name = value, name
        self._link, self._now = link_bytes_per_s, now
        self._budget_s, self._most = budget_s, pairs
        self._block = Block()
        self._started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._tried: list[Tried] = []
        self._hints: list[Finding] = []
        self._notes: list[str] = []
        self._plain_bytes: int | None = None

    def run(self, tell: Callable[[Sweep], None] | None = None) -> Sweep:
        """Try what applies and return the document.

        Parameters
        ----------
        tell
            Called between remedies with the sweep so far.

        Raises
        ------
        UsageError
            If the value cannot be pickled, with the culprit, or there is no memory for copies.
        """
        __tracebackhide__ = True
        progress = Progress(tell)
        self._look()
        deadline = time.monotonic() + self._budget_s
        candidates = list(self._candidates())
        for at, candidate in enumerate(candidates):
            progress.update(lambda: self.sweep)
            share_s = (deadline - time.monotonic()) / (len(candidates) - at)
            self._try(candidate, time.monotonic() + max(0.0, share_s))
        return self.sweep

    @property
    def sweep(self) -> Sweep:
        """The document of what was tried so far."""
        return document_of(
            self._name,
            self._started.replace("+00:00", "Z"),
            self._tried,
            plain_bytes=self._plain_bytes,
            hints=self._hints,
            notes=self._notes,
            limits=measure_limits(),
        )

    def _look(self) -> None:
        """Find out how it goes now, and whether there is memory for what is to be tried."""
        known = pickled_bytes(self._value)
        if self._now is None:
            self._now = "cloudpickle" if known is None or _needs_value(self._value) else "pickle"
        if self._now == "cloudpickle":
            known = self._by_value_bytes()
        if known is None:
            raise UsageError(self._why())
        self._plain_bytes = known
        free = available_bytes()
        if free is not None and free < _COPIES * known:
            message = (
                f"trying remedies on {self._name} needs its {format_bytes(known)} four times, and "
                f"{format_bytes(free)} are free. Try a part of it, e.g. {self._name}[:1000]"
            )
            raise UsageError(message)
        self._hints = list(hints_of(self._value, self._name, known))

    def _by_value_bytes(self) -> int | None:
        import cloudpickle

        sink = Nowhere()
        try:
            cloudpickle.Pickler(sink, protocol=5).dump(self._value)
        except Exception:  # noqa: BLE001  (the culprits say why)
            return None
        return sink.size_bytes

    def _why(self) -> str:
        by_value = self._now == "cloudpickle"
        culprits = find_culprits(self._value, self._name, takes_functions=by_value)
        return culprits_text(culprits) or f"{self._name} cannot be pickled by {self._now}"

    def _way(self, **changed: Any) -> PickleWay:  # noqa: ANN401  (fields of a way)
        by_value = self._now == "cloudpickle"
        known: dict[str, Any] = {"by_value": by_value, "link_bytes_per_s": self._link}
        return PickleWay(self._block, **{**known, **changed})

    def _candidates(self) -> list[Candidate]:
        """Return what applies, by what the value is and holds."""
        now = self._way(protocol=4 if self._now == "pickle4" else 5).send
        pair = partial(Candidate, before=now, baseline=_NOW[self._now or "pickle"])
        large = self._large_bytes()
        found = []
        if self._now == "pickle4" and large >= _BUFFER_BYTES:
            found.append(pair("protocol-5", after=self._way().send))
        if large >= _BUFFER_BYTES:
            found.append(
                pair(
                    "out-of-band",
                    after=self._way(out_of_band=True).send,
                    told=self._line("out-of-band"),
                )
            )
        if (self._plain_bytes or 0) >= _FRESH_BYTES and self._now != "cloudpickle":
            found.append(pair("reused-buffer", after=self._way(reuses=BytesIO()).send))
        for form in forms_of(self._value, variable(self._name)):
            as_form = partial(pair, form=form, told={"code": form.line})
            found.append(as_form(form.key, after=self._way(out_of_band=False).send))
            if form.key == "contiguous":
                beside = self._way(out_of_band=True).send
                found.append(as_form("contiguous-out-of-band", after=beside))
        for key, codec in codecs().items() if self._link else ():
            found.append(pair(key, after=self._way(codec=codec).send, told=self._line(key)))
        return found + self._cache_candidates(pair) + self._ray_candidates()

    def _line(self, key: str) -> dict[str, Any]:
        """Return the line to paste: with the pickler that the trial uses."""
        code = pasted(REMEDIES[key].code, self._name)
        is_other = self._now == "cloudpickle"
        return {"code": code.replace("pickle.dumps(", "cloudpickle.dumps(") if is_other else code}

    def _cache_candidates(self, pair: Callable[..., Candidate]) -> list[Candidate]:
        """Leave caches out, as a ``__getstate__`` would: in picklers of our own."""
        protocol = 4 if self._now == "pickle4" else 5

        def private(reducers: Mapping[type, Reducer]) -> Any:  # noqa: ANN401  (a class of picklers)
            return private_pickler(reducers, by_value=self._now == "cloudpickle")

        def size_of(reducers: Mapping[type, Reducer]) -> int | None:
            sink = Nowhere()
            try:
                private(reducers)(sink, protocol=protocol).dump(self._value)
            except Exception:  # noqa: BLE001  (it was pickled a moment ago; the trial is extra)
                return None
            return sink.size_bytes

        return [
            pair(
                drop.key,
                after=self._way(
                    protocol=protocol, private=private({drop.kind: drop.reducer(protocol)})
                ).send,
                check=drop.check,
                told=drop.told(self._value),
            )
            for drop in drops_of(self._value, size_of)
        ]

    def _ray_candidates(self) -> list[Candidate]:
        if not is_running() or self._value is None:
            return []
        once = RayWay(once=True)
        return [
            Candidate(
                "put-once",
                RayWay().send,
                once.send,
                baseline=_RAY,
                prepare_ns=lambda: once.prepare_ns,
                end=once.end,
            )
        ]

    def _large_bytes(self) -> int:
        """Return the bytes that could go out-of-band."""
        import pickle

        sizes: list[int] = []

        def take(buffer: pickle.PickleBuffer) -> bool:
            sizes.append(buffer.raw().nbytes)
            return False

        kind: Any = pickle.Pickler
        if self._now == "cloudpickle":
            import cloudpickle

            kind = cloudpickle.Pickler
        kind(Nowhere(), protocol=5, buffer_callback=take).dump(self._value)
        return sum(sizes)

    def _try(self, candidate: Candidate, deadline: float) -> None:
        __tracebackhide__ = True
        tried = Tried(candidate.baseline, Trial(candidate.key))
        try:
            _run_trial(self._value, candidate, tried, deadline, self._most)
        except Exception as error:  # noqa: BLE001  (one remedy fails in its row, others go on)
            tried.reason = told(error)
        finally:
            candidate.end()
            self._tried.append(tried)


def _run_trial(
    value: object, candidate: Candidate, tried: Tried, deadline: float, most: int
) -> None:
    __tracebackhide__ = True
    witness = Witness(value)
    sent, prepare_ns = value, None
    if candidate.form is not None:
        sent, prepare_ns = _made(candidate.form, deadline)
    first, after = candidate.before(value), candidate.after(sent)
    tried.cold = _emptied(first), _emptied(after)
    verdict = _checked(value, after.result, candidate)
    equal, changes = verdict.equal, verdict.changes
    if not witness.is_unchanged(value):
        equal, changes = False, (*changes, "the trip changed the value itself")
    del first
    prepared = candidate.prepare_ns()
    tried.trial = Trial(
        candidate.key,
        equal=equal,
        changes=changes,
        prepare_ns=prepare_ns if prepared is None else prepared,
        again_ns=verdict.again_ns,
        **candidate.told,
    )
    cold_ns = after.wall_ns
    del after
    tried.loops = max(1, min(_MOST_LOOPS, _SHORT_NS // max(1, cold_ns)))
    calls = (partial(candidate.before, value), partial(candidate.after, sent))
    for number in range(most):
        if number and time.monotonic() > deadline:
            break
        # Each begins in every other pair: neither always runs in the wake of the other.
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            tried.trips[side].append(_averaged(calls[side], tried.loops))
        tried.count()


def _made(form: Form, deadline: float) -> tuple[object, int]:
    """Return what is sent and how long making it takes: the first one may pay for imports."""
    start = time.perf_counter_ns()
    sent = form.make()
    first_ns = time.perf_counter_ns() - start
    if time.monotonic() > deadline:
        return sent, first_ns
    del sent  # never two of them at a time
    start = time.perf_counter_ns()
    sent = form.make()
    return sent, min(first_ns, time.perf_counter_ns() - start)


def _averaged(call: Callable[[], Trip], loops: int) -> Trip:
    """Return one trip of several runs, its stages the means of theirs; nothing is kept of it."""
    trips = [_emptied(call()) for _ in range(loops)]
    stages = {key: sum(trip.stages[key] for trip in trips) // loops for key in trips[0].stages}
    return trips[0]._replace(stages=stages)


def _emptied(trip: Trip) -> Trip:
    """Return a trip without what came back."""
    return trip._replace(result=None)


def _checked(value: object, result: object, candidate: Candidate) -> Verdict:
    """Tell whether what came back is, on the way back, what was sent; and what is otherwise."""
    if candidate.check is not None:
        return candidate.check(value, result)
    changed, form = tuple(differences(value, result)), candidate.form
    if form is None or form.back is None:
        return Verdict(same_value(value, result), changed)
    try:
        return Verdict(same_value(value, form.back(result)), changed)
    except Exception as error:  # noqa: BLE001  (a form that does not come back is not equal)
        return Verdict(equal=False, changes=(*changed, f"there is no way back: {told(error)}"))


def _needs_value(value: object) -> bool:
    """Tell whether pickle would write only the name of a function or class of the notebook."""
    return getattr(value, "__module__", None) == "__main__" and callable(value)


def _check(name: str, given: float | None, example: str) -> None:
    known: object = given
    is_number = isinstance(known, int | float) and not isinstance(known, bool)
    if given is not None and not (is_number and 0 < given < math.inf):
        message = f"{name} is {given!r}; it is a number above 0, e.g. {name}={example}"
        raise UsageError(message)
