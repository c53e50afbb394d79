"""One run, stage by stage: rows that add up to the wall time, as a table and as a picture.

In: a `Trace`. Out: a table of lines; marks of a picture.

>>> from jupyter_serprof.analysis import analyse
>>> from jupyter_serprof.testing import make_trace
>>> from jupyter_serprof.views.waterfall.table import table_of
>>> trace = analyse(make_trace([("pickle.dumps", "client/main", 0, 6)], wall_ms=10))
>>> for line in table_of(trace).lines:
...     print(line.title, line.self_text, line.share_text)
Pickle 6.00 60.0
Unaccounted 4.00 40.0
"""
