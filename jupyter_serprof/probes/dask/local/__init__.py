"""Dask without a cluster: threads, processes and the synchronous scheduler.

In: calls of the user. Out: spans of steps and tasks, a lane for each thread and process.

>>> from jupyter_serprof.probes.dask.local.probe import DaskLocalProbe
>>> [place.name for place in DaskLocalProbe(detail=False).places()][:2]
['compute', 'persist']
"""
