"""Sweep over sizes: how each transport grows, and where one overtakes another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jupyter_serprof.api.resumes import resumable
from jupyter_serprof.experiments.engine.order import checked_sizes
from jupyter_serprof.experiments.sizes.subject import serializes, subject_of
from jupyter_serprof.experiments.sizes.sweep import SizeSweep
from jupyter_serprof.model import Sweep


def sweep(  # noqa: PLR0913  (the options of the magic)
    make: object,
    sizes: Iterable[float],
    transports: Sequence[str] | None = None,
    repeat: int | None = None,
    *,
    budget_s: float | None = None,
    holdout: float | None = None,
    name: str | None = None,
    parameter: str | None = None,
    detail: bool = False,
    seed: int | None = None,
) -> Sweep:
    """Measure the same over many sizes: how it grows, and which transport is best from where on.

    Parameters
    ----------
    make
        A function of the size. If it serializes something itself, its call is measured; if not,
        what it returns makes the round trip through the transports. Or the key of a generator, as
        ``"float64"``; or a list, array, frame or table, whose leading rows are taken.
    sizes
        What ``make`` is called with: numbers above 0; bytes for a generator, rows for a value.
    transports
        Keys of transports, in order; None takes those that are available.
    repeat
        Warm runs of each transport and size, 1 to 1000; None runs 3, and up to 5 while the budget
        lasts.
    budget_s
        Seconds for all of it; None: 60 where ``repeat`` is None, else no limit. What would take
        longer than what is left is skipped, and the document says so.
    holdout
        A size that no fitted line uses: lines then carry the error that they make there.
    name, parameter
        What the document calls the values, and the number: ``n``.
    detail
        Tell waiting, pulling and mapping of ``ray.get`` apart.
    seed
        Of the shuffled order; None draws one. The document holds it.

    Returns
    -------
    Sweep
        One point for each run, fitted lines, crossovers, and two recordings for each transport and
        size. Lines end at the largest size that was measured.

    Raises
    ------
    UsageError
        For bad sizes, an unknown generator or transport, a bad number of runs or seconds.
    Exception
        What ``make`` raises, if it raises for every size; of some sizes the others stay.

    Notes
    -----
    The first pass goes from small to large and is cold; later passes are shuffled, so that drift of
    the machine does not look like growth. Sizes that would not fit into the memory are left out.
    After Ctrl-C, `resume` goes on with it, or gives what was measured.
    """
    __tracebackhide__ = True
    runs = size_sweep(
        make,
        sizes,
        transports,
        repeat,
        budget_s=budget_s,
        holdout=holdout,
        name=name,
        parameter=parameter,
        detail=detail,
        seed=seed,
    )
    return resumable(runs)


def size_sweep(  # noqa: PLR0913  (as sweep)
    make: object,
    sizes: Iterable[float],
    transports: Sequence[str] | None = None,
    repeat: int | None = None,
    *,
    budget_s: float | None = None,
    holdout: float | None = None,
    name: str | None = None,
    parameter: str | None = None,
    detail: bool = False,
    seed: int | None = None,
) -> SizeSweep:
    """Return the sweep that `sweep` would run, to be run, watched, stopped and gone on with."""
    __tracebackhide__ = True
    subject = subject_of(make)
    asked = checked_sizes(sizes, holdout)
    title = subject.name if name is None else name

    def made(*, code: bool) -> SizeSweep:
        return SizeSweep(
            subject.make,
            asked,
            name=title,
            parameter=subject.parameter if parameter is None else parameter,
            transports=transports,
            repeat=repeat,
            budget_s=budget_s,
            holdout=holdout,
            detail=detail,
            seed=seed,
            code=code,
            is_bytes=subject.is_bytes,
        )

    prepared = made(code=False)  # bad options are refused before anything runs
    if not subject.is_unknown or transports is not None:
        return prepared
    is_code, first = serializes(subject.make, asked, title)
    if not is_code:
        return prepared
    timed = made(code=True)
    timed.take_first(first)
    return timed
