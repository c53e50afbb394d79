"""What was put, sent and got: from what the hooks of Ray's driver noted to sizes and details.

In: the drafts of a run with what was noted of them. Out: the same with bytes, kinds, the keys of
values, whether results were copied, and who carried references or waited for them; what only marks
an argument is dropped.
"""

import functools
import sys
import types
import weakref
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from jupyter_serprof.capture.freeze import Draft, Page
from jupyter_serprof.capture.machine import ATOMS, lies_inside, store_ranges
from jupyter_serprof.model.trace import FORKED
from jupyter_serprof.model.units import counted
from jupyter_serprof.objects import ask, captured
from jupyter_serprof.objects.labels import is_by_value
from jupyter_serprof.probes.pickle import DUMPS_ROLE, LOADS_ROLE

#: Noted of a get that had its waits before it; any other has them inside.
SPLIT = "split"
#: A task argument adds a RAW marker of 13 bytes, which says nothing about the user's data.
_MARKER_BYTES, _MARKER = 64, "marker"
#: Whoever sends less need not be told which variable it is.
_NAMED_BYTES = 100_000
#: Elements of a list that are asked for their type, and keys of each.
_SAMPLES, _MOST_KEYS = 16, 100
#: Parts that are looked at, of each: of a function its modules are among them.
_SEEN_VALUES = 16
#: From here on the number of objects in one get is told.
MANY_OBJECTS = 100
_CONTAINERS = (list, tuple, dict)
_MADE_ANEW = (functools.partial, types.MethodType, types.FunctionType)
TABLES = ("DataFrame", "Series")
#: Ray's max_direct_call_object_size.
_INLINE_BYTES = 100 * 1024
#: Gets that brought what they got into the store of this node.
_COPYING = ("ray.pull", "ray.restore")


def complete_calls(drafts: Sequence[Draft]) -> None:
    """Give the calls of Ray their sizes and details."""
    alive = [draft.extra for draft in drafts]  # a weak reference that is gone gives its id away
    for draft in drafts:
        if draft.role.startswith("ray."):
            _complete(draft)
    del alive
    _keep_exports(drafts)
    _pass_sizes_up(drafts)
    _judge_results(drafts)


def parted_serialized(noted: Any) -> tuple[object, int] | None:  # noqa: ANN401
    """Part what was noted of a small value; which value it was is not kept."""
    if noted is None or noted[0] >= _NAMED_BYTES:
        return None
    return (noted[1], *noted[3:]), noted[0]


def whole_serialized(kind: Any, size: int) -> object:  # noqa: ANN401
    """Return what is noted of a value that is as large as all of one kind."""
    return size, kind[0], None, *kind[1:]


def note_serialized(token: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ANN401, ARG001
    """Note the size and way of a value, which one it is, its kind, and why it is copied."""
    value = args[1] if len(args) > 1 else None
    size, way = result.total_bytes, type(result).__name__
    way = _MARKER if size < _MARKER_BYTES and way == "RawSerializedObject" else way
    if ask.is_exactly(value, ATOMS):  # without identity and form
        return size, way, None, type(value).__name__, ""
    try:
        identity: object = weakref.ref(_bulk_of(value, size))
    except TypeError:  # of a list or dict what it is called, and could be made of
        identity = plain_look(value, size)
        if identity and (keys := plain_keys([value], size)):
            identity = {**identity, "value_key": keys[0]}
    return size, way, identity, ask.kind_name(type(value)), _array_form(value)


def _bulk_of(value: Any, size: int, levels: int = 2) -> Any:  # noqa: ANN401
    """Return the object that a container or function is mostly made of, if it is; else itself."""
    if size < _NAMED_BYTES or levels == 0:
        return value
    parts = list(islice(_carried(value), _SEEN_VALUES))
    if found := [part for part in parts if 2 * _weight(part) > size]:
        return found[0]
    inner = ((part, _bulk_of(part, size, levels - 1)) for part in parts)
    return next((bulk for part, bulk in inner if bulk is not part), value)


def _carried(value: object) -> Iterator[object]:
    if ask.is_exactly(value, _CONTAINERS):
        yield from ask.items_of(value, _SEEN_VALUES)
    elif ask.is_a(value, _MADE_ANEW) and ask.notebook_name(value):  # the same each time
        return
    elif ask.is_a(value, functools.partial):
        yield from ask.items_of(value, _SEEN_VALUES)
    elif ask.is_a(value, types.MethodType):
        yield value.__self__
    elif ask.is_a(value, types.FunctionType) and is_by_value(value):
        yield from (one.value for one in captured.variables_of(value))


def _weight(value: object) -> int:
    """Return the bytes of an array or frame, or of those in the attributes of an object."""
    if ask.is_exactly(value, _CONTAINERS):  # looked into
        return 0
    size = ask.size_bytes(value)
    if size is None and ask.is_plain(type(value)):
        size = sum(filter(None, map(ask.size_bytes, ask.state_of(value).values())))
    return size or 0


def _array_form(value: Any) -> str:  # noqa: ANN401
    """Tell why an array or frame cannot be handed over without a copy; empty if it can."""
    if ask.holds_objects(value):
        return "object"
    if ask.is_of(value, "polars", *TABLES):
        return "polars"
    return "strided" if ask.is_array(value) and ask.is_known(value) and not value.flags.forc else ""


def plain_look(value: Any, size: int) -> dict[str, object] | None:  # noqa: ANN401
    """Return what the notebook calls a large list or dict, its items, and what makes it a block."""
    if size < _NAMED_BYTES or not ask.is_exactly(value, _CONTAINERS):
        return None
    sample = [] if type(value) is dict else value[:: len(value) // _SAMPLES or 1] + value[-1:]
    if any(type(type(each)) is not type for each in sample):  # which may say what its hash is
        sample = []
    kinds = {type(each) for each in sample}
    form = "np.array" if kinds and (kinds <= {int, float} or kinds == {bool}) else ""
    if len(kinds) == 1 and ask.is_of(sample[0], "numpy", "number", "bool_"):
        form = "np.asarray"
    elif kinds == {str} and "pyarrow" in sys.modules:
        form = "pa.array"
    elif kinds == {dict} and "pandas" in sys.modules and _have_the_same_keys(sample):
        form = "pd.DataFrame"
    elif kinds in ({dict}, {tuple}, {list}) and _are_rows(sample):
        form = "columns"
    return {"name": ask.notebook_name(value), "items": len(value), "block_form": form}


def plain_keys(values: Sequence[object], size: int) -> list[tuple[Any, ...]]:
    """Return what tells large lists from others: no other has their elements while they are held.

    Elements that hold others, which would live longer, are none.
    """
    lists = [one for one in values if type(one) is list and one] if size >= _NAMED_BYTES else []
    keys = ((id(one), len(one), one[0], one[-1]) for one in lists)
    return [key for key in keys if all(ask.is_exactly(each, ATOMS) for each in key)]


def _number_of(identity: Any) -> int:  # noqa: ANN401
    """Return the number of a weak reference, of which a living object has one, or of a list."""
    is_list = type(identity) is tuple
    return hash((*identity[:2], *map(id, identity[2:]))) % 2**48 if is_list else id(identity)


def _have_the_same_keys(rows: Sequence[dict[object, object]]) -> bool:
    keys = [list(islice(row, _MOST_KEYS)) for row in rows]
    is_text = all(ask.is_exactly(key, (str,)) for key in chain.from_iterable(keys))
    return is_text and keys.count(keys[0]) == len(keys)


def _are_rows(sample: Sequence[Any]) -> bool:
    """Tell whether dicts of the same keys, or sequences of one length, hold plain values."""
    sizes = set(map(len, sample))
    is_alike = _have_the_same_keys(sample) if type(sample[0]) is dict else len(sizes) == 1
    parts = chain.from_iterable(ask.items_of(row, _MOST_KEYS) for row in sample)
    return is_alike and all(ask.is_exactly(part, ATOMS) for part in parts)


def _complete(draft: Draft) -> None:
    if draft.role == "ray.submit":
        return
    extra, draft.extra = draft.extra, None
    if draft.name.endswith(".serialize") and extra:
        _complete_serialized(draft, extra)
    elif draft.name.endswith("_serialize_to_pickle5") and extra:
        draft.details |= {"elements": extra[0], "element_type": extra[1]}
    elif draft.stage == "ray.map" and extra != SPLIT:
        draft.stage = "ray.fetch"
    elif draft.stage == "ray.fetch":
        draft.stage = extra or draft.stage
    elif _is_deserialization(draft) and extra is not None:
        if isinstance(extra, int):  # without buffers; raw or not
            extra = (extra >> 8, (extra >> 8) * (extra & 1), [], (), 0, False, "")
        draft.size_bytes, draft.details["copied_bytes"], draft.extra, *noted = extra
        arrays, count, held, form = noted
        draft.details |= {"array_form": form} if form else {}
        draft.details |= {"value_keys": [*map(_number_of, arrays)]} if arrays else {}
        draft.details |= {"references": count} if held else {}
        draft.details |= {"objects": count} if count >= MANY_OBJECTS else {}
    elif draft.role in {"ray.deployment", "ray.application"} and extra:
        draft.details[draft.role.removeprefix("ray.")] = extra
    elif draft.role == "ray.export" and extra:
        function, name = extra
        draft.details |= {"captured": captured.captured_variables(function()), "function": name}


def _complete_serialized(draft: Draft, noted: tuple[int, str, object, str, str]) -> None:
    total, _, identity, type_name, form = noted
    draft.is_dropped = noted[1] == _MARKER and draft.is_inside("ray.submit")
    draft.details |= {"total_bytes": total, "value_type": type_name, "array_form": form}
    if isinstance(identity, dict):
        draft.details |= identity
        if key := identity.get("value_key"):
            draft.details["value_key"] = _number_of(key)
    elif identity is not None:
        # The same weak reference means the same living object; a reused address does not.
        draft.details["value_key"] = _number_of(identity)
        is_told = isinstance(identity, weakref.ref) and total >= _NAMED_BYTES
        alive = identity() if is_told else None  # type: ignore[operator]  # a reference, as asked
        if alive is not None:
            kind = ask.kind_name(type(alive))  # of what is in it, for a container
            draft.details |= {"name": ask.notebook_name(alive), "shared_type": kind}
        draft.extra = identity


def _keep_exports(drafts: Sequence[Draft]) -> None:
    """Of the pickles made in a submission, keep those of functions: an export follows them."""
    # Every submission also pickles the list of exceptions to retry on, mostly None. Source: Ray
    # 2.60.0, ray/remote_function.py:RemoteFunction._remote; _raylet.pyx:submit_task.
    begin: dict[int, int] = {}
    for draft in drafts:
        if draft.role == "ray.export" and draft.parent is not None:
            begin[id(draft.parent)] = max(draft.start, begin.get(id(draft.parent), 0))
    for draft in drafts:
        if draft.role == DUMPS_ROLE and draft.parent and draft.parent.role == "ray.submit":
            draft.is_dropped |= draft.start >= begin.get(id(draft.parent), 0)


def _judge_results(drafts: Sequence[Draft]) -> None:
    """Tell which results are zero-copy: by address, or because nothing came out-of-band."""
    handed_over: dict[int, list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.role == LOADS_ROLE and draft.details.get("out_of_band_bytes", 1):
            got = next(filter(_is_deserialization, draft.ancestors()), None)
            handed_over[id(got)].append(draft)
    taken = list(filter(_is_deserialization, drafts))
    # Without a result nothing is asked: reading where the store lies takes 2 ms.
    ranges = store_ranges() if taken else None
    for draft in taken:
        buffers, draft.extra = draft.extra, None
        if buffers and ranges is not None:
            is_free, size = lies_inside(buffers, ranges), sum(size for _, size in buffers)
            draft.details |= {"zero_copy": is_free, "result_bytes": size}
            # What an object copies of the buffers that it is given nobody counts.
            for one in () if is_free else (draft, *handed_over[id(draft)]):
                one.details.pop("copied_bytes", None)
        elif (draft.size_bytes or 0) >= _MARKER_BYTES and id(draft) not in handed_over:
            draft.details |= {"zero_copy": False, "result_bytes": draft.size_bytes}


def _is_deserialization(draft: Draft) -> bool:
    return draft.name.endswith(".deserialize_objects")


def _pass_sizes_up(drafts: Sequence[Draft]) -> None:
    for draft in drafts:
        if draft.parent is None or draft.is_dropped:
            continue
        if draft.name.endswith(".serialize") and draft.parent.role in ("ray.put", "ray.submit"):
            is_small = draft.parent.role == "ray.submit" and "calls" in draft.details  # each is
            _add_to_store(draft.parent, 0 if is_small else draft.details.get("total_bytes", 0))
        elif _is_deserialization(draft):
            _add_to_get(draft)


def _add_to_store(store: Draft, total_bytes: int) -> None:
    # Arguments below the limit travel inside the task; only larger ones are copied into the store.
    if store.role == "ray.put" or total_bytes > _INLINE_BYTES:
        store.size_bytes = store.details["copied_bytes"] = (store.size_bytes or 0) + total_bytes


def _add_to_get(draft: Draft) -> None:
    get = next((above for above in draft.ancestors() if above.role == "ray.get"), None)
    if get is not None and draft.size_bytes is not None:
        get.size_bytes = (get.size_bytes or 0) + draft.size_bytes
        get.details["copied_bytes"] = get.size_bytes * (get.stage in _COPYING)


# References that travel: in an argument, by hand; and functions that write globals.

REFERENCE = "ray.reference"
Held = Mapping[int, Sequence[bytes]]
#: The first call of each method, by module, class and name.
Methods = Mapping[tuple[str, str, str], bytes | None]


def take_references(drafts: Sequence[Draft]) -> Held:
    """Drop the marks of references, and return the tasks of those inside of each submission."""
    # A reference that is pickled by hand is counted by nobody: it is told of that pickle.
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
            made_of = ask.state_of(getattr(sys.modules.get(module), kind, None))
            remote = made_of.get("__ray_metadata__")
            made = getattr(remote, "modified_class", type(None))
            is_blocking = captured.blocks_its_loop(ask.of_class(made, name))
            draft.details |= {"blocks": name} if is_blocking else {}
        elif names := captured.globals_written(function := getattr(known, "_function", None)):
            draft.details |= {"writes": names, "function": getattr(function, "__name__", "")}


def tell_forks(run: Page, role: str) -> None:
    """Drop the marks of forks; that some were made while Ray ran is a note."""
    forks = [draft for draft in run.drafts if draft.role == role]
    for fork in forks:
        fork.is_dropped = True
    if forks and sys.modules["ray"].is_initialized():
        run.notes.append(f"{counted(len(forks), 'fork')} {FORKED}")
