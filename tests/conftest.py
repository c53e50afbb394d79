"""What all tests share: hypothesis draws the same examples in every run and watches no clock."""

from __future__ import annotations

import os
import signal

from hypothesis import Phase, settings

# Under `uv run pytest` Ray would start each worker by `uv run` in a copy of this folder, and build
# the whole project there first (seen with ray 2.60, ray._private.worker:init).
os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")

# A shell starts what it runs in the background with Ctrl-C ignored, and kernels inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without a database no folder appears beside the tests; with fixed draws a red run is red again.
settings.register_profile(
    "serprof",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
settings.load_profile("serprof")
