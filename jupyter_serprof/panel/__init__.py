"""Sweeps by widgets: choices become a plan, a plan becomes an experiment that takes its turn.

In: an offer (of values or of collections). Out: widgets, and documents in the notebook.

>>> from jupyter_serprof.panel.sizes import SizeOffer
>>> SizeOffer(lambda: {"table": bytes(1000)}).sources()[0]
Source(key='variable:table', title='table: bytes, 1.00 kB', reason='')
"""
