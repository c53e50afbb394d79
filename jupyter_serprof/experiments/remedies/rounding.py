"""Equal within rounding: what sums are when their parts are taken in another order."""

from __future__ import annotations

import sys
from typing import Any

from jupyter_serprof.experiments.remedies.cache import Verdict
from jupyter_serprof.objects.differences import differences
from jupyter_serprof.objects.equality import same_value

#: So many times the spacing of floats, of the largest value.
_SPACINGS = 1_000


def same_or_rounded(before: Any, after: Any) -> Verdict:  # noqa: ANN401
    """Compare results of one computation that was cut in two ways.

    Shape and dtype have to be the same. Floats may differ by a thousand spacings of the largest
    value (2e-13 of it for float64, 1e-4 for float32); integers, texts and dates may not. Rows of a
    frame may come in another order, which is said, where their index tells them apart.
    """
    if before is None or after is None:
        return Verdict(equal=None, changes=("the result is too large to be compared here",))
    changes = tuple(differences(before, after))
    moved, notes = _in_order(before, after)
    equal = same_value(before, moved)
    if equal is not False:
        return Verdict(equal, (*changes, *notes))
    worst = _worst(before, moved)
    if worst is None or worst > 1:
        return Verdict(equal=False, changes=(*changes, *notes))
    said = "equal within rounding: floats differ in their last digits, as sums are taken in another"
    return Verdict(equal=True, changes=(*changes, *notes, f"{said} order"))


def _in_order(before: Any, after: Any) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401
    """Return the rows of a frame in the order of another one."""
    if not _is_frame(before) or type(before) is not type(after):
        return after, ()
    old, new = before.index, after.index
    if old.equals(new) or not (old.is_unique and new.is_unique) or len(old) != len(new):
        return after, ()
    if not old.isin(new).all():
        return after, ()
    return after.loc[old], ("its rows come in another order",)


def _worst(before: Any, after: Any) -> float | None:  # noqa: ANN401
    """Return the largest difference as a part of what is allowed; None where none is."""
    if _is_frame(before):
        return _worst_of_frame(before, after)
    np: Any = sys.modules.get("numpy")
    if np is None:
        return None
    old, new = np.asarray(before), np.asarray(after)
    if old.shape != new.shape or old.dtype != new.dtype or old.dtype.kind not in "fc":
        return None
    finite = np.isfinite(old)
    if not np.array_equal(finite, np.isfinite(new)):
        return None
    if not np.array_equal(old[~finite], new[~finite], equal_nan=True):
        return None
    largest = float(np.max(np.abs(old[finite]), initial=0))
    apart = float(np.max(np.abs(old[finite] - new[finite]), initial=0))
    allowed = _SPACINGS * float(np.finfo(old.dtype).eps) * largest
    return apart / allowed if allowed else (None if apart else 0.0)


def _worst_of_frame(before: Any, after: Any) -> float | None:  # noqa: ANN401
    if type(before) is not type(after) or not before.index.equals(after.index):
        return None
    if before.ndim == 1:
        return _worst(before.to_numpy(), after.to_numpy())
    if not before.columns.equals(after.columns):
        return None
    worst = 0.0
    for at in range(len(before.columns)):
        old, new = before.iloc[:, at], after.iloc[:, at]
        part = 0.0 if old.equals(new) else _worst_of_frame(old, new)
        if part is None:
            return None
        worst = max(worst, part)
    return worst


def _is_frame(value: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series)
