"""The waterfall at a size, or over a link, that was not measured.

In: a `Sweep` over sizes. Out: a `Trace` with ``prediction``, and how far off it was where known.

>>> from jupyter_serprof.experiments.predict.predict import predict
>>> from jupyter_serprof.model import Point, Sweep, Variant
>>> sizes = [10_000, 100_000, 1_000_000]
>>> points = tuple(Point("p", n, 1, False, n, n, {"pickle.dumps": n}) for n in sizes)  # 1 GB/s
>>> sweep = Sweep(name="x", started="", variants=(Variant("p", "pickle 5"),), points=points)
>>> predict(sweep, 500_000, 1e6).summary.headline
'Predicted, not measured: 500 kB by pickle 5 over 1.00 MB/s takes about 500 ms.'
"""
