"""roundtrip."""
