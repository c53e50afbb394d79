"""Faults of the interpreter and of the machine."""

from __future__ import annotations

from .matrix import Fault

FAULTS = (Fault("an exception in the block", "with recorded():\n    1 / 0", says="error"),)
