"""Ray: put, get and submit on the driver, and what workers reported of their tasks.

In: calls of the user. Out: spans, lanes of workers, notes on what this Ray does not report.

>>> from jupyter_serprof.probes.ray.driver import RayDriverProbe
>>> [place.name for place in RayDriverProbe(detail=False).places()][:2]
['Worker.put_object', 'SerializationContext.serialize']
"""
