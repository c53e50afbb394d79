"""Watching calls while a recording runs: clock, hooks that undo themselves, and the page of spans."""
