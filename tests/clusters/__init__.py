"""Probes against the real libraries: one Ray for the session, delays and sizes that are known."""
