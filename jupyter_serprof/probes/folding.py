"""Many tasks told as few: of 50,000 short ones nobody looks at 500,000 spans.

In: the drafts of a run. Out: submissions and steps that follow each other closely, on one lane, of
one function, as one for each stage. How many they were is exact, and so is how long they took where
one followed the other; of those that overlap it is from the first begin to the last end.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.capture.joining import FEW
from jupyter_serprof.model.units import format_count

#: What is folded; what is inside of one goes with it.
_ROLES, _RAYLET = ("ray.task", "ray.submit"), "raylet"
#: What took more than this part of the run is told by itself; on its way a task may be for long.
_PARTS = 5_000
#: So many windows are shared by all lanes.
_WINDOWS = 2_000
#: What may be known of one that is folded: it adds up, or tells the likes apart.
_SUMMED, _KINDS = "total_bytes", ("value_type", "array_form", "road")


class _Folder:
    """What is around and inside of the drafts of a run, and which of them may be folded."""

    def __init__(self, run: Page, drafts: Sequence[Draft]) -> None:
        whole_ns = max(1, run.end - run.start)
        self._longest_ns = whole_ns // _PARTS
        self._window_ns = max(1, whole_ns * len({one.lane for one in drafts}) // _WINDOWS)
        self.inside: dict[object, list[Draft]] = defaultdict(list)
        self._goes_along = set[object]()
        for draft in drafts:
            above = next((one for one in draft.ancestors() if not one.is_dropped), None)
            self.inside[id(above) if above else draft.lane].append(draft)
            if above is not None and above.role in _ROLES:
                self._goes_along.add(id(above))

    def bunches(self) -> Iterator[list[Draft]]:
        """Yield what may be told together: on a thread or worker nothing else lies between."""
        for around in self.inside.keys() - self._goes_along:
            bunch: list[Draft] = []
            for draft in sorted(self.inside[around], key=_start):
                may_fold = draft.role in _ROLES and self._may_fold(draft)
                is_late = bunch and draft.start > bunch[0].start + self._window_ns
                if is_late or not (may_fold or draft.lane == _RAYLET):
                    yield bunch
                    bunch = []
                bunch += [draft] * may_fold
            yield bunch

    def _may_fold(self, draft: Draft) -> bool:
        is_short = draft.lane == _RAYLET or draft.end - draft.start <= self._longest_ns
        is_plain = draft.details.keys() <= {_SUMMED, *_KINDS}
        return is_short and is_plain and all(map(self._may_fold, self.inside[id(draft)]))

    def all_of(self, bunch: Sequence[Draft]) -> Iterator[Draft]:
        """Yield the drafts of a bunch, and all in them."""
        for draft in bunch:
            yield draft
            yield from self.all_of(self.inside[id(draft)])

    def told(self, bunch: Sequence[Draft], above: Draft | None) -> Iterator[Draft]:
        """Yield one draft for all that are alike, one after the other where they do not overlap."""
        likes: dict[object, list[Draft]] = defaultdict(list)
        for draft in bunch:
            kind = (draft.details.get(key) for key in _KINDS)
            likes[draft.stage, draft.name, *kind].append(draft)
        at = bunch[0].start if above is None or above is bunch[0].parent else above.start
        for alike in likes.values():
            took = sum(draft.end - draft.start for draft in alike)
            one = replace(alike[0], end=max(draft.end for draft in alike), parent=above, extra=None)
            if took < one.end - one.start:
                one.start, one.end = at, at + took
                at = one.end
            one.details = {**one.details, "calls": len(alike)} if len(alike) > 1 else one.details
            if _SUMMED in one.details:
                one.details[_SUMMED] = sum(draft.details[_SUMMED] for draft in alike)
            yield one
            if within := [*chain.from_iterable(self.inside[id(draft)] for draft in alike)]:
                yield from self.told(sorted(within, key=_start), one)


def _start(draft: Draft) -> int:
    return draft.start


def fold_tasks(run: Page, few: int = FEW) -> None:
    """Fold submissions and roads of tasks, if there are more than a few drafts, and say so."""
    drafts = [draft for draft in run.drafts if not draft.is_dropped]
    if len(drafts) <= few:
        return
    folder, made = _Folder(run, drafts), list[Draft]()
    folded = set[int]()
    for bunch in folder.bunches():
        if len(bunch) > 1:
            folded.update(map(id, folder.all_of(bunch)))
            made += folder.told(bunch, bunch[0].parent)
    if folded:
        run.drafts[:] = [*(draft for draft in drafts if id(draft) not in folded), *made]
        run.notes.append(
            f"{format_count(len(folded))} steps of tasks are told as {format_count(len(made))}, "
            "each for those that followed closely; counts are exact"
        )
