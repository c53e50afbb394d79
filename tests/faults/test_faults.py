"""Each fault of the matrix: the same with us as without, and nothing is left behind."""

from collections.abc import Sequence
from textwrap import indent

import pytest

from .matrix import Fault, all_faults, compare

_SLOW = pytest.mark.slow_fault


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=fault.name, marks=[_SLOW] if fault.is_slow else [])
        for fault in all_faults()
    ],
)
def test_with_a_recording_it_is_as_without(fault: Fault) -> None:
    met = compare(fault)

    assert met.difference == ""


_MEDDLING = """
if IS_RECORDED:
    print(1)
    pickle.loads = None; subprocess.Popen.wait = print
    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "60"])
    kept = open(tempfile.gettempdir() + "/a file", "w")
    os.umask(0o7)
"""


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (
            _MEDDLING,
            (
                *("printed something else:", "exit 0, sleep is still", "umask 7"),
                *("pickle.loads", "subprocess.Popen.wait", "threads: Thread-", "handlers: SIGTERM"),
                *("open files: ", "/a file", "processes: "),
            ),
        ),
        ("if IS_RECORDED: raise KeyError", ("exit 1, not by exit 0", "errors something else:")),
        ("if IS_RECORDED: os.kill(os.getpid(), 9)", ("killed by SIGKILL, not by exit 0",)),
        ("pass", ("does not say 'a worker died'",)),
    ],
)
def test_what_a_recording_changes_is_found(program: str, found: Sequence[str]) -> None:
    block = "import pickle\nwith recorded():\n" + indent(program, "    ")

    met = compare(Fault("changed", block, says="a worker died"))

    assert [text for text in found if text not in met.difference] == [], met.difference
