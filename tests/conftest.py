"""What all tests share: hypothesis draws the same examples in every run and watches no clock."""

from __future__ import annotations

from hypothesis import Phase, settings

# Without a database no folder appears beside the tests; with fixed draws a red run is red again.
settings.register_profile(
    "serprof",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
settings.load_profile("serprof")
