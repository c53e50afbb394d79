"""Files: a document comes back from disk, an old file survives, and no bad file is a traceback."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pythons import python
from strategies import described, described_sweep, sweeps, traces

from jupyter_serprof.model import DocumentError, SerprofError, Sweep, Trace, load, save_document
from jupyter_serprof.model.files import write_whole

DATA = Path(__file__).parents[1] / "data"
GOLDEN = DATA / "trace.v1.serprof.json"
REMEDIES = ("Take an undamaged copy", "Open a file", "Run: pip install", "Check the path")
SMALL = Trace(name="x", started="2026-11-21T08:00:00.000Z", wall_ns=5)
LARGE = Trace(name="x" * 100_000, started="2026-11-21T08:00:00.000Z", wall_ns=5)


def complaint(file: Path) -> str:
    """Return the message with which a file is refused; it must name the file and a remedy."""
    with pytest.raises(DocumentError) as caught:
        load(file)
    assert isinstance(caught.value, SerprofError)
    message = str(caught.value)
    assert file.name in message, message
    assert any(remedy in message for remedy in REMEDIES), message
    assert len(message) < 600
    return message


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A path for a document in an empty folder."""
    return tmp_path / "x.serprof.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the examples of a property, which overwrite each other's file."""
    return tmp_path_factory.mktemp("examples")


@given(doc=traces() | sweeps())
@settings(max_examples=30)
def test_a_saved_document_loads_as_it_was(folder: Path, doc: Trace | Sweep) -> None:
    """Whatever its names contain, a file gives back the trace or sweep, over any older file."""
    path = folder / "x.serprof.json"

    save_document(doc, path)

    expected = described_sweep(doc) if isinstance(doc, Sweep) else described(doc)
    assert load(path) == expected
    assert [entry.name for entry in folder.iterdir()] == [path.name]


def test_a_byte_order_mark_does_no_harm(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + GOLDEN.read_bytes())

    assert load(file) == load(GOLDEN)


# Bad files


@pytest.mark.parametrize("name", ["trace.v1", "trace.v1.packed", "sweep.v1"])
def test_a_file_that_is_cut_off_anywhere_is_complained_of(name: str, file: Path) -> None:
    """A download that stopped, a full disk: never a part of a document, never a traceback."""
    whole = (DATA / f"{name}.serprof.json").read_bytes().rstrip()
    ends = [*range(0, len(whole), 29), *range(len(whole) - 20, len(whole))]

    messages = []
    for end in ends:
        file.write_bytes(whole[:end])
        messages.append(complaint(file))

    assert all("cut off" in message for message in messages)


@given(position=st.integers(0, GOLDEN.stat().st_size - 1), byte=st.integers(0, 255))
def test_a_changed_byte_loads_or_is_complained_of(folder: Path, position: int, byte: int) -> None:
    """A flipped bit on a disk is a changed letter or a DocumentError."""
    path = folder / "x.serprof.json"
    content = bytearray(GOLDEN.read_bytes())
    content[position] = byte
    path.write_bytes(content)

    try:
        doc: object = load(path)
    except DocumentError as error:
        doc = error

    assert isinstance(doc, Trace | DocumentError)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "cut off", id="empty"),
        pytest.param(b" \n", "cut off", id="blank"),
        pytest.param(b"\x80\x05\x95\x00\x00N.", "not a jupyter_serprof document", id="pickle"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00", "not a jupyter_serprof document", id="png"),
        pytest.param(bytes(range(256)), "not a jupyter_serprof document", id="every-byte"),
        pytest.param(b"\xff\xfe" * 9, "not a jupyter_serprof document", id="utf-16-noise"),
        pytest.param(b"plain text", "not a jupyter_serprof document", id="text"),
        pytest.param(b"[1, 2]", "not a jupyter_serprof document", id="a-list"),
        pytest.param(b'{"cells": []}', "not a jupyter_serprof document", id="a-notebook"),
        pytest.param(b"[" * 100_000, "not a jupyter_serprof document", id="deep-and-open"),
        pytest.param(b"[" + b'"a",' * 400_000 + b"1]", "as many values", id="many-texts"),
        pytest.param(b"[" * 5000 + b"]" * 5000, "not a jupyter_serprof", id="deep-and-closed"),
        pytest.param(b'{"a":' * 500 + b"1" + b"}" * 500, "not a jupyter", id="deep-objects"),
        pytest.param(b"1" * 5000, "not a jupyter_serprof document", id="a-huge-number"),
        pytest.param(b'{"format": "a", "format": "b"}', "'format' twice", id="a-key-twice"),
    ],
)
def test_a_foreign_file_is_complained_of(content: bytes, words: str, file: Path) -> None:
    """A file of another program, or no file for a program at all, gets one clear sentence."""
    file.write_bytes(content)

    assert words in complaint(file)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"wall_ns": 6412300', '"wall_ns": NaN', "wall_ns"),
        ('"wall_ns": 6412300', '"wall_ns": Infinity', "wall_ns"),
        ('"wall_ns": 6412300', '"wall_ns": 1e999', "wall_ns"),
        ('"wall_ns": 6412300', '"wall_ns": ' + "9" * 400, "wall_ns"),
        ('"wall_ns": 6412300', '"wall_ns": ' + "9" * 5000, "cut off"),
        ('"wall_ns": 6412300', '"wall_ns": 6412300, "wall_ns": 6412300', "'wall_ns' twice"),
        ('"cores": 2', '"cores": NaN', "document.environment.cores is nan"),
        ('"cores": 2', '"cores": -Infinity', "document.environment.cores is -inf"),
        ('"cores": 2', '"cores": 1e999', "document.environment.cores is inf"),
        ('"zero_copy": true', '"zero_copy": ' + "[" * 300 + "]" * 300, "document.details"),
        ('"cores": 2', '"cores": 2, "cores": 2', "'cores' twice"),
        ('"version": 1,', '"version": 2,', "version 2"),
    ],
)
def test_tokens_that_json_or_readers_disagree_about_are_complained_of(
    old: str, new: str, words: str, file: Path
) -> None:
    """NaN, infinities, huge numbers and repeated keys mean something else to each reader."""
    text = GOLDEN.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), "utf-8")

    assert words in complaint(file)


@pytest.mark.parametrize(
    ("make", "said"),
    [(Path.exists, "No such file"), (Path.mkdir, "Is a directory"), (os.mkfifo, "no plain file")],
)
def test_what_is_no_file_is_complained_of(
    make: Callable[[Path], object], said: str, file: Path
) -> None:
    """A wrong name, or a folder in its place, gets the name and the advice to check it."""
    make(file)

    message = complaint(file)

    assert said in message
    assert "Check the path" in message


def test_an_impossible_path_is_complained_of() -> None:
    """A path that no system can hold is a wrong path, not a damaged document."""
    path = "a\0b.serprof.json"

    with pytest.raises(DocumentError, match="Check the path"):
        load(path)
    with pytest.raises(DocumentError, match="cannot write"):
        save_document(SMALL, path)


# Writing


@pytest.mark.parametrize("place", ["missing/x.serprof.json", "a-file/x.serprof.json", "a-folder"])
def test_an_unwritable_place_is_complained_of(place: str, tmp_path: Path) -> None:
    """The message says why and to choose another folder; nothing is left behind."""
    (tmp_path / "a-file").write_text("kept")
    (tmp_path / "a-folder").mkdir()

    with pytest.raises(DocumentError, match=r"cannot write.*Choose a folder you can write to"):
        save_document(SMALL, tmp_path / place)

    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a-file", "a-folder"]


#: Runs apart: the limit holds for every file of a process, and the logs of a Ray that lives in the
#: process of the tests are such files.
FULL_DISK = """
import resource, sys
from jupyter_serprof.model import load, save_document
from jupyter_serprof.model.errors import DocumentError

small, large = load(sys.argv[1]), load(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
save_document(small, sys.argv[3])
try:
    save_document(large, sys.argv[3])
except DocumentError as error:
    print(error)
"""


def test_a_full_disk_keeps_the_old_file(file: Path, tmp_path: Path) -> None:
    """A write that fails half-way, really: the old document is whole, no part of the new one."""
    folder = tmp_path / "given"
    folder.mkdir()
    small, large = folder / "small.serprof.json", folder / "large.serprof.json"
    save_document(SMALL, small)
    save_document(LARGE, large)

    printed = python(FULL_DISK, str(small), str(large), str(file))

    assert "cannot write x.serprof.json" in printed
    assert load(file) == SMALL
    assert [path for path in file.parent.iterdir() if path != folder] == [file]


@pytest.mark.parametrize("step", ["chmod", "replace"])
@pytest.mark.parametrize(
    ("failure", "expected"),
    [(PermissionError(13, "Permission denied"), DocumentError), (KeyboardInterrupt(), None)],
    ids=["refused", "interrupted"],
)
def test_a_write_that_stops_keeps_the_old_file(
    step: str,
    failure: BaseException,
    expected: type[BaseException] | None,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Refused or interrupted at any step: the old document is whole and nothing lies beside it."""
    save_document(SMALL, file)

    with monkeypatch.context() as broken:
        broken.setattr(f"jupyter_serprof.model.files.os.{step}", Mock(side_effect=failure))
        with pytest.raises(expected or type(failure)):
            save_document(LARGE, file)

    assert load(file) == SMALL
    assert list(file.parent.iterdir()) == [file]


def test_a_longest_name_can_be_written(tmp_path: Path) -> None:
    """The temporary file beside it needs no longer name than the file."""
    longest = tmp_path / ("x" * (255 - len(".serprof.json")) + ".serprof.json")

    save_document(SMALL, longest)

    assert load(longest) == SMALL


def test_what_stands_there_keeps_mode_owner_and_links(tmp_path: Path) -> None:
    """As after a plain write: a shared file stays shared, and a link a link."""
    file, link = tmp_path / "shared.serprof.json", tmp_path / "link.serprof.json"
    save_document(SMALL, file)
    file.chmod(0o640)
    owner = (12_345, 23_456) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    os.chown(file, *owner)
    link.symlink_to(file)

    save_document(LARGE, link)

    found = file.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (0o640, *owner)
    assert link.is_symlink()
    assert load(file) == load(link) == LARGE


def test_the_file_of_another_user_stays_his(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write it, but may not give it away, writes into the very file."""
    file = tmp_path / "shared.json"
    file.write_bytes(b"longer than what comes")
    before = file.stat().st_ino
    monkeypatch.setattr(os, "chown", Mock(side_effect=PermissionError))

    write_whole(file, b"new")

    assert (file.read_bytes(), file.stat().st_ino) == (b"new", before)
    assert [*tmp_path.iterdir()] == [file]


def test_a_new_file_has_the_mode_that_the_umask_gives_and_the_umask_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It belongs to the process: another thread may be creating a file."""
    (tmp_path / "plain").touch()
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was set"))

    save_document(SMALL, tmp_path / "x.serprof.json")

    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1
    saved = json.loads((tmp_path / "x.serprof.json").read_text("utf-8"))  # as any reader does
    assert saved["format"] == "serprof.trace"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: os.mkfifo(path), "no plain file"),  # noqa: PLW0108
        (lambda path: path.touch(0o444), "read-only"),
    ],
    ids=["pipe", "read-only"],
)
def test_what_must_not_be_replaced_is_refused(
    make: Callable[[Path], None], why: str, file: Path
) -> None:
    make(file)
    before = file.stat()

    with pytest.raises(DocumentError, match=why):
        save_document(SMALL, file)

    assert (file.stat().st_ino, file.stat().st_size) == (before.st_ino, before.st_size)
    assert list(file.parent.iterdir()) == [file]
