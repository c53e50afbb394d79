"""The antipatterns that Ray, Dask and libraries around them document, each with its healthy twin.

An entry is a function that prepares both and returns them; both do the same work and return the
same. Run them: uv run python -m tests.corpus [PARTS OF NAMES] [--save FOLDER] [--pairs N]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

Run = Callable[[], object]
MODULES = (
    "ray_pages",
    "ray_more",
    "ray_objects",
    "dask_delayed",
    "dask_collections",
    "dask_futures",
    "libraries",
    "waits",
)


@dataclass(frozen=True)
class Entry:
    """An antipattern: what it is called, the page that tells it, what has to be said of it.

    ``cause``: "time", or "error" in the making. Without ``rule`` only the coverage counts.
    """

    name: str
    title: str
    page: str
    rule: str
    prepare: Callable[[], tuple[Run, Run]]
    cause: str = "time"
    never: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def made(self) -> tuple[Run, Run]:
        """Prepare both; what workers have to start and import first is not the time of an entry."""
        if self.cluster == "dask":
            client = import_module("distributed").default_client()
            client.run(import_module, self.prepare.__module__)
        both = self.prepare()
        if self.cluster == "ray":
            import_module(f"{__name__}.clusters").warm_ray()
        return both

    @property
    def group(self) -> str:
        return self.prepare.__module__.rpartition(".")[2].partition("_")[0]

    @property
    def cluster(self) -> str:
        return self.page.partition(":")[0]


ENTRIES: list[Entry] = []
_PREPARE = Callable[[], tuple[Run, Run]]


def entry(
    page: str,
    rule: str = "",
    *,
    cause: str = "time",
    never: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
) -> Callable[[_PREPARE], _PREPARE]:
    """Register an entry; the page begins with the cluster: ``ray:``, ``dask:`` or ``none:``."""

    def register(prepare: _PREPARE) -> _PREPARE:
        name, title = prepare.__name__.replace("_", "-"), (prepare.__doc__ or "").split("\n")[0]
        ENTRIES.append(Entry(name, title, page, rule, prepare, cause, never, needs))
        return prepare

    return register


def entries(parts: list[str]) -> list[Entry]:
    for module in MODULES:
        import_module(f"{__name__}.{module}")
    told = [(f"{e.name} {e.rule} {e.page} {e.group}", e) for e in ENTRIES]
    return [e for text, e in told if not parts or any(part in text for part in parts)]
