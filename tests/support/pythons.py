"""A Python of its own, for what this process cannot show: what is imported, and what is not."""

import os
import subprocess
import sys


def python(code: str, *arguments: str, **environment: str) -> str:
    """Run code to its end in a new process, which must not fail; return what it printed."""
    command, env = [sys.executable, "-c", code, *arguments], os.environ | environment
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
