"""Who holds the bytes of a graph, layer by layer, as it would be sent.

In: a graph. Out: `GraphBytes`, and the table of it.

>>> import dask.bag as db
>>> from jupyter_serprof.probes.dask.graph.look import graph_bytes
>>> bag = db.from_sequence([bytes(50_000), b""], npartitions=2)
>>> max(layer.size_bytes for layer in graph_bytes(bag.dask).layers) > 50_000
True
"""
