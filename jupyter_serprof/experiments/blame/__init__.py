"""blame."""
