"""Questions to objects: what makes a pickle large, what would be faster, who keeps one alive."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from jupyter_serprof.experiments.blame.recording import Blame
from jupyter_serprof.experiments.engine.experiment import kept, run
from jupyter_serprof.experiments.engine.order import BLAME_S, TRIALS
from jupyter_serprof.experiments.graphs.values import is_collection
from jupyter_serprof.experiments.remedies.graph import DaskTryout
from jupyter_serprof.experiments.remedies.value import Tryout
from jupyter_serprof.model import Anatomy, Sweep, Trace
from jupyter_serprof.objects.ask import attribute, notebook_name


def blame(value: object, name: str | None = None, *, budget_s: float = BLAME_S) -> Anatomy:
    """Open an object as its pickler does, and count the bytes of every part.

    Parameters
    ----------
    value
        Anything, also a function, a class, a remote function or an actor class of Ray.
    name
        What paths begin with; None takes the name of a function or class, else ``it``.
    budget_s
        Seconds after which nothing more is opened, above 0. A single reducer can exceed it. After
        Ctrl-C, `resume` returns what was known by then.

    Returns
    -------
    Anatomy
        ``total_bytes`` and ``parts``; the ``self_bytes`` (in-band) of all parts sum to
        ``in_band_bytes``, and ``plain_bytes`` is the length of a ``cloudpickle.dumps``. Parts that
        cannot be pickled have the state ``unpicklable`` and say why; of hundreds the last ones are
        told as "something in it".

    Raises
    ------
    UsageError
        For a budget that is no number above 0.

    Notes
    -----
    Takes about two to three pickles and some milliseconds; nothing of the pickle is kept. Reducers
    (``__reduce__``, ``__getstate__``) are called two to four times. Times of parts are their shares
    of what the probe took, scaled to one pickle that hands buffers over and copies nothing
    (``duration_ns``); ``%serprof --blame`` times them in-band, as parts of a plain dumps. The
    root's own bytes include the envelope: 3 bytes, and 9 for each frame of 64 KiB.

    Examples
    --------
    >>> anatomy = blame({"a": b"x" * 5000, "b": 1}, "job")
    >>> [(part.path, part.bytes) for part in anatomy.parts]
    [('job', 5030), ('job["a"]', 5004), ('job["b"]', 2)]
    """
    known = attribute(value, "__name__") if name is None else name
    made = Blame(value, known if isinstance(known, str) else notebook_name(value), budget_s)
    with kept(made.anatomy):
        return made.run()


def try_remedies(
    value: object,
    *,
    now: str | None = None,
    budget_s: float = TRIALS.budget_s,
    pairs: int = TRIALS.most,
    name: str = "",
) -> Sweep:
    """Measure what would be faster for this very value, in pairs against the way it goes now.

    Parameters
    ----------
    value
        Anything that can be pickled; it is not changed. Or a Dask collection that a cluster
        computes: large objects in its graph are made keys of their own, or scattered. Its tasks
        run in every trip; ``now`` and ``pairs`` do not apply to it.
    now
        How it goes now: ``"pickle"`` (protocol 5, in-band), ``"pickle4"``, ``"cloudpickle"``. None
        takes pickle, or cloudpickle for what only that takes.
    budget_s
        Seconds for all pairs.
    pairs
        Pairs of each remedy; fewer where the budget ends before.
    name
        What the document and the lines to paste call it; else as the notebook does, or ``value``.

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
    there; so no way wins by moving nothing. What is paid once (a conversion) is not in the
    gain, and said apart. Where the interval contains 1, nothing can be told.

    Examples
    --------
    >>> rows = [{"id": at, "x": at / 7} for at in range(1000)]
    >>> tried = try_remedies(rows, budget_s=0.2, name="rows")
    >>> [variant.key for variant in tried.variants]
    ['now: pickle in-band', 'columns']
    """
    __tracebackhide__ = True
    name = name or notebook_name(value) or "value"
    if is_collection(value):
        return run(DaskTryout(value, name=name, budget_s=budget_s))
    return run(Tryout(value, name=name, now=now, budget_s=budget_s, pairs=pairs))


def objects(of: object = None, *, names: Mapping[str, object] | None = None) -> Trace:
    """Tell who holds what in Ray's object stores, and why each object is alive.

    Parameters
    ----------
    of
        References of Ray in any container, or a value that was got without a copy; None for all.
    names
        The variables of the program, by name; by default the globals of the caller.

    Returns
    -------
    Trace
        Without spans, with tables; unknown is None. ``ray.holders``: a row for each reason, with
        objects, bytes, part of what the stores may hold (0..1), and the line that lets them go,
        where only variables keep them. ``ray.objects``: a row for each of the 80 largest. Where it
        was typed is known of what a recording saw. ``ray.stores``: a row for each node. The anatomy
        is the same as a tree; its out-of-band bytes were spilled.

    Raises
    ------
    ProbeUnavailable
        If Ray does not run here or does not answer, or without grpcio.
    UsageError
        If ``of`` has no reference of Ray in it.

    Notes
    -----
    Every process is asked through its raylet; 20,000 objects take less than 1 s; no reference is
    kept. Copies of what others own and nobody here refers to are not known. Locals of functions are
    not searched. Source: Ray 2.60.0, GetNodeStats of a raylet.
    """
    from jupyter_serprof.probes.ray.footprint import footprint

    known = sys._getframe(1).f_globals if names is None else names  # noqa: SLF001  (documented)
    return footprint(known, of)
