"""A second opinion on a pickle: the stream, opcode by opcode, every byte given to one object."""

import pickle
import pickletools
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

_ENVELOPE = frozenset({"PROTO", "FRAME", "STOP"})
_ONTO_TOP = frozenset({"MEMOIZE", "READONLY_BUFFER"})
_ITEMS = frozenset({"APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD"})


@dataclass(eq=False)
class Piece:
    """An object in the stream: its bytes, and those of what is inside it."""

    size_bytes: int
    inside: list["Piece"] = field(default_factory=list)
    is_mark: bool = False


@dataclass(frozen=True)
class Stream:
    """A whole pickle: its object, the bytes around it, and the buffers beside it."""

    root: Piece
    envelope_bytes: int
    in_band_bytes: int
    out_of_band_bytes: int
    plain_bytes: int


def scan(value: object) -> Stream:
    """Pickle a value plainly and with buffers, and read the stream."""
    # Some reducers change what they reduce: that of tblib, which distributed registers for
    # exceptions, gives one its ``__dict__`` when it is first pickled.
    cloudpickle.dumps(value, protocol=5)
    buffers: list[pickle.PickleBuffer] = []
    data = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    plain = cloudpickle.dumps(value, protocol=5)
    root, envelope = read(data)
    return Stream(root, envelope, len(data), sum(b.raw().nbytes for b in buffers), len(plain))


def read(data: bytes) -> tuple[Piece, int]:
    """Return the object of a stream, and the bytes of PROTO, FRAMEs and STOP."""
    stack: list[Piece] = []
    found = [(opcode, position or 0) for opcode, _, position in pickletools.genops(data)]
    ends = [position for _, position in found[1:]] + [len(data)]
    envelope = 0
    for (opcode, position), end in zip(found, ends, strict=True):
        if opcode.name in _ENVELOPE:
            envelope += end - position
        else:
            _step(stack, opcode, end - position)
    [root] = stack
    return root, envelope


def _step(stack: list[Piece], opcode: Any, size: int) -> None:
    name = opcode.name
    if name in _ONTO_TOP:
        stack[-1].size_bytes += size
    elif name == "MARK":
        stack.append(Piece(size, is_mark=True))
    elif name == "POP":
        dropped = stack.pop()
        stack[-1].size_bytes += size + dropped.size_bytes
    elif name in _ITEMS:
        items, more = _pop_slice(stack) if name.endswith("S") else _pop(stack, _count(name))
        stack[-1].inside += items
        stack[-1].size_bytes += size + more + sum(item.size_bytes for item in items)
    else:
        before = opcode.stack_before
        has_slice = any(part.name == "stackslice" for part in before)
        items, more = _pop_slice(stack) if has_slice else _pop(stack, len(before))
        total = size + more + sum(item.size_bytes for item in items)
        stack += [Piece(total, items) for _ in opcode.stack_after]


def _count(name: str) -> int:
    return 2 if name == "SETITEM" else 1


def _pop(stack: list[Piece], count: int) -> tuple[list[Piece], int]:
    items = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return items, 0


def _pop_slice(stack: list[Piece]) -> tuple[list[Piece], int]:
    at = max(index for index, piece in enumerate(stack) if piece.is_mark)
    items, mark = stack[at + 1 :], stack[at]
    del stack[at:]
    return items, mark.size_bytes
