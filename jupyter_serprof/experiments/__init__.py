"""Running things: each folder answers one question, step by step, by a document.

In: a value, code, a collection, or documents. Out: a `Trace` or a `Sweep`. All stand on `engine`.

>>> from jupyter_serprof.experiments.engine.experiment import run
>>> from jupyter_serprof.experiments.blame.recording import BlameRun
>>> trace = run(BlameRun({"table": bytes(2_000_000), "label": "x"}, name="parcel"))
>>> trace.summary.headline
'`parcel["table"]` is 100 % of 2.00 MB, bytes'
"""
