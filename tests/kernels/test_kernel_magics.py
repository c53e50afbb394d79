"""The magics in a real kernel: what a notebook gets, also when a cell fails or is stopped."""

import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from kernels.conftest import Kernel
from nbclient import NotebookClient

from jupyter_serprof.model.document import MIME_TYPE

pytestmark = pytest.mark.notebook

#: The data of an output with up to 60 rows, as the kernel sends it.
MOST_BYTES = 40_000
#: Prints while the main thread already waits.
ANNOUNCE = "threading.Timer(0.5, print, ['waiting']).start()"


def executed(folder: Path, *cells: str) -> nbformat.NotebookNode:
    """Run code cells as JupyterLab's Run All does; return the notebook."""
    notebook = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]  # nbformat
    notebook.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]  # type: ignore[no-untyped-call]
    NotebookClient(
        notebook, timeout=120, store_widget_state=False, resources={"metadata": {"path": folder}}
    ).execute()
    return notebook  # type: ignore[no-any-return]


# A whole notebook


def test_run_all_gives_documents_and_no_noise(tmp_path: Path) -> None:
    """Cell, line and value: one document each, with text and picture, nothing on stderr."""
    notebook = executed(
        tmp_path,
        "%load_ext jupyter_serprof\nimport pickle",
        "%%serprof\nx = pickle.dumps([1] * 1000)\nlen(x)",
        "%serprof pickle.loads(x)",
        "%serprof x",
    )

    shown = [[o for o in cell.outputs if "data" in o] for cell in notebook.cells]
    assert [len(outputs) for outputs in shown] == [0, 2, 1, 1]
    assert shown[1][0].output_type == "execute_result"
    for outputs in shown[1:]:
        assert set(outputs[-1].data) == {"text/plain", "image/png", MIME_TYPE}
        assert outputs[-1].metadata["image/png"]["alt"]
    assert not [o for cell in notebook.cells for o in cell.outputs if o.get("name") == "stderr"]
    assert "widgets" not in notebook.metadata


# A cell


@pytest.mark.parametrize(
    "cell",
    [
        "%%serprof\npickle.dumps(1)\n{}\ntime.sleep(60)",
        "%serprof ({}, time.sleep(60))",
        "%serprof --repeat 3 ({}, time.sleep(60))",
        "%%time\n%%serprof\npickle.dumps(1)\n{}\ntime.sleep(60)",
    ],
    ids=["cell", "line", "repeat", "below"],
)
def test_an_interrupt_while_waiting_passes_through_and_is_shown(kernel: Kernel, cell: str) -> None:
    """The cell ends with KeyboardInterrupt at once, and the partial picture says interrupted."""
    ran = kernel.run(cell.format(ANNOUNCE), interrupt_at="waiting")

    assert ran.status == "error"
    assert "KeyboardInterrupt" in ran.error
    assert "jupyter_serprof" not in ran.error
    assert ran.trace.outcome == "interrupted"
    assert ran.trace.wall_ns < 30 * 10**9
    assert " until stopped: " in ran.texts[0]
    assert kernel.run("1 + 1").value == "2"


def test_an_interrupted_round_trip_keeps_the_finished_rows(kernel: Kernel) -> None:
    """Ctrl-C in the middle of a transport: its row and the others say what happened."""
    kernel.run(
        "class Slow:\n    runs = 0\n    def __reduce__(self):\n        Slow.runs += 1\n"
        f"        if Slow.runs > 6:\n            {ANNOUNCE}\n            time.sleep(60)\n"
        "        return (Slow, ())"
    )

    ran = kernel.run("%serprof --transports pickle,cloudpickle Slow()", interrupt_at="waiting")

    assert ran.status == "error"
    assert "KeyboardInterrupt" in ran.error
    assert 1 <= len(ran.sweep.points) <= 6
    assert "interrupted after" in ran.texts[0]


def test_completion_replaces_the_word(kernel: Kernel) -> None:
    """Tab behind --tra gives --transports in the place of --tra."""
    text = "%serprof --tra"

    reply = kernel.complete(text)

    assert reply["matches"] == ["--transports"]
    start, end = reply["cursor_start"], reply["cursor_end"]
    assert text[:start] + reply["matches"][0] + text[end:] == "%serprof --transports"


def test_outputs_name_no_user_host_or_path(kernel: Kernel, tmp_path: Path) -> None:
    """A notebook can be shared: code as typed is in it, the machine is not."""
    path = str(tmp_path / "gone")
    cells = [
        "%%serprof\npickle.dumps(1)",
        "%serprof pickle.loads(pickle.dumps(2))",
        "%serprof [1, threading.Lock()]",
        f"class Lost:\n    def __reduce__(self): open({path!r})\nlost = Lost()\n%serprof lost",
    ]

    ran = [kernel.run(cell) for cell in cells]

    written = json.dumps([each.outputs for each in ran])
    assert "FileNotFoundError" in written or "cannot be pickled" in written
    assert str(tmp_path) not in written
    assert [each.names_of_the_machine() for each in ran] == [[]] * len(cells)


# Sizes


@pytest.mark.parametrize(
    "cell",
    [
        "%%serprof\nfor i in range(20): pickle.loads(pickle.dumps(i))",
        "%serprof [pickle.loads(pickle.dumps(i)) for i in range(20)]",
        "%serprof --repeat 20 pickle.dumps(1)",
        "%serprof {'a': b'x' * 1_000_000, 'b': list(range(1000))}",
    ],
    ids=["cell", "line", "repeat", "value"],
)
def test_an_output_stays_below_its_bound(
    kernel: Kernel, cell: str, record_property: Callable[[str, object], None]
) -> None:
    """Text, picture and document of up to 60 rows take at most 40 kB."""
    ran = kernel.run(cell)
    size_bytes = ran.written_bytes

    record_property("output_bytes", size_bytes)
    record_property("saved_bytes", ran.saved_bytes)
    assert len(ran.documents) == 1
    assert size_bytes <= MOST_BYTES


# Ray


@pytest.mark.ray
def test_ray_is_a_row_of_the_round_trip(
    ray_kernel: Kernel, record_property: Callable[[str, object], None]
) -> None:
    """Eight megabytes through four transports: zero-copy by address, in 55 kB of output."""
    # Of eight waterfalls with their outlines: 44 kB, 52 where a busy machine cuts what ran in
    # pieces.
    ran = ray_kernel.run("a = np.ones(1_000_000)\n%serprof a")

    assert ran.status == "ok", ran.error
    rows = {variant.key: variant for variant in ran.sweep.variants}
    assert {row.state for row in rows.values()} == {"ok"}
    assert rows["ray"].result == "zero-copy, read-only"
    assert rows["ray"].buffers == ((8_000_000, "out-of-band"),)
    assert all(row.facts["equal"] is True for row in rows.values())
    assert ran.stream("stderr") == ""
    record_property("output_bytes", ran.written_bytes)
    record_property("saved_bytes", ran.saved_bytes)
    assert ran.written_bytes <= 55_000


#: Prints when the main thread waits in ray.get: a first submission may take long before that.
ANNOUNCE_GET = """
def names(frame):
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back
def look():
    main = threading.main_thread().ident
    while "get_objects" not in names(sys._current_frames()[main]): time.sleep(0.01)
    time.sleep(0.5)
    print("waiting")
def announce(): threading.Thread(target=look).start()"""


@pytest.mark.ray
@pytest.mark.parametrize(
    "cell",
    [
        "%%serprof\nannounce()\nray.get(sleeper.remote())",
        "%serprof (announce(), ray.get(sleeper.remote()))",
    ],
    ids=["cell", "line"],
)
def test_an_interrupt_in_ray_get_passes_through_and_is_shown(
    ray_kernel: Kernel, cell: str, tmp_path: Path
) -> None:
    """The wait ends, the error is KeyboardInterrupt, the picture says interrupted."""
    ray_kernel.run(
        f"import os, sys{ANNOUNCE_GET}\n@ray.remote(max_retries=0)\ndef sleeper():\n"
        f"    while not os.path.exists({str(tmp_path / 'end')!r}): time.sleep(0.05)"
    )

    ran = ray_kernel.run(cell, interrupt_at="waiting")
    (tmp_path / "end").touch()

    assert ran.status == "error"
    assert "KeyboardInterrupt" in ran.error
    assert ran.trace.outcome == "interrupted"
    assert "ray.submit" in {span.stage for span in ran.trace.spans}
    assert ray_kernel.run("ray.get(ray.put(1))").value == "1"


@pytest.mark.ray
def test_a_ray_that_runs_is_not_shut_down(ray_kernel: Kernel) -> None:
    """--transports ray uses the user's Ray and leaves it; what comes back otherwise is told."""
    before = ray_kernel.run("ray.get_runtime_context().get_job_id()").value

    ran = ray_kernel.run("%serprof --transports ray --repeat 1 bytearray(b'abc' * 1000)")

    (row,) = ran.sweep.variants
    assert (row.key, row.state, row.facts["equal"]) == ("ray", "ok", True)
    assert row.notes == ("a bytearray comes back as bytes",)
    assert ray_kernel.run("ray.get_runtime_context().get_job_id()").value == before


@pytest.mark.ray
def test_a_cell_with_tasks_stays_below_its_bound(
    ray_kernel: Kernel, record_property: Callable[[str, object], None]
) -> None:
    """Dumps, loads, put, get, a task with an argument and one with a captured global: 40 kB."""
    ray_kernel.run("import cloudpickle\nb = np.ones(100_000)")

    ran = ray_kernel.run(
        "%%serprof\npickle.loads(pickle.dumps(b))\ncloudpickle.loads(cloudpickle.dumps(b))\n"
        "ref = ray.put(b)\nray.get(ref)\n"
        "@ray.remote\ndef size(x): return x.size\n"
        "@ray.remote\ndef captured(): return b.size\n"
        "ray.get([size.remote(b), size.remote(ref), captured.remote()])"
    )

    assert ran.status == "ok", ran.error
    assert ran.value == "[100000, 100000, 100000]"
    stages = {span.stage for span in ran.trace.spans}
    assert {"ray.store", "ray.submit", "ray.export", "pickle.dumps"} <= stages
    record_property("output_bytes", ran.written_bytes)
    record_property("saved_bytes", ran.saved_bytes)
    assert ran.written_bytes <= MOST_BYTES


@pytest.mark.ray
def test_ray_is_started_only_when_asked_for_by_name(ray_kernel: Kernel, new_kernel: Kernel) -> None:
    """Without: a row that says how. By name: it runs, a note says so, and it still runs."""
    # Shut down inside a recorded cell it is not running again, and what was measured is shown.
    # Ray's own variables let it join the cluster that is there: another one takes half a minute.
    joining = ray_kernel.run(
        "import os\n{'RAY_ADDRESS': ray.get_runtime_context().gcs_address}"
        " | {name: text for name, text in os.environ.items() if name.startswith('RAY_AUTH')}"
    )
    new_kernel.run(f"import os\nos.environ |= {joining.value}")
    new_kernel.run("%load_ext jupyter_serprof")

    row = new_kernel.run("%serprof --repeat 1 [1]")
    named = new_kernel.start_ray("%serprof --transports ray --repeat 1 [1]")
    still = new_kernel.run("import ray\nray.is_initialized()")
    ended = new_kernel.run("%%serprof\n_ = ray.put(1)\nray.shutdown()")
    after = new_kernel.run("%serprof --repeat 1 [1]")

    asked = {variant.key: variant for variant in row.sweep.variants}["ray"]
    assert asked.state == "not running"
    assert "--transports ray" in asked.reason
    assert named.status == "ok", named.stream("stderr")
    (variant,) = named.sweep.variants
    assert variant.state == "ok"
    assert "still runs; ray.shutdown() stops it" in variant.notes[0]
    assert still.value == "True"
    assert "ray.store" in {span.stage for span in ended.trace.spans}
    assert {v.key: v.state for v in after.sweep.variants}["ray"] == "not running"
