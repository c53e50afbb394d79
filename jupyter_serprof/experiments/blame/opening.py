"""What the pickler visits inside an object, step by step, with a label that people know.

Exact lists, tuples, dicts, sets and frozensets give their items; any other object is asked for what
pickle would ask it: function, arguments, items and state. Nothing here pickles.

The opcodes that a container writes for itself are counted, not measured: one whose items are dumped
one by one is never dumped itself. Source: CPython 3.11, ``Modules/_pickle.c``: save_list,
batch_list_exact, batch_dict_exact, save_set, save_frozenset, save_tuple, save_reduce.
"""

import copyreg
import time
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from jupyter_serprof.experiments.blame.node import MEMOIZE, REFER, Node, Step, tuple_bytes
from jupyter_serprof.objects import labels
from jupyter_serprof.objects.ask import attribute, is_a, is_exactly, kind_name
from jupyter_serprof.objects.walk import _ATOMS, is_small_atom

#: Containers with more items are cut into runs of items.
MOST_ITEMS, _RUNS = 32, 64
_TEXTS = (str, bytes, bytearray, types.ModuleType, types.CodeType)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_BATCH = 1000


def _list_bytes(count: int) -> int:
    """Return the opcodes of a list: EMPTY_LIST, MEMOIZE, APPEND or MARK and APPENDS."""
    return 2 + (1 if count == 1 else 2 * -(-count // _BATCH))


def _dict_bytes(count: int) -> int:
    """Return the opcodes of a dict; a last batch may be empty."""
    if count <= 1:
        return 2 + count
    return 2 + 2 * (count // _BATCH + 1)


def _batch_bytes(count: int) -> int:
    full, rest = divmod(count, _BATCH)
    return 2 * full + (1 if rest == 1 else 2 if rest else 0)


_OWN_BYTES: dict[object, Callable[[int], int]] = {
    list: _list_bytes,
    dict: _dict_bytes,
    set: lambda count: 2 + (2 * (count // _BATCH + 1) if count else 0),  # as of a dict
    frozenset: lambda _: 3,  # MARK, FROZENSET, MEMOIZE
    tuple: tuple_bytes,
}
_REDUCERS = (
    *("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__"),
    *("__getattribute__", "__getattr__"),
)
_NEWOBJ, _NEWOBJ_EX = "__newobj__", "__newobj_ex__"
Reduce = Callable[[object], Any]
Steps = list[Node | Step]


def open_node(node: Node, reduce: Reduce) -> bool:
    """Give a node its steps; False if there is nothing to be opened in it.

    Raises ``Exception``: Whatever the reducer of the object raises.
    """
    value = node.value
    if node.items is not None or node.is_fixed or is_atom(value) or labels.is_closed(value):
        return False
    if is_exactly(value, _CONTAINERS):
        _open_container(node)
        return node.steps is not None
    began = time.perf_counter_ns()
    found = reduce(value)
    node.opening_ns = time.perf_counter_ns() - began
    _open_reduced(node, found)
    return node.steps is not None


def is_atom(value: object) -> bool:
    """Tell what has no parts: numbers, texts, bytes, modules."""
    return is_exactly(value, _ATOMS) or is_a(value, _TEXTS)


def is_cheap(value: object) -> bool:
    """Tell whether opening runs no code of users: containers, functions, plain objects."""
    kind: Any = type(value)
    if is_exactly(value, _CONTAINERS) or kind is types.FunctionType:
        return True
    own = ((name, attribute(kind, name)) for name in _REDUCERS)
    is_plain = type(kind) is type and kind not in copyreg.dispatch_table
    return is_plain and all(found is getattr(object, name, None) for name, found in own)


def split(node: Node, pieces: Sequence[tuple[int, int]]) -> list[Node]:
    """Return a run of items as several, each (first, last + 1) within it."""
    items, width = node.items or (), _width(node.value)
    found = []
    for first, end in pieces:
        part = items[first * width : end * width]
        found.append(Node(node.value, items=part, first=node.first + first, count=end - first))
    return found


def singles(node: Node) -> list[Node]:
    """Return the items of a run as nodes of their own, keys as plumbing before their values."""
    items, value = node.items or (), node.value
    if _width(value) > 1:
        pairs = zip(items[::2], items[1::2], strict=True)
        return [part for key, item in pairs for part in _entry(key, item)]
    if is_exactly(value, (set, frozenset)):
        return [Node(item, "<element>") for item in items]
    return [Node(item, f"[{node.first + at}]") for at, item in enumerate(items)]


def values_of(run: Node) -> tuple[object, ...]:
    """Return the items of a run without their keys."""
    items = run.items or ()
    return items[1::2] if _width(run.value) > 1 else items


def around(run: Node, heavy: list[int]) -> Iterator[Node]:
    """Yield the items at these places for themselves, and the runs between them."""
    for first, place in pairwise([-1, *heavy, run.count]):
        if place > first + 1:
            [between] = split(run, [(first + 1, place)])
            between.is_fixed = True
            yield between
        if place < run.count:
            yield from singles(split(run, [(place, place + 1)])[0])


class KeyedItems:
    """Stands for a container whose items come as keys and values from a reducer."""


def _width(value: object) -> int:
    return 2 if type(value) is dict or isinstance(value, KeyedItems) else 1


def _open_container(node: Node) -> None:
    value: Any = node.value
    kind, count = type(value), len(value)
    if count == 0:
        return
    flat = tuple(chain.from_iterable(value.items())) if kind is dict else tuple(value)
    if all(map(is_small_atom, flat[:MOST_ITEMS])) and count <= MOST_ITEMS:
        return
    node.own_bytes = _OWN_BYTES[kind](count)
    parts: Steps = list(_items(value, flat, count))
    node.is_late = kind in (tuple, frozenset)
    node.steps = [*parts, MEMOIZE] if node.is_late else [MEMOIZE, *parts]


def _items(value: object, flat: tuple[object, ...], count: int) -> Iterator[Node]:
    whole = Node(value, items=flat, count=count)
    if count <= MOST_ITEMS:
        yield from singles(whole)
        return
    runs = min(_RUNS, -(-count // (MOST_ITEMS // 2)))
    bounds = [count * at // runs for at in range(runs + 1)]
    yield from split(whole, list(pairwise(bounds)))


def _entry(key: object, value: object) -> Iterator[Node]:
    is_named = is_small_atom(key)
    label = "" if is_named else f"<key {kind_name(type(key))}>"
    yield Node(key, label, is_fixed=is_named, is_plumbing=is_named)
    yield Node(value, labels.key_label(key))


# What is not an exact container: function, arguments, items and state.


def _open_reduced(node: Node, found: Any) -> None:  # noqa: ANN401  (pickle's protocol)
    if isinstance(found, str):
        return
    function, arguments, state, items, pairs, setter = (*found, None, None, None, None)[:6]
    head, own = _head(node.value, function, arguments)
    listed, paired = tuple(items or ()), tuple(chain.from_iterable(pairs or ()))
    count = len(paired) // 2
    inside = _items(node.value, listed, len(listed)), _items(KeyedItems(), paired, count)
    tail, more = _tail(node.value, state, setter)
    steps: Steps = [*head, MEMOIZE, *chain(*inside), *tail]
    if not all(map(_is_dull, steps)):
        node.own_bytes = own + _batch_bytes(len(listed)) + _batch_bytes(count) + more
        node.steps = steps


def _is_dull(step: Node | Step) -> bool:
    """Tell what is not worth being opened for: numbers, short texts, names of classes."""
    if isinstance(step, Step) or step.is_fixed or is_small_atom(step.value):
        return True
    return step.steps is not None and all(map(_is_dull, step.steps))


def _head(value: object, function: Any, arguments: Any) -> tuple[Steps, int]:  # noqa: ANN401
    name, named = attribute(function, "__name__"), None
    if name == _NEWOBJ and arguments:
        function, *rest = arguments
        arguments = tuple(rest)
    elif name == _NEWOBJ_EX and arguments:
        function, arguments, named = arguments
    steps: Steps = [_class_node(function), _plumbed(value, arguments, labels.argument_label)]
    if named is not None:
        steps.append(_plumbed_state(value, named, labels.argument_label))
    return steps, 2


def _class_node(kind: object) -> Node:
    """Return the class or function that an object is made with; by name it is no part."""
    if not labels.is_by_value(kind):
        return Node(kind, is_plumbing=True, is_fixed=True)
    word = "class" if isinstance(kind, type) else "function"
    return Node(kind, f"<{word} {attribute(kind, '__name__')}>")


def _plumbed(value: object, parts: tuple[Any, ...], label: Callable[[Any, Any], str]) -> Node:
    """Return a tuple that only the pickler sees: its parts join the object."""
    if not parts:
        return Node(parts, is_plumbing=True, is_fixed=True)
    inner = (_joined(value, part, label(value, at)) for at, part in enumerate(parts))
    return _tuple_node(parts, inner)


def _tuple_node(parts: tuple[Any, ...], inside: Iterable[Node]) -> Node:
    steps: Steps = [*inside, MEMOIZE]
    own = tuple_bytes(len(parts))
    return Node(parts, is_plumbing=True, own_bytes=own, is_late=True, steps=steps)


def _plumbed_state(value: object, state: dict[Any, Any], label: Callable[[Any, Any], str]) -> Node:
    steps: Steps = [MEMOIZE]
    for key, part in state.items():
        steps.append(Node(key, "" if is_a(key, str) else "<key>", is_plumbing=True, is_fixed=True))
        steps.append(_joined(value, part, label(value, key)))
    return Node(state, is_plumbing=True, own_bytes=_dict_bytes(len(state)), steps=steps)


def _joined(value: object, part: Any, label: str) -> Node:  # noqa: ANN401  (anything)
    """Return a part of an object; what only pickle knows is opened at once and joins it."""
    how = labels.is_inlined(value, part, label)
    if how == "names" and type(part) is dict and part:
        word = "<global {}>".format if label == "<globals>" else labels.key_label
        return _plumbed_state(value, part, lambda _, key: word(key))
    if how == "items" and type(part) is tuple and part:
        names = _names(value, label)
        return _plumbed(
            value, part, lambda _, at: names[at] if at < len(names) else f"{label}[{at}]"
        )
    if how == "list" and type(part) is list and part:
        return _list_node(part, _items(part, tuple(part), len(part)))
    if how == "axes" and type(part) is list:
        return _list_node(part, map(Node, part, (".columns", ".index")))
    if how == "one" and type(part) is list and len(part) == 1:
        return _list_node(part, [Node(part[0], label)])
    return Node(part, label, is_plumbing=how == "object", kind=labels.inner_kind(part))


def _list_node(part: list[Any], inside: Iterable[Node]) -> Node:
    steps: Steps = [MEMOIZE, *inside]
    return Node(part, is_plumbing=True, own_bytes=_list_bytes(len(part)), steps=steps)


def _names(value: object, label: str) -> list[str]:
    if label == "<blocks>":
        return labels.block_labels(value)
    if label == "<bases>":
        return [f"<base {kind_name(base)}>" for base in attribute(value, "__bases__") or ()]
    code = getattr(value, "__code__", None)
    if code is None:
        return []
    if label == "<closure>":
        return [f"<closure {name}>" for name in code.co_freevars]
    count = len(getattr(value, "__defaults__", None) or ())
    return [f"<default {name}>" for name in code.co_varnames[: code.co_argcount][-count:]]


def _tail(value: object, state: Any, setter: Any) -> tuple[Steps, int]:  # noqa: ANN401
    """Return the steps of the state and their own opcodes: BUILD, or TUPLE2, REDUCE, POP."""
    if state is None:
        return [], 0
    part = _state_node(value, state)
    if setter is None:
        return [part], 1
    return [Node(setter, is_plumbing=True, is_fixed=True), REFER, part], 3


def _state_node(value: object, state: Any) -> Node:  # noqa: ANN401  (anything)
    if type(state) is dict and state:
        return _plumbed_state(value, state, labels.state_label)
    if type(state) is tuple and state:
        inner = (
            _plumbed_state(value, part, labels.state_label)
            if type(part) is dict and part
            else _joined(value, part, labels.argument_label(value, f"state {at}"))
            for at, part in enumerate(state)
        )
        return _tuple_node(state, inner)
    return Node(state, "<state>")
