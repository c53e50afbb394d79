"""Files that end in ``.serprof.json``: one document each, readable without this package."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import Counter
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from jupyter_serprof.model.document import from_document, to_document
from jupyter_serprof.model.errors import DocumentError, shown
from jupyter_serprof.model.sweep import Sweep
from jupyter_serprof.model.trace import Trace

SUFFIX = ".serprof.json"
_OPEN = "Open a file that was written with --save or sp.save(doc, path)"
_WRITABLE = 0o222
#: The most that a run made has 215,000: marks of 60,000 names. Of memory each list
#: or object takes so many bytes; what a file may take is some room, and its size so many times.
_MOST_VALUES, _LIST_BYTES, _FREE_BYTES, _MOST_TIMES = 300_000, 150, 8_000_000, 20


def load(path: str | os.PathLike[str]) -> Trace | Sweep:
    """Read a document; nothing in it is executed.

    ``path``: A file written by ``--save`` or ``sp.save``.
    Raises ``DocumentError``: If the file cannot be read, is not ours, is damaged or cut off, or is
        newer than this version.
    """
    file = Path(path)
    data = _parsed(file, content_of(file))
    try:
        return from_document(data)
    except DocumentError as error:
        message = f"{file.name}: {error}"
        raise DocumentError(message) from error


def content_of(file: Path) -> bytes:
    """Return what stands in a plain file; `DocumentError` where it cannot be read."""
    try:
        kind = stat.S_IFMT(file.stat().st_mode)
        if kind not in {stat.S_IFREG, stat.S_IFDIR}:  # a pipe would wait, a device never end
            raise OSError(errno.EINVAL, "it is no plain file")  # noqa: TRY301
        return file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        message = f"cannot read {file.name}: {_why(error)}. Check the path"
        raise DocumentError(message) from error


def _parsed(file: Path, content: bytes) -> object:
    lists = content.count(b"[") + content.count(b"{")
    values = lists + content.count(b",")
    if values > _MOST_VALUES or lists * _LIST_BYTES > _FREE_BYTES + _MOST_TIMES * len(content):
        message = (
            f"{file.name} is not a jupyter_serprof document: none has as many values "
            f"({values:,} in {len(content):,} bytes). {_OPEN}"
        )
        raise DocumentError(message)
    try:
        return json.loads(content, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        message = (
            f"{file.name} is not a jupyter_serprof document, or it is cut off ({error}). {_OPEN}"
        )
        raise DocumentError(message) from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse repeated keys: each JSON reader keeps another of them."""
    made = dict(pairs)
    if len(made) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        message = f"an object has the key {shown(twice)} twice"
        raise ValueError(message)
    return made


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def save_document(doc: Trace | Sweep, path: str | os.PathLike[str]) -> None:
    """Write a document; an existing file is replaced only by a complete one.

    Raises ``DocumentError``: If the file cannot be written; whatever was there before is still
        there.
    """
    text = json.dumps(to_document(doc), separators=(",", ":"), allow_nan=False)
    write_whole(Path(path), text.encode("utf-8"))


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    A file that stands there keeps its mode, its owner and links to it: that of another user is
    written in place, not at once. What is no plain file, or is read-only, is refused.
    """
    temporary = None
    try:
        place = Path(os.path.realpath(file))
        known = _standing(place)
        # Not tempfile's, which are private: the umask can only be asked for by setting it.
        temporary = place.with_name(f".serprof-{uuid4().hex}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        if known is not None:
            try:
                with suppress(AttributeError):  # not on Windows
                    os.chown(temporary, known.st_uid, known.st_gid)
            except PermissionError:  # another user's, which it stays
                with place.open("r+b") as stream:
                    stream.truncate(stream.write(content))
                return
            os.chmod(temporary, stat.S_IMODE(known.st_mode))  # noqa: PTH101
        os.replace(temporary, place)  # noqa: PTH105
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        message = f"cannot write {file.name}: {_why(error)}. Choose a folder you can write to"
        raise DocumentError(message) from error
    finally:  # also when interrupted
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _standing(file: Path) -> os.stat_result | None:
    """Return what is to be replaced; raise where a plain write would fail, or write elsewhere."""
    try:
        known = file.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(known.st_mode):
        raise OSError(errno.EINVAL, "it is no plain file")
    if not known.st_mode & _WRITABLE or not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")
    return known
