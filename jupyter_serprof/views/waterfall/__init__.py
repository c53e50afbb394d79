"""One run, stage by stage: rows that add up to the wall time, as a table and as a picture.

In: a `Trace`. Out: a table of lines; marks of a picture.

>>> from jupyter_serprof.testing import make_trace
>>> from jupyter_serprof.views.waterfall.table import table_of
>>> [(line.title, line.share_text) for line in table_of(make_trace([], wall_ms=10)).lines]
[('Unaccounted', '100.0')]
"""
