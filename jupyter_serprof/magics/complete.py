"""Completion of option names after the magics."""

from __future__ import annotations

from typing import Any

from jupyter_serprof.magics.options import SYNTAXES, parse
from jupyter_serprof.model import UsageError


def complete_options(context: Any) -> dict[str, Any]:  # noqa: ANN401  (IPython's CompletionContext)
    """Return the options that fit, while the cursor is on one; nothing elsewhere."""
    from IPython.core.completer import SimpleCompletion

    token, flags = _place(context.line_with_cursor[: context.cursor_position])
    fitting = [SimpleCompletion(flag, type="option") for flag in flags if flag.startswith(token)]
    if not fitting:
        return {"completions": [], "suppress": False, "ordered": True}
    return {"completions": fitting, "matched_fragment": token, "suppress": True, "ordered": True}


def _place(line: str) -> tuple[str, list[str]]:
    """Return what of an option stands before the cursor, and the options that can stand there."""
    magic, _, typed = line.lstrip().partition(" ")
    head, _, token = f" {typed}".rpartition(" ")
    is_cell = magic.startswith("%%")
    syntax = SYNTAXES.get(magic.removeprefix("%%" if is_cell else "%"))
    if syntax is None or not magic.startswith("%") or not token.startswith("-"):
        return "", []
    try:
        is_code = bool(parse(head, syntax).code)
    except UsageError:  # the value of an option stands here
        is_code = True
    flags = [flag for flag in syntax.flags if not (is_cell and flag in syntax.line_only)]
    return token, [] if is_code else flags


# IPython 8.6 and later pass a context to matchers that say so.
complete_options.matcher_api_version = 2  # type: ignore[attr-defined]
complete_options.matcher_identifier = "jupyter_serprof.options"  # type: ignore[attr-defined]
complete_options.matcher_priority = 100  # type: ignore[attr-defined]
