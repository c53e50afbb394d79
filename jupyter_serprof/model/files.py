"""Files that end in ``.serprof.json``: one document each, readable without this package."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from jupyter_serprof.model.document import from_document, to_document
from jupyter_serprof.model.errors import DocumentError, shown
from jupyter_serprof.model.sweep import Sweep
from jupyter_serprof.model.trace import Trace

SUFFIX = ".serprof.json"


def load(path: str | os.PathLike[str]) -> Trace | Sweep:
    """Read a document; nothing in it is executed.

    Parameters
    ----------
    path
        A file written by ``--save`` or ``sp.save``.

    Raises
    ------
    DocumentError
        If the file cannot be read, is not ours, is damaged or cut off, or is newer than this
        version.
    """
    file = Path(path)
    data = _parsed(file, _content(file))
    try:
        return from_document(data)
    except DocumentError as error:
        message = f"{file.name}: {error}"
        raise DocumentError(message) from error


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        message = f"cannot read {file.name}: {_why(error)}. Check the path"
        raise DocumentError(message) from error


def _parsed(file: Path, content: bytes) -> object:
    try:
        return json.loads(content, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        message = (
            f"{file.name} is not a jupyter_serprof document, or it is cut off ({error}). "
            "Open a file that was written with --save or sp.save(doc, path)"
        )
        raise DocumentError(message) from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse repeated keys: each JSON reader keeps another of them."""
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        message = f"an object has the key {shown(twice)} twice"
        raise ValueError(message)
    return made


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def save_document(doc: Trace | Sweep, path: str | os.PathLike[str]) -> None:
    """Write a document; an existing file is replaced only by a complete one.

    Raises
    ------
    DocumentError
        If the file cannot be written; whatever was there before is still there.
    """
    text = json.dumps(to_document(doc), separators=(",", ":"), allow_nan=False)
    write_whole(Path(path), text.encode("utf-8"))


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".serprof-")
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(temporary, 0o666 & ~_umask())  # noqa: PTH101  (mkstemp makes private files)
        os.replace(temporary, file)  # noqa: PTH105
        temporary = None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        message = f"cannot write {file.name}: {_why(error)}. Choose a folder you can write to"
        raise DocumentError(message) from error
    finally:  # also when interrupted
        if temporary is not None:
            os.unlink(temporary)  # noqa: PTH108


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
