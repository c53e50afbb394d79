"""The names of parts as people know them: attributes, keys, captured variables, columns."""

import types
from collections.abc import Sequence
from typing import Any

from jupyter_serprof.objects import ask

KEY_LENGTH = 32
#: Of what cloudpickle makes a class from. Source: cloudpickle 3.1.2, _class_getnewargs.
_BASES = 2
#: What is inside of an object of these is told as that object.
_CLOSED_LIBRARIES = {"numpy", "pyarrow", "polars", "decimal", "datetime", "fractions", "uuid"}
_OPENED_PANDAS = (
    ("pandas", "DataFrame", "Series"),
    ("pandas.core.internals.blocks", "Block"),
    ("pandas.core.internals.managers", "BaseBlockManager", "BlockManager"),
)
_SLOTS = {f"__{name}__": f"<{name}>" for name in ("globals", "closure", "defaults", "code")}
_SLOTS["__kwdefaults__"] = "<keyword defaults>"

#: How these join a function.
_OF_FUNCTIONS = {"<globals>": "names", "<keyword defaults>": "names"}
_OF_FUNCTIONS |= {"<closure>": "items", "<defaults>": "items"}


def key_label(key: object) -> str:
    """Return the step of a key; one that is long, or no text or number, is told by its type.

    >>> key_label("a"), key_label(3), key_label((1, 2)), key_label("data of somebody " * 2)
    ('["a"]', '[3]', '[<tuple>]', '[<str>]')
    """
    text = as_text(key)
    if text is not None:
        return f'["{text}"]' if len(text) <= KEY_LENGTH else "[<str>]"
    if key is None or key is True or key is False:
        return f"[{key!r}]"
    number = next((kind for kind in (int, float) if ask.is_a(key, kind)), None)
    try:
        return f"[<{ask.kind_name(type(key))}>]" if number is None else f"[{number.__repr__(key)}]"
    except ValueError:  # more digits than Python writes
        return f"[<{ask.kind_name(type(key))}>]"


def as_text(value: object) -> str | None:
    """Return the text that an object is, also of a class derived from ``str``; else None."""
    return str.__str__(value) if ask.is_a(value, str) else None


def state_label(value: object, key: object) -> str:
    """Return the step of an entry in the state of an object: an attribute, as a rule."""
    text = as_text(key)
    if ask.is_a(value, types.FunctionType) and text in _SLOTS:
        return _SLOTS[text]
    if ask.kind_name(type(value)) == "SingleBlockManager":
        return "<repeated>"
    return key_label(key) if text is None else f".{text}"


def argument_label(value: object, at: object) -> str:  # noqa: PLR0911  (a kind each)
    """Return the step of an argument that an object is made again from."""
    if ask.is_a(value, types.FunctionType) and at == 0:
        return "<code>"
    if ask.is_a(value, type) and at == _BASES:
        return "<bases>"
    if ask.is_a(value, types.CellType):
        return "<contents>"
    if ask.is_a(value, types.MethodType):
        return (".__self__", ".__func__")[at == 1]
    if ask.kind_name(type(value)) == "SingleBlockManager":
        return {"state 0": ".index", "state 1": ".values"}.get(str(at), "<repeated>")
    if _is_of_pandas(value, "BlockManager") and at in (0, 1):
        return "<axes>" if at else "<blocks>"
    return "<values>" if _is_of_pandas(value, "Block") and at == 0 else f"<argument {at}>"


def _is_of_pandas(value: object, end: str) -> bool:
    kind = type(value)
    return ask.kind_module(kind).startswith("pandas.") and ask.kind_name(kind).endswith(end)


def is_closed(value: object) -> bool:
    """Tell objects that are told as one: arrays of numbers, tables of Arrow, dates."""
    if ask.is_array(value):
        return not ask.attribute(ask.attribute(value, "dtype"), "hasobject")
    library = ask.kind_module(type(value)).partition(".")[0]
    if library == "pandas":
        return not any(ask.is_of(value, *names) for names in _OPENED_PANDAS)
    return library in _CLOSED_LIBRARIES


def is_inlined(value: object, part: object, label: str) -> str:  # noqa: PLR0911  (a kind each)
    """Tell how a part joins the object that holds it: its items, its names, itself, or not ("")."""
    if ask.is_a(value, types.FunctionType):
        return _OF_FUNCTIONS.get(label, "")
    if label == "<bases>":
        return "items"
    if ask.is_a(part, types.CellType) or ask.is_a(value, types.CellType):
        return "object"
    if ask.is_array(value) and type(part) is list:
        return "list"
    own = ask.kind_name(type(value))
    if _is_of_pandas(part, "Manager"):
        return "object"
    if own == "SingleBlockManager":
        return "one" if label in (".index", ".values") else ""
    if own.endswith("BlockManager"):
        return {"<blocks>": "items", "<axes>": "axes"}.get(label, "")
    return "object" if own.endswith("Block") and label == "<values>" else ""


def block_labels(manager: Any) -> list[str]:  # noqa: ANN401  (pandas' BlockManager)
    """Return the columns of each block of a frame: by name, at most three."""
    try:
        names = manager.axes[0]
        return [_columns(list(names[block.mgr_locs.indexer])) for block in manager.blocks]
    except Exception:  # noqa: BLE001  (private names of another pandas)
        return []


def _columns(names: Sequence[object]) -> str:
    """Return the step of columns that pandas keeps together: '["a", "b", "c", and 2 more]'."""
    named = [key_label(name)[1:-1] for name in names[:3]]
    more = len(names) - len(named)
    return f"[{', '.join(named)}{f', and {more} more' if more else ''}]"


def inner_kind(part: Any) -> str:  # noqa: ANN401  (anything)
    """Return what a cell of a closure or a block of a frame holds; "" for anything else."""
    if ask.is_a(part, types.CellType):
        try:
            return kind_label(part.cell_contents)
        except ValueError:
            return "empty"
    return kind_label(ask.attribute(part, "values")) if _is_of_pandas(part, "Block") else ""


def is_by_value(kind: object) -> bool:
    """Tell whether a class or function travels whole: it is of the notebook, or made by another."""
    if ask.is_a(kind, types.FunctionType):
        module, name = kind.__module__, kind.__qualname__
    elif ask.is_a(kind, type):
        module, name = ask.kind_module(kind), ask.qualified_name(kind)
    else:
        return False
    return as_text(module) == "__main__" or "<l" in name  # <locals> or <lambda>


def kind_label(value: Any) -> str:  # noqa: ANN401  (anything)
    """Return the type of an object, with dtype and shape or its length; never its value.

    >>> kind_label([1, 2]), kind_label("abc")
    ('list (2)', 'str')
    """
    kind = type(value)
    if ask.is_a(value, types.FunctionType):
        return f"function {value.__name__}"
    if ask.is_a(value, type):
        return f"class {ask.kind_name(value)}"
    dtype = ask.attribute(ask.attribute(value, "dtype"), "name") if ask.is_array(value) else None
    library, name = ask.kind_module(kind).partition(".")[0], ask.kind_name(kind)
    is_shaped = ask.is_array(value) or (library == "pandas" and name in ("DataFrame", "Series"))
    shape, count = ask.attribute(value, "shape") if is_shaped else None, ask.length(value)
    is_shape = type(shape) is tuple and all(type(size) is int for size in shape)
    said = str(shape) if is_shape else "" if count is None else f"({count})"
    return " ".join(text for text in (name, dtype if type(dtype) is str else "", said) if text)
