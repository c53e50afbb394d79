"""An anatomy in Markdown: what cannot be pickled, and the parts that are worth a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jupyter_serprof.analysis.anatomy import blame_facts, blame_sentence, kind_of, unpicklable_parts
from jupyter_serprof.model import Anatomy, Part
from jupyter_serprof.model.units import format_bytes, format_count, format_ns, format_share
from jupyter_serprof.views.kit.cells import listed, plain
from jupyter_serprof.views.kit.table import Line, markdown_table

_HEADS = ("path", "type", "in-band", "out-of-band", "share", "time", "state")
#: Parts below this share of all bytes get no line, unless they cannot be pickled.
_SMALL_SHARE = 0.01
_MOST_LINES = 40
#: Of a longer path the beginning and the end are shown.
_LONGEST_PATH = 120
_UNPICKLABLE = "unpicklable"


def anatomy_blocks(anatomy: Anatomy, said: str) -> Iterator[str]:
    """Yield who is to blame, the parts, and the notes; nothing that was said already."""
    sentence = blame_sentence(anatomy)
    if sentence not in said:
        yield f"**{plain(sentence)}**"
    yield from listed(f"{part.path} ({kind_of(part)}): {part.note}" for part in _bad(anatomy))
    shown = _worth(anatomy)
    if shown:
        yield markdown_table(_HEADS, (_line(anatomy, part) for part in shown), 2)
    left = len(anatomy.parts) - len(shown)
    more = [f"{format_count(left)} more parts in the document (.csv has all)"] if left > 0 else []
    facts = (fact for fact in blame_facts(anatomy) if fact not in said)
    yield from listed([*more, *facts, *anatomy.notes])


def _bad(anatomy: Anatomy) -> Sequence[Part]:
    return [part for part in unpicklable_parts(anatomy) if part.note][:_MOST_LINES]


def _worth(anatomy: Anatomy) -> list[Part]:
    """Return the parts that are shown, in the order of the pickle: what holds them first."""
    least = _SMALL_SHARE * anatomy.total_bytes
    worth = [
        at
        for at, part in enumerate(anatomy.parts)
        if part.bytes >= max(1, least) or part.state == _UNPICKLABLE or part.parent < 0
    ]

    def rank(at: int) -> tuple[bool, int]:
        part = anatomy.parts[at]
        return part.state != _UNPICKLABLE, -part.bytes

    return [anatomy.parts[at] for at in sorted(sorted(worth, key=rank)[:_MOST_LINES])]


def _line(anatomy: Anatomy, part: Part) -> Line:
    share = format_share(part.bytes / anatomy.total_bytes) if anatomy.total_bytes else ""
    time = "" if part.duration_ns is None else format_ns(part.duration_ns)
    sizes = (format_bytes(part.in_band_bytes), format_bytes(part.out_of_band_bytes))
    return plain(_clipped(part.path)), plain(kind_of(part)), *sizes, share, time, part.state


def _clipped(path: str) -> str:
    half = _LONGEST_PATH // 2
    return path if len(path) <= _LONGEST_PATH else f"{path[:half]} … {path[-half:]}"
