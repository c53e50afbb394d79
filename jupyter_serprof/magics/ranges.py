"""What is swept, as it is typed: ``n=FROM:TO:COUNT``."""

from __future__ import annotations

import keyword
import math
import re
from dataclasses import dataclass

from jupyter_serprof.model import UsageError

_MOST = 200
_FORM = re.compile(
    r"(?:(?P<name>[^=:]*)=)?(?P<low>[^:]*)(?::(?P<high>[^:]*))?(?::(?P<count>[^:]*))?"
)


@dataclass(frozen=True, slots=True)
class Range:
    """A variable, the numbers between which it goes, and how many of them."""

    name: str
    low: float
    high: float
    count: int


def parse_range(flag: str, text: str) -> Range:
    """Return the range of ``n=1e3:1e8:12``.

    Raises
    ------
    UsageError
        With what is missing or wrong, and with what would be right instead.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise _wrong(flag, text, "has too many parts", Range("n", 1e3, 1e8, 12))
    name, low, high = found["name"], _number(found["low"]), _number(found["high"])
    count = found["count"]
    right = Range(
        name if name and _is_name(name) else "n",
        low or 1e3,
        high or 1e8,
        int(count) if count and count.isdecimal() and 1 < int(count[:4]) <= _MOST else 12,
    )
    if right.low > right.high:
        right = Range(right.name, right.high, right.low, right.count)
    if right.low == right.high:
        right = Range(right.name, right.low, 1000 * right.low, right.count)
    problem = _problem(name, low, high, count)
    if problem:
        raise _wrong(flag, text, problem, right)
    return right


def _problem(name: str | None, low: float | None, high: float | None, count: str | None) -> str:
    if not name or not _is_name(name):
        return f"{name!r} is no name of a variable" if name else "does not name the variable"
    if low is None or high is None:
        return "needs two numbers above 0, FROM and TO"
    if low >= high:
        return "goes from the larger number to the smaller" if low > high else "goes nowhere"
    if not count:
        return "does not say how many sizes"
    is_count = count.isdecimal() and len(count) < 4 and 1 < int(count) <= _MOST  # noqa: PLR2004
    return "" if is_count else f"needs a COUNT of sizes from 2 to {_MOST}, not {count!r}"


def _wrong(flag: str, text: str, problem: str, right: Range) -> UsageError:
    fixed = f"{right.name}={right.low:g}:{right.high:g}:{right.count}".replace("e+0", "e")
    return UsageError(
        f"{flag} needs n=FROM:TO:COUNT; {text!r} {problem}. Did you mean {flag} {fixed}"
    )


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None
