"""Other forms of a value that are faster to send, each with the way back.

Nothing here changes the value: every form is a new object. A form is offered only where it holds
all that the value holds (or where the way back says what was lost, and the trial is unequal).
A form is made by running the very line that the user is told to paste.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

_LITERALS = (str, int, bool, bytes, type(None))


def converted(  # noqa: PLR0913  (the parts of one line)
    made: str,
    otherwise: str,
    labels: Sequence[object],
    places: Sequence[int],
    *,
    of: str,
    target: str,
) -> str:
    """Return a dict whose entries at some places are converted: those, or all others, are named.

    Parameters
    ----------
    made, otherwise
        Expressions for what is converted, and for what is not.
    of, target
        What the loop goes over, and its variables; ``key`` is the label.
    """
    inside = set(places)
    others = [at for at in range(len(labels)) if at not in inside]
    if not others:
        return f"{{key: {made} for {target} in {of}}}"
    word, meant = ("in", list(places)) if len(places) <= len(others) else ("not in", others)
    named = [labels[at] for at in meant]
    if all(map(is_literal, named)):
        chosen = f"key {word} {_listed(named)}"
    else:
        chosen = f"at {word} {_listed(meant)}"
        target, of = f"at, ({target})" if "," in target else f"at, {target}", f"enumerate({of})"
    return f"{{key: {made} if {chosen} else {otherwise} for {target} in {of}}}"


def is_literal(label: object) -> bool:
    """Tell whether the ``repr`` of a label is the label, and nothing of the user's runs for it.

    >>> [is_literal(label) for label in ("a", 1, ("a", None), 1.5, object)]
    [True, True, True, False, False]
    """
    if type(label) is tuple:
        return all(map(is_literal, label))
    return type(label) in _LITERALS


def quoted(label: object) -> str:
    """Return a label as people write it.

    >>> print(quoted("name"), quoted('a"b'), quoted(1))
    "name" 'a"b' 1
    """
    text = repr(label)
    is_plain = isinstance(label, str) and text == f"'{label}'" and '"' not in label
    return f'"{label}"' if is_plain else text


def _listed(labels: Sequence[object]) -> str:
    return f"({', '.join(map(quoted, labels))}{',' if len(labels) == 1 else ''})"


#: Below these a form is not worth a sentence.
_NUMBERS, _ROWS, _ARRAYS, _TEXTS = 1_000, 100, 10, 1_000
_COLUMNS = 1_000
#: Of the texts at most this share may be different for categories to pay.
_DIFFERENT_SHARE = 0.1
_SAMPLE = 100
_INT64 = range(-(2**63), 2**63)
#: More labels than these are written as one list.
_NAMED = 8
#: Behind a line after which it is sent as before.
REMARK = "   # once, before it is sent"


class Form(NamedTuple):
    """Another form: the key of its remedy, the line that makes it, and the way back for the check.

    Attributes
    ----------
    line
        To paste, and what `make` runs: it gives ``name`` another value, and changes none.
    back
        None where the form is to be equal to the value as it is.
    """

    key: str
    line: str
    value: object
    name: str
    back: Callable[[Any], object] | None = None

    def make(self) -> object:
        """Run the line on the value, among names of its own; return what the name stands for."""
        # Arrow is offered only where it is imported already.
        known = {"np": import_module("numpy"), "pa": sys.modules.get("pyarrow")}
        names: dict[str, Any] = {**known, self.name: self.value}
        exec(self.line, names)  # noqa: S102  (our own line; labels in it are plain literals)
        return names[self.name]


Back = Callable[[Any], object]
#: The key of a form, its line, and the way back.
Offer = tuple[str, str, Back | None]


def forms_of(value: object, name: str = "value") -> Iterator[Form]:
    """Yield the other forms that a value may have; `name` is that of its variable."""
    found: Iterator[Offer] = iter(())
    pandas = sys.modules.get("pandas")
    if _is_ndarray(value):
        found = _array_forms(value, name)
    elif pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series):
        found = _frame_forms(value, name)
    elif type(value) in (list, tuple) and value:
        found = _sequence_forms(value, name)  # type: ignore[arg-type]  # checked by its type
    elif type(value) is dict:
        found = _strided_parts(value, name)
    for key, line, back in found:
        yield Form(key, line, value, name, back)


def _is_ndarray(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray


def _array_forms(array: Any, name: str) -> Iterator[Offer]:  # noqa: ANN401  (an ndarray)
    if _is_strided(array):
        yield "contiguous", f"{name} = np.ascontiguousarray({name}){REMARK}", None
    elif array.dtype == object and array.ndim == 1 and len(array) >= _NUMBERS and _is_plain(array):
        line = f"{name} = np.array({name}.tolist())   # {name}.astype(object) goes back"
        yield "dtype", line, lambda made: made.astype(object)


def _is_plain(values: Any) -> bool:  # noqa: ANN401  (an iterable)
    """Tell whether all are numbers of one type that an array gives back as they are."""
    kinds = {type(value) for value in values}
    return kinds in ({float}, {bool}) or (kinds == {int} and all(v in _INT64 for v in values))


def _is_strided(part: Any) -> bool:  # noqa: ANN401
    """Tell whether it is an array whose elements have to be gathered."""
    return _is_ndarray(part) and not part.dtype.hasobject and not part.flags.forc


def _strided_parts(value: dict[Any, Any], name: str) -> Iterator[Offer]:
    """Offer contiguous copies of the arrays in a dict that are not."""
    places = [at for at, part in enumerate(value.values()) if _is_strided(part)]
    if places and len(value) <= _COLUMNS:
        made, loop = "np.ascontiguousarray(part)", {"of": f"{name}.items()", "target": "key, part"}
        parts = converted(made, "part", list(value), places, **loop)
        yield "contiguous", f"{name} = {parts}{REMARK}", None


def _sequence_forms(value: Sequence[Any], name: str) -> Iterator[Offer]:
    kind, like = type(value[0]), type(value)
    if any(type(part) is not kind for part in islice(value, _SAMPLE)):
        return
    if kind in (float, int) and len(value) >= _NUMBERS and _is_plain(value):
        line = f"{name} = np.array({name})   # {name}.tolist() goes back"
        yield "array", line, lambda made: like(made.tolist())  # type: ignore[call-arg]
    elif kind is str and len(value) >= _TEXTS:
        if "pyarrow" in sys.modules and all(type(part) is str for part in value):
            line = f"{name} = pa.array({name})   # {name}.to_pylist() goes back"
            yield "arrow-strings", line, lambda made: like(made.to_pylist())  # type: ignore[call-arg]
    elif kind is dict and len(value) >= _ROWS:
        yield from _row_forms(value, name)
    elif _is_ndarray(value[0]) and len(value) >= _ARRAYS:
        shape, dtype = value[0].shape, value[0].dtype
        is_alike = all(_is_ndarray(p) and p.shape == shape and p.dtype == dtype for p in value)
        if shape and not dtype.hasobject and is_alike:
            line = f"{name} = np.stack({name})   # list({name}) goes back, without copies"
            yield "stacked", line, like


def _row_forms(value: Sequence[dict[Any, Any]], name: str) -> Iterator[Offer]:
    """Offer columns, where all rows have the same keys in the same order."""
    keys = list(value[0])
    if not keys or len(keys) > _COLUMNS:
        return
    if all(type(row) is dict and list(row) == keys for row in value):
        places = [at for at, key in enumerate(keys) if _is_plain([row[key] for row in value])]
        yield "columns", _columns_line(name, keys, places), lambda made: _rows(made, type(value))


def _columns_line(name: str, keys: Sequence[Any], places: Sequence[int]) -> str:
    """Return the line that makes arrays of the columns at some places, and lists of the others."""
    column = f"[row[key] for row in {name}]"
    if not places:
        return f"{name} = {{key: {column} for key in {name}[0]}}"
    made = f"np.array({column})"
    columns = converted(made, column, keys, places, of=f"{name}[0]", target="key")
    # Of the others nothing is made an array: one long text would make all of them as long.
    said = "" if len(places) == len(keys) else "   # numbers as arrays; the others stay lists"
    return f"{name} = {columns}{said}"


def _rows(columns: dict[Any, Any], like: Any) -> object:  # noqa: ANN401  (list or tuple)
    lists = [c if isinstance(c, list) else c.tolist() for c in columns.values()]
    return like(dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True))


def _frame_forms(value: Any, name: str) -> Iterator[Offer]:  # noqa: ANN401  (pandas)
    for dtype, places in zip(("str", "category"), _text_columns(value), strict=True):
        if places:
            known = _known_dtypes(value, places)
            line = _astype_line(value, name, places, dtype)
            yield dtype, line, lambda made, known=known: made.astype(known)  # type: ignore[misc]


def _known_dtypes(value: Any, places: Sequence[int]) -> object:  # noqa: ANN401
    if value.ndim == 1:
        return value.dtype
    return {value.columns[at]: value.dtypes.iloc[at] for at in places}


def _text_columns(value: Any) -> tuple[list[int], list[int]]:  # noqa: ANN401
    """Return the places of columns of texts that are objects, and of those that repeat."""
    import pandas as pd

    columns = [value] if value.ndim == 1 else [column for _, column in value.items()]
    objects, repeating = list[int](), list[int]()
    if value.ndim > 1 and not value.columns.is_unique:
        return objects, repeating
    for at, column in enumerate(columns[:_COLUMNS]):
        is_object = column.dtype == object
        if len(column) < _TEXTS or not (is_object or isinstance(column.dtype, pd.StringDtype)):
            continue
        if is_object and any(type(text) is not str for text in column):
            continue
        if is_object:
            objects.append(at)
        if column.nunique() <= _DIFFERENT_SHARE * len(column):
            repeating.append(at)
    return objects, repeating


def _astype_line(value: Any, name: str, places: Sequence[int], dtype: str) -> str:  # noqa: ANN401
    """Return the line that converts these columns and no other one."""
    if value.ndim == 1:
        return f'{name} = {name}.astype("{dtype}")   # the dtype changes'
    labels = [value.columns[at] for at in places]
    if not all(map(is_literal, labels)):
        converted = f'dict.fromkeys({name}.columns[{list(places)!r}], "{dtype}")'
    elif len(labels) > _NAMED:
        converted = f'dict.fromkeys({labels!r}, "{dtype}")'
    else:
        pairs = ", ".join(f'{quoted(label)}: "{dtype}"' for label in labels)
        converted = f"{{{pairs}}}"
    return f"{name} = {name}.astype({converted})   # the dtype changes"
