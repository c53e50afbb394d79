"""Running things, once or many times: a recording gives a Trace, a round trip and a sweep a Sweep."""
