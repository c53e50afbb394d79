"""Other forms of a value that are faster to send, each with the way back.

Nothing here changes the value: every form is a new object. A form is offered only where it holds
all that the value holds (or where the way back says what was lost, and the trial is unequal).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

#: Below these a form is not worth a sentence.
_NUMBERS, _ROWS, _ARRAYS, _TEXTS = 1_000, 100, 10, 1_000
_COLUMNS = 1_000
#: Of the texts at most this share may be different for categories to pay.
_DIFFERENT_SHARE = 0.1
_SAMPLE = 100
_INT64 = range(-(2**63), 2**63)


class Form(NamedTuple):
    """Another form: the key of its remedy, how it is made, and the way back for the check.

    ``back`` is None where the form is to be equal to the value as it is.
    """

    key: str
    make: Callable[[], object]
    back: Callable[[Any], object] | None = None


def forms_of(value: object) -> Iterator[Form]:
    """Yield the other forms that a value may have."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and type(value) is numpy.ndarray:
        yield from _array_forms(value)
    elif pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series):
        yield from _frame_forms(value)
    elif type(value) in (list, tuple):
        yield from _sequence_forms(value)  # type: ignore[arg-type]  # checked by its type
    elif type(value) is dict and numpy is not None:
        yield from _strided_parts(value)


def _array_forms(array: Any) -> Iterator[Form]:  # noqa: ANN401  (an ndarray)
    import numpy as np

    if not (array.flags.c_contiguous or array.flags.f_contiguous) and not array.dtype.hasobject:
        yield Form("contiguous", lambda: np.ascontiguousarray(array))
    elif array.dtype == object and array.size >= _NUMBERS and array.ndim == 1:
        kinds = {type(element) for element in array.flat}
        if kinds <= {float} or kinds <= {bool} or (kinds <= {int} and _is_int64(array.flat)):
            yield Form("dtype", lambda: np.array(array.tolist()), lambda made: made.astype(object))


def _is_int64(numbers: Any) -> bool:  # noqa: ANN401  (an iterable)
    return all(number in _INT64 for number in numbers)


def _strided_parts(value: dict[Any, Any]) -> Iterator[Form]:
    """Offer contiguous copies of the arrays in a dict that are not."""
    import numpy as np

    def is_strided(part: Any) -> bool:  # noqa: ANN401
        flags = part.flags if type(part) is np.ndarray and not part.dtype.hasobject else None
        return flags is not None and not (flags.c_contiguous or flags.f_contiguous)

    if len(value) <= _COLUMNS and any(map(is_strided, value.values())):
        yield Form(
            "contiguous",
            lambda: {
                key: np.ascontiguousarray(part) if is_strided(part) else part
                for key, part in value.items()
            },
        )


def _sequence_forms(value: Sequence[Any]) -> Iterator[Form]:
    if not value:
        return
    kind = type(value[0])
    if any(type(part) is not kind for part in islice(value, _SAMPLE)):
        return
    if kind in (float, int) and len(value) >= _NUMBERS:
        yield from _number_forms(value, kind)
    elif kind is str and len(value) >= _TEXTS:
        yield from _text_forms(value)
    elif kind is dict and len(value) >= _ROWS:
        yield from _row_forms(value)
    elif _is_ndarray(kind) and len(value) >= _ARRAYS:
        yield from _stacked_forms(value)


def _number_forms(value: Sequence[Any], kind: type) -> Iterator[Form]:
    if all(type(part) is kind for part in value) and (kind is float or _is_int64(value)):
        import numpy as np

        yield Form("array", lambda: np.array(value), lambda made: _like(value)(made.tolist()))


def _text_forms(value: Sequence[Any]) -> Iterator[Form]:
    if "pyarrow" in sys.modules and all(type(part) is str for part in value):
        import pyarrow as pa

        yield Form(
            "arrow-strings", lambda: pa.array(value), lambda made: _like(value)(made.to_pylist())
        )


def _row_forms(value: Sequence[dict[Any, Any]]) -> Iterator[Form]:
    """Offer columns, where all rows have the same keys in the same order."""
    keys = list(value[0])
    if not keys or len(keys) > _COLUMNS:
        return
    if all(type(row) is dict and list(row) == keys for row in value):
        yield Form("columns", lambda: _columns(value, keys), lambda made: _rows(made, value))


def _columns(rows: Sequence[dict[Any, Any]], keys: Sequence[Any]) -> dict[Any, Any]:
    return {key: _column([row[key] for row in rows]) for key in keys}


def _column(values: list[Any]) -> Any:  # noqa: ANN401  (an array, or the list)
    import numpy as np

    kinds = {type(value) for value in values}
    is_plain = kinds in ({float}, {bool}) or (kinds == {int} and _is_int64(values))
    return np.array(values) if is_plain else values


def _rows(columns: dict[Any, Any], like: Sequence[Any]) -> object:
    lists = [c if isinstance(c, list) else c.tolist() for c in columns.values()]
    return _like(like)(dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True))


def _like(value: Sequence[Any]) -> Any:  # noqa: ANN401  (list or tuple)
    """Return what makes a sequence of the type of this one."""
    return type(value)


def _is_ndarray(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and kind is numpy.ndarray


def _stacked_forms(value: Sequence[Any]) -> Iterator[Form]:
    import numpy as np

    shape, dtype = value[0].shape, value[0].dtype
    if dtype.hasobject or not shape:
        return
    if all(type(p) is np.ndarray and p.shape == shape and p.dtype == dtype for p in value):
        yield Form("stacked", lambda: np.stack(value), _like(value))


def _frame_forms(value: Any) -> Iterator[Form]:  # noqa: ANN401  (a DataFrame or Series)
    objects, repeating = _text_columns(value)
    if objects:
        yield Form("str", lambda: _converted(value, objects, "str"), _back(value, objects))
    if repeating:
        yield Form(
            "category", lambda: _converted(value, repeating, "category"), _back(value, repeating)
        )


def _text_columns(value: Any) -> tuple[list[Any], list[Any]]:  # noqa: ANN401
    """Return the columns of texts that are objects, and those whose texts repeat."""
    import pandas as pd

    columns = [(None, value)] if isinstance(value, pd.Series) else list(value.items())
    if isinstance(value, pd.DataFrame) and not value.columns.is_unique:
        return [], []
    objects, repeating = [], []
    for name, column in columns[:_COLUMNS]:
        if len(column) < _TEXTS or not _holds_texts(column):
            continue
        if column.dtype == object:
            objects.append(name)
        if column.nunique() <= _DIFFERENT_SHARE * len(column):
            repeating.append(name)
    return objects, repeating


def _holds_texts(column: Any) -> bool:  # noqa: ANN401  (a Series)
    import pandas as pd

    if column.dtype == object:
        return all(type(text) is str for text in column)
    return isinstance(column.dtype, pd.StringDtype)


def _converted(value: Any, names: Sequence[Any], dtype: str) -> object:  # noqa: ANN401
    return value.astype(dtype if names == [None] else dict.fromkeys(names, dtype))


def _back(value: Any, names: Sequence[Any]) -> Callable[[Any], object]:  # noqa: ANN401
    if names == [None]:
        return lambda made: made.astype(value.dtype)
    return lambda made: made.astype({name: value.dtypes[name] for name in names})
