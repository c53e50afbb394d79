"""The anatomy of an object: exact to the byte, against the stream that plain dumps writes."""

from typing import Any

import pytest
from anatomy_oracle import Piece, scan
from anatomy_samples import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_serprof.api import blame
from jupyter_serprof.experiments.blame.descent import Descent
from jupyter_serprof.experiments.blame.node import Node
from jupyter_serprof.model import Anatomy


def path_bytes(anatomy: Anatomy) -> dict[str, int]:
    return {part.path: part.bytes for part in anatomy.parts}


def opened(value: object) -> Descent:
    """Return the descent of a value, before it is made readable."""
    descent = Descent(value, "it", 60)
    descent.open()
    return descent


def disagreements(node: Node, piece: Piece, path: str) -> list[str]:
    """Return every part of exact containers that has other bytes than the stream."""
    found = []
    if node.in_band_bytes != piece.size_bytes:
        found.append(f"{path}: {node.in_band_bytes} is {piece.size_bytes} in the stream")
    is_plain = type(node.value) in (list, tuple, dict, set, frozenset)
    if not is_plain or node.steps is None or node.is_shared:
        return found
    at = 0
    for part in node.nodes:
        width = 1 if part.items is None else len(part.items)
        pieces = piece.inside[at : at + width]
        at += width
        if part.items is None:
            found += disagreements(part, pieces[0], f"{path}{part.label}")
        elif sum(one.size_bytes for one in pieces) != part.in_band_bytes:
            found.append(f"{path}, items {part.first} to {part.first + part.count}")
    return found


# Exactness


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_parts_sum_to_the_pickle_to_the_byte(kind: str) -> None:
    """``self_bytes`` sum to what dumps writes, in-band; buffers and the plain pickle agree, too."""
    # And not only the sum: each item of a container, and the envelope, are as in one plain pickle.
    value = KINDS[kind]()
    stream = scan(value)

    anatomy, descent = blame(value), opened(value)

    assert anatomy.in_band_bytes == stream.in_band_bytes
    assert sum(part.self_bytes for part in anatomy.parts) == stream.in_band_bytes
    assert anatomy.out_of_band_bytes == stream.out_of_band_bytes
    assert anatomy.plain_bytes == stream.plain_bytes
    assert min(part.self_bytes for part in anatomy.parts) >= 0
    assert anatomy.is_complete
    assert stream.in_band_bytes - (descent.root.in_band_bytes or 0) == stream.envelope_bytes
    assert disagreements(descent.root, stream.root, "it") == []


def nested() -> st.SearchStrategy[Any]:
    texts = st.sampled_from([f"word {i}" for i in range(40)])
    leaves = st.integers() | texts | st.booleans() | st.none() | st.floats()
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=40)
            | st.lists(inner, max_size=6).map(tuple)
            | st.dictionaries(texts, inner, max_size=40)
            | st.lists(inner, min_size=1, max_size=4).map(lambda found: [*found, found, found[0]])
            | st.sets(texts, max_size=40)
            | st.sets(texts, max_size=9).map(frozenset)
        ),
        max_leaves=60,
    )


@settings(max_examples=150, deadline=None)
@given(nested(), st.integers(0, 400))
def test_any_nesting_is_exact(value: Any, before: int) -> None:
    """Also where references get longer: after the memo's 256th entry, wherever that falls."""
    whole = [[f"text {i}" for i in range(before)], {"value": value, "again": [value]}, value]
    stream = scan(whole)

    descent = opened(whole)

    assert stream.in_band_bytes - (descent.root.in_band_bytes or 0) == stream.envelope_bytes
    assert disagreements(descent.root, stream.root, "it") == []
