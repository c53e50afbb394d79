"""Recordings with anatomies: one value and its plain pickle, or the largest values of a block."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from jupyter_serprof.analysis.anatomy import blame_facts, blame_sentence, largest_sentence
from jupyter_serprof.experiments.blame.blame import BUDGET_S, Blame, pickle_and_back, unwrapped
from jupyter_serprof.experiments.blame.keeper import Crossed, Keeper
from jupyter_serprof.experiments.blame.tree import INTERRUPTED
from jupyter_serprof.experiments.engine.recording import Recording
from jupyter_serprof.experiments.split.stages import split
from jupyter_serprof.model import Anatomy, Span, Summary, Trace, UsageError
from jupyter_serprof.model.units import format_bytes, format_count
from jupyter_serprof.objects.ask import attribute, kind_name
from jupyter_serprof.objects.culprits import told
from jupyter_serprof.probes import Probe

#: Time for the split of Pickle and Unpickle into their parts; what would take longer is left out.
_SPLIT_S = 2.0
#: A split makes about ten times the work of the pickle itself.
_PASSES = 10
_NOT_SPLIT = "Pickle and Unpickle are not split into parts: it would take long; --detail does it"
_DUMPS = "pickle.dumps"
_WORTH_SHARE = 0.01
_PICKLED = " was pickled "
_SEPARATE = "the anatomy is a separate pass after the timed run"


class BlameRun:
    """One value: its plain pickle and back, recorded, then its anatomy, then the split of both.

    An interrupt leaves what is known in `trace`. The split takes about ten pickles: where that is
    more than 2 s, it is made only with ``detail``.
    """

    def __init__(
        self,
        value: object,
        name: str = "it",
        budget_s: float = BUDGET_S,
        *,
        detail: bool = False,
    ) -> None:
        self._blame = Blame(value, name, budget_s)
        self._recording = Recording(name, detail=detail)
        self._name, self._detail = name, detail
        self._error = self._left_out = ""
        self._split: Trace | None = None

    def run(self) -> Trace:
        """Pickle it, open it."""
        __tracebackhide__ = True
        with self._recording:
            self._error = pickle_and_back(self._blame.value)
        known = [(s.duration_ns / 1e9, s.size_bytes) for s in _dumps(self._recording.trace)]
        anatomy = self._blame.run(*known[-1] if known else ())
        if anatomy.plain_bytes is not None and not self._error and not self._blame.was_interrupted:
            self._split_stages()
        return self.trace

    def _split_stages(self) -> None:
        long_ns = _SPLIT_S * 1e9 / _PASSES
        if self._recording.trace.wall_ns > long_ns and not self._detail:
            self._left_out = _NOT_SPLIT
            return
        try:
            self._split = split(self._blame.value, name=self._name, budget_s=_SPLIT_S)
        except UsageError as error:
            self._left_out = str(error)
        except Exception as error:  # noqa: BLE001  (a reducer that has had enough)
            self._left_out = f"Pickle and Unpickle are not split into parts: {told(error)}"

    @property
    def trace(self) -> Trace:
        """The document of what is known until now."""
        notes = [note for note in (self._error, self._left_out) if note]
        base = self._split or self._recording.trace
        anatomy = _sized(self._blame.timed(_dumps_ns(base)), base)
        trace = with_anatomies(base, [anatomy], notes)
        return replace(trace, summary=_summary(trace))


class BlamingRecording(Recording):
    """A recording that opens the largest values that crossed in it, after it has ended.

    The values are held until `trace` is asked for, not longer.
    """

    def __init__(self, name: str, *, detail: bool, also: Sequence[Probe] = ()) -> None:
        super().__init__(name, detail=detail, also=also)
        self._keeper = Keeper()
        self._blamed: Trace | None = None

    def start(self) -> None:
        """Keep what crosses, and record."""
        self._keeper.start()
        super().start()
        self._keeper.keep(is_on=True)

    def stop(self, error_type: type[BaseException] | None = None) -> None:
        """Stop both."""
        self._keeper.keep(is_on=False)
        super().stop(error_type)
        self._keeper.stop()

    @property
    def trace(self) -> Trace:
        """The trace of the block, with the anatomies of its largest values.

        An interrupt ends the anatomies, not the document: the block itself has ended.
        """
        if self._blamed is None:
            trace = super().trace
            anatomies = crossed_anatomies(self._keeper.crossed())
            self._keeper.clear()
            notes = [] if anatomies else ["nothing crossed that could be opened"]
            self._blamed = with_anatomies(trace, anatomies, notes)
        return self._blamed


def crossed_anatomies(crossed: Sequence[Crossed]) -> list[Anatomy]:
    """Return the anatomies of what crossed, each object once; notes tell how often it crossed.

    What turns out to be next to nothing beside the others is left out.
    """
    opened: dict[int, tuple[object, Crossed]] = {}
    for one in crossed:
        value = one.value if notebook_name(one.value) else one.holder
        opened.setdefault(id(value), (value, one))
    anatomies = anatomies_of([value for value, _ in opened.values()])
    least = _WORTH_SHARE * max((anatomy.total_bytes for anatomy in anatomies), default=0)
    return [
        replace(anatomy, notes=(*_repeated(anatomy, one), *anatomy.notes))
        for anatomy, (_, one) in zip(anatomies, opened.values(), strict=False)
        if anatomy.total_bytes >= least
    ]


def _repeated(anatomy: Anatomy, crossed: Crossed) -> list[str]:
    if crossed.count == 1:
        return []
    total = crossed.total_bytes or crossed.count * anatomy.total_bytes
    about = "" if crossed.total_bytes else "about "
    times = format_count(crossed.count)
    return [f"{anatomy.name}{_PICKLED}{times} times: {about}{format_bytes(total)} in all"]


def anatomies_of(
    values: Sequence[object], names: Sequence[str] = (), budget_s: float = BUDGET_S
) -> list[Anatomy]:
    """Return the anatomies of several values; an interrupt ends the last one early."""
    made = []
    for at, value in enumerate(values):
        name = names[at] if at < len(names) else name_of(value)
        blame = Blame(value, name, budget_s / len(values))
        with suppress(KeyboardInterrupt):
            blame.run()
        made.append(blame.anatomy)
        if blame.was_interrupted:
            break
    return made


def name_of(value: object) -> str:
    """Return the name that the notebook has for a value, else that of its type."""
    known = notebook_name(value)
    if known:
        return known
    own = attribute(unwrapped(value), "__name__")
    return own if type(own) is str else f"<{kind_name(type(value))}>"


def notebook_name(value: object) -> str:
    """Return the name that the notebook has for a value, "" if it has none."""
    main = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
    names = (name for name, known in list(main.items()) if known is value)
    return next((name for name in names if not name.startswith("_")), "")


def with_anatomies(trace: Trace, anatomies: Sequence[Anatomy], notes: Sequence[str] = ()) -> Trace:
    """Return the trace with anatomies; its facts name the largest culprit."""
    summary = trace.summary or Summary("")
    sentence = largest_sentence(anatomies)
    repeated = [note for anatomy in anatomies for note in anatomy.notes if _PICKLED in note]
    facts = (*summary.facts, *([sentence, *repeated, _SEPARATE] if sentence else []))
    return replace(
        trace,
        anatomies=(*trace.anatomies, *anatomies),
        summary=replace(summary, facts=facts),
        quality=replace(trace.quality, notes=(*notes, *trace.quality.notes)),
    )


def _dumps_ns(trace: Trace) -> int | None:
    """Return the time of the plain dumps: the warm median of a split, else that of the one run."""
    runs = _dumps(trace)
    return runs[-1].duration_ns if runs else None


def _dumps(trace: Trace) -> list[Span]:
    return [span for span in trace.spans if span.stage == _DUMPS and span.parent < 0]


def _sized(anatomy: Anatomy, trace: Trace) -> Anatomy:
    """Return an anatomy that was stopped before it had a size with that of the plain dumps."""
    if anatomy.is_complete or anatomy.total_bytes or not _dumps(trace):
        return anatomy
    return replace(anatomy, plain_bytes=_dumps(trace)[-1].size_bytes)


def _summary(trace: Trace) -> Summary:
    """Return who is to blame as the headline; what was timed is a fact below it."""
    [anatomy] = trace.anatomies
    known = trace.summary or Summary("")
    timed = f"plain dumps and loads: {known.headline.rstrip('.')}"
    said = (f"the anatomy was {note}" for note in anatomy.notes if note.startswith(INTERRUPTED))
    facts = (*said, *blame_facts(anatomy), timed, _SEPARATE)
    return replace(known, headline=f"{blame_sentence(anatomy)}.", facts=facts)
