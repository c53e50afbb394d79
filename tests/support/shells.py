"""What a cell gave in a plain IPython shell."""

from typing import Any

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import capture_output

from jupyter_serprof.model import Sweep, Trace, from_document
from jupyter_serprof.model.document import MIME_TYPE

Shell = InteractiveShell


class Shown:
    """What has documents of ours."""

    documents: list[Trace | Sweep]

    @property
    def trace(self) -> Trace:
        (document,) = self.documents
        assert isinstance(document, Trace)
        return document

    @property
    def sweep(self) -> Sweep:
        (document,) = self.documents
        assert isinstance(document, Sweep)
        return document


class Ran(Shown):
    """What one cell gave: its result, its pictures (as documents), what it printed."""

    def __init__(self, shell: InteractiveShell, cell: str, **options: Any) -> None:
        with capture_output() as captured:
            self.result: ExecutionResult = shell.run_cell(cell, **options)  # type: ignore[no-untyped-call]
        self.value: Any = self.result.result
        self.out: str = captured.stdout
        self.err: str = captured.stderr
        self.bundles = [o.data for o in captured.outputs if MIME_TYPE in o.data]
        self.documents = [from_document(bundle[MIME_TYPE]) for bundle in self.bundles]
