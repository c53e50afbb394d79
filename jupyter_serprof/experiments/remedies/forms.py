"""Other forms of a value that are faster to send, each with the way back.

Nothing here changes the value: every form is a new object. A form is offered only where it holds
all that the value holds (or where the way back says what was lost, and the trial is unequal).
A form is made by running the very line that the user is told to paste.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from jupyter_serprof.experiments.remedies.table import known, variable
from jupyter_serprof.model import Sweep, Trace
from jupyter_serprof.objects.ask import is_exactly_of, is_only_attributes, state_of

_LITERALS = (str, int, bool, bytes, type(None))


def is_literal(label: object) -> bool:
    """Tell whether the ``repr`` of a label is the label, and nothing of the user's runs for it.

    >>> [is_literal(label) for label in ("a", 1, ("a", None), 1.5, object)]
    [True, True, True, False, False]
    """
    if type(label) is tuple:
        return all(map(is_literal, label))
    return type(label) in _LITERALS


#: Below these a form is not worth a sentence.
_NUMBERS, _ROWS, _ARRAYS, _TEXTS = 1_000, 100, 10, 1_000
_COLUMNS = 1_000
#: Of the texts at most this share may be different for categories to pay.
_DIFFERENT_SHARE, _SAMPLE = 0.1, 100
_INT64 = range(-(2**63), 2**63)
#: Behind a line after which it is sent as before.
REMARK = "   # once, before it is sent"


class Form(NamedTuple):
    """Another form: the key of its remedy, the line that makes it, and the way back for the check.

    ``line``: To paste, and what `make` runs: it gives ``name`` another value, and changes none.
    ``back``: None where the form is to be equal to the value as it is.
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


_OFFER = re.compile(r"%serprof --try (?:ray\.put\()?([^\s()]+)\)?")
#: What lines call by a name that the user may not have.
_MODULES = {"np": "numpy as np", "pa": "pyarrow as pa", "pd": "pandas as pd"}
_MODULES |= {name: name for name in ("cloudpickle", "dask", "gc", "io", "pickle", "ray")}
_MODULE = re.compile(rf"(?<![\w.])({'|'.join(_MODULES)})\.")
Made = TypeVar("Made", bound=Trace | Sweep)


def offered(document: Made, values: Mapping[str, object]) -> Made:
    """Return a document that gives in place of ``--try`` the line that makes another form."""
    # Nothing where a value by its name has none. A line imports what it needs and has no name for.

    def line_of(remedy: str) -> str:
        if (found := _OFFER.match(remedy)) is None:
            code = "" if remedy.startswith("%") else remedy.partition("   # ")[0]
            used = dict.fromkeys(_MODULE.findall(code)).keys() - values.keys()
            needed = (f"import {_MODULES[name]}; " for name in sorted(used))
            return "".join(one for one in needed if one not in code) + remedy
        first, *attributes = found[1].split(".")
        value = values.get(first)
        for each in attributes:
            value = state_of(value).get(each)
        form = next(forms_of(value, variable(found[1])), None)
        line, _, said = form.line.partition("   # ") if form else ("", "", "")
        about = remedy.partition("   # ")[2].partition(":")[0] if "# about" in remedy else ""
        told = "; ".join(filter(None, (about, said, f"measured by {found[0]}")))
        line = known(line, found[1])
        return line and line_of(f"{line}   # {told}")

    kept = (replace(one, remedy=line_of(one.remedy)) for one in document.findings)
    return replace(document, findings=tuple(kept))


Back = Callable[[Any], object]
#: The key of a form, its line, and the way back.
Offer = tuple[str, str, Back | None]


def forms_of(value: object, name: str = "value") -> Iterator[Form]:
    """Yield the other forms that a value may have; `name` is that of its variable."""
    found: Iterator[Offer] = iter(())
    pandas = sys.modules.get("pandas")
    if is_exactly_of(value, "numpy", "ndarray"):
        found = _array_forms(value, name)
    elif pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series):
        found = _frame_forms(value, name)
    elif type(value) in (list, tuple) and value:
        found = _sequence_forms(value, name)  # type: ignore[arg-type]  # checked by its type
    for key, line, back in found:
        yield Form(key, line, value, name, back)


def _array_forms(array: Any, name: str) -> Iterator[Offer]:  # noqa: ANN401  (an ndarray)
    if not (array.dtype.hasobject or array.flags.forc):  # its elements have to be gathered
        yield "contiguous", f"{name} = np.ascontiguousarray({name}){REMARK}", None
    elif array.dtype == object and array.ndim == 1 and len(array) >= _NUMBERS and _is_plain(array):
        line = f"{name} = np.array({name}.tolist())   # {name}.astype(object) goes back"
        yield "dtype", line, lambda made: made.astype(object)


def _is_plain(values: Any) -> bool:  # noqa: ANN401  (an iterable)
    kinds = {type(value) for value in values}
    return kinds in ({float}, {bool}) or (kinds == {int} and all(v in _INT64 for v in values))


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
    elif kind in (list, tuple) and len(value) >= _ROWS:
        yield from _sequence_rows(value, name)
    elif len(value) >= _ROWS and (kind is dict or is_only_attributes(kind)):
        yield from _row_forms(value, name)
    elif is_exactly_of(value[0], "numpy", "ndarray") and len(value) >= _ARRAYS:
        shape, dtype = value[0].shape, value[0].dtype
        is_alike = all(type(p) is kind and p.shape == shape and p.dtype == dtype for p in value)
        if shape and not dtype.hasobject and is_alike:
            line = f"{name} = np.stack({name})   # list({name}) goes back, without copies"
            yield "stacked", line, like


def _sequence_rows(value: Sequence[Sequence[Any]], name: str) -> Iterator[Offer]:
    kind, like, wide = type(value[0]), type(value), len(value[0])
    if not 0 < wide <= _COLUMNS or any(type(r) is not kind or len(r) != wide for r in value):
        return
    if _is_plain([number for row in value for number in row]):
        line = f"{name} = np.array({name})   # {name}.tolist() goes back, each row as a list"
        yield "rows", line, lambda made: like(map(kind, made.tolist()))  # type: ignore[call-arg]
        return
    numbers = tuple(at for at in range(wide) if _is_plain([row[at] for row in value]))
    made = f"[list(column) for column in zip(*{name})]   # columns"
    if numbers:
        each = f"for at, column in enumerate(zip(*{name}))"
        made = f"[np.array(column) if at in {numbers} else list(column) {each}]"
        made += "   # columns, numbers as arrays"
    line = f"{name} = {made}; list(zip(*{name})) goes back"
    yield "columns", line, lambda made: like(map(kind, zip(*map(_listed, made), strict=True)))  # type: ignore[call-arg]


def _row_forms(value: Sequence[Any], name: str) -> Iterator[Offer]:
    kind = type(value[0])  # dict, or a class whose objects are their attributes
    rows = value if kind is dict else list(map(state_of, value))
    keys = list(rows[0])
    if not 0 < len(keys) <= _COLUMNS or not all(map(is_literal, keys)):
        return
    if all(type(row) is kind for row in value) and all(list(row) == keys for row in rows):
        numbers = [key for key in keys if _is_plain([row[key] for row in rows])]
        each, first = ("row", f"{name}[0]") if kind is dict else ("vars(row)", f"vars({name}[0])")
        column, said = f"[{each}[key] for row in {name}]", ""
        made = f"np.array({column})" if numbers else column
        if 0 < len(numbers) < len(keys):
            # Of the others nothing is made an array: one long text would make all of them as long.
            made = f"{made} if key in {tuple(numbers)} else {column}"
            said = "   # numbers as arrays; the others stay lists"
        line = f"{name} = {{key: {made} for key in {first}}}{said}"
        yield "columns", line, lambda made: _rows(made, type(value), kind)


def _rows(columns: dict[Any, Any], like: Any, kind: Any) -> object:  # noqa: ANN401  (list or tuple)
    made = []
    for row in zip(*map(_listed, columns.values()), strict=True):
        made.append(kind.__new__(kind))
        (made[-1] if kind is dict else vars(made[-1])).update(zip(columns, row, strict=True))
    return like(made)


def _listed(column: Any) -> list[Any]:  # noqa: ANN401  (a list or an array)
    return column if isinstance(column, list) else column.tolist()


def _frame_forms(value: Any, name: str) -> Iterator[Offer]:  # noqa: ANN401  (pandas)
    is_series = value.ndim == 1
    if is_series or (value.columns.is_unique and all(map(is_literal, value.columns))):
        for key, dtypes in _column_dtypes(value).items():
            known = value.dtype if is_series else value.dtypes[list(dtypes)].to_dict()
            asked = repr(dtypes[None] if is_series else dtypes)
            line = f"{name} = {name}.astype({asked})   # the dtype changes"
            yield key, line, lambda made, known=known: made.astype(known)  # type: ignore[misc]


#: Numbers that are objects, and the dtype that holds all of a type.
_DTYPES: dict[type, str] = {float: "float64", int: "int64", bool: "bool"}


def _column_dtypes(value: Any) -> dict[str, dict[Any, str]]:  # noqa: ANN401
    """Return by remedy the dtypes of columns that are objects, or texts that repeat, if any."""
    import pandas as pd

    columns = [(None, value)] if value.ndim == 1 else value.items()
    found: dict[str, dict[Any, str]] = {"str": {}, "category": {}, "dtype": {}}
    for label, column in islice(columns, _COLUMNS):
        is_object = column.dtype == object
        if len(column) < _TEXTS or not (is_object or isinstance(column.dtype, pd.StringDtype)):
            continue
        if is_object and _is_plain(column):
            found["dtype"][label] = _DTYPES[type(column.iloc[0])]
            continue
        if is_object and any(type(text) is not str for text in column):
            continue
        if is_object:
            found["str"][label] = "str"
        if column.nunique() <= _DIFFERENT_SHARE * len(column):
            found["category"][label] = "category"
    return {key: dtypes for key, dtypes in found.items() if dtypes}
