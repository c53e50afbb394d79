"""The line that a kernel shows while a cell waits: which messages, and what is left of them."""

import json
import re

import pytest
from kernels.conftest import Kernel, Ran
from test_live import messages  # type: ignore[import-not-found]  # beside this file

from jupyter_serprof.model.document import MIME_TYPE

pytestmark = pytest.mark.notebook

HEARD = """\
from jupyter_serprof.views.notebook.live import Live
heard, tell = threading.Semaphore(0), Live.tell
def noted(self, facts):
    tell(self, facts)
    heard.release()
Live.tell = noted
from IPython.display import clear_output
import jupyter_serprof as sp"""
#: Waits until a line was told three times.
WAIT = "for _ in range(3): assert heard.acquire(timeout=60)\npickle.dumps([1])"


@pytest.fixture
def told(kernel: Kernel) -> Kernel:
    kernel.run(f"if 'heard' not in globals():\n    exec({HEARD!r}, globals())")
    kernel.run(f"while heard.acquire(blocking=False): pass\ndef wait(): exec({WAIT!r})")
    return kernel


def shown(ran: Ran) -> list[str]:
    """Return what is left of displays in the notebook."""
    displays = [one["data"] for one in ran.outputs if one["output_type"] == "display_data"]
    return ["picture" if MIME_TYPE in data else data["text/plain"] for data in displays]


@pytest.mark.parametrize("code", ["%%serprof\nwait()", "%serprof wait()"])
def test_a_line_becomes_the_picture(told: Kernel, code: str) -> None:
    """One display: what is saved is its last form; a thousand bytes an update, nothing left."""
    seen = messages(told, code)
    lines = [one["content"] for one in seen if "display_data" in one["msg_type"]]

    assert len({content["transient"]["display_id"] for content in lines}) == 1
    assert all(len(json.dumps(content["data"])) <= 1_000 for content in lines[:-1])
    assert "Wait in this process, " in lines[-3]["data"]["text/plain"]
    assert MIME_TYPE in lines[-1]["data"]


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("%%serprof\nwait()\n1 / 0", ["picture"]),
        ("%serprof --transports pickle wait()", ["picture"]),
        ("def bad():\n    for _ in range(3): heard.acquire()\n    1 / 0\n%serprof bad()", ["it"]),
        ("with sp.record('load', live=True) as made: wait()", ["load"]),
        ("%%serprof\nwait()\nclear_output()\nwait()", ["Wait in this process", "picture"]),
        ("%%serprof -q\npickle.dumps([1])\ntime.sleep(1.5)", []),
        ("%%serprof\npickle.dumps([1])", ["picture"]),
    ],
)
def test_what_is_left_of_a_line(told: Kernel, code: str, left: list[str]) -> None:
    """After an error, with nothing to show, in a program, of a cell that clears its output."""
    ran = told.run(code)

    assert [re.split(" ended after |,", said)[0] for said in shown(ran)] == left


def test_an_interrupt_leaves_the_picture(told: Kernel) -> None:
    ran = told.run("%%serprof\nwait()\nprint('now')\ntime.sleep(60)", interrupt_at="now")

    heard = told.run("get_ipython().display_pub._hooks").value  # nothing hears any more
    assert (shown(ran), "KeyboardInterrupt" in ran.error, heard) == (["picture"], True, "[]")


def test_a_notebook_that_is_executed_shows_no_line(told: Kernel) -> None:
    code = "%%serprof\npickle.dumps([1])\ntime.sleep(1.5)"

    ran = told.follow(told.client.execute(code, allow_stdin=False))

    assert [(one["transient"], MIME_TYPE in one["data"]) for one in ran.outputs] == [({}, True)]


def test_an_interrupt_is_heard_in_an_await(told: Kernel) -> None:
    """A loop in which nothing else happens would sleep on, and the kernel hear nothing."""
    late = "late = []\nasyncio.get_running_loop().call_later(50, late.append, 1)"

    cell = f"%%serprof\nimport asyncio\n{late}\nprint('now')\nawait asyncio.Event().wait()"
    ran = told.run(cell, interrupt_at="now")

    assert ("CancelledError" in ran.error, told.run("late").value) == (True, "[]")
    assert (ran.status, ran.trace.outcome) == ("error", "interrupted")


def test_each_of_two_cells_has_a_line_of_its_own(told: Kernel) -> None:
    """The second one takes no picture away from the first."""
    ran = [told.run(f"%%serprof\nwait()\n{at}") for at in range(2)]

    assert [shown(one) for one in ran] == [["picture"], ["picture"]]
    handles = {json.dumps(one.outputs[0]["transient"]) for one in ran}
    assert len(handles) == len(ran)


def test_a_kernel_that_is_restarted_in_a_wait_begins_anew(new_kernel: Kernel) -> None:
    """Nothing of the line is left that the next one would come across."""
    start = "%load_ext jupyter_serprof\nimport pickle, time"
    new_kernel.run(start)
    new_kernel.client.execute("%%serprof\npickle.dumps([1])\ntime.sleep(300)")
    while new_kernel._message()["msg_type"] != "update_display_data":
        pass
    new_kernel._manager.restart_kernel(now=True)
    new_kernel.client.wait_for_ready(timeout=120)

    new_kernel.run(start)
    ran = new_kernel.run("%%serprof\npickle.dumps([1])\ntime.sleep(1.3)")

    assert (shown(ran), ran.stream("stderr")) == (["picture"], "")
