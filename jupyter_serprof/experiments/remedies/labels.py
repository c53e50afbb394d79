"""Which of the labels a line to paste means: by name where names are literals, else by place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_LITERALS = (str, int, bool, bytes, type(None))


@dataclass(frozen=True, slots=True)
class Chosen:
    """Some of the labels of a loop over ``key``.

    Attributes
    ----------
    test
        A condition in Python; "" where all are chosen.
    is_by_place
        Whether it asks for the place ``at`` of the label.
    """

    test: str = ""
    is_by_place: bool = False

    def condition(self, otherwise: str) -> str:
        """Return what stands behind the expression for those that are chosen."""
        return f" if {self.test} else {otherwise}" if self.test else ""

    def loop(self, of: str, more: str, target: str) -> str:
        """Return the loop, which counts where the places are asked for."""
        if not self.is_by_place:
            return f"{target} in {of}{more}"
        known = f"({target})" if "," in target else target
        return f"at, {known} in enumerate({of}{more})"


def chosen_of(labels: Sequence[object], places: Sequence[int]) -> Chosen:
    """Return which labels are at these places, told by what is shorter: those, or all others."""
    inside = set(places)
    if len(inside) == len(labels):
        return Chosen()
    others = [at for at in range(len(labels)) if at not in inside]
    word, meant = ("in", list(places)) if len(places) <= len(others) else ("not in", others)
    named = [labels[at] for at in meant]
    if not all(map(is_literal, named)):
        return Chosen(f"at {word} {_listed(meant)}", is_by_place=True)
    return Chosen(f"key {word} {_listed(named)}")


def is_literal(label: object) -> bool:
    """Tell whether the ``repr`` of a label is the label, and nothing of the user's runs for it.

    >>> [is_literal(label) for label in ("a", 1, ("a", None), 1.5, object)]
    [True, True, True, False, False]
    """
    if type(label) is tuple:
        return all(map(is_literal, label))
    return type(label) in _LITERALS


def quoted(label: object) -> str:
    """Return a label as people write it.

    >>> print(quoted("name"), quoted('a"b'), quoted(1))
    "name" 'a"b' 1
    """
    text = repr(label)
    is_plain = isinstance(label, str) and text == f"'{label}'" and '"' not in label
    return f'"{label}"' if is_plain else text


def _listed(labels: Sequence[object]) -> str:
    return f"({', '.join(map(quoted, labels))}{',' if len(labels) == 1 else ''})"
