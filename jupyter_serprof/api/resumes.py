"""Go on with a sweep that Ctrl-C ended."""

from __future__ import annotations

from collections.abc import Callable

from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.experiments.sizes.sweep import SizeSweep
from jupyter_serprof.model import Sweep, UsageError

Runs = SizeSweep | ChunkSweep
#: The sweep that was interrupted last; one at most.
_KEPT: list[Runs] = []


def resume(*, measure: bool = True) -> Sweep:
    """Go on with the sweep that was interrupted last, and return it whole.

    Parameters
    ----------
    measure
        False measures nothing more, and returns what there is.

    Returns
    -------
    Sweep
        Of `sweep`, `chunk_sweep`, or a magic with ``--sweep``: as if nothing had been in between.
        Each point is measured once; the budget is what was left of it.

    Raises
    ------
    UsageError
        If no sweep was interrupted after its first point, or the last one is whole by now.
    Exception
        What the sweep raises; after another Ctrl-C, call it again.

    Notes
    -----
    The function or value that is swept, and what was measured, are held until the sweep is whole or
    another one is interrupted. Code of a magic is run with the variables as they are now.
    """
    __tracebackhide__ = True
    if not _KEPT:
        message = (
            "no sweep was interrupted after its first point in this process. "
            "Begin one: sp.sweep(make, sizes=[10**4, 10**6, 10**8])"
        )
        raise UsageError(message)
    return resumable(_KEPT[0]) if measure else _KEPT[0].sweep


def resumable(runs: Runs, tell: Callable[[Sweep], None] | None = None) -> Sweep:
    """Run a sweep to its end; one that Ctrl-C ends is kept for `resume`, and the error says so."""
    __tracebackhide__ = True
    try:
        sweep = runs.run(tell)
    except KeyboardInterrupt as error:
        count = runs.progress.done
        if count:
            _KEPT[:] = [runs]
            points = f"{count} point{' is' if count == 1 else 's are'} measured and kept"
            error.add_note(f"{points}. To go on: import jupyter_serprof as sp; sp.resume()")
        raise
    if runs in _KEPT:
        _KEPT.clear()
    return sweep
