"""See which part of an object makes its pickle large, and what cannot be pickled."""

from __future__ import annotations

from jupyter_serprof.experiments.blame.recording import BUDGET_S, Blame
from jupyter_serprof.model import Anatomy
from jupyter_serprof.objects.ask import attribute


def blame(
    value: object, name: str | None = None, *, budget_s: float = BUDGET_S, protocol: int = 5
) -> Anatomy:
    """Open an object as its pickler does, and count the bytes of every part.

    Parameters
    ----------
    value
        Anything, also a function, a class, a remote function or an actor class of Ray.
    name
        What paths begin with; None takes the name of a function or class, else ``it``.
    budget_s
        Seconds after which nothing more is opened, above 0. A single reducer can exceed it.
    protocol
        4 or 5; only 5 hands buffers over out-of-band.

    Returns
    -------
    Anatomy
        ``total_bytes`` and ``parts``; the ``self_bytes`` (in-band) of all parts sum to
        ``in_band_bytes``, and ``plain_bytes`` is ``len(cloudpickle.dumps(value, protocol))``. Parts
        that cannot be pickled have the state ``unpicklable`` and say why; of hundreds the last ones
        are told as "something in it".

    Raises
    ------
    UsageError
        For another protocol, and for a budget that is no number above 0.

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
    return Blame(value, known if isinstance(known, str) else "it", budget_s, protocol).run()
