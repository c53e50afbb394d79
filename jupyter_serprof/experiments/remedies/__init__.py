"""What to do and what it gains: remedies, tried in turns with what is done now.

In: a value or code. Out: a `Sweep`, a variant for each remedy, with its gain and its interval.

>>> from jupyter_serprof.experiments.engine.experiment import run
>>> from jupyter_serprof.experiments.remedies.value import Tryout
>>> table = [{"a": float(n), "b": n} for n in range(20_000)]
>>> sweep = run(Tryout(table, name="rows", pairs=3))
>>> {"now: pickle in-band", "columns instead of rows"} <= {v.title for v in sweep.variants}
True
"""
