"""Growth over sizes: round trips of a value that is made in many sizes.

In: what gives a value for each size. Out: a `Sweep` with points, fits, crossovers.

>>> from jupyter_serprof.experiments.engine.experiment import run
>>> from jupyter_serprof.experiments.sizes.sweep import SizeSweep
>>> sweep = run(SizeSweep(lambda n: bytes(int(n)), [1e3, 1e4, 1e5], transports=["pickle"]))
>>> [point.moved_bytes - point.size_bytes < 50 for point in sweep.points if point.cold]
[True, True, True]
"""
