"""Try what would be faster for one value, or for one Dask collection."""

from __future__ import annotations

from jupyter_serprof.experiments.blame.keeper import TryingRecording
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.graphs.values import is_collection
from jupyter_serprof.experiments.remedies.code import try_code
from jupyter_serprof.experiments.remedies.graph import DaskTryout
from jupyter_serprof.experiments.remedies.value import BUDGET_S, PAIRS, Tryout
from jupyter_serprof.model import Sweep

__all__ = ["DaskTryout", "TryingRecording", "Tryout", "is_collection", "try_code", "try_remedies"]


def try_remedies(  # noqa: PLR0913  (the options of the magic, and what a program may want)
    value: object,
    link_bytes_per_s: float | None = None,
    *,
    now: str | None = None,
    budget_s: float = BUDGET_S,
    pairs: int = PAIRS,
    name: str = "value",
) -> Sweep:
    """Measure what would be faster for this very value, in pairs against the way it goes now.

    Parameters
    ----------
    value
        Anything that can be pickled; it is not changed. Or a Dask collection that a cluster
        computes: large objects in its graph are made keys of their own, or scattered. Its tasks
        run in every trip; ``link_bytes_per_s``, ``now`` and ``pairs`` do not apply to it.
    link_bytes_per_s
        A link over which it is sent: every trip takes its bytes over that rate longer, and
        compression is tried. None: no link.
    now
        How it goes now: ``"pickle"`` (protocol 5, in-band), ``"pickle4"``, ``"cloudpickle"``. None
        takes pickle, or cloudpickle for what only that takes.
    budget_s
        Seconds for all pairs.
    pairs
        Pairs of each remedy; fewer where the budget ends before.
    name
        What the document and the lines to paste call it.

    Returns
    -------
    Sweep
        The way it goes now, and each remedy as a variant with the fact ``tried``: ``gain``,
        ``low`` and ``high`` (its 95 % interval), ``pairs``, ``equal``. What is faster and equal is
        also a finding with ``gain`` and ``measured``, the best first; what cannot be tried safely
        is a finding without them that says why.

    Raises
    ------
    UsageError
        If it cannot be pickled (with the culprit), for bad keywords, and without memory for four
        copies of it.

    Notes
    -----
    Every trip is written, moved once into a block of memory that is known already, and read from
    there; so no way wins by moving nothing. What is paid once (a conversion, a put) is not in the
    gain, and said apart. Where the interval contains 1, nothing can be told.

    Examples
    --------
    >>> rows = [{"id": at, "x": at / 7} for at in range(1000)]
    >>> tried = try_remedies(rows, budget_s=0.2, name="rows")
    >>> [variant.key for variant in tried.variants]
    ['now: pickle 5, in-band', 'columns']
    """
    __tracebackhide__ = True
    if is_collection(value):
        return run(DaskTryout(value, name=name, budget_s=budget_s))
    tryout = Tryout(
        value,
        name=name,
        link_bytes_per_s=link_bytes_per_s,
        now=now,
        budget_s=budget_s,
        pairs=pairs,
    )
    return run(tryout)
