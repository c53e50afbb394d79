"""``--try``: what would be faster for a value, or for the values that code sends."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_serprof.magics.code import Code
from jupyter_serprof.magics.options import Options
from jupyter_serprof.magics.show import finish, finish_failed, shown_even_if_stopped
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.model import Trace

_ALONE = ("repeat", "transports", "sweep", "compare")
_FLAGS = ("blame", "split")
_RATE = re.compile(r"([0-9.]+(?:e[0-9]+)?)\s*([kMGT]?)(B|bit|b)?(?:/s|ps)?")
_UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def check_try(options: Options) -> None:
    """Refuse what does not go together, and a rate that is none, before the code runs.

    Raises
    ------
    UsageError
        With the line to write instead.
    """
    for name in _ALONE:
        if options.try_ and getattr(options, name) is not None:
            message = (
                f"--try runs each remedy in pairs, --{name} runs something else. "
                f"Write %serprof --try {options.code}"
            )
            raise UsageError(message)
    for name in _FLAGS:
        if options.try_ and getattr(options, name):
            message = f"--try and --{name} are two runs. Write %serprof --try {options.code}"
            raise UsageError(message)
    if options.link is not None:
        link_rate(options.link)
        if not options.try_:
            message = f"--link goes with --try: %serprof --try --link {options.link} NAME"
            raise UsageError(message)


def link_rate(text: str | None) -> float | None:
    """Return bytes per second of ``100e6``, ``125MB/s`` or ``1Gbit/s``; None of None.

    Raises
    ------
    UsageError
        If it is no rate above 0.

    Examples
    --------
    >>> link_rate("125MB/s"), link_rate("1Gbit/s"), link_rate("100e6")
    (125000000.0, 125000000.0, 100000000.0)
    """
    if text is None:
        return None
    found = _RATE.fullmatch(text.strip())
    try:
        rate = float(found[1]) * _UNITS[found[2]] if found else 0.0
    except ValueError:
        rate = 0.0
    rate = rate / 8 if found and found[3] in ("bit", "b") else rate
    if not (math.isfinite(rate) and rate > 0):
        message = (
            f"--link needs bytes per second, not {text!r}: --link 100e6, --link 125MB/s or "
            "--link 1Gbit/s"
        )
        raise UsageError(message)
    return rate


def run_try(
    shell: InteractiveShell, options: Options, code: Code, names: Mapping[str, object]
) -> None:
    """Try remedies on the value of an expression; of code that serializes, on what it sent."""
    from jupyter_serprof.api.remedies import TryingRecording

    __tracebackhide__ = True
    recording = TryingRecording(_name(options), detail=options.detail)
    try:
        with recording:
            value = code.call()
    except BaseException as error:
        if recording.has_spans or isinstance(error, KeyboardInterrupt):
            finish_failed(shell, options, recording.trace)
        raise
    if code.is_expression and value is not None and not recording.has_spans:
        recording.let_go()
        _try_value(shell, options, value)
        return
    del value
    finish(shell, options, tried(shell, options, recording, recording.trace, names))


def _try_value(shell: InteractiveShell, options: Options, value: object) -> None:
    from jupyter_serprof import api
    from jupyter_serprof.api.remedies import is_collection

    __tracebackhide__ = True
    if is_collection(value):
        message = f"{_name(options)} is a Dask collection. Write %graphstages --try {options.code}"
        raise UsageError(message)
    tryout = api.Tryout(value, name=_name(options), link_bytes_per_s=link_rate(options.link))
    shown_even_if_stopped(shell, options, tryout.run, tryout)


def run_try_graph(shell: InteractiveShell, options: Options, code: Code) -> None:
    """Try remedies on the graph of a Dask collection."""
    from jupyter_serprof.api.remedies import DaskTryout

    __tracebackhide__ = True
    if not code.is_expression:
        message = (
            "--try takes a collection, and the code is a statement. "
            "Assign first, then: %graphstages --try NAME"
        )
        raise UsageError(message)
    tryout = DaskTryout(code.call(), name=_name(options))
    shown_even_if_stopped(shell, options, tryout.run, tryout)


def tried(
    shell: InteractiveShell,
    options: Options,
    recording: Any,  # noqa: ANN401  (a TryingRecording; magics import no layer below the API)
    trace: Trace,
    names: Mapping[str, object] | None = None,
) -> Trace:
    """Return the recording of code with its findings tried; after Ctrl-C with what there is."""
    from jupyter_serprof import api

    try:
        return api.try_code(
            trace,
            recording.sent,
            shell.user_ns if names is None else names,
            link_bytes_per_s=link_rate(options.link),
        )
    except KeyboardInterrupt:
        notes = (*trace.quality.notes, "trying remedies was interrupted before it began")
        return replace(trace, quality=replace(trace.quality, notes=notes))
    finally:
        recording.let_go()


def _name(options: Options) -> str:
    return options.name if options.name is not None else options.code
