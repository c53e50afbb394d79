"""What a recording sends to a cluster for itself is not taken for what the user sends."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

import jupyter_serprof as sp

if TYPE_CHECKING:
    from distributed import Client


@pytest.mark.usefixtures("dask_client")
def test_only_what_the_user_pickled_is_opened(dask_client: Client) -> None:
    """With a client connected, agents are shipped when a recording starts: they are not blamed."""
    # given
    assert dask_client.status == "running"
    value = list(range(5_000))

    # when
    with sp.record(blame=True) as recording:
        pickle.dumps(value)

    # then
    assert [anatomy.parts[0].kind for anatomy in recording.trace.anatomies] == ["list (5000)"]
