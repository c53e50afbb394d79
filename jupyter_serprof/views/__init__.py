"""Views: a document as text, as a picture and as the output of a notebook cell.

In: a document, nothing else: they run nothing and measure nothing. Out: text, PNG, SVG, HTML, rows.

>>> from jupyter_serprof.analysis import analyse
>>> from jupyter_serprof.testing import make_trace
>>> from jupyter_serprof.views.text import text
>>> trace = analyse(make_trace([("pickle.dumps", "client/main", 0, 6)], wall_ms=10))
>>> print(text(trace, width=72))
10.0 ms: 60 % Pickle
<BLANKLINE>
stage        lane     0                      10.00 ms   self ms  share %
Pickle       client  │██████████████████▅            │     6.00     60.0
Unaccounted          │                  ·░░░░░░░░░░░░│     4.00     40.0
Wall time                                                 10.00    100.0
"""
