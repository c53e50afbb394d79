"""timelines."""
