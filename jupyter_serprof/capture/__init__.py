"""Watching calls while a recording runs: hooks that undo themselves, and the page of spans.

In: places, the attributes to watch. Out: a record for each call, frozen to the spans of a `Trace`.

>>> from jupyter_serprof.capture.freeze import freeze
>>> from jupyter_serprof.capture.recorder import Recorder, span
>>> recorder = Recorder(probes=())
>>> recorder.start()
>>> with span("fill the cache"):
...     cache = list(range(1000))
>>> recorder.stop()
>>> first = freeze(recorder, name="a cell").spans[0]
>>> first.name, first.lane
('fill the cache', 'client/main')
"""
