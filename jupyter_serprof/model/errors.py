"""The errors that this package raises on purpose; each message ends with what to do."""

from __future__ import annotations


class SerprofError(Exception):
    """What every error of this package derives from."""


class UsageError(SerprofError):
    """Something was asked for in a way that cannot be answered (an unknown option, a bad value)."""


class ProbeUnavailable(SerprofError):
    """A library was asked for by name and cannot be watched: missing, too old or not running."""


class DocumentError(SerprofError):
    """A document is damaged, foreign, or newer than this version can read."""
