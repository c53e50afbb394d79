"""Recordings with anatomies: one value and its plain pickle, or the largest values of a block."""

import ast
import math
import pickle
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from jupyter_serprof.analysis.anatomy import blame_facts, blame_sentence, largest_sentence
from jupyter_serprof.analysis.findings import findings_for
from jupyter_serprof.capture.recorder import paused_collector
from jupyter_serprof.experiments.blame.descent import Descent
from jupyter_serprof.experiments.blame.keeper import Crossed, KeepingRecording
from jupyter_serprof.experiments.blame.tree import INTERRUPTED, anatomy_of
from jupyter_serprof.experiments.engine.experiment import Once, Progress, Steps
from jupyter_serprof.experiments.engine.live import Told, told
from jupyter_serprof.experiments.engine.order import BLAME_S, check_above_0
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.graphs.values import collections_in
from jupyter_serprof.model import Anatomy, Span, Summary, Trace
from jupyter_serprof.model.units import counted, format_bytes, format_count, is_code, shortened
from jupyter_serprof.objects.ask import (
    attribute,
    bases_of,
    is_exactly,
    kind_module,
    kind_name,
    notebook_name,
)
from jupyter_serprof.objects.classes import classes_kept
from jupyter_serprof.objects.culprits import error_text
from jupyter_serprof.probes.dask.graph.look import Found, graph_objects
from jupyter_serprof.probes.dask.graph.sections import LARGE_BYTES


class Blame(Descent):
    """The anatomy of a value, as far as it has come: an interrupt leaves what is known.

    ``value``: Anything that cloudpickle is asked to pickle; a remote function or actor class of Ray
        is replaced by the function or class that Ray pickles.
    ``name``: What its paths begin with.
    ``budget_s``: Seconds; a single reducer that takes longer can exceed it.
    Raises ``UsageError``: For a budget that is no number above 0.
    """

    def __init__(self, value: object, name: str = "it", budget_s: float = BLAME_S) -> None:
        import cloudpickle  # noqa: F401  (its first import is nothing of the object)

        check_above_0("budget_s", budget_s)
        # What stands behind it belongs to all of it: `([a] * 3)[0]`.
        part = ast.parse(f"{name}[0]" if is_code(name) else "_[0]", mode="eval").body
        name = (name or "it") if isinstance(part, ast.Subscript) else f"({name})"
        super().__init__(unwrapped(value), name, budget_s)

    def run(self, known_s: float | None = None, known_bytes: int | None = None) -> Anatomy:
        """Make the anatomy; what one pickle has taken before tells how often it can be pickled."""
        self.open(known_s, known_bytes)
        return self.anatomy()

    def anatomy(self, dumps_ns: int | None = None) -> Anatomy:
        """Return what is known until now, with the time of the plain dumps of the same value."""
        if self.deadline == math.inf:
            return Anatomy(name=self.root.label, is_complete=False)
        return anatomy_of(self, dumps_ns)


def pickle_and_back(value: object) -> str:
    """Make a plain pickle of a value and a value of it; return what went wrong, or nothing."""
    # A recording around it sees both: with the anatomy they make the picture of one object.
    import cloudpickle

    try:
        data = cloudpickle.dumps(value, protocol=5)
    except (Exception, SystemExit):  # noqa: BLE001  (the anatomy says what, and where)
        return ""
    try:
        pickle.loads(data)  # noqa: S301  (its own pickle)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (reducers raise anything)
        return f"its pickle cannot be loaded again: {error_text(error)}"
    return ""


def unwrapped(value: object) -> object:
    """Return what Ray pickles of a remote function or an actor class; anything else as it is."""
    if not any(kind_module(kind).startswith("ray.") for kind in bases_of(type(value))):
        return value
    function = attribute(value, "_function")
    if function is not None:
        return function
    found = attribute(attribute(value, "__ray_metadata__"), "modified_class")
    return value if found is None else found


_WORTH_SHARE = 0.01
_SEPARATE = "the parts were measured after the timed run, one by one"


class BlameRun(Once):
    """One value: its plain pickle and back, recorded, then its anatomy.

    An `Experiment` of one run: an interrupt leaves what is known in `document`.
    """

    what = property(lambda self: _far([self._blame], 1))

    def __init__(
        self, value: object, name: str = "it", budget_s: float = BLAME_S, *, detail: bool = False
    ) -> None:
        self._make = partial(Blame, value, name, budget_s)
        self._blame, self._recording = self._make(), Recording(name, detail=detail)
        self._name, self._detail = name, detail
        self._error = ""

    def steps(self) -> Steps:
        """Pickle it, open it; begun anew after an interrupt."""
        __tracebackhide__ = True
        self._blame, self._recording = self._make(), Recording(self._name, detail=self._detail)
        with classes_kept(), self._recording:
            self._error = pickle_and_back(self._blame.root.value)
        known = [(s.duration_ns / 1e9, s.size_bytes) for s in _dumps(self._recording.trace)]
        self._blame.run(*known[-1] if known else ())
        if known:
            self._blame.time_in_band(known[-1][0])
        self.is_done = True
        yield from ()

    @property
    def document(self) -> Trace:
        """The document of what is known until now."""
        base = self._recording.trace
        base = replace(base, findings=findings_for(base, self._name))
        last = next(reversed(_dumps(base)), None)
        anatomy = self._blame.anatomy(last and last.duration_ns)
        if last and not (anatomy.is_complete or anatomy.total_bytes):  # stopped before it had one
            anatomy = replace(anatomy, plain_bytes=last.size_bytes)
        trace = with_anatomies(base, [anatomy], [self._error] if self._error else [])
        return replace(trace, summary=_summary(trace))


class BlamingRecording(KeepingRecording):
    """A recording that opens the largest values that crossed in it, after it has ended.

    The values are held until `trace` is asked for, not longer.
    """

    _blamed: Trace | None = None

    @property
    def trace(self) -> Trace:
        """The trace of the block, with the anatomies of its largest values."""
        # An interrupt ends the anatomies, not the document: the block itself has ended.
        if self._blamed is None:
            trace = super().trace
            anatomies, said = crossed_anatomies(self.sent, self.live), self._said()
            self.let_go()
            notes = [] if anatomies else ["nothing crossed that could be opened"]
            self._blamed = with_anatomies(trace, anatomies, notes)
            summary, sentence = self._blamed.summary, largest_sentence(anatomies)
            if summary and sentence and trace.outcome != "error":  # then it says what was refused
                is_cause = not said and bool(largest_sentence(anatomies, is_of_time=True))
                facts = (*said, *[summary.headline] * is_cause, *summary.facts)
                first = shortened(sentence) if is_cause else summary.headline
                details = tuple(one for one in summary.details if one != sentence)
                summary = replace(summary, headline=first, facts=facts, details=details)
                self._blamed = replace(self._blamed, summary=summary)
        return self._blamed

    def _said(self) -> list[str]:
        counts, met = [one.ways.total() for one in self.sent], sum(self.met_bytes)
        opened = sum(one.size_bytes * n for one, n in zip(self.sent, counts, strict=True))
        pickles = f"{sum(counts)} of {counted(len(self.met_bytes), 'pickle')}"
        said = f"opened: the largest {pickles}, {format_bytes(opened)} of {format_bytes(met)}"
        return [said] if 2 * opened < met else []


def crossed_anatomies(crossed: Sequence[Crossed], live: Told | None = None) -> list[Anatomy]:
    """Return the anatomies of what crossed, each object once; notes tell how often it crossed."""
    opened: dict[int, tuple[object, Crossed]] = {}
    for one in crossed:
        value = one.value if notebook_name(one.value) else one.holder
        if is_exactly(value, (list, tuple)) and len(value) == 1:  # type: ignore[arg-type]  # sized
            value = value[0] if notebook_name(value[0]) else value  # type: ignore[index]  # of a call
        opened.setdefault(id(value), (value, one))
    anatomies = anatomies_of([value for value, _ in opened.values()], live=live)
    least = _WORTH_SHARE * max((anatomy.total_bytes for anatomy in anatomies), default=0)
    return [
        replace(anatomy, notes=(*_repeated(anatomy, one), *anatomy.notes))
        for anatomy, (_, one) in zip(anatomies, opened.values(), strict=False)
        if anatomy.total_bytes >= least
    ]


#: Ways that copy buffers into the pickle.
_IN_BAND = ("pickle", "pickle4", "cloudpickle")


def _repeated(anatomy: Anatomy, crossed: Crossed) -> list[str]:
    count, beside = crossed.ways.total(), anatomy.out_of_band_bytes
    total = crossed.total_bytes or count * anatomy.total_bytes
    about = "" if crossed.total_bytes else "about "
    often = f"{format_count(count)} times: {about}{format_bytes(total)} in all"
    copied = f"in-band: the {format_bytes(beside or 0)} told as out-of-band were copied, too"
    is_copied = beside and crossed.now in _IN_BAND
    told = [often] * (count > 1) + [copied] * bool(is_copied)
    return [f"{anatomy.name} was pickled {words}" for words in told]


def anatomies_of(
    values: Sequence[object], names: Sequence[str] = (), live: Told | None = None
) -> list[Anatomy]:
    """Return the anatomies of several values; an interrupt ends the last one early."""
    made, begun = list[Anatomy](), list[Blame]()
    with told(live, lambda: Progress(0, 1, what=_far(begun, len(values)))):
        for at, value in enumerate(values):
            name = names[at] if names else name_of(value)
            begun.append(blame := Blame(value, name, BLAME_S / len(values)))
            with suppress(KeyboardInterrupt, SystemExit):  # of us; of a property of the user
                blame.run()
            made.append(blame.anatomy())
            if blame.was_interrupted:
                break
    return made


def _far(begun: Sequence[Blame], count: int) -> str:
    of = f"parts of object {len(begun)} of {count}" if count > 1 else "its parts"
    return f"Measuring {of}, pickle {begun[-1].pickled if begun else 0}"


def name_of(value: object) -> str:
    """Return the name that the notebook has for a value, else that of its type."""
    own = attribute(unwrapped(value), "__name__")
    return notebook_name(value) or (own if type(own) is str else f"<{kind_name(type(value))}>")


def with_anatomies(trace: Trace, anatomies: Sequence[Anatomy], notes: Sequence[str] = ()) -> Trace:
    """Return the trace with anatomies; its facts name the largest culprit."""
    summary = trace.summary or Summary("")
    sentence = largest_sentence(anatomies)
    details = (*([sentence, _SEPARATE] if sentence else []), *summary.details)
    found = (replace(f, remedy="") if "--blame" in f.remedy else f for f in trace.findings)
    return replace(
        trace,
        findings=tuple(found),
        anatomies=(*trace.anatomies, *anatomies),
        summary=replace(summary, details=details),
        quality=replace(trace.quality, notes=(*notes, *trace.quality.notes)),
    )


def _dumps(trace: Trace) -> list[Span]:
    return [span for span in trace.spans if span.stage == "pickle.dumps" and span.parent < 0]


def _summary(trace: Trace) -> Summary:
    """Return who is to blame as the headline; what was timed is a fact below it."""
    [anatomy] = trace.anatomies
    known = trace.summary or Summary("")
    timed = f"plain dumps and loads: {known.headline}"
    facts = [f"the anatomy was {note}" for note in anatomy.notes if note.startswith(INTERRUPTED)]
    facts += [*blame_facts(anatomy), timed, _SEPARATE]
    sentence = shortened(blame_sentence(anatomy))
    return replace(known, headline=sentence, facts=tuple(facts[:1]), details=tuple(facts[1:]))


_SECONDS = 20.0
#: Dask's names end in a hash, of which the beginning tells them apart.
_HASH = re.compile(
    r"\b([0-9a-f]{6})(?:[0-9a-f]{10,}|[0-9a-f]{2}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
)


def blame_graph(trace: Trace, value: object, live: Told | None = None) -> Trace:
    """Return the trace of a computation with the anatomies of what its graph embeds.

    ``value``: A Dask collection, or several. Its graph is neither changed nor materialized.
    ``live``: Called from another thread with what is known meanwhile.
    """
    collections = collections_in(value)
    with told(live, lambda: Progress(0, 1, what="Looking for large objects in the graph")):
        found = [one for collection in collections for one in _embedded(collection)]
    largest = sorted(found, key=lambda one: -one.size_bytes)[:3]
    anatomies = anatomies_of([one.value for one in largest], list(map(_place, largest)), live)
    none = f"the graph embeds no object of {LARGE_BYTES:,} bytes or more: nothing to open"
    if not collections:
        none = "--blame opens what a Dask collection embeds, and there is none to open"
    return with_anatomies(trace, anatomies, [] if anatomies else [none])


def _embedded(collection: object) -> Iterable[Found]:
    try:
        with paused_collector():
            return graph_objects(collection, time.monotonic() + _SECONDS)
    except Exception:  # noqa: BLE001  (a graph that cannot be pickled is told by the run itself)
        return ()


def _place(found: Found) -> str:
    """Return what the notebook calls it, else layer -> key -> type, without the hash of a key."""
    if name := notebook_name(found.value):
        return name
    named = dict.fromkeys(_HASH.sub(r"\1…", step) for step in (found.layer, found.key) if step)
    return " -> ".join((*named, f"<{type(found.value).__name__}>"))
