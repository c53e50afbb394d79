"""What a part says about memory and depth: views, copies, and what is dragged along."""

from __future__ import annotations

from typing import Any

from jupyter_serprof.model.units import format_bytes, format_count
from jupyter_serprof.objects.ask import attribute, is_a, kind_module
from jupyter_serprof.objects.labels import is_array

_MUCH = 2
_LEAST_BYTES = 10_000
_DEEP, _DEEPEST = 50, 1_000_000


def memory_note(value: Any, pickled_bytes: int) -> str:  # noqa: ANN401  (anything)
    """Say whether an array drags its base along, is copied, or takes only what it shows."""
    try:
        return _memory_note(value, pickled_bytes)
    except Exception:  # noqa: BLE001  (an array of users answers with anything)
        return ""


def _memory_note(value: Any, pickled_bytes: int) -> str:  # noqa: ANN401  (anything)
    own = attribute(value, "nbytes") if is_array(value) or _is_arrow(value) else None
    if type(own) is not int:
        return ""
    if is_array(value):
        if value.dtype.hasobject:
            return ""
        said = _view_note(value, own)
        is_copied = not (value.flags.c_contiguous or value.flags.f_contiguous)
        copied = "copied into the pickle: it is not contiguous" if is_copied and own else ""
        return "; ".join(text for text in (said, copied) if text)
    if pickled_bytes > _LEAST_BYTES and pickled_bytes > _MUCH * own:
        return f"drags its base along: {format_bytes(pickled_bytes)} for {format_bytes(own)}"
    return ""


def _view_note(array: Any, own: int) -> str:  # noqa: ANN401  (an array)
    base_bytes = getattr(array.base, "nbytes", None)
    if not isinstance(base_bytes, int) or base_bytes < max(_LEAST_BYTES, _MUCH * own):
        return ""
    return f"a view on {format_bytes(base_bytes)}: the pickle holds only its {format_bytes(own)}"


def _is_arrow(value: object) -> bool:
    return kind_module(type(value)).partition(".")[0] in ("pyarrow", "pandas")


def depth_note(value: object) -> str:
    """Say how deep a chain of containers is; "" for what is not deep."""
    depth, inner = 0, value
    while depth < _DEEPEST:
        following = _following(inner)
        if following is None:
            break
        inner, depth = following, depth + 1
    if depth < _DEEP:
        return ""
    return f"nested too deeply for pickle: {format_count(depth)} levels more. Flatten it"


def _following(value: object) -> object | None:
    """Return the first part that is a container itself."""
    parts: Any = ()
    try:
        if is_a(value, (list, tuple)):
            parts = (list if is_a(value, list) else tuple).__iter__(value)  # type: ignore[arg-type]  # it is one
        elif is_a(value, dict):
            parts = dict.values(value)  # type: ignore[arg-type]  # it is one
        elif not is_a(value, type):
            parts = vars(value).values()
    except Exception:  # noqa: BLE001  (without __dict__, or with a strange one)
        return None
    return next((part for part in parts if _is_container(part)), None)


def _is_container(value: object) -> bool:
    return is_a(value, (list, tuple, dict)) or kind_module(type(value)) == "__main__"
