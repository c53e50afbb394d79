"""The tree of an anatomy between two passes: runs are cut, and what was opened moves."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from jupyter_serprof.experiments.blame.node import Node
from jupyter_serprof.experiments.blame.opening import singles, split

#: A run whose items are so many times larger than those of its neighbours holds an outlier.
_OUTLIER = 2.0


def opened_at(node: Node) -> dict[int, Node]:
    """Return the opened nodes by the id of their object."""
    found: dict[int, Node] = {}
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.steps is not None:
            found.setdefault(id(node.value), node)
            waiting += node.nodes
    return found


def settle(node: Node, opened: dict[int, Node], visited: set[int]) -> None:
    """Open an object where the pickler meets it first, not where it is nearest to the root."""
    key = id(node.value)
    if node.steps is None and node.items is None and key in opened and key not in visited:
        other = opened[key]
        node.steps, other.steps = other.steps, None
        node.own_bytes, node.is_late = other.own_bytes, other.is_late
        node.opening_ns, node.is_fixed, other.is_fixed = other.opening_ns, False, True
    if node.items is None:
        visited.add(key)
    for part in node.nodes:
        settle(part, opened, visited)


def closed(node: Node, depth: int = 1) -> Iterator[tuple[Node, Node, int]]:
    """Yield the closed parts, each with what holds it and its depth."""
    for part in node.nodes:
        if part.steps is None:
            yield node, part, depth
        else:
            yield from closed(part, depth + 1)


def is_outlier(holder: Node, run: Node) -> bool:
    """Tell whether the items of a run are much larger than those of its neighbours."""
    others = [
        (node.in_band_bytes or 0) + node.out_of_band_bytes
        for node in holder.nodes
        if node.items is not None
    ]
    sizes = [size / node.count for size, node in zip(others, _runs(holder), strict=True)]
    own = ((run.in_band_bytes or 0) + run.out_of_band_bytes) / run.count
    return own > _OUTLIER * max(1.0, statistics.median(sizes))


def _runs(holder: Node) -> list[Node]:
    return [node for node in holder.nodes if node.items is not None]


def replace(holder: Node, node: Node, nodes: list[Node]) -> None:
    """Put several nodes where one was."""
    steps = holder.steps or []
    at = steps.index(node)
    steps[at : at + 1] = nodes


def around(run: Node, heavy: list[int]) -> Iterator[Node]:
    """Yield the items at these places for themselves, and the runs between them."""
    at = 0
    for place in heavy:
        if place > at:
            yield from _fixed(split(run, [(at, place)]))
        yield from singles(split(run, [(place, place + 1)])[0])
        at = place + 1
    if at < run.count:
        yield from _fixed(split(run, [(at, run.count)]))


def _fixed(nodes: list[Node]) -> list[Node]:
    for node in nodes:
        node.is_fixed = True
    return nodes
