"""A document in a notebook: every form of it at once, a page of its own, a live picture.

In: a document. Out: a MIME bundle, HTML, a widget.

>>> from jupyter_serprof.testing import make_trace
>>> from jupyter_serprof.views.notebook.bundle import bundle
>>> data, metadata = bundle(make_trace([("pickle.dumps", "client/main", 0, 6)]))
>>> sorted(data)
['application/vnd.jupyter-serprof.v1+json', 'image/png', 'text/plain']
"""
