"""Running things: a recording gives a Trace, a round trip and repeated runs give a Sweep."""
