"""Stages: the named steps on the road of a value, in the terms of the libraries' own documentation.

Keys are stable for ever; titles may change. The order is the order of the road: it sorts the rows
of a waterfall, and decides which remote stage owns an instant of waiting (the one furthest along).

``stages.json`` beside this file has them, one a line. Those of Dask are named as on its page
"Stages of Computation"; their parts are those of Dask 2026.8.0.
"""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

from jupyter_serprof.model.trace import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_serprof.model.trace import Trace

#: Begins the keys of the user's own marks, which are titled by their names.
MARK = "user:"
#: What watching took, out of all other stages: its span has no length, and says of which.
RECORDING = "recording"
#: Time that no stage explains, where it is compared as one.
UNACCOUNTED = "unaccounted"
_TABLE = files("jupyter_serprof.model").joinpath("stages.json").read_text("utf-8")
STAGES = {entry["key"]: Stage(**entry) for entry in json.loads(_TABLE)}
#: Without those of plug-ins.
OURS = frozenset(STAGES)
#: Of plug-in probes that may not be installed here, as loaded documents describe them; so many.
_MET: dict[str, Stage] = {}
_MOST_MET = 1_000


def stage(key: str) -> Stage:
    """Return the stage of a key; a key without a description gets a plain stage.

    >>> stage("ray.store").title
    'Store'
    """
    if key.startswith(MARK):
        return replace(STAGES["user"], key=key, title=key.removeprefix(MARK))
    return STAGES.get(key) or _MET.get(key) or Stage(key, key, 80, "other")


def describe(stages: Iterable[Stage]) -> None:
    """Make the stages of an additional probe known; what is described already stays as it is."""
    for entry in stages:
        STAGES.setdefault(entry.key, entry)


def meet(stages: Iterable[Stage]) -> None:
    """Remember how a document describes its stages, where nobody has described them."""
    for entry in stages:
        if len(_MET) < _MOST_MET and not entry.key.startswith(MARK):  # those say themselves
            _MET.setdefault(entry.key, entry)


class _Described(dict[str, Stage]):
    """Stages by key, as a document describes them; else as they are known here."""

    def __missing__(self, key: str) -> Stage:
        return stage(key)


def stages_of(*traces: Trace) -> Mapping[str, Stage]:
    """Return the stage of any key, as the traces describe it.

    A document carries the title, order, family and note of the stages of a plug-in probe, so that
    it is drawn alike where that probe is not installed.
    """
    described = [entry for trace in traces for entry in trace.stages]
    return _Described({entry.key: entry for entry in reversed(described)})
