"""``python -m jupyter_serprof STATEMENT``: without a notebook, in the manner of ``timeit``."""

from __future__ import annotations

import sys

from jupyter_serprof.cli import main

if __name__ == "__main__":
    # The code runs here, as a script would: what it defines can be pickled by its name.
    sys.exit(main(sys.argv[1:], vars(sys.modules["__main__"])))
