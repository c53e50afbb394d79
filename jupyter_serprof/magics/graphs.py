"""``%graphstages CODE``: run a Dask computation to its end and show every stage of it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from jupyter_serprof import api
from jupyter_serprof.magics import run
from jupyter_serprof.magics.options import GRAPHSTAGES, Range
from jupyter_serprof.magics.typed import Code, Typed, usage_errors
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


_UNUSED = (
    "the code does not use {1}, and its value is of type {2}, no Dask collection that could be cut "
    "anew. Write code that makes one: %graphstages --sweep {0} make({1})"
)


def _sweep(typed: Typed, wanted: Range) -> None:
    """Sweep over chunk sizes; what was measured until an error or Ctrl-C is shown, too."""
    __tracebackhide__ = True
    options = typed.options
    with typed.told():
        sweep = api.ChunkSweep(
            _subject(typed, wanted),
            api.log_spaced(wanted.low, wanted.high, wanted.count),
            name=options.title,
            parameter=wanted.name,
            code=options.code,
            repeat=options.repeat,
            compute=options.compute,
            timeout_s=options.timeout,
            detail=options.detail,
        )
    run.measure(typed, sweep)


def _subject(typed: Typed, wanted: Range) -> object:
    """Return the code as a function of the variable; without it in the code, the collection."""
    __tracebackhide__ = True
    code = typed.compiled()
    if _uses(typed.options.code, wanted.name):
        return run.swept_code(typed, wanted)
    value = code.call()
    if not api.is_collection(value):
        raise UsageError(_UNUSED.format(wanted, wanted.name, type(value).__name__))
    return value


def _uses(typed: str, name: str) -> bool:
    """Tell whether code uses a name; what only IPython can read is taken to."""
    try:
        tree = ast.parse(typed)
    except SyntaxError:
        return True
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def _repeat(typed: Typed, code: Code) -> None:
    """Run the code many times and show the runs; against a document, raise if it is too slow."""
    __tracebackhide__ = True
    options, before = typed.options, run.document_before(typed)
    with typed.told():
        runs = api.GraphRepeats(
            code.call,
            options.title,
            options.detail,
            repeat=options.repeat,
            compute=options.compute,
            timeout_s=options.timeout,
            is_statement=not code.is_expression,
            typed=options.code,
        )
    with typed.telling(lambda _: runs.partial), api.told(typed.tell, lambda: runs.progress):
        runs.run_once()
    run.measure(typed, runs, before)


_HEADS = ("name", "type", "partitions", "tasks", "layers", "results")
_UNKNOWN = "–"  # noqa: RUF001  (an en dash is meant)
_NOTHING = """\
There is no Dask collection among your variables. Make one, e.g.

    import dask.array as da
    x = da.ones((10_000, 10_000), chunks=1_000)
    %graphstages (x + x.T).sum()

%graphstages -h lists the options."""


def run_graphstages(shell: InteractiveShell, line: str, local_ns: dict[str, object] | None) -> None:
    """Run what stands behind the magic, or list what it could be run with."""
    __tracebackhide__ = True
    with usage_errors():
        typed = run.typed_line(shell, line, local_ns, GRAPHSTAGES)
        if typed is None:
            print(GRAPHSTAGES.help)  # noqa: T201  (what was asked for)
            return
        api.require_dask()
        if typed.options.sweep is not None:
            _sweep(typed, typed.options.sweep)
        elif typed.options.code:
            _run(typed, typed.compiled())
        else:
            print(_listing(typed.names))  # noqa: T201  (what was asked for)
            if api.list_collections(typed.names) and typed.live.is_seen:
                run.show_panel(typed)


def _run(typed: Typed, code: Code) -> None:
    __tracebackhide__ = True
    options = typed.options
    if options.try_:
        with typed.told():
            tryout = api.DaskTryout(code.call(), name=options.title)
        run.measure(typed, tryout)
    elif options.repeat is not None or options.compare is not None:
        _repeat(typed, code)
    elif code.is_expression:
        _run_expression(typed, code)
    else:
        _run_statement(typed, code)


def _run_expression(typed: Typed, code: Code) -> None:
    __tracebackhide__ = True
    options, held = typed.options, list[object]()

    def call() -> object:
        __tracebackhide__ = True
        value = code.call()
        if options.blame:
            held.append(value)  # until it is opened
        return value

    how = options.compute, options.timeout, options.detail
    with typed.told():
        stages = api.GraphStages(call, options.title, *how)
    trace = run.run_once(typed, stages, lambda: stages.has_spans)
    typed.finish(api.blame_graph(trace, held.pop(), typed.tell) if options.blame else trace)


def _run_statement(typed: Typed, code: Code) -> None:
    __tracebackhide__ = True
    options = typed.options
    with typed.told():
        recording = api.stage_recording(options.title, detail=options.detail, blame=options.blame)
    recording.live = typed.tell
    with (
        typed.telling(lambda error: api.explained(recording.trace, "", error), recording),
        recording,
    ):
        code.call()
    with api.kept(lambda: recording.trace):
        typed.finish(api.explained(recording.trace, f"%serprof {options.code}"))


def _listing(namespace: Mapping[str, object]) -> str:
    found = api.list_collections(namespace)
    if not found:
        return _NOTHING
    rows = [
        [_UNKNOWN if n is None else n if isinstance(n, str) else f"{n:,}" for n in row]
        for row in map(astuple, found)
    ]
    first = next((one.name for one in found if not one.state), found[0].name)
    said = f"{_UNKNOWN} is known only after optimization. To see the stages of one:"
    lines = (said, f"    %graphstages {first}", f"    %graphstages --compute {first}")
    return "\n".join((*_table([_HEADS, *rows]), "", *lines))


def _table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Yield the lines of a table; numbers lean to the right."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    leans_right = [
        all(cell.replace(",", "").isdigit() or cell == _UNKNOWN for cell in column[1:])
        for column in columns
    ]
    for row in rows:
        cells = zip(row, widths, leans_right, strict=True)
        yield "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in cells).rstrip()
