"""The functions of the package; each option of a magic is a keyword of the function of its name."""

from __future__ import annotations

from jupyter_serprof.api.anatomies import blame
from jupyter_serprof.api.chunks import chunk_sweep
from jupyter_serprof.api.comparisons import (
    check_limit,
    compare,
    document_of,
    limit_share,
)
from jupyter_serprof.api.documents import bundle, save, show
from jupyter_serprof.api.exports import import_timeline, load, to_dataframe, to_markdown
from jupyter_serprof.api.predictions import predict
from jupyter_serprof.api.recordings import profile, record
from jupyter_serprof.api.remedies import Tryout, try_code, try_remedies
from jupyter_serprof.api.resumes import resumable, resume
from jupyter_serprof.api.roundtrips import roundtrip
from jupyter_serprof.api.stages import graphstages
from jupyter_serprof.api.sweeps import size_sweep, sweep
from jupyter_serprof.capture.marks import span
from jupyter_serprof.experiments.blame_recording import BlameRun
from jupyter_serprof.experiments.compare import compared, runs_within_budget, transports_of
from jupyter_serprof.experiments.dask_blame import blame_graph
from jupyter_serprof.experiments.dask_chunks import ChunkSweep
from jupyter_serprof.experiments.dask_repeats import GraphRepeats, checked_before
from jupyter_serprof.experiments.dask_values import (
    is_collection,
    list_collections,
    require_dask,
)
from jupyter_serprof.experiments.graphstages import GraphStages, explained, stage_recording
from jupyter_serprof.experiments.recording import Recording
from jupyter_serprof.experiments.repeat import Repeats
from jupyter_serprof.experiments.roundtrip import RoundTrip
from jupyter_serprof.experiments.stage_split import Split, split
from jupyter_serprof.experiments.sweep import SizeSweep, SweepProgress
from jupyter_serprof.experiments.sweep_memory import MemoryGuard
from jupyter_serprof.experiments.sweep_plan import log_spaced
from jupyter_serprof.views.live import Live

__all__ = [
    "BlameRun",
    "ChunkSweep",
    "GraphRepeats",
    "GraphStages",
    "Live",
    "MemoryGuard",
    "Recording",
    "Repeats",
    "RoundTrip",
    "SizeSweep",
    "Split",
    "SweepProgress",
    "Tryout",
    "blame",
    "blame_graph",
    "bundle",
    "check_limit",
    "checked_before",
    "chunk_sweep",
    "compare",
    "compared",
    "document_of",
    "explained",
    "graphstages",
    "import_timeline",
    "is_collection",
    "limit_share",
    "list_collections",
    "load",
    "log_spaced",
    "predict",
    "profile",
    "record",
    "require_dask",
    "resumable",
    "resume",
    "roundtrip",
    "runs_within_budget",
    "save",
    "show",
    "size_sweep",
    "span",
    "split",
    "stage_recording",
    "sweep",
    "to_dataframe",
    "to_markdown",
    "transports_of",
    "try_code",
    "try_remedies",
]
