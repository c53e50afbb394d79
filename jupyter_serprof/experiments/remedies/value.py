"""``--try``: the remedies that apply to one value, each in pairs against the way it goes now."""

import pickle
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from io import BytesIO
from typing import Any

from jupyter_serprof.capture.machine import available_bytes
from jupyter_serprof.experiments.engine.order import TRIALS, check_above_0
from jupyter_serprof.experiments.remedies.forms import REMARK, Form, forms_of
from jupyter_serprof.experiments.remedies.gain import Trial
from jupyter_serprof.experiments.remedies.table import REMEDIES, pasted, variable
from jupyter_serprof.experiments.remedies.trial import Attempt, Candidate, Send, Trials
from jupyter_serprof.experiments.remedies.ways import GrowingBlock, PickleWay, through_ray
from jupyter_serprof.model import UsageError
from jupyter_serprof.model.units import code_text, format_bytes, format_ns
from jupyter_serprof.objects.ask import is_of
from jupyter_serprof.objects.culprits import refusal_text
from jupyter_serprof.objects.picklers import CountingFile

#: Buffers below this size are not worth handing over, nor is a buffer worth keeping.
_BUFFER_BYTES, _FRESH_BYTES = 64_000, 8_000_000
#: The pickle, where it is moved to, what comes back, another form of the value.
_COPIES = 4.2
#: A budget for fewer pickles tells nothing: two trips to begin with, and a pair.
_LEAST_PASSES, _LONG_PASS_S = 5, 0.5
_BY_VALUE = ("cloudpickle", "cloudpickle-out-of-band")
_NOW = {
    "pickle": "pickle in-band",
    "pickle4": "pickle 4",
    "cloudpickle": "cloudpickle",
    "out-of-band": "pickle out-of-band",
    "cloudpickle-out-of-band": "cloudpickle, out-of-band",
    "ray": "ray.put + ray.get",
}


class Tryout(Trials):
    """Trials on one value; what pickles too slowly for the budget is told instead.

    ``value``, ``name``, ``budget_s``, ``pairs``: As of `jupyter_serprof.try_remedies`.
    ``now``: As there; also ``out-of-band``, ``cloudpickle-out-of-band``, ``ray`` (its store).
    Raises ``UsageError``: For an unknown way, or a budget that is no number above 0.
    """

    def __init__(
        self,
        value: object,
        *,
        name: str = "value",
        now: str | None = None,
        budget_s: float = TRIALS.budget_s,
        pairs: int = TRIALS.most,
    ) -> None:
        check_above_0("budget_s", budget_s, "20", "number")
        if now is not None and now not in _NOW:
            message = f"now is {now!r}; it goes by one of: {', '.join(_NOW)}"
            raise UsageError(message)
        super().__init__(name, budget_s, pairs)
        self._value = value
        self._asked, self._now = now, now or "pickle"
        self._budget_s = budget_s
        self._block = GrowingBlock()
        self._large_bytes = 0
        self._pass_s = 0.0

    def _look(self) -> Sequence[Attempt]:
        """Find out how it goes now, and what applies to that; nothing if that is told instead."""
        self._said = _reference_text(self._value, self._name)
        if self._said:
            return ()
        # Of a function or class of the notebook pickle would write only the name.
        is_named = getattr(self._value, "__module__", None) == "__main__" and callable(self._value)
        self._now = self._asked or ("cloudpickle" if is_named else "pickle")
        error = self._pass()
        if error is not None and self._asked is None and self._is_in_time():
            self._now = "cloudpickle"
            error = self._pass()
        if error is not None:
            takes = self._now in (*_BY_VALUE, "ray")
            why = refusal_text(self._value, self._name, error, takes_functions=takes)
            raise UsageError(why)
        if not self._is_in_time():
            one, budget = (format_ns(round(s * 1e9)) for s in (self._pass_s, self._budget_s))
            self._said = (
                f"{code_text(self._name)}: not tried, one pickle takes {one} of a {budget} budget. "
                f"A remedy needs {_LEAST_PASSES} pickles. Try a part of the value, or give "
                f"it more time: try_remedies({self._name}, budget_s={round(40 * self._pass_s)})."
            )
            return ()
        self._check_memory()
        return [(one.trial, partial(one.sides, self._value)) for one in self._candidates()]

    def _pass(self) -> Exception | None:
        """Pickle into nowhere: note the bytes, those of buffers, and the time; return an error."""
        sink = CountingFile()
        module: Any = import_module("cloudpickle") if self._now in (*_BY_VALUE, "ray") else pickle
        start = time.monotonic()
        try:
            module.Pickler(sink, protocol=5, buffer_callback=sink.take).dump(self._value)
        except Exception as error:  # noqa: BLE001  (the culprits say why)
            return error
        finally:
            self._pass_s = time.monotonic() - start
        self._large_bytes = sink.buffer_bytes
        self._plain_bytes = sink.size_bytes + sink.buffer_bytes
        return None

    def _is_in_time(self) -> bool:
        """Tell whether the budget is enough for one remedy; of a short pickle it always is."""
        return self._pass_s < _LONG_PASS_S or _LEAST_PASSES * self._pass_s <= self._budget_s

    def _check_memory(self) -> None:
        free, known = available_bytes(), self._plain_bytes or 0
        if free is not None and free < _COPIES * known:
            message = (
                f"trying remedies on {self._name} needs its {format_bytes(known)} four times, and "
                f"{format_bytes(free)} are free. Try a part of it, e.g. {self._name}[:1000]"
            )
            raise UsageError(message)

    def _way(self, **changed: Any) -> PickleWay:  # noqa: ANN401  (fields of a way)
        return PickleWay(self._block, by_value=self._now in _BY_VALUE, **changed)

    def _candidates(self) -> list[Candidate]:
        if self._now == "ray":
            return list(self._form_candidates(through_ray))
        is_beside, large = self._now.endswith("out-of-band"), self._large_bytes
        protocol = 4 if self._now == "pickle4" else 5
        way = self._way(protocol=protocol, out_of_band=is_beside)
        ways: dict[str, PickleWay] = {}
        if self._now == "pickle4" and large >= _BUFFER_BYTES:
            ways["protocol-5"] = self._way()
        if large >= _BUFFER_BYTES and not is_beside:
            ways["out-of-band"] = self._way(out_of_band=True)
        if (self._plain_bytes or 0) >= _FRESH_BYTES and self._now in ("pickle", "pickle4"):
            ways["reused-buffer"] = self._way(reuses=BytesIO())
        return [
            *(self._against_now(key, way.send, after.send) for key, after in ways.items()),
            *self._form_candidates(way.send),
        ]

    def _against_now(
        self, key: str, before: Send, after: Send, form: Form | None = None, code: str = ""
    ) -> Candidate:
        return Candidate(Trial(key, _NOW[self._now], code or self._line(key)), before, after, form)

    def _form_candidates(self, now: Send) -> Iterator[Candidate]:
        for form in forms_of(self._value, variable(self._name)):
            yield self._against_now(form.key, now, now, form, form.line)
            if form.key == "contiguous" and self._now in ("pickle", "pickle4", "cloudpickle"):
                beside = self._way(out_of_band=True).send
                both = f"{form.line.removesuffix(REMARK)}; {self._line('out-of-band')}"
                yield self._against_now("contiguous-out-of-band", now, beside, form, both)

    def _line(self, key: str) -> str:
        """Return the line to paste: with the pickler that the trial uses."""
        code = pasted(REMEDIES[key].code, self._name)
        is_other = self._now in _BY_VALUE
        return code.replace("pickle.dumps(", "cloudpickle.dumps(") if is_other else code


def _reference_text(value: object, name: str) -> str:
    """Say that a value is only a reference to another one, and what to try; "" of all others."""
    behind = f"ray.get({name})" if is_of(value, "ray", "ObjectRef") else ""
    behind = f"{name}.result()" if is_of(value, "distributed", "Future") else behind
    if not behind:
        return ""
    said = f"{code_text(name)} is a reference: a few bytes travel, not the object behind it"
    return f"{said}. Nothing is to be made faster. For that object: %serprof --try {behind}"
