"""The road of a Dask collection: construction, optimization, scheduling, workers, results.

In: a collection, and whatever scheduler is there. Out: a `Trace`; a `Sweep` where it is repeated.

>>> import dask.array as da
>>> from jupyter_serprof.experiments.engine.experiment import run
>>> from jupyter_serprof.experiments.graphs.stages import GraphStages
>>> trace = run(GraphStages(lambda: da.ones(9, chunks=3).sum(), "sum", compute=True))
>>> {"dask.optimize", "dask.schedule", "dask.execute"} <= {span.stage for span in trace.spans}
True
"""
