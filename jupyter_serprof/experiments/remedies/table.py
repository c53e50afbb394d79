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
    rule
        The rule whose finding it answers.
    cause
        What is the matter, a sentence without the name of the variable.
    code
        A line to paste; `NAME` stands for the variable. "" where the trial has its own: the line
        that made the very form that was sent.
    """

    key: str
    title: str
    rule: str
    cause: str
    code: str = ""


_ALL = (
    Remedy(
        "out-of-band",
        "out-of-band buffers",
        "pickle.in-band-copy",
        "its buffers are copied into the pickle; out-of-band they are handed over",
        "buffers = []; data = pickle.dumps(NAME, protocol=5, buffer_callback=buffers.append)   "
        "# Ray and Dask do so by themselves",
    ),
    Remedy(
        "contiguous",
        "contiguous copy, once",
        "pickle.in-band-copy",
        "it is not contiguous: every pickle gathers its elements first",
    ),
    Remedy(
        "contiguous-out-of-band",
        "contiguous once, out-of-band",
        "pickle.in-band-copy",
        "it is not contiguous, so its buffers cannot be handed over",
    ),
    Remedy(
        "reused-buffer",
        "one buffer, used again",
        "pickle.fresh-buffers",
        "every pickle of it is written into new pages",
        "buffer = io.BytesIO(); pickle.Pickler(buffer, protocol=5).dump(NAME); "
        "data = buffer.getbuffer()[:buffer.tell()]   "
        "# keep buffer; each next time first: data.release(); buffer.seek(0)",
    ),
    Remedy(
        "protocol-5",
        "protocol 5",
        "pickle.protocol-4",
        "protocol 4 copies its arrays twice",
        "data = pickle.dumps(NAME, protocol=5)   # the default is still 4 before Python 3.14",
    ),
    Remedy(
        "array",
        "one array instead of numbers",
        "pickle.small-objects",
        "each of its numbers is an object of its own",
    ),
    Remedy(
        "dtype",
        "a fixed dtype instead of objects",
        "pickle.small-objects",
        "its elements are Python objects although one dtype holds them all",
    ),
    Remedy(
        "stacked",
        "one stacked array",
        "pickle.small-objects",
        "its arrays have one shape and one dtype, and each is pickled by itself",
    ),
    Remedy(
        "columns",
        "columns instead of rows",
        "pickle.small-objects",
        "each of its rows is a dict, with every key and value an object",
    ),
    Remedy(
        "arrow-strings",
        "an Arrow array of strings",
        "pickle.small-objects",
        "each of its texts is an object of its own",
    ),
    Remedy(
        "str",
        "dtype str instead of objects",
        "pickle.small-objects",
        "its texts are Python objects, pickled one by one",
    ),
    Remedy(
        "category",
        "categorical texts",
        "pickle.small-objects",
        "its texts repeat: few of them are different",
    ),
    Remedy(
        "dask-delayed",
        "one key of the graph",
        "dask.large-object",
        "a large object is embedded in its tasks, and travels with each of them",
        "value = dask.delayed(value)   # one key of the graph, to which all tasks refer",
    ),
    Remedy(
        "dask-scatter",
        "scattered, broadcast",
        "dask.large-object",
        "a large object is embedded in its tasks, and travels with each of them",
        "value = client.scatter(value, broadcast=True)   # once; tasks then carry its key only",
    ),
)
REMEDIES: Mapping[str, Remedy] = {entry.key: entry for entry in _ALL}


def pasted(code: str, name: str) -> str:
    """Return the line with the name of the variable; an expression is called ``a``."""
    return code.replace(NAME, variable(name))


def variable(name: str) -> str:
    """Return what a line to paste calls it.

    >>> variable("rows"), variable("rows[3].w")
    ('rows', 'a')
    """
    return name if name.isidentifier() and not iskeyword(name) else _PLACEHOLDER
