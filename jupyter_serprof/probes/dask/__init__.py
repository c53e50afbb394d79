"""Dask on a cluster: the client, the scheduler and its workers, with an agent in each of them.

In: calls of the user. Out: spans, lanes, tables of tasks. `local`: without a cluster.

>>> from jupyter_serprof.probes.dask.client import DaskProbe
>>> [place.name for place in DaskProbe(detail=False).places()][2:6]
['Client.compute', 'Client.persist', 'Client.submit', 'Client.map']
"""
