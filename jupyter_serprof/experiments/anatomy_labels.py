"""The names of parts as people know them: attributes, keys, captured variables, columns."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

_KEY_LENGTH = 40
_COLUMNS_NAMED = 3
#: Of what cloudpickle makes a class from. Source: cloudpickle 3.1.2, _class_getnewargs.
_BASES = 2
#: What is inside of an object of these is told as that object.
_CLOSED_LIBRARIES = frozenset({"pyarrow", "polars", "decimal", "datetime", "fractions", "uuid"})
_SLOTS = {
    "__globals__": "<globals>",
    "__closure__": "<closure>",
    "__defaults__": "<defaults>",
    "__kwdefaults__": "<keyword defaults>",
    "__code__": "<code>",
}


def key_label(key: object) -> str:
    """Return the step of a key; a key that is no text or number is told by its type.

    >>> key_label("a"), key_label(3), key_label((1, 2))
    ('["a"]', '[3]', '[<tuple>]')
    """
    if isinstance(key, str):
        text = key if len(key) <= _KEY_LENGTH else f"{key[: _KEY_LENGTH - 3]}..."
        return f'["{text}"]'
    return (
        f"[{key!r}]" if isinstance(key, int | float | bool | None) else f"[<{type(key).__name__}>]"
    )


def state_label(value: object, key: object) -> str:
    """Return the step of an entry in the state of an object: an attribute, as a rule."""
    if isinstance(value, types.FunctionType) and key in _SLOTS:
        return _SLOTS[str(key)]
    if type(value).__name__ == "SingleBlockManager":
        return "<repeated>"
    return f".{key}" if isinstance(key, str) else key_label(key)


def argument_label(value: object, at: object) -> str:
    """Return the step of an argument that an object is made again from."""
    if isinstance(value, types.FunctionType) and at == 0:
        return "<code>"
    if isinstance(value, type) and at == _BASES:
        return "<bases>"
    if isinstance(value, types.CellType):
        return "<contents>"
    if isinstance(value, types.MethodType):
        return (".__self__", ".__func__")[at == 1]
    if type(value).__name__ == "SingleBlockManager":
        return {"state 0": ".index", "state 1": ".values"}.get(str(at), "<repeated>")
    known = _pandas_argument(value, at)
    return known if known is not None else f"<argument {at}>"


def is_closed(value: object) -> bool:
    """Tell objects that are told as one: arrays of numbers, tables of Arrow, dates."""
    kind = type(value)
    if is_array(value):
        return not getattr(getattr(value, "dtype", None), "hasobject", False)
    library = kind.__module__.partition(".")[0]
    if library == "pandas":
        return not isinstance(value, _opened_pandas())
    if library == "numpy":
        return True
    return library in _CLOSED_LIBRARIES


def is_array(value: object) -> bool:
    """Tell an array of NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, "ndarray", ()))


def is_inlined(value: object, part: object, label: str) -> str:  # noqa: C901, PLR0911  (a kind each)
    """Tell how a part joins the object that holds it: its items, its names, itself, or not ("")."""
    if isinstance(value, types.FunctionType):
        if label in ("<globals>", "<keyword defaults>"):
            return "names"
        if label in ("<closure>", "<defaults>"):
            return "items"
        return ""
    if label == "<bases>":
        return "items"
    if isinstance(part, types.CellType):
        return "object"
    if isinstance(value, types.CellType):
        return "object"
    if is_array(value) and type(part) is list:
        return "list"
    name = type(part).__name__
    if type(part).__module__.startswith("pandas.") and name.endswith("Manager"):
        return "object"
    if type(value).__name__ == "SingleBlockManager":
        return "one" if label in (".index", ".values") else ""
    if type(value).__name__.endswith("BlockManager"):
        return {"<blocks>": "items", "<axes>": "axes"}.get(label, "")
    if type(value).__name__.endswith("Block") and label == "<values>":
        return "object"
    return ""


def _opened_pandas() -> tuple[type, ...]:
    pandas = sys.modules["pandas"]
    internals = sys.modules.get("pandas.core.internals.blocks")
    managers = sys.modules.get("pandas.core.internals.managers")
    kinds = (
        *(getattr(pandas, name, None) for name in ("DataFrame", "Series")),
        getattr(internals, "Block", None),
        getattr(managers, "BaseBlockManager", getattr(managers, "BlockManager", None)),
    )
    return tuple(kind for kind in kinds if isinstance(kind, type))


def _pandas_argument(value: object, at: object) -> str | None:
    kind = type(value)
    if not kind.__module__.startswith("pandas.") or not isinstance(at, int):
        return None
    if kind.__name__ == "BlockManager":
        return ("<blocks>", "<axes>")[at] if at < 2 else None  # noqa: PLR2004  (pandas gives two)
    return "<values>" if kind.__name__.endswith("Block") and at == 0 else None


def block_labels(manager: Any) -> list[str]:  # noqa: ANN401  (pandas' BlockManager)
    """Return the columns of each block of a frame: by name, at most three."""
    try:
        names = manager.axes[0]
        return [_columns(list(names[block.mgr_locs.indexer])) for block in manager.blocks]
    except Exception:  # noqa: BLE001  (private names of another pandas)
        return []


def _columns(names: Sequence[object]) -> str:
    """Return the step of columns that pandas keeps together.

    >>> _columns(["a"]), _columns(list("abcde"))
    ('["a"]', '["a", "b", "c", and 2 more]')
    """
    named = [key_label(name)[1:-1] for name in names[:_COLUMNS_NAMED]]
    more = len(names) - len(named)
    return f"[{', '.join(named)}{f', and {more} more' if more else ''}]"


def inner_kind(part: Any) -> str:  # noqa: ANN401  (anything)
    """Return what a cell of a closure or a block of a frame holds; "" for anything else."""
    if isinstance(part, types.CellType):
        try:
            return kind_label(part.cell_contents)
        except ValueError:
            return "empty"
    if type(part).__module__.startswith("pandas.") and type(part).__name__.endswith("Block"):
        return kind_label(getattr(part, "values", part))
    return ""


def is_by_value(kind: object) -> bool:
    """Tell whether a class or function travels whole: it is of the notebook, or made by another."""
    if not isinstance(kind, type | types.FunctionType):
        return False
    return kind.__module__ == "__main__" or "<l" in kind.__qualname__  # <locals> or <lambda>


def kind_label(value: object) -> str:
    """Return the type of an object, with dtype and shape or its length; never its value.

    >>> kind_label([1, 2]), kind_label("abc")
    ('list (2)', 'str')
    """
    kind = type(value)
    if isinstance(value, types.FunctionType):
        return f"function {value.__name__}"
    if isinstance(value, type):
        return f"class {value.__name__}"
    dtype = getattr(getattr(value, "dtype", None), "name", None) if is_array(value) else None
    shape = getattr(value, "shape", None) if is_array(value) or _is_frame(value) else None
    length = f"({len(value)})" if isinstance(value, list | tuple | dict | set | frozenset) else ""
    shape = str(shape) if isinstance(shape, tuple) else length
    texts = (kind.__name__, dtype if isinstance(dtype, str) else "", shape)
    return " ".join(text for text in texts if text)


def _is_frame(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas" and type(value).__name__ in (
        *("DataFrame", "Series"),
    )
