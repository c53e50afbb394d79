"""Predict the waterfall of an object at another size, or over another link."""

from __future__ import annotations

from jupyter_serprof.experiments.predict.predict import predict as predicted
from jupyter_serprof.model import Sweep, Trace


def predict(
    sweep: Sweep,
    size: float | None = None,
    bandwidth_bytes_per_s: float | None = None,
    *,
    variant: str | None = None,
) -> Trace:
    """Predict what the waterfall of an object would be at another size, or over another link.

    Parameters
    ----------
    sweep
        Warm runs: of three sizes to predict between them, of five to predict beyond them; for
        another link only, one size is enough.
    size
        Bytes of the value, at most ten times the largest measured size; None takes that one.
    bandwidth_bytes_per_s
        Rate of a link that the bytes cross between pickling and unpickling, in bytes: 1 Gbit/s is
        1.25e8; above 0, up to 1e15. None has no link.
    variant
        Key of a transport of the sweep; None takes the fastest one at the largest size.

    Returns
    -------
    Trace
        With ``prediction`` set: it is drawn hatched and says how far off it was at a measured size
        that was held out (``error_share``), and how far off one straight line was
        (``straight_error_share``). What the check was made from is among the ``assumptions``.

    Raises
    ------
    UsageError
        Where no measured size within a factor of ten can check it, for fewer than four sizes below
        that one (one on each side, between sizes), where the held-out size was missed by more than
        a factor of 2 (measure the size that is asked for, with more runs), for a transport that the
        sweep has not, for a sweep over chunk sizes, and for values that are no sizes or rates.

    Notes
    -----
    At a measured size it is the median of what was measured there, and the range that of its runs.
    Between two measured sizes each stage is interpolated between its medians there, on a line of
    logarithms, and never leaves them; to check it, the nearest size with measured ones on both
    sides is left out and interpolated from those. The range has at least the spread of the runs at
    both sizes.
    Beyond them each stage is modelled apart: a fixed cost, bytes at the warm rate, fresh pages by
    the price of a page in first runs, and growth of the memo for many small objects. To check it,
    the last size is predicted from as far below.
    Where a straight line held out clearly better, the line answers, and the assumptions say so. It
    holds for the machine and the allocator that the sweep was measured with.
    Source: ``tests/benchmarks/prediction.py`` measures the held-out errors; glibc's
    ``DEFAULT_MMAP_THRESHOLD_MAX`` (malloc/malloc.c) is why blocks of 32 MiB are always fresh.
    """
    return predicted(sweep, size, bandwidth_bytes_per_s=bandwidth_bytes_per_s, variant=variant)
