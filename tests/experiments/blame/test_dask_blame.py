"""What a Dask graph embeds, opened: layer -> key -> object -> path inside it."""

import dask.array as da
import numpy as np
from dask.delayed import delayed

from jupyter_serprof.analysis.anatomy import blame_sentence
from jupyter_serprof.api import blame_graph
from jupyter_serprof.model import Trace

TRACE = Trace(name="y", started="", wall_ns=1)


def test_an_embedded_object_is_opened_from_the_argument_on() -> None:
    """Not the array alone: the container that the task was given, with the path to the array."""
    weights = np.zeros(500_000)
    y = delayed(len, name="count")({"model": [1, weights]})

    found = blame_graph(TRACE, y)

    [anatomy] = found.anatomies
    assert anatomy.name.endswith(" -> <dict>")
    assert anatomy.out_of_band_bytes == 4_000_000
    said = '<dict>["model"][1]` is 100 % of 4.00 MB, ndarray float64 `(500000,)`'
    assert blame_sentence(anatomy).endswith(said)
    assert found.summary is not None
    assert any("4.00 MB" in fact for fact in found.summary.details)


def test_a_graph_without_large_objects_says_so() -> None:
    """Nothing is opened, and the graph is as it was."""
    y = da.ones((100, 100), chunks=10).sum()
    before = len(y.dask)

    found = blame_graph(TRACE, y)

    assert found.anatomies == ()
    [note] = found.quality.notes
    assert note == "the graph embeds no object of 1,000,000 bytes or more: nothing to open"
    assert len(y.dask) == before


def test_what_is_no_collection_has_nothing_to_open() -> None:
    """A note, no error: the run itself has been shown."""
    found = blame_graph(TRACE, 5)

    assert "there is none to open" in found.quality.notes[0]
