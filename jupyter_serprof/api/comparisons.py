"""Compare two documents, a document and code of now, or two pieces of code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack, overload

from jupyter_serprof.api.documents import load
from jupyter_serprof.experiments.compare.limit import check, limit_share
from jupyter_serprof.experiments.compare.repeats import Repeats, checked_runs, runs_within_budget
from jupyter_serprof.experiments.compare.runs import Against, Pairs, transports_of
from jupyter_serprof.experiments.compare.samples import check_kinds, check_question, same_code
from jupyter_serprof.experiments.compare.verdict import compare as compare_documents
from jupyter_serprof.experiments.engine.experiment import run
from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
from jupyter_serprof.model import Comparison, RegressionError, Sweep, Trace, UsageError
from jupyter_serprof.model.files import SUFFIX

Document = Trace | Sweep | str | os.PathLike[str]
Code = Callable[[], object]


class _Question(TypedDict, total=False):
    fail_above: str | float | None
    detail: bool
    name: str | None


@overload
def compare(
    before: Document, after: Document, *, repeat: None = None, **options: Unpack[_Question]
) -> Comparison: ...
@overload
def compare(
    before: Document | Code, after: Code, *, repeat: int | None = None, **options: Unpack[_Question]
) -> Sweep: ...
def compare(  # noqa: PLR0913  (the options of the magic)
    before: Document | Code,
    after: Document | Code,
    *,
    repeat: int | None = None,
    fail_above: str | float | None = None,
    detail: bool = False,
    name: str | None = None,
) -> Comparison | Sweep:
    """Compare stage by stage: faster, slower, or cannot tell.

    Parameters
    ----------
    before, after
        Documents (or the files of some), or functions without arguments that are run now: two of
        them in turns, one against a document. Where only one is a function, it is ``after``.
    repeat
        Warm runs of a function, or pairs of two; None makes 15, or fewer within 20 s.
    fail_above
        Raise if it got slower by more than this: ``"10%"``, or ``0.1`` as a share.
    detail
        Tell waiting, pulling and mapping of ``ray.get`` apart in runs of now.
    name
        The question that both answer: documents of different code are compared only under one
        name, and so are two functions of which one runs a Dask computation and one other code.
        Two functions of a kind need none: whoever gives both to one call says that they answer
        the same question.

    Returns
    -------
    Comparison or Sweep
        Of two documents the comparison: for each point in common the wall time first, then the
        stages, with the ratio after over before, its 95 % interval and a verdict. With functions
        the document of the runs of now; its ``comparison`` is that.

    Raises
    ------
    RegressionError
        If the wall time is slower by more than ``fail_above``, with the whole interval above that
        and above the noise. Its ``document`` is what would have been returned.
    UsageError
        If nothing can be compared (two kinds of documents, different code or two kinds of
        functions without ``name``), or ``fail_above`` is no share.
    DocumentError
        If a file cannot be read.

    Notes
    -----
    What differs beside the code (versions, machine, sizes) is said in ``Comparison.notes``.
    A single run on a side has a ratio and no verdict. ``before_ns`` and ``after_ns`` are those of
    the middle run, stages included; ``ratio`` is of all runs, of two functions of the pairs: where
    the runs fall into groups the two differ.
    In doubt, ``fail_above`` lets it pass: look at the verdict of ``changes[0]``.
    Against a document the machine may be slower or faster than it was then. Repeated runs have
    fixed work beside them; where both sides have it, a verdict has to exceed the reach of the
    machine (1.25 at least), else there is none. Run both sides now, as two functions: that tells a
    tenth. An interrupt passes, with a note of how many
    runs there were.

    Examples
    --------
    >>> import pickle
    >>> rows = [{"id": at} for at in range(1000)]
    >>> found = compare(lambda: pickle.dumps(rows), lambda: pickle.dumps(rows, 0), repeat=6)
    >>> found.comparison.changes[0].title
    'Wall time'
    """
    __tracebackhide__ = True
    limit = None if fail_above is None else limit_share(fail_above)
    checked_runs(repeat)
    result = _compared(before, after, repeat, name, detail=detail)
    if limit is not None:
        comparison = result if isinstance(result, Comparison) else result.comparison
        check_limit(comparison, limit, result)
    return result


def _compared(
    before: Document | Code,
    after: Document | Code,
    repeat: int | None,
    name: str | None,
    *,
    detail: bool,
) -> Comparison | Sweep:
    __tracebackhide__ = True
    name = (name or "").strip() or None  # blanks are no word that both answer the same
    if isinstance(before, Trace | Sweep | str | os.PathLike):
        given = document_of(before)
        known = _named(given, name)
        if isinstance(after, Trace | Sweep | str | os.PathLike):
            other = document_of(after)
            found = compare_documents(known, _named(other, name))
            return _with_codes(found, given.name, other.name)
        call = _code(after)
        check_question(known.name, name or _name(call))
        sweep = run(Against(known, Repeats(call, name or known.name, detail, repeat=repeat)))
        changes = sweep.comparison and _with_codes(sweep.comparison, given.name, _name(call))
        return replace(sweep, comparison=changes)
    if isinstance(after, Trace | Sweep | str | os.PathLike):
        message = "before is a function and after a document. Turn them: sp.compare(document, f)"
        raise UsageError(message)
    calls = _code(before), _code(after)
    return run(Pairs(calls, [_name(call) for call in calls], name, repeat, detail))


def _with_codes(comparison: Comparison, before: str, after: str) -> Comparison:
    """Let a comparison under one name say which code each side was."""
    if same_code(before, after):
        return comparison
    note = f"before is of {before or 'other code'}, after of {after or 'other code'}"
    return replace(comparison, notes=(note, *comparison.notes))


def _named(document: Trace | Sweep, name: str | None) -> Trace | Sweep:
    return document if name is None else replace(document, name=name)


def _code(given: object) -> Code:
    if not callable(given):
        message = (
            f"cannot compare a {type(given).__name__}; give documents, files or functions, "
            "e.g. sp.compare('before.serprof.json', f)"
        )
        raise UsageError(message)
    return given


def _name(call: Code) -> str:
    return str(getattr(call, "__name__", type(call).__name__))


def document_of(given: Document) -> Trace | Sweep:
    """Return a document, or the one in a file; a name without an ending gets ours.

    Raises ``DocumentError``: If the file cannot be read.
    """
    if isinstance(given, Trace | Sweep):
        return given
    path = Path(given)
    return load(path if path.suffix or path.exists() else path.with_name(path.name + SUFFIX))


def trip_like(  # noqa: PLR0913  (the options of the magic)
    before: Trace | Sweep | None,
    value: object,
    name: str,
    transports: Sequence[str] | None,
    repeat: int | None,
    *,
    detail: bool,
) -> RoundTrip:
    """Return a round trip; against a document through its transports, as often as needed."""
    if before is not None:
        transports, repeat = transports or transports_of(before), repeat or runs_within_budget(0)
    trip = RoundTrip(value, name=name, transports=transports, repeat=repeat, detail=detail)
    if before is not None:
        check_kinds(before, trip.document)  # what cannot be compared is not measured
    return trip


def check_limit(comparison: Comparison | None, limit: str | float, document: object) -> str:
    """Raise if a comparison breaks a limit, with the document; return what is unknown.

    Raises ``RegressionError``: As `compare`.
    Raises ``UsageError``: If there is no interval to judge by.
    """
    __tracebackhide__ = True
    try:
        return check(comparison or Comparison(before="", after=""), limit)
    except RegressionError as error:
        error.document = document
        raise
