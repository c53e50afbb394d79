"""``%graphstages CODE``: run a Dask computation to its end and show every stage of it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from jupyter_serprof.magics.code import Code, compile_code
from jupyter_serprof.magics.options import GRAPHSTAGES, Options, help_text, parse
from jupyter_serprof.magics.run import (
    document_named,
    run_try_graph,
    show_graph_panel,
    swept_code,
    takes_panel,
)
from jupyter_serprof.magics.show import check_limit, finish, finish_failed, measure, usage_errors
from jupyter_serprof.magics.together import check
from jupyter_serprof.model import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_serprof.magics.options import Range
    from jupyter_serprof.model import Sweep

    Tell = Callable[[Sweep], None] | None

_UNUSED = (
    "the code does not use {1}, and its value is of type {2}, no Dask collection that could be cut "
    "anew. Write code that makes one: %graphstages --sweep {0} make({1})"
)


def run_chunk_sweep(
    shell: InteractiveShell, options: Options, wanted: Range, local_ns: dict[str, object] | None
) -> None:
    """Sweep over chunk sizes; what was measured until an error or Ctrl-C is shown, too."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    sweep = api.ChunkSweep(
        _subject(shell, options, wanted, local_ns),
        api.log_spaced(wanted.low, wanted.high, wanted.count),
        name=options.title,
        parameter=wanted.name,
        code=options.code,
        repeat=options.repeat,
        compute=options.compute,
        timeout_s=options.timeout,
        detail=options.detail,
    )
    measure(shell, options, sweep)


def _subject(
    shell: InteractiveShell, options: Options, wanted: Range, local_ns: dict[str, object] | None
) -> object:
    """Return the code as a function of the variable; without it in the code, the collection."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    code = compile_code(shell, options.code, local_ns, magic=GRAPHSTAGES.magic)
    check(options, GRAPHSTAGES, is_statement=not code.is_expression)
    if _uses(options.code, wanted.name):
        return swept_code(shell, options, wanted, local_ns)
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


def is_repeated(options: Options) -> bool:
    """Tell whether many runs were asked for."""
    return options.repeat is not None or options.compare is not None


def run_repeats(
    shell: InteractiveShell, options: Options, code: Code, names: Mapping[str, object]
) -> None:
    """Run the code many times and show the runs; against a document, raise if it is too slow."""
    from jupyter_serprof import api

    __tracebackhide__ = True
    before = None
    if options.compare is not None:
        before = document_named(options.compare, names, GRAPHSTAGES.magic)
        api.checked_before(before)
    runs = api.GraphRepeats(
        code.call,
        options.title,
        options.compute,
        options.timeout,
        options.detail,
        not code.is_expression,
        options.code,
        before,
        options.repeat,
    )
    try:
        runs.begin()
    except BaseException:
        if runs.partial is not None:
            finish_failed(shell, options, runs.partial)
        raise
    document = measure(shell, options, runs)
    check_limit(options, document)


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
    from jupyter_serprof import api

    __tracebackhide__ = True
    with usage_errors():
        options = parse(line, GRAPHSTAGES)
        if options.help:
            print(help_text(GRAPHSTAGES))  # noqa: T201  (what was asked for)
            return
        api.require_dask()
        check(options, GRAPHSTAGES)
        if options.sweep is not None:
            run_chunk_sweep(shell, options, options.sweep, local_ns)
        elif options.code:
            code = compile_code(shell, options.code, local_ns, magic=GRAPHSTAGES.magic)
            _run(shell, options, code, {**shell.user_ns, **(local_ns or {})})
        else:
            namespace = {**shell.user_ns, **(local_ns or {})}
            print(_listing(namespace))  # noqa: T201  (what was asked for)
            if api.list_collections(namespace) and takes_panel(options):
                show_graph_panel(shell, options, local_ns)


def _run(shell: InteractiveShell, options: Options, code: Code, names: dict[str, object]) -> None:
    __tracebackhide__ = True
    check(options, GRAPHSTAGES, is_statement=not code.is_expression)
    if options.try_:
        run_try_graph(shell, options, code)
    elif is_repeated(options):
        run_repeats(shell, options, code, names)
    elif code.is_expression:
        _run_expression(shell, options, code)
    else:
        _run_statement(shell, options, code)


def _run_expression(shell: InteractiveShell, options: Options, code: Code) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    held: list[object] = []
    stages = api.GraphStages(
        _holding(code, held) if options.blame else code.call,
        options.title,
        options.compute,
        options.timeout,
        options.detail,
    )
    try:
        trace = api.run(stages)
    except UsageError:
        raise
    except BaseException as error:
        if stages.has_spans or isinstance(error, KeyboardInterrupt):
            finish_failed(shell, options, stages.document)
        raise
    if options.blame:
        trace = api.blame_graph(trace, held.pop())
    finish(shell, options, trace)


def _holding(code: Code, held: list[object]) -> Callable[[], object]:
    """Return what runs the code and holds its value until it is opened."""

    def call() -> object:
        __tracebackhide__ = True
        value = code.call()
        held.append(value)
        return value

    return call


def _run_statement(shell: InteractiveShell, options: Options, code: Code) -> None:
    from jupyter_serprof import api

    __tracebackhide__ = True
    recording = api.stage_recording(options.title, detail=options.detail, blame=options.blame)
    try:
        with recording:
            code.call()
    except BaseException as error:
        if recording.has_spans or isinstance(error, KeyboardInterrupt):
            finish_failed(shell, options, api.explained(recording.trace, "", error))
        raise
    finish(shell, options, api.explained(recording.trace, f"%serprof {options.code}"))


def _listing(namespace: dict[str, object]) -> str:
    """Return the collections as a table, and how to go on."""
    from jupyter_serprof import api

    found = api.list_collections(namespace)
    if not found:
        return _NOTHING
    rows = [
        (one.name, one.kind, *map(_count, (one.partitions, one.tasks, one.layers)), one.state)
        for one in found
    ]
    waiting = [one.name for one in found if not one.state] or [found[0].name]
    return "\n".join(
        (
            *_table([_HEADS, *rows]),
            "",
            f"{_UNKNOWN} is known only after optimization. To see the stages of one:",
            f"    %graphstages {waiting[0]}",
            f"    %graphstages --compute {waiting[0]}",
        )
    )


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


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
