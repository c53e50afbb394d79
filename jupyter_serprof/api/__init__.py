"""The functions of the package; each option of a magic is a keyword of the function of its name.

In: values, code, documents. Out: documents; nothing is displayed but by `show`.

>>> blame({"table": bytes(5_000)}, name="parcel").parts[1].path
'parcel["table"]'
"""

from __future__ import annotations

from jupyter_serprof.api.comparisons import check_limit, compare, document_of, limit_share
from jupyter_serprof.api.documents import (
    bundle,
    checked_path,
    import_timeline,
    load,
    save,
    show,
    to_dataframe,
    to_markdown,
)
from jupyter_serprof.api.objects import Tryout, blame, try_code, try_remedies
from jupyter_serprof.api.recordings import graphstages, profile, record, stage_recording
from jupyter_serprof.api.sweeps import chunk_sweep, roundtrip, size_sweep, sweep
from jupyter_serprof.capture.interrupts import held
from jupyter_serprof.capture.recorder import span
from jupyter_serprof.experiments.blame.recording import BlameRun, blame_graph
from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
from jupyter_serprof.experiments.compare.repeats import Repeats
from jupyter_serprof.experiments.compare.runs import Against
from jupyter_serprof.experiments.engine.experiment import Experiment, complete, resume, run
from jupyter_serprof.experiments.engine.order import log_spaced
from jupyter_serprof.experiments.graphs.repeats import GraphRepeats
from jupyter_serprof.experiments.graphs.stages import GraphStages, explained
from jupyter_serprof.experiments.graphs.values import is_collection, list_collections, require_dask
from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
from jupyter_serprof.views.notebook.bundle import Live

__all__ = [
    "Against",
    "BlameRun",
    "ChunkSweep",
    "Experiment",
    "GraphRepeats",
    "GraphStages",
    "Live",
    "Repeats",
    "RoundTrip",
    "Tryout",
    "blame",
    "blame_graph",
    "bundle",
    "check_limit",
    "checked_path",
    "chunk_sweep",
    "compare",
    "complete",
    "document_of",
    "explained",
    "graphstages",
    "held",
    "import_timeline",
    "is_collection",
    "limit_share",
    "list_collections",
    "load",
    "log_spaced",
    "profile",
    "record",
    "require_dask",
    "resume",
    "roundtrip",
    "run",
    "save",
    "show",
    "size_sweep",
    "span",
    "stage_recording",
    "sweep",
    "to_dataframe",
    "to_markdown",
    "try_code",
    "try_remedies",
]
