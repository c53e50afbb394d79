"""What cannot be pickled: its parts by their places, and a line that leaves all of them out."""

import re
from collections.abc import Iterable, Sequence

from jupyter_serprof.analysis.spans import NAME, WORDS, text
from jupyter_serprof.model import Finding, Trace
from jupyter_serprof.model.units import a_kind, is_code, path_text

_ASK = f"%serprof --blame {NAME}   # tells which part of it cannot be pickled"
#: What pickle raises for functions and classes that it does not find by name; cloudpickle does.
_NOT_FOUND = ("AttributeError", "PicklingError")
_TRAVEL = "   # functions and classes travel by value"
_BY_VALUE = f"import cloudpickle; data = cloudpickle.dumps({NAME}){_TRAVEL}"
#: The last attribute of a path, with what is below it.
_LAST_ATTRIBUTE = re.compile(r"\.([A-Za-z_]\w*)(?:\[[^\]]*\])*$")
#: Behind a class whose objects have more than a dict, or say what is pickled of them.
_WITH = " with __"
#: What a deep copy does not go into, or asks for its state, which may be without the attribute.
_STAYS = re.compile(" in a (?!tuple$)| with __getstate__$")
#: Behind the type of what is not found by the name of its class; a column of a frame of pandas.
_NO_MODULE, _COLUMN_KIND = " that no module has", "column in a DataFrame"
_COLUMN = re.compile(r"(.+)\[('(?:[^'\\]|\\.)*'|\d+)\]")
#: The search for culprits ends after so many: there may be more.
_MOST_CULPRITS = 10
_MADE_ANEW = {"lock": "threading.Lock()", "RLock": "threading.RLock()"}
#: What culprits call one that can be opened again by its path.
_FILE = "file"
#: What goes instead of it, what that is called, and why.
_BY_OTHER = {
    "generator": ("list({})", "a list", "it is used up once; a list can be sent"),
    _FILE: ("{}.name", "its path", "its path: open it where it is used"),
}
_NOTHING = ("None", "None", "")
_INSTEAD = {
    **dict.fromkeys(_MADE_ANEW, "make it where it is used"),
    _FILE: "open it where it is used",
}
_DUMPS = ("pickle.dumps", "ray.pickle", "ray.export", "dask.serialize")
#: Stages in which somebody waits for a pickle that failed.
_REFUSING = (*_DUMPS, "ray.msgpack", "ray.store", "ray.submit")


def unpicklable(trace: Trace) -> Iterable[Finding]:
    """Find a run that ended with an error after a pickle had failed."""
    if trace.outcome != "error":
        return
    failed = [
        index
        for index, span in enumerate(trace.spans)
        if span.stage in _REFUSING and text(span, "error")
    ]
    spans = trace.spans
    refused = [at for at in failed if spans[at].stage in _DUMPS or text(spans[at], "culprit_type")]
    last = max((trace.spans[index].end_ns for index in failed), default=None)
    after = (
        s for s in trace.spans if s.parent < 0 and s.stage not in ("gc", "import", "recording")
    )
    later = any(span.start_ns > (last or 0) for span in after)
    if not refused or later:
        return
    kind, span = text(spans[refused[-1]], "error"), spans[refused[-1]]
    is_by_name = span.stage == "pickle.dumps" and not span.name.startswith("cloudpickle")
    paths = next((paths for span in spans if (paths := text(span, "culprit"))), "").split("\n")
    kinds = next((names for span in spans if (names := text(span, "culprit_type"))), "").split("\n")
    path, of_kind = paths[0], kinds[0]
    plain = _BY_VALUE if is_by_name and kind in _NOT_FOUND else _ASK
    what = f"a value of type `{of_kind.partition(' that ')[0]}`"
    if path:
        is_named = path[:1].isidentifier()
        what = path_text(path) if is_named else f"part {path_text(path)} of the value"
    known = [one if one[:1].isidentifier() else NAME + one for one in paths]
    parts = list(zip(known, kinds, strict=False))
    remedy, why = without_parts(parts) if of_kind else (plain, "")
    is_of_dask = any(one.stage == "dask.serialize" for one in spans)
    if of_kind == "lock" and path.isidentifier() and is_of_dask:
        remedy = f'from distributed import Lock; {path} = Lock("{path}")   # one for all workers'
    yield Finding(
        "pickle.unpicklable",
        "warn",
        refused_text(what, parts) if of_kind else f"a pickle failed with `{kind}`",
        {"error": kind, "attempts": len(refused), **({"path": path} if path else {})},
        remedy,
        spans=tuple(refused[-1:]),
        because=why,
    )


def refused_text(what: str, parts: Sequence[tuple[str, str]]) -> str:
    """Say that something cannot be pickled, and how many other parts cannot."""
    least = "at least " * (len(parts) >= _MOST_CULPRITS)
    return f"{what} cannot be pickled" + f", and {least}{len(parts) - 1} more" * (len(parts) > 1)


def without_parts(parts: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return a line that leaves all parts out, each a path and its type, and why."""
    line, because = _without_part(*parts[0])
    others = [(path, kind) for path, kind in parts if not _is_by_name(kind)]
    is_open = len(parts) >= _MOST_CULPRITS and others
    copied, dropped = _copied(others), _dropped(parts)
    if is_open or len({_root(path) for path, _ in parts}) > 1:
        line = ""
    elif others and len(others) < len(parts):
        by_value = _BY_VALUE.replace("; ", "; import copy; ").replace(NAME, copied)
        line = copied and f"{by_value}, {_in_place(others)}"
    elif len(others) > 1 or dropped:
        line = dropped or _copy_line(others)
    kind, *more = {_bare(kind) for _, kind in parts}
    if not (line or is_open or more or parts[0][0].isidentifier()) and kind in _MADE_ANEW:
        line = _each_new(kind)
    return line, because.partition(":")[0] if line else because


def _each_new(kind: str) -> str:
    """Return a line after which each lock is pickled as a new one, wherever it is."""
    made = _MADE_ANEW[kind]
    call = f"copyreg.pickle(type({made}), lambda _: ({made.removesuffix('()')}, ()))"
    return f"import copyreg, threading; {call}   # all {kind}s of this process: new in each copy"


def _bare(kind: str) -> str:
    return re.split(" of | in a ", kind, maxsplit=1)[0]


def _is_by_name(kind: str) -> bool:
    return kind == "function" or kind.endswith(_NO_MODULE)


def _root(path: str) -> str:
    return re.split(r"[.[]", path, maxsplit=1)[0]


def _is_pasted(path: str) -> bool:
    return is_code(path.replace(NAME, "name"))


def _dropped(parts: Sequence[tuple[str, str]]) -> str:
    """Return a line that leaves columns out of one frame; nothing if a part is no column of it."""
    columns = [_COLUMN.fullmatch(path) for path, kind in parts if kind == _COLUMN_KIND]
    frame, *more = {column[1] for column in columns if column} or {""}
    names = ", ".join(column[2] for column in columns if column)
    if more or None in columns or len(columns) < len(parts) or not _is_pasted(frame):
        return ""
    made = "to_send" if frame == _root(frame) else frame
    return f"{made} = {frame}.drop(columns=[{names}])   # without what cannot be pickled"


def _copied(parts: Sequence[tuple[str, str]]) -> str:
    """Return code for a copy of what holds some parts; nothing if it may leave one of them in."""
    can_leave = (
        _is_pasted(path) and path != _root(path) and not _STAYS.search(kind) for path, kind in parts
    )
    if not parts or not all(can_leave):
        return ""
    pairs = ((path, _BY_OTHER.get(_bare(kind), _NOTHING)[0]) for path, kind in parts)
    instead = ", ".join(f"id({path}): {other.format(path)}" for path, other in pairs)
    return f"copy.deepcopy({_root(parts[0][0])}, {{{instead}}})"


def _copy_line(parts: Sequence[tuple[str, str]]) -> str:
    copied = _copied(parts)
    return copied and f"import copy; to_send = {copied}   # a copy {_in_place(parts)}"


def _in_place(parts: Sequence[tuple[str, str]]) -> str:
    others = dict.fromkeys(_BY_OTHER.get(_bare(kind), _NOTHING)[1] for _, kind in parts)
    place = "its place" if len(parts) == 1 else "their places"
    return f"with {' and '.join(others)} in {place}"


def _without_part(path: str, kind: str) -> tuple[str, str]:
    """Return a line that leaves a part out (by its class, or out of what holds it), and why."""
    copied = _copy_line([(path, kind)])
    because, (kind, _, owner) = f"it is {a_kind(kind)}", kind.partition(" of ")
    can_paste = _is_pasted(path) and " in a " not in because
    is_in_class = kind == _FILE and not (path.isidentifier() or path.endswith("]"))
    if kind in _BY_OTHER and can_paste and not is_in_class:
        instead, what, why = _BY_OTHER[kind]
        line = f"{path} = {instead.format(path)}   # {why}"
        return f"{line}\n{WORDS}send {what} instead" * (NAME in path) or line, because
    if _is_by_name(kind):
        lost = "by the name of its class" if kind != "function" else ""
        because += f" {lost}" if lost else " without a module that has it by its name"
        return _BY_VALUE.replace(NAME, _root(path)), because
    attribute, is_own = _LAST_ATTRIBUTE.search(path), bool(owner) and "." not in owner
    is_itself = attribute is not None and attribute.end(1) == len(path)
    if kind in _MADE_ANEW and is_itself and is_own and can_paste and _WITH not in owner:
        return _each_new(kind), because
    if copied and (is_own or attribute is None or not owner):
        return copied, because
    if attribute is None or not is_own:  # nobody edits the class of a library
        return "", f"{because}: {_INSTEAD.get(kind, 'send what it is made from')} instead"
    return "", f"{because}: leave it out in `__getstate__`, make it anew in `__setstate__`"
