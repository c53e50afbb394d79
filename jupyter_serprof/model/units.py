"""Numbers as people read them: the only place in Python where ns and bytes become text.

Three significant digits at most, decimal units (1 MB = 1,000,000 B, because rates and ``nbytes``
are decimal), thousands with a comma, a real minus, a space between digits and unit. A column that
adds up has one unit and fixed decimals instead: see `column_unit` and `column`.
``labextension/src/document/format.ts`` is the twin of this file.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

#: Does not apply: this stage carries no bytes, this run has no rate.
NOT_APPLICABLE = "–"  # noqa: RUF001  (an en dash is meant)
#: Applies, and was not seen.
NOT_SEEN = "n/a"
#: Below this many bytes a rate is mostly fixed cost and says nothing about the bytes.
RATE_FLOOR_BYTES = 64_000

_MINUS = "\u2212"
_TIMES = "\u00d7"
_DIGITS = 3
_PER_S = 1_000_000_000
_Units = tuple[tuple[str, int], ...]
_TIME_UNITS: _Units = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", _PER_S))
_BYTE_UNITS: _Units = (("B", 1), ("kB", 10**3), ("MB", 10**6), ("GB", 10**9), ("TB", 10**12))


def format_ns(duration_ns: float | None) -> str:
    """Return a duration in the largest unit that fits; None gives ``n/a``.

    >>> format_ns(1_840_000_000), format_ns(52_100_000), format_ns(33_000), format_ns(250)
    ('1.84 s', '52.1 ms', '33.0 µs', '250 ns')
    """
    return NOT_SEEN if duration_ns is None else _with_unit(duration_ns, _TIME_UNITS)


def format_bytes(size_bytes: float | None) -> str:
    """Return a size in decimal units; None gives ``n/a``.

    >>> format_bytes(800_000_000), format_bytes(12_400), format_bytes(124)
    ('800 MB', '12.4 kB', '124 B')
    """
    return NOT_SEEN if size_bytes is None else _with_unit(size_bytes, _BYTE_UNITS)


def format_rate(bytes_per_s: float | None) -> str:
    """Return a rate in decimal units per second; None gives ``n/a``.

    >>> format_rate(12.9e9)
    '12.9 GB/s'
    """
    return NOT_SEEN if bytes_per_s is None else f"{_with_unit(bytes_per_s, _BYTE_UNITS)}/s"


def format_share(share: float | None, decimals: int = 1) -> str:
    """Return a share (0..1) in percent; in sentences use no decimals. None gives ``n/a``.

    Whole percents are the rounding of the printed tenths, so that no sentence says 61 above 61.5;
    100 is all of it: what would round to it keeps its tenths.

    >>> format_share(0.185), format_share(0.6146, decimals=0), format_share(0.995, decimals=0)
    ('18.5 %', '62 %', '99.5 %')
    """
    if share is None or not math.isfinite(share * 1000):
        return NOT_SEEN
    tenths = share_tenths(share)
    decimals = decimals or int(995 <= tenths < 1000)  # noqa: PLR2004
    return f"{format_fixed(tenths / 10 if decimals else (tenths + 5) // 10, decimals)} %"


def share_tenths(share: float) -> int:
    """Return a share in tenths of a percent, as it is printed everywhere; halves go up.

    >>> share_tenths(0.1225), share_tenths(0.99449)
    (123, 994)
    """
    return math.floor(share * 1000 + 0.5)


def format_ratio(ratio: float | None) -> str:
    """Return a ratio with one decimal below 100; None gives ``n/a``.

    >>> format_ratio(14.62), format_ratio(59_375)
    ('14.6×', '59,375×')
    """  # noqa: RUF002
    if ratio is None:
        return NOT_SEEN
    return f"{format_fixed(ratio, 1 if abs(ratio) < 99.95 else 0)}{_TIMES}"  # noqa: PLR2004


def format_count(count: int | None) -> str:
    """Return an exact count with thousands; None gives ``n/a``.

    >>> format_count(390_629)
    '390,629'
    """
    return NOT_SEEN if count is None else format_fixed(count, 0)


def counted(count: int, noun: str) -> str:
    """Return how many of what.

    >>> counted(1, "row"), counted(2_000, "worker thread")
    ('1 row', '2,000 worker threads')
    """
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def counted_in_each(counts: Collection[int], noun: str) -> str:
    """Return how many of what there are in each, the least and the most.

    >>> counted_in_each([3, 3], "warm run"), counted_in_each([1, 5], "warm run")
    ('3 warm runs', '1 to 5 warm runs')
    """
    low, high = min(counts), max(counts)
    return f"{f'{format_count(low)} to ' if low < high else ''}{counted(high, noun)}"


def first_of(names: Sequence[str], most: int) -> str:
    """Name the first ones, and how many more there are.

    >>> first_of(["a", "b", "c"], 2), first_of(["a", "b"], 2)
    ('a, b, 1 more', 'a, b')
    """
    more = len(names) - most
    return ", ".join([*names[:most], *([f"{more} more"] if more > 0 else [])])


def format_fixed(number: float, decimals: int) -> str:
    """Return a number with exactly this many decimals, thousands and a real minus.

    >>> format_fixed(-1840, 1), format_fixed(-0.04, 1)
    ('−1,840.0', '0.0')
    """  # noqa: RUF002
    digits = f"{abs(number):,.{decimals}f}"
    return f"{_MINUS}{digits}" if number < 0 and digits.strip("0.,") else digits


def bytes_per_s(copied_bytes: int | None, busy_ns: int) -> float | None:
    """Return bytes over busy time; None where a rate would say nothing (below 64 kB, no time).

    >>> bytes_per_s(800_000_000, 62_500_000)
    12800000000.0
    """
    if copied_bytes is None or copied_bytes < RATE_FLOOR_BYTES or busy_ns <= 0:
        return None
    return copied_bytes / busy_ns * _PER_S


@dataclass(frozen=True, slots=True)
class ColumnUnit:
    """The one unit and the fixed decimals of a column that adds up.

    ``name``: ``ns``, ``µs``, ``ms`` or ``s``.
    ``unit_ns``: How many ns one of it is.
    ``decimals``: Digits after the point, the same in every row.
    """

    name: str
    unit_ns: int
    decimals: int

    def text(self, duration_ns: float) -> str:
        """Return a duration in this unit, without its name."""
        return format_fixed(duration_ns / self.unit_ns, self.decimals)


def column_unit(wall_ns: int) -> ColumnUnit:
    """Choose the unit of the columns of a table from its wall time.

    The one in which sentences tell it, with a fourth digit for small rows: 1.840 s.

    >>> column_unit(1_840_000_000)
    ColumnUnit(name='s', unit_ns=1000000000, decimals=3)
    """
    name, unit_ns = _unit(wall_ns, _TIME_UNITS)
    if unit_ns == 1:
        return ColumnUnit(name, unit_ns, 0)
    return ColumnUnit(name, unit_ns, 4 - min(3, len(str(int(_significant(wall_ns / unit_ns))))))


def column(values: Sequence[int], total: float, decimals: int, unit: float) -> list[str]:
    """Print a column so that the printed numbers add up to the printed total.

    Every number is rounded down to the last digit; what is then missing from the total goes to the
    largest remainders (Hare's method), so that no number moves by a whole unit of its last digit.
    A measured zero stays ``0``, without decimals, and is thereby told from a small number.

    ``values``: (n,) whole numbers, at least 0 each (ns); the texts have their order.
    ``total``: Their sum.
    ``decimals``: Digits after the point.
    ``unit``: What one of the printed unit is, in ns: ``ColumnUnit.unit_ns``.
    """
    parts = column_digits(values, last_digits(total, decimals, unit), decimals, unit)
    return [
        format_fixed(part / 10**decimals, decimals) if value else "0"
        for part, value in zip(parts, values, strict=True)
    ]


def last_digits(number: float, decimals: int, unit: float) -> int:
    """Return how many of the last digit `format_fixed` prints; 60.425 is 60.42 in binary."""
    return round(float(f"{number / unit:.{decimals}f}") * 10**decimals) if unit else 0


def column_digits(values: Sequence[int], whole: int, decimals: int, unit: float) -> list[int]:
    """Return how many of the last digit each number of a `column` gets, ``whole`` together."""
    scaled = [value * 10**decimals / unit if unit else 0.0 for value in values]
    parts = [math.floor(number) for number in scaled]
    by_remainder = sorted(range(len(parts)), key=lambda i: parts[i] - scaled[i])
    for index in by_remainder[: max(0, whole - sum(parts))]:
        parts[index] += 1
    return parts


def _with_unit(number: float, units: _Units) -> str:
    if not math.isfinite(number):
        return NOT_SEEN
    name, size = _unit(number, units)
    scaled = number / size
    if size == 1:
        return f"{format_fixed(scaled, 0)} {name}"
    whole_digits = len(str(int(abs(_significant(scaled)))))
    return f"{format_fixed(scaled, max(0, _DIGITS - whole_digits))} {name}"


def _unit(number: float, units: _Units) -> tuple[str, int]:
    """Return the largest unit in which the number, once rounded to three digits, is at least 1."""
    rounded = _significant(abs(number))
    return next((unit for unit in reversed(units) if rounded >= unit[1]), units[0])


def _significant(number: float) -> float:
    return float(f"{number:.{_DIGITS - 1}e}")


def moment_text(wall_ns: int | None = None) -> str:
    """Return a time of `time.time_ns` as documents have it, in UTC; None is now."""
    moment = datetime.now(UTC) if wall_ns is None else datetime.fromtimestamp(wall_ns / 1e9, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def plain(value: float) -> str:
    """Return a value as it is typed.

    >>> plain(1000), plain(1000.0), plain(0.25)
    ('1_000', '1_000', '0.25')
    """
    return f"{round(value):_}" if float(value).is_integer() else f"{value:g}"


def clean(text: str) -> str:
    r"""Return text on one line without control characters: a name may hold anything.

    >>> clean("a\nb\x1b[31m")
    'a b[31m'
    """
    spaced = "".join(" " if character.isspace() else character for character in text)
    return "".join(character for character in spaced if character.isprintable())


LONGEST_HEADLINE = 90
_LONGEST_CODE, _LONGEST_PATH, _SHORT_CODE = 30, 45, 15
_CODE, _LAST_PART = re.compile("`([^`]*)`"), re.compile(", (?:(?!, )[^`]|`[^`]*`)*$")


def shortened(sentence: str) -> str:
    """Return a headline of at most 90 characters: very long code goes first, then its last parts.

    >>> shortened("1.00 s: the cause, " + "more words " * 9)
    '1.00 s: the cause'
    >>> shortened(f"1.00 s: `{'name_' * 9}` of 80.0 MB travels inside of `{'call_' * 9}`")
    '1.00 s: `name_name_name…` of 80.0 MB travels inside of `call_call_call…`'
    """
    for most in (_LONGEST_PATH, _SHORT_CODE):
        for code in _CODE.findall(sentence) if len(sentence) > LONGEST_HEADLINE else ():
            sentence = sentence.replace(f"`{code}`", code_text(code, most))
        while len(sentence) > LONGEST_HEADLINE and (part := _LAST_PART.search(sentence)):
            sentence = sentence[: part.start()]
    return sentence if len(sentence) <= LONGEST_HEADLINE else f"{sentence[: LONGEST_HEADLINE - 1]}…"


def code_text(code: str, most: int = _LONGEST_CODE) -> str:
    """Return code in backquotes for a sentence, the end of a long one left out.

    >>> code_text("a"), code_text("ray.get([f.remote(a) for _ in range(10)])")
    ('`a`', '`ray.get([f.remote(a) for _ i…`')
    """
    line = clean(code).strip().replace("`", "'")
    return f"`{line if len(line) <= most else line[: most - 1] + '…'}`"


#: A global that a function uses has a name of the user; what is above it is a library's.
_BELOW_GLOBAL = re.compile(r"^.*<global (\w+)>")


def below_global(path: str) -> str:
    """Return a path from the last global on that it goes through, which has a name of the user.

    >>> below_global("task.function.<global svc>.conn.lock"), below_global("svc.conn")
    ('svc.conn.lock', 'svc.conn')
    """
    return _BELOW_GLOBAL.sub(r"\1", path)


def path_text(path: str) -> str:
    """Return a path in backquotes for a sentence, from a global on, else from its end.

    >>> path_text("model.layers[3].w"), len(path_text("x" + "[0]" * 40))
    ('`model.layers[3].w`', 47)
    """
    line = below_global(clean(path).strip().replace("`", "'"))
    return f"`{line if len(line) <= _LONGEST_PATH else '…' + line[1 - _LONGEST_PATH :]}`"


def a_kind(kind: str) -> str:
    """Return the name of a kind with its article: a list, an async_generator, an RLock."""
    is_an = re.match(r"(?!uni|us)[aeiouAEIO]|[FHLMNRSX](?=[A-Z])", kind)
    return f"{'an' if is_an else 'a'} {kind}"


def is_code(path: str) -> bool:
    """Tell whether a path can be pasted: not what a closure or a set holds.

    >>> is_code("model['w'][3]"), is_code("job.<closure lock>")
    (True, False)
    """
    try:
        compile(path, "<path>", "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # from a file it may be anything
        return False
    return True


#: A comment; quotes with nothing between them; a literal of one or three quotes, or its beginning.
_SECRET = re.compile(
    r"""\#[^\n]* | ''(?!') | ""(?!")
    | (?P<quote>'{3}|"{3}|'|")(?:\\.|(?!(?P=quote)).)*(?:(?P=quote)|$)""",
    re.DOTALL | re.VERBOSE,
)


def without_literals(code: str) -> str:
    """Return code that may be shared: a literal, a comment or a command may hold a password.

    >>> without_literals("connect('secret', user='') # or: hidden")
    "connect('...', user='') #..."
    >>> without_literals("!login --token secret")
    '!login ...'
    """
    if code.lstrip().startswith(("!", "%")):
        word, *rest = code.split(maxsplit=1)
        return f"{word} ..." if rest else word
    return _SECRET.sub(_hidden, code)


def _hidden(found: re.Match[str]) -> str:
    quote = found["quote"]
    if quote is None:
        return "#..." if found[0].startswith("#") else found[0]
    return f"{quote}...{quote}"
