"""A bounded look at a pickle and its value: small objects or large payloads, arrays.

The look is taken in a hook, of large pickles only, and keeps at most 2 kB; what it means is worked
out at freeze. Nothing of the user is called: types are compared exactly, attributes are those of
the interpreter. From protocol 4 on a pickle is a chain of frames of about 64 KiB; payloads of that
size and larger stand between them. Source: CPython 3.11, Modules/_pickle.c:_Pickler_write_bytes.
Before it is one stream, whose samples begin anywhere: they are read from the next opcode on.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from types import FunctionType
from typing import Any, NamedTuple
from weakref import ref

from jupyter_serprof.objects import ask, captured

#: Smaller pickles are not looked at.
LOOK_BYTES, _FORM_BYTES = 100_000, 8_000_000
_SAMPLES, _SAMPLE_BYTES = 4, 512
#: Fewer objects in the samples are too few to tell how many there are in all.
_ENOUGH = 10
#: An opcode begins within so many bytes, or a sample is of a payload, which cannot be read to its
#: half: of random bytes every fourth is an opcode, and most of those have an argument.
_STARTS, _READ_SHARE = 64, 0.5
#: Payloads of 64 KiB are copied in microseconds: a longer look would cost more than a hundredth.
_MOST_PAYLOADS = 256
_PROTO, _FRAME, _STOP = 0x80, 0x95, ord(".")
_HAS_FRAMES, _HANDS_OVER = 4, 5
#: Opcode -> bytes of its length: BINBYTES, BINUNICODE; BINUNICODE8, BINBYTES8, BYTEARRAY8.
_PAYLOADS = {ord("B"): 4, ord("X"): 4, 0x8D: 8, 0x8E: 8, 0x96: 8}
#: What is shorter than a frame's own head stands without one: BININT1, BINGET, EXT1, BININT2, EXT2.
_SHORT = {ord("K"): 2, ord("h"): 2, 0x82: 2, ord("M"): 3, 0x83: 3}
_COUNTED = {ord("C"), ord("U"), 0x8C, 0x8A}
_SEEN_ARRAYS, _DEPTH = 64, 3
#: Opcodes that make no object of their own: they remember, refer, fill or arrange.
_NO_OBJECTS = {
    *("PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "READONLY_BUFFER"),
    *("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
    *("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD"),
}
_REDUCED = ("REDUCE", "NEWOBJ", "NEWOBJ_EX", "BUILD", "INST", "OBJ", "BINPERSID", "PERSID")
_REDUCERS = ("__reduce_ex__", "__reduce__")


class Look(NamedTuple):
    """What a hook keeps of one pickle; None is what could not be told."""

    small_bytes: int | None
    large_bytes: int | None
    samples: tuple[bytes, ...] = ()
    contiguous_bytes: int | None = None
    arrow_bytes: int | None = None
    gathered_bytes: int | None = None
    arrays: int | None = None
    function: ref[FunctionType] | None = None


def look_at(data: Any, value: object = None) -> Look | None:  # noqa: ANN401  (bytes or a view)
    """Look at a pickle of at least 100 kB and, if it is given, at its value.

    ``value``: What was pickled; None where only the pickle is there.

    None for small pickles. The bytes by kind are None for many payloads, before protocol 4 those of
    payloads, and all count as small until the samples are read.
    """
    data = data if type(data) is bytes else memoryview(data).cast("B")
    size = len(data)
    if size < LOOK_BYTES:
        return None
    protocol = data[1] if data[0] == _PROTO else 0
    form = contiguous_bytes(value) if size >= _FORM_BYTES and protocol < _HANDS_OVER else None
    is_arrow = ask.kind_module(type(value)).partition(".")[0] == "pyarrow"
    arrow = ask.size_bytes(value) if is_arrow else None  # of a slice its own rows
    function = ref(value) if ask.is_a(value, FunctionType) else None
    known = (form, arrow, _gathered_bytes(value), _arrays(value), function)
    if protocol < _HAS_FRAMES:
        part = size // _SAMPLES
        parts = [(at * part + part // 2, part) for at in range(_SAMPLES)]
        return Look(size, None, tuple(_samples(data, parts, size)), *known)
    frames, large = _chain(data)
    if frames is None:
        return Look(None, None, (), *known)
    small = sum(length for _, length in frames)
    return Look(small, large, tuple(_samples(data, frames, small)), *known)


def _arrays(value: Any) -> int | None:  # noqa: ANN401  (a container, perhaps)
    """Return how many arrays a list, tuple or dict is made of, by the first ones of them."""
    is_container = ask.is_exactly(value, (list, tuple, dict))
    first = list(ask.items_of(value, _SEEN_ARRAYS)) if is_container else []
    are_arrays = all(ask.is_exactly_of(one, "numpy", "ndarray") for one in first)
    return ask.length(value) if are_arrays and len({*map(id, first)}) == len(first) > 0 else None


def _gathered_bytes(value: Any) -> int | None:  # noqa: ANN401  (an array, perhaps)
    """Return the bytes of an array with gaps, which is made whole for each pickle."""
    # One whose axes are in another order has none: numpy pickles its memory as it is.
    if not ask.is_exactly_of(value, "numpy", "ndarray") or value.dtype.hasobject:
        return None
    room = value.itemsize
    for stride, count in sorted(zip(value.strides, value.shape, strict=True)):
        if stride != room and count > 1:
            return int(value.nbytes)
        room *= count
    return None


def _chain(data: Any) -> tuple[list[tuple[int, int]] | None, int]:  # noqa: ANN401
    """Return (start, bytes) of each frame, and the bytes of the payloads between them."""
    at, end, large, payloads = 2, len(data), 0, 0
    frames: list[tuple[int, int]] = []
    while at < end:
        code = data[at]
        if code == _FRAME:
            length = int.from_bytes(data[at + 1 : at + 9], "little")
            frames.append((at + 9, length))
            at += 9 + length
        elif code in _PAYLOADS:
            head = 1 + _PAYLOADS[code]
            length = int.from_bytes(data[at + 1 : at + head], "little")
            large, payloads = large + length, payloads + 1
            at += head + length
        elif code == _STOP:
            break
        else:
            at += 2 + data[at + 1] if code in _COUNTED else _SHORT.get(code, 1)
        if payloads > _MOST_PAYLOADS:
            return None, 0
    return (frames, large) if at <= end and (frames or large) else (None, 0)


def _samples(data: Any, frames: Sequence[tuple[int, int]], small: int) -> Iterator[bytes]:  # noqa: ANN401
    """Yield the beginnings of frames that lie at equal distances of bytes."""
    seen, taken = 0, 0
    for start, length in frames:
        seen += length
        if seen > (taken + 0.5) * small / _SAMPLES:
            yield bytes(data[start : start + min(length, _SAMPLE_BYTES)])
            taken = int(seen * _SAMPLES / small + 0.5)


def contiguous_bytes(value: object) -> int:
    """Return the bytes of the arrays in a value that protocol 5 takes without gathering them."""
    # Looks into lists, tuples, dicts, attributes and data frames, three deep, at 64 things.
    return sum(islice(_contiguous(value, _DEPTH), _SEEN_ARRAYS))


def _contiguous(value: Any, depth: int) -> Iterator[int]:  # noqa: ANN401  (an array, perhaps)
    if ask.is_exactly_of(value, "numpy", "ndarray"):
        yield value.nbytes if value.flags.forc and not value.dtype.hasobject else 0
    elif depth:
        for part in islice(_parts(value), _SEEN_ARRAYS):
            yield from _contiguous(part, depth - 1)


def _parts(value: Any) -> Iterable[object]:  # noqa: ANN401  (anything)
    if ask.is_exactly(value, (list, tuple, dict)):
        return ask.items_of(value, _SEEN_ARRAYS)
    if not ask.is_exactly_of(value, "pandas", "DataFrame", "Series"):
        return _attributes(value)
    blocks = getattr(getattr(value, "_mgr", None), "blocks", ())
    return [block.values for block in blocks] or _attributes(value)


def _attributes(value: object) -> Iterator[object]:
    """Yield the attributes of an instance that says nothing itself about how it is pickled."""
    own = type(value)
    is_plain = all(ask.of_class(own, name) is vars(object)[name] for name in _REDUCERS)
    if is_plain and ask.kind_module(own) != "builtins":
        yield from ask.state_of(value).values()


def details_of(look: Look, stage: str) -> dict[str, Any]:
    """Return the details of a span: bytes by kind, and about how many objects they hold."""
    keys = ("contiguous_bytes", "arrow_bytes", "gathered_bytes", "arrays")
    details = {key: size for key in keys if (size := getattr(look, key)) is not None}
    if stage == "pickle.dumps" and look.function and (function := look.function()):
        name = function.__name__
        details |= {"captured": captured.captured_variables(function), "function": name}
    if look.small_bytes is None:
        return details
    samples, small, large = look.samples, look.small_bytes, look.large_bytes
    sampled = sum(map(len, samples))
    if large is None:
        samples = tuple(map(_from_opcode, samples))
        small, sampled = small * (kept := sum(map(len, samples))) // sampled, kept
        large = look.small_bytes - small
    details |= {"small_bytes": small, "large_bytes": large}
    names = [name for sample in samples for name, _ in _opcodes(sample)]
    made, reduced = sum(name not in _NO_OBJECTS for name in names), sum(map(_REDUCED.count, names))
    if made >= _ENOUGH or sampled >= small:
        factor = small / max(1, sampled)
        details |= {"objects": round(made * factor), "reduced_objects": round(reduced * factor)}
    return details


def _from_opcode(sample: bytes) -> bytes:
    """Return a sample of a stream from an opcode on; nothing of a payload."""
    for part in (sample[at:] for at in range(_STARTS)):
        if (found := _opcodes(part)) and found[-1][1] > _READ_SHARE * len(part):
            return part
    return b""


def _opcodes(sample: bytes) -> list[tuple[str, int]]:
    """Return the opcodes of a sample, and where they stand; it may end inside of one."""
    import pickletools

    found = list[tuple[str, int]]()
    with suppress(ValueError):
        for code, _, at in pickletools.genops(sample):
            found.append((code.name, at or 0))
    return found
