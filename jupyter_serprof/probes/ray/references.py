"""References that travel: in an argument, by hand, as a result; and functions that write globals.

In: the drafts of a run. Out: details of those that carried references, or that waited for them.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.model.trace import FORKED
from jupyter_serprof.model.units import counted
from jupyter_serprof.objects.ask import of_class, state_of
from jupyter_serprof.objects.captured import blocks_its_loop, globals_written
from jupyter_serprof.probes.pickle import DUMPS_ROLE

REFERENCE = "ray.reference"
Held = Mapping[int, Sequence[bytes]]
#: The first call of each method, by module, class and name.
Methods = Mapping[tuple[str, str, str], bytes | None]


def take_references(drafts: Sequence[Draft]) -> Held:
    """Drop the marks of references, and return the tasks of those inside of each submission.

    A reference that is pickled by hand is counted by nobody: it is told of that pickle.
    """
    held: dict[int, list[bytes]] = defaultdict(list)
    for draft in [draft for draft in drafts if draft.role == REFERENCE]:
        draft.is_dropped, (is_counted, task), draft.extra = True, draft.extra or (True, None), None
        submit = next((above for above in draft.ancestors() if above.role == "ray.submit"), None)
        pickle = next((above for above in draft.ancestors() if above.role == DUMPS_ROLE), None)
        if submit is not None and is_counted and task:
            held[id(submit)].append(task)
        elif pickle is not None and not is_counted and submit is None:
            pickle.details["references"] = pickle.details.get("references", 0) + 1
    return held


def tell_nested(drafts: Sequence[Draft], held: Held) -> None:
    """Tell of a task how long others, whose results are inside of its argument, ran beside it."""
    done = [draft for draft in drafts if draft.stage == "ray.execute" and draft.extra]
    # A handle of an actor holds a reference to what makes the actor: nobody gets that.
    runs = {draft.extra: draft for draft in done if not draft.name.endswith(".__init__")}
    for draft in drafts:
        run = runs.get(draft.extra) if id(draft) in held else None
        ends = [runs[task].end for task in held.get(id(draft), ()) if task in runs]
        if run is not None and ends and max(ends) > run.start:
            run.details["nested_wait_ns"] = min(run.end, max(ends)) - run.start


def tell_habits(
    submitted: Sequence[Draft], functions: Mapping[Any, bytes | None], methods: Methods
) -> None:
    """Tell of the first task of a function which globals it writes, and of a blocked event loop."""
    first = {task: one for one, task in [*functions.items(), *methods.items()] if task}
    for draft in submitted:
        known = first.get(draft.extra)
        if isinstance(known, tuple):
            module, kind, name = known
            remote = state_of(getattr(sys.modules.get(module), kind, None)).get("__ray_metadata__")
            made = getattr(remote, "modified_class", type(None))
            draft.details |= {"blocks": name} if blocks_its_loop(of_class(made, name)) else {}
        elif names := globals_written(function := getattr(known, "_function", None)):
            draft.details |= {"writes": names, "function": getattr(function, "__name__", "")}


def tell_forks(run: Page, role: str) -> None:
    """Drop the marks of forks; that some were made while Ray ran is a note."""
    forks = [draft for draft in run.drafts if draft.role == role]
    for fork in forks:
        fork.is_dropped = True
    if forks and sys.modules["ray"].is_initialized():
        run.notes.append(f"{counted(len(forks), 'fork')} {FORKED}")
