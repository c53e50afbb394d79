"""The best chunk size: a Dask computation, made with chunks of many sizes.

In: a function from chunk size to collection. Out: a `Sweep` and a recommendation, or why none.

>>> import dask.array as da
>>> from jupyter_serprof.experiments.engine.experiment import run
>>> from jupyter_serprof.experiments.chunks.sweep import ChunkSweep
>>> sweep = ChunkSweep(lambda n: da.ones(1000, chunks=int(n)), [200, 500], name="a", compute=True)
>>> run(sweep).summary.headline
'`a`: 2 sizes with warm runs, 3 are needed to recommend one'
"""
