"""Completion of option names after ``%serprof`` and ``%%serprof``."""

from __future__ import annotations

from typing import Any

from jupyter_serprof.magics.options import FLAGS


def complete_options(context: Any) -> dict[str, Any]:  # noqa: ANN401  (IPython's CompletionContext)
    """Return the options that fit, while the cursor is on one; nothing elsewhere."""
    from IPython.core.completer import SimpleCompletion

    line = context.line_with_cursor[: context.cursor_position]
    words = line.split()
    is_ours = bool(words) and words[0] in ("%serprof", "%%serprof")
    token = words[-1] if is_ours and len(words) > 1 and not line.endswith(" ") else ""
    if not token.startswith("-"):
        return {"completions": [], "suppress": False, "ordered": True}
    fitting = [SimpleCompletion(flag, type="option") for flag in FLAGS if flag.startswith(token)]
    return {"completions": fitting, "matched_fragment": token, "suppress": True, "ordered": True}


# IPython 8.6 and later pass a context to matchers that say so.
complete_options.matcher_api_version = 2  # type: ignore[attr-defined]
complete_options.matcher_identifier = "jupyter_serprof.options"  # type: ignore[attr-defined]
complete_options.matcher_priority = 100  # type: ignore[attr-defined]
