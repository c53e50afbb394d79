"""What recordings that died left in a process, found and taken away by the next one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .hooks import MARK
from .notes import AGENTS, Agent

#: How the modules of agents are called, of this and of other versions.
_OURS = "_serprof_agent_"


def drop_leftovers(new: Agent, server: Any, stop: Callable[[str, Any], object]) -> None:
    """Take away what older recordings left here that do not run any more."""
    # Agents that are known go if they are of the same clients; plugins and modules if no version of
    # the agent knows their recording.
    told_ns, running = new.origin[1]
    for token, agent in list(AGENTS.items()):
        if agent.origin[1][0] < told_ns and token not in running and agent.clients & new.clients:
            stop(token, server)
    modules = {name: one for name, one in list(sys.modules.items()) if name.startswith(_OURS)}
    known = {MARK + token for module in modules.values() for token in getattr(module, "AGENTS", ())}
    _drop_plugins(server, known)
    if new.has_own_process:  # that of the client keeps what it ships
        _drop_modules(modules)


def _drop_plugins(scheduler: Any, known: set[str]) -> None:
    for name, plugin in list(getattr(scheduler, "plugins", {}).items()):
        if type(plugin).__module__.startswith(_OURS) and name not in known:
            scheduler.remove_plugin(name=name)


def _drop_modules(modules: dict[str, Any]) -> None:
    for name, module in modules.items():
        if not getattr(modules.get(name.partition(".")[0]), "AGENTS", ()):
            if hasattr(module, "forget"):
                module.forget()
            del sys.modules[name]
