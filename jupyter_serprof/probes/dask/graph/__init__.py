"""Who holds the bytes of a graph: its large objects, and how many tasks hold them.

In: a graph that was sent. Out: `GraphBytes`, and the table of it.

>>> import dask.bag as db
>>> from jupyter_serprof.probes.dask.graph.look import graph_bytes
>>> bag = db.from_sequence([bytes(5_000_000), b""], npartitions=2)
>>> [(one.kind, one.size_bytes, one.references) for one in graph_bytes(bag.dask, 5_000_100).objects]
[('bytes', 5000000, 1)]
"""
