"""Points: which attribute is watched, and what is noted each time it is called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from typing import Any, Literal, Protocol

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Before = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any], object]]
After = Callable[[object, tuple[Any, ...], dict[str, Any], object], object]


@dataclass(frozen=True, eq=False)
class Point:
    """A place that is watched while a recording runs.

    Attributes
    ----------
    place
        ``module:attribute`` or ``module:Class.attribute``; the module must be imported already.
    stage
        Key of the stage that owns the time spent here, without the watched calls inside.
    role
        What `inside` of other points refers to.
    inside
        Another stage for calls made inside a point of a given role (the nearest one decides).
    before, after
        Small functions that note sizes. They see the call; ``before`` may replace its arguments by
        equivalent ones. If they fail, the call goes on and the failure is counted.
    faults
        Whose page faults to note around the call: ``thread`` (0.9 us), ``process`` (1.6 us, sees
        helper threads too) or nobody's.
    least_ns
        Shorter calls leave no record: a wait that did not wait is called once for each task.
    """

    place: str
    stage: str
    role: str = ""
    inside: Mapping[str, str] = field(default_factory=dict)
    before: Before | None = None
    after: After | None = None
    faults: Literal["", "thread", "process"] = ""
    least_ns: int = 0

    @property
    def name(self) -> str:
        """The qualified name of the callable, for people."""
        return self.place.partition(":")[2]

    def owner(self) -> tuple[Any, str]:
        """Return the object that holds the attribute, and the attribute's name.

        Raises
        ------
        AttributeError, ImportError
            If the installed version of the library has no such place.
        """
        module_name, _, names = self.place.partition(":")
        *path, attribute = names.split(".")
        # import_module would go through the import seam, and be seen there by other recordings.
        module = sys.modules.get(module_name) or import_module(module_name)
        return reduce(getattr, path, module), attribute


#: What a hook writes down for one call; everything else is worked out at freeze:
#: (point, thread, start_ns, end_ns, page faults, what ``after`` noted, name of the exception).
#: A plain tuple: building a named one costs as much as the rest of the hook.
Record = tuple["Point", int, int, int, int | None, object, str | None]


class Sink(Protocol):
    """Whoever takes records: a recorder."""

    @property
    def now(self) -> Callable[[], int]:
        """The clock, ns."""

    def add(self, record: Record) -> None:
        """Take one record."""

    def failed(self, point: Point, error: Exception) -> None:
        """Take the failure of a ``before`` or ``after``."""
