"""Faults, each met by one program twice, without a recording and with one: ``matrix.py``."""
