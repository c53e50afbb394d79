"""Watching calls while a recording runs: hooks that undo themselves, and the page of spans."""
