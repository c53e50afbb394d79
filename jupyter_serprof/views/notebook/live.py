"""What is shown while something runs: a line and a bar, the document that grows, its last form.

A display that is updated by its id, from any thread: a cell that waits would answer no comm.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from _thread import start_new_thread
from contextvars import copy_context
from dataclasses import replace
from html import escape
from threading import RLock
from typing import Any
from weakref import WeakSet

from jupyter_serprof.model import Sweep, Trace
from jupyter_serprof.model.live import LiveFacts, seconds_text
from jupyter_serprof.views.kit.theme import family_color
from jupyter_serprof.views.notebook.widget import display, front_end, widget_classes, widget_for

_DUMB, _KERNELS = (None, "", "dumb"), ("jupyter", "vscode", "colab")
_FRESH_LINE, _OVER = "\r\x1b[K", "reading what was measured"
#: A kernel that dies, and a page that is loaded anew, leave the last line for ever, also in the
#: file: for six seconds styles (lab.css, or these) hide that it is old, and show its Stop.
_NEWS = "<style>@keyframes s0{0%,to{visibility:hidden}}.jsp-live i{animation:s0 6s}</style>"
#: The top of a picture: its headline, summary bar, facts and tools.
_TOP = (
    '<div class="jsp-root jsp-live"><div class="jsp-headline">{}</div>{}<div class="jsp-facts">{}'
    '<i> (no news since)</i></div><div class="jsp-bar-row">{}</div></div>'
)
#: JupyterLab and Notebook 7 run a command for a click; a kernel that waits answers no comm.
_STOP = "kernelmenu:interrupt"
_BUTTON = (
    '<button class="jsp-button" style="visibility:hidden" title="Interrupts the kernel"'
    f' data-commandlinker-command="{_STOP}">Stop</button>'
)
#: A button that is drawn anew between press and release is not clicked: it stays so long, s.
_STAYS_S = 1.0
_HOW = {"jupyter": "", "terminal": "; Ctrl-C stops", "none": "; Ctrl-C stops"}
_BAR = (
    '<div class="jsp-summary" role="progressbar" aria-valuenow="{}" aria-label="done, %"'
    ' style="background:#8883"><div style="height:24px;width:{}%;background:{}"></div></div>'
)
#: An update stays below a thousand bytes.
_MOST_CHARACTERS, _FEW_CHARACTERS, _NO_BAR = 220, 40, '<div class="jsp-summary"></div>'
#: The one that shows a line, until it is forgotten; those inside of it are silent.
_SHOWN: WeakSet[Live] = WeakSet()


class Live:
    """Shows what is known while something runs; at the end the place is given the document.

    Nothing is shown where nobody looks: in a program without a terminal, under nbclient, nbconvert
    and papermill. The notebook that is saved holds no trace of line or widget. One with a name says
    at the end how long that took; without a name a document takes its place.
    """

    def __init__(self, name: str = "", began_s: float | None = None) -> None:
        #: When somebody began to wait, monotonic time, s; None where that is when it runs.
        self.began_s = began_s
        self._name, self._lock = name, RLock()
        self._shown_s, self._facts = -_STAYS_S, LiveFacts()
        self._widget: Any = None
        self._handle: Any = None
        self._is_over = self._is_on_terminal = False
        self._hooks = _hooks()

    @property
    def is_seen(self) -> bool:
        """Whether somebody is there to look at what is shown before the end, and to press it."""
        front = front_end()
        return _is_watched() if front in _KERNELS else front not in ("none", "terminal")

    def tell(self, facts: LiveFacts) -> None:
        """Show a line, where somebody sees it; from any thread. A picture has it as a fact."""
        with self._lock:
            self._facts = facts
            is_late = facts.is_over and self not in _SHOWN  # nothing was shown before
            if self._is_over or is_late or set(_SHOWN) - {self}:
                return
            if facts.is_over and self._name and self._widget is None:
                self.close()
            elif facts.is_over:
                self._read(facts, _OVER)
                start_new_thread(copy_context().run, (self._read_on, facts))
            elif self._widget is not None:
                self._widget.told = _said(facts)
            elif self._hooks is not None:
                if self not in _SHOWN:
                    self._hooks.append(self._heard)
                _SHOWN.add(self)
                if abs(facts.ran_s - self._shown_s) >= _STAYS_S:  # it is counted anew, too
                    self._shown_s = facts.ran_s
                    self._put(_line(facts, _said(facts)))
            elif getattr(sys.stderr, "isatty", bool)() and os.environ.get("TERM") not in _DUMB:
                _SHOWN.add(self)
                self._is_on_terminal = True
                width = shutil.get_terminal_size().columns - 1
                self._write(_said(facts)[:width])

    def _read(self, facts: LiveFacts, said: str) -> bool:
        """Say that what was measured is read, until something else takes the place of the line."""
        with self._lock:
            if self._is_over or self._facts is not facts:
                return False
            if self._widget is not None:
                self._widget.told = said
            elif self._handle is not None:
                self._put(_line(facts, said))
            self._write(said)
            return True

    def _read_on(self, facts: LiveFacts) -> None:
        since_s = time.monotonic()
        while True:
            time.sleep(_STAYS_S / 2)
            if not self._read(facts, f"{_OVER}, {seconds_text(time.monotonic() - since_s)}"):
                return

    def tell_first(self, facts: LiveFacts) -> None:
        """Show a line of what runs before more of it: neither its end nor its share is the last."""
        if not facts.is_over:
            self.tell(replace(facts, share=None, left_s=None))

    def show(self, doc: Trace | Sweep) -> None:
        """Draw what is known by now, where somebody sees it, with how far it is.

        Not from the thread that tells: to write a picture down takes the time of what is measured.
        """
        if self.is_seen:
            widget_classes()  # for the first time it imports: the line is told meanwhile
        with self._lock:
            if self._facts.total and doc.summary is not None:
                facts = (_said(self._facts), *doc.summary.facts)
                doc = replace(doc, summary=replace(doc.summary, facts=facts))
            if self._widget is not None:
                self._widget.show(doc)
            elif self.is_seen:
                stop = _STOP if front_end() == "jupyter" else ""
                self._widget = widget_for(doc, stop=stop)
                self._put(self._widget._repr_mimebundle_()[0])

    def _heard(self, message: Any) -> Any:  # noqa: ANN401  (of Jupyter)
        if message["header"]["msg_type"] == "clear_output":
            with self._lock:
                self._handle = None if self._widget is None else self._handle
        return message

    def _put(self, data: dict[str, Any], **options: Any) -> None:  # noqa: ANN401  (IPython's words)
        if self._handle is None:
            self._handle = display(data, display_id=True, **options)
        else:
            self._handle.update(data, raw=True, **options)

    def replace(self, doc: Trace | Sweep) -> bool:
        """Put the document in the place of line or picture; False: nothing is shown."""
        with self._lock:
            is_in_shell = self._is_on_terminal and front_end() == "terminal"
            is_shown = is_in_shell or self._handle is not None
            if is_shown:
                from jupyter_serprof.views.notebook.bundle import bundle  # draws

                data, metadata = bundle(doc)
                self._write("")
                self._put(data, metadata=metadata)
                self._handle = None
            self.close()
            return is_shown

    def _write(self, line: str) -> None:
        if self._is_on_terminal:
            print(f"{_FRESH_LINE}{line}", end="", file=sys.stderr, flush=True)  # noqa: T201

    def close(self) -> None:
        """End it; a line whose place nobody took says how long it was. Again it does nothing."""
        with self._lock:
            if self._handle is not None:
                ended = f"{self._name or 'it'} ended after {seconds_text(self._facts.ran_s)}"
                self._put({"text/plain": ended})
            self._write("")
            if self._widget is not None:
                self._widget.close()
            _SHOWN.discard(self)
            self._handle = self._widget = None
            self._is_over, self._is_on_terminal = True, False
            if self._heard in (self._hooks or ()):
                self._hooks.remove(self._heard)  # type: ignore[union-attr]  # it is in it


def _hooks() -> list[Any] | None:
    """Return what this thread's messages go through to somebody who looks; None: nobody does."""
    shell = sys.modules["IPython"].get_ipython() if front_end() in _KERNELS else None
    hooks = getattr(getattr(shell, "display_pub", None), "_hooks", None)
    return hooks if isinstance(hooks, list) and _is_watched() else None


def _is_watched() -> bool:
    """Tell whether a front end executes the cell: nbclient, as papermill, can ask for no input."""
    # Voila executes by nbclient, and shows what it left to a reader.
    kernel = getattr(sys.modules["IPython"].get_ipython(), "kernel", None)
    is_voila = os.environ.get("SERVER_SOFTWARE", "").startswith("voila")
    return bool(getattr(kernel, "_allow_stdin", False)) or is_voila


def _said(facts: LiveFacts) -> str:
    return f"{facts}{_HOW.get(front_end(), '; to stop: interrupt the kernel')}"


def _line(facts: LiveFacts, line: str) -> dict[str, str]:
    said = line if len(escape(line)) < _MOST_CHARACTERS else line[:_FEW_CHARACTERS]
    head, _, more = said.partition("; ")
    done = None if facts.share is None else round(100 * facts.share)
    bar = _NO_BAR if done is None else _BAR.format(done, done, family_color("execute"))
    stop = _NEWS if front_end() != "jupyter" else _BUTTON * (not facts.is_over)
    top = _TOP.format(escape(head), bar, escape(more), stop)
    return {"text/plain": line, "text/html": top}
