"""``python -m jupyter_serprof``: a program or a statement, without a notebook."""

import sys

from jupyter_serprof.cli import command

if __name__ == "__main__":
    sys.exit(command())
