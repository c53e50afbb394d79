"""The functions of the package; each option of a magic is a keyword of the function of its name.

In: values, code, documents. Out: documents; nothing is displayed but by `show`.

>>> from jupyter_serprof import api
>>> api.blame({"table": bytes(5_000)}, name="parcel").parts[1].path
'parcel["table"]'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from jupyter_serprof.model import lazy
from jupyter_serprof.model.errors import Displayed

if TYPE_CHECKING:
    from jupyter_serprof.api.comparisons import check_limit, compare, document_of, trip_like
    from jupyter_serprof.api.documents import bundle, checked_path, load, save, show, to_markdown
    from jupyter_serprof.api.recordings import graphstages, profile, record, stage_recording
    from jupyter_serprof.api.sweeps import chunk_sweep, roundtrip, size_sweep, sweep
    from jupyter_serprof.api.values import blame, objects, try_remedies
    from jupyter_serprof.capture.interrupts import held
    from jupyter_serprof.capture.machine import system_facts
    from jupyter_serprof.capture.recorder import span
    from jupyter_serprof.experiments.blame.keeper import TryingRecording
    from jupyter_serprof.experiments.blame.recording import BlameRun, blame_graph
    from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
    from jupyter_serprof.experiments.compare.limit import limit_share
    from jupyter_serprof.experiments.compare.repeats import Repeats, RepeatsApart
    from jupyter_serprof.experiments.compare.runs import Against, Pairs, stopped
    from jupyter_serprof.experiments.compare.samples import check_question
    from jupyter_serprof.experiments.engine.experiment import (
        Experiment,
        complete,
        kept,
        resume,
        run,
    )
    from jupyter_serprof.experiments.engine.live import told
    from jupyter_serprof.experiments.engine.order import log_spaced
    from jupyter_serprof.experiments.graphs.repeats import GraphRepeats
    from jupyter_serprof.experiments.graphs.stages import GraphStages, explained
    from jupyter_serprof.experiments.graphs.values import (
        is_collection,
        list_collections,
        require_dask,
    )
    from jupyter_serprof.experiments.remedies.code import try_code
    from jupyter_serprof.experiments.remedies.forms import offered
    from jupyter_serprof.experiments.remedies.graph import DaskTryout
    from jupyter_serprof.experiments.remedies.value import Tryout
    from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
    from jupyter_serprof.probes.held import cancel_left
    from jupyter_serprof.timelines import import_timeline
    from jupyter_serprof.views.flat import to_dataframe
    from jupyter_serprof.views.notebook.live import Live

#: A first recording waits for no sweep.
__getattr__ = lazy(__name__)


def _bundle(document: object) -> object:
    return import_module("jupyter_serprof.api.documents").bundle(document)


Displayed.bundle = _bundle
