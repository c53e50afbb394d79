"""``%serprof`` and ``%graphstages`` alone: the panel, where a front end shows one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING

from jupyter_serprof.magics.options import Options
from jupyter_serprof.magics.show import finish

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.model import Sweep, Trace

#: What is done with the document; all else is chosen in the panel.
_TAKEN = ("out", "save")


def takes_panel(options: Options) -> bool:
    """Tell whether a panel is shown: nothing else was asked for, and somebody can see it."""
    from jupyter_serprof import api

    plain = Options()
    given = [
        entry.name
        for entry in fields(Options)
        if getattr(options, entry.name) != getattr(plain, entry.name)
    ]
    return set(given) <= set(_TAKEN) and api.Live().is_seen


def show_size_panel(
    shell: InteractiveShell, options: Options, local_ns: dict[str, object] | None
) -> None:
    """Show the panel of sweeps over sizes."""
    from jupyter_serprof.panel import sizes as panels

    panels.show_size_panel(namespace_of(shell, local_ns), keeper(shell, options))


def show_graph_panel(
    shell: InteractiveShell, options: Options, local_ns: dict[str, object] | None
) -> None:
    """Show the panel of sweeps over chunk sizes."""
    from jupyter_serprof.panel import graphs as panel_graphs

    panel_graphs.show_graph_panel(namespace_of(shell, local_ns), keeper(shell, options))


def namespace_of(
    shell: InteractiveShell, local_ns: dict[str, object] | None
) -> Callable[[], dict[str, object]]:
    """Return what gives the variables of the user, without those of IPython."""

    def namespace() -> dict[str, object]:
        hidden = shell.user_ns_hidden
        mine = {name: value for name, value in shell.user_ns.items() if name not in hidden}
        return {**mine, **(local_ns if local_ns and local_ns is not shell.user_ns else {})}

    return namespace


def keeper(
    shell: InteractiveShell, options: Options
) -> Callable[[Sweep | Trace, Callable[[Sweep | Trace], None]], None]:
    """Return what stores, shows and saves the document of a panel, as of any other magic."""

    def keep(document: Sweep | Trace, show: Callable[[Sweep | Trace], None]) -> None:
        def place(shown: Sweep | Trace) -> bool:
            show(shown)
            return True

        finish(shell, options, document, place)

    return keep
