"""All faults, slow ones too: run and written as the table ``docs/faults.md``.

Run: uv run python -m tests.faults [PART OF A NAME ...]
"""

import signal
import sys

from .matrix import ROOT, all_faults, as_table, compare

_HEAD = """# Faults

Each row is a program that runs into a fault, without a recording and with one (`tests/faults`).
*The same* means: it prints the same, raises the same with the same traceback, ends the same, and
leaves the same threads, processes, files, handlers and functions behind.

"""


def main(parts: list[str]) -> int:
    """Run the faults; write the table if all were asked for."""
    # A shell starts what it runs in the background with Ctrl-C ignored, and programs inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    faults = [f for f in all_faults() if not parts or any(part in f.name for part in parts)]
    mets = []
    for fault in faults:
        mets.append(compare(fault))
        sys.stdout.write(f"{fault.name}: {mets[-1].difference or 'the same'}\n")
    table = "\n".join(as_table(mets)) + "\n"
    if parts:
        sys.stdout.write(table)
    else:
        (ROOT / "docs" / "faults.md").write_text(_HEAD + table, "utf-8")
    bad = [met for met in mets if met.difference]
    sys.stdout.write(f"{len(mets)} faults, {len(bad)} with a difference\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
