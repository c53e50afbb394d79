"""A Prediction: what a trace says that nobody measured, and how good such a guess was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Marks a trace as predicted: at another size, or over another link.

    Attributes
    ----------
    size_bytes
        Size that it is about.
    bandwidth_bytes_per_s
        Of the link that it was asked for; None without one.
    low_ns, high_ns
        Wall time, lower and upper end: what the held-out error and the spread of runs allow.
    holdout_bytes
        Size that was measured, not used, and predicted; None when only a link was added.
    error_share
        (predicted - measured) / measured there.
    straight_error_share
        The same of one straight line through all sizes that were used.
    assumptions
        Sentences: what was taken for granted.
    """

    size_bytes: int
    bandwidth_bytes_per_s: float | None = None
    low_ns: int | None = None
    high_ns: int | None = None
    holdout_bytes: int | None = None
    error_share: float | None = None
    straight_error_share: float | None = None
    assumptions: tuple[str, ...] = ()
