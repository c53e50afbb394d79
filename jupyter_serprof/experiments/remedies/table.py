"""The remedies that can be tried, with what to paste."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from keyword import iskeyword

#: Stands for the variable in what is to be pasted.
NAME = "NAME"
_PLACEHOLDER = "a"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy with a mechanical transformation.

    Attributes
    ----------
    cause
        What is the matter, a sentence without the name of the variable.
    rule
        The rule whose finding it answers.
    code
        A line to paste; `NAME` stands for the variable. "" where the trial has its own: the line
        that made the very form that was sent.
    """

    title: str
    cause: str
    rule: str
    code: str


_EMBEDDED = "a large object is embedded in its tasks, and travels with each of them"
#: Title and cause of each by its key, under the rule.
_TOLD = {
    "pickle.in-band-copy": {
        "out-of-band": (
            "out-of-band buffers",
            "its buffers are copied into the pickle; out-of-band they are handed over",
        ),
        "contiguous": (
            "contiguous copy, once",
            "it is not contiguous: every pickle gathers its elements first",
        ),
        "contiguous-out-of-band": (
            "contiguous once, out-of-band",
            "it is not contiguous, so its buffers cannot be handed over",
        ),
    },
    "pickle.fresh-buffers": {
        "reused-buffer": ("one buffer, used again", "every pickle of it is written into new pages")
    },
    "pickle.protocol-4": {"protocol-5": ("protocol 5", "protocol 4 copies its arrays twice")},
    "pickle.small-objects": {
        "array": ("one array instead of numbers", "each of its numbers is an object of its own"),
        "dtype": (
            "a fixed dtype instead of objects",
            "its elements are Python objects although one dtype holds them all",
        ),
        "stacked": (
            "one stacked array",
            "its arrays have one shape and one dtype, and each is pickled by itself",
        ),
        "columns": (
            "columns instead of rows",
            "each of its rows is a dict, with every key and value an object",
        ),
        "arrow-strings": ("an Arrow array of strings", "each of its texts is an object of its own"),
        "str": ("dtype str instead of objects", "its texts are Python objects, pickled one by one"),
        "category": ("categorical texts", "its texts repeat: few of them are different"),
    },
    "dask.large-object": {
        "dask-delayed": ("one key of the graph", _EMBEDDED),
        "dask-scatter": ("scattered, broadcast", _EMBEDDED),
    },
}
_CODE = {
    "out-of-band": "buffers = []; data = pickle.dumps(NAME, protocol=5, buffer_callback="
    "buffers.append)   # Ray and Dask do so by themselves",
    "reused-buffer": "buffer = io.BytesIO(); pickle.Pickler(buffer, protocol=5).dump(NAME); "
    "data = buffer.getbuffer()[:buffer.tell()]   "
    "# keep buffer; each next time first: data.release(); buffer.seek(0)",
    "protocol-5": "data = pickle.dumps(NAME, protocol=5)   "
    "# the default is still 4 before Python 3.14",
    "dask-delayed": "value = dask.delayed(value)   "
    "# one key of the graph, to which all tasks refer",
    "dask-scatter": "value = dask.delayed(client.scatter([value], broadcast=True)[0])   "
    "# once; tasks then carry its key only",
}
REMEDIES: Mapping[str, Remedy] = {
    key: Remedy(*told, rule, _CODE.get(key, ""))
    for rule, remedies in _TOLD.items()
    for key, told in remedies.items()
}


def pasted(code: str, name: str) -> str:
    """Return the line with the name of the variable; an expression is called ``a``."""
    return code.replace(NAME, variable(name))


def variable(name: str) -> str:
    """Return what a line to paste calls it.

    >>> variable("rows"), variable("rows[3].w")
    ('rows', 'a')
    """
    return name if name.isidentifier() and not iskeyword(name) else _PLACEHOLDER
