"""Failures of our own code, told without the values of the user."""

from __future__ import annotations


def describe_failure(error: BaseException) -> str:
    """Return type, function and line of an error; not its message, which may quote a value.

    >>> try:
    ...     {}["a secret"]
    ... except KeyError as error:
    ...     describe_failure(error)
    'KeyError in <module>, line 2'
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return type(error).__name__
    function = traceback.tb_frame.f_code.co_name
    return f"{type(error).__name__} in {function}, line {traceback.tb_lineno}"
