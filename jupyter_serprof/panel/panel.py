"""The panel: ordinary controls above the place where points appear as they are measured."""

from collections.abc import Callable
from html import escape
from typing import Any

from jupyter_serprof.experiments.engine.experiment import Document
from jupyter_serprof.model import Sweep
from jupyter_serprof.model.units import counted, format_ns
from jupyter_serprof.panel import runner as states
from jupyter_serprof.panel.choice import LABEL, WRAPS, Choice, Widgets
from jupyter_serprof.panel.runner import Job, KernelTurns, Offer, Runner, Words
from jupyter_serprof.views.notebook.bundle import bundle
from jupyter_serprof.views.notebook.widget import display, widget_for

Keep = Callable[[Document, Callable[[Document], bool]], object]
#: JupyterLab shows the text in such an output as soon as its widgets have no kernel.
_TEXT, PANEL_TYPE = "text/plain", "application/vnd.jupyter-serprof.panel+json"


class ReservedOutput:
    """An output that is reserved while the cell runs, and filled later.

    ``waiting``: What stands there until something is measured.

    What a button does belongs to no cell: an output of its own would be lost. So this one is made
    with the panel. While something runs it holds a widget, afterwards the document: the notebook
    that is saved shows it without a kernel.
    """

    def __init__(self, waiting: str) -> None:
        self._handle: Any = display({_TEXT: waiting}, display_id=True)
        self._widget: Any = None

    def grow(self, doc: Document) -> None:
        """Draw what is known by now."""
        if self._widget is not None:
            self._widget.show(doc)
            return
        is_trip = isinstance(doc, Sweep) and doc.kind == "roundtrip"
        # Not before: a notebook executed without a front end would keep its 110 kB for nobody.
        self._widget = widget_for(doc, view="roundtrip" if is_trip else "sweep")
        self._handle.update(self._widget._repr_mimebundle_()[0], raw=True)

    def settle(self, doc: Document) -> bool:
        """Leave the document in the form that is saved: it has its place."""
        data, metadata = bundle(doc)
        self._handle.update(data, metadata=metadata, raw=True)
        self.close()
        return True

    def close(self) -> None:
        """Grow no more."""
        if self._widget is not None:
            self._widget.close()
            self._widget = None


_STATES = {
    states.READY: "Ready.",
    states.RUNNING: "Measuring.",
    states.STOPPING: "Stopping after the run that is being measured.",
    states.STOPPED: "Stopped; what was measured stays.",
    states.FAILED: "It could not go on.",
    states.DONE: "Done.",
}
_WAITING = "No picture yet: a sweep puts it here, and it stays in the saved notebook."
_ENDED = "The panel of {} ends with its kernel: run this cell to see it."
_ABSENT = (
    "No panel of {} here. While a kernel runs, that is because the environment of the Jupyter "
    "server, which need not be that of the kernel, lacks its front end. Run there:\n"
    "pip install jupyter_serprof jupyterlab_widgets\n"
    "and reload the page. Where no kernel runs, run this cell."
)


class Panel:
    """Controls, buttons, progress, and below them the place of the picture.

    ``offer``: What can be chosen, and who measures it.
    ``words``: What the parts are called.
    ``keep``: Called with the document at the end of each sweep, and with what puts it into the
        place.
    ``stages``: Measures a source as it is; None where there is no such button.
    ``turns``: Who calls back; None: the loop of this kernel.
    ``place``: Where pictures go; None: an output of the cell that runs now.

    All controls are widgets of ipywidgets, so every front end that shows those shows the panel.
    They have labels, are reached with the tab key in the order in which they are read, and sliders
    move with the arrow keys.
    """

    def __init__(  # noqa: PLR0913  (each is given by the tests, or by the magic)
        self,
        offer: Offer,
        words: Words,
        *,
        keep: Keep = lambda doc, show: show(doc),
        stages: Callable[[str], Job] | None = None,
        turns: KernelTurns | None = None,
        place: ReservedOutput | None = None,
    ) -> None:
        self.choice = Choice(offer, words)
        self._offer, self._words, self._stages = offer, words, stages
        widget = self.choice.widget
        self.buttons = _buttons(widget, words)
        traits = {"min": 0, "max": 1, "style": LABEL, "layout": {"width": "min(60%, 30rem)"}}
        self.bar = widget("IntProgress", description="Progress", **traits)
        self.status, self.problem = widget("Label"), widget("HTML")
        self.box = _boxed(self)
        ended, absent = ({_TEXT: said.format(words.magic)} for said in (_ENDED, _ABSENT))
        alive = self.box._repr_mimebundle_()
        shown = None if place else {PANEL_TYPE: ended, **alive, **absent}
        self._handle = shown and display(shown, display_id=True)
        self._place = place or ReservedOutput(_WAITING)
        self.runner = Runner(
            turns or KernelTurns(),
            grew=self._place.grow,
            ended=lambda doc: keep(doc, self._place.settle),
            changed=self._show_state,
        )
        self._listen()
        self._show_state()

    def sweep(self) -> None:
        """Measure what is chosen."""
        if (plan := self.choice.plan) is not None:
            self.runner.start(lambda: self._offer.start(plan))

    def extra(self) -> None:
        """Measure the source as it is."""
        source, stages = self.choice.source.value, self._stages
        if source is not None and stages is not None:
            self.runner.start(lambda: stages(source))

    def close(self) -> None:
        """Take the panel away; the document stays."""
        self.runner.stop()
        if self._handle is not None:
            self._handle.update({_TEXT: ""}, raw=True)
        self.choice.widget.close()
        self._place.close()

    def _listen(self) -> None:
        does = {
            "sweep": self.sweep,
            "stop": self.runner.stop,
            "resume": self.runner.resume,
            "extra": self.extra,
            "close": self.close,
        }
        for name, button in self.buttons.items():
            button.on_click(lambda _, call=does[name]: call())
        self.choice.changed = self._show_state

    def _show_state(self) -> None:
        is_active = self.runner.state in states.ACTIVE
        plan = self.choice.plan
        can_start = not is_active and plan is not None
        # What has one size is measured by the other button where there is one.
        has_sizes = plan is not None and (plan.low is not None or not self._words.extra)
        usable = {
            "sweep": can_start and has_sizes,
            "stop": self.runner.state == states.RUNNING,
            "resume": self.runner.can_resume,
            "extra": can_start,
            "close": not is_active,
        }
        for name, button in self.buttons.items():
            button.disabled = not usable[name]
        self.choice.lock(is_locked=is_active)
        self._show_progress()
        problem = self.runner.problem
        self.problem.value = f"<b>Problem:</b> {escape(problem)}" if problem else ""

    def _show_progress(self) -> None:
        job = self.runner.job
        if job is None:
            self.status.value = _STATES[self.runner.state]
            return
        progress = job.progress
        left = 0 if self.runner.state == states.DONE else progress.left
        left_s = progress.left_s if self.runner.state in states.ACTIVE else None
        self.bar.max, self.bar.value = max(1, progress.done + left), progress.done
        said = _far(progress.done, left, left_s, progress.what)
        self.status.value = f"{_STATES[self.runner.state]} {said}"


def _far(done: int, left: int, left_s: float | None, what: str) -> str:
    words = [what.lower() or f"{left} left"] if left else []
    if left and left_s is not None:
        words.append(f"about {format_ns(left_s * 1e9)} to go")
    return ", ".join([counted(done, "point"), *words])


def _buttons(widget: Widgets, words: Words) -> dict[str, Any]:
    known = {
        "sweep": ("Sweep", "primary", "Measure what is chosen"),
        "stop": ("Stop", "", "Stop after this run; what was measured stays"),
        "resume": ("Resume", "", "Go on where it was stopped"),
        "extra": (words.extra, "", "Measure it once, as it is"),
        "close": ("Close panel", "", "Take the panel away; the picture stays"),
    }
    return {
        name: widget("Button", description=label, button_style=style, tooltip=tip)
        for name, (label, style, tip) in known.items()
        if label
    }


def _boxed(panel: Panel) -> Any:  # noqa: ANN401  (a Box)
    widget = panel.choice.widget
    rows = (
        panel.choice.box,
        widget("HBox", list(panel.buttons.values()), layout=WRAPS),
        widget("HBox", [panel.bar, panel.status], layout=WRAPS),
        panel.problem,
    )
    return widget("VBox", rows, layout={"max_width": "60rem"})
