"""What all tests of remedies share."""

import pytest

from jupyter_serprof.experiments.remedies import value


@pytest.fixture(autouse=True)
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the Ray of other tests of the session: with it there is one more remedy."""
    monkeypatch.setattr(value, "is_alive", lambda: False)
