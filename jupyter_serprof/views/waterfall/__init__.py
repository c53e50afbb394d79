"""waterfall."""
