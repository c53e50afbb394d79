"""Runs side by side: transports as bars, sizes and chunks as curves, both as tables.

In: a `Sweep`. Out: lines of text, marks of a picture.

>>> from jupyter_serprof.model import Point, Sweep, Variant
>>> from jupyter_serprof.views.sweep.runs import runs_of, time_text
>>> walls = [9_000, 5_000, 4_000, 6_000]
>>> points = tuple(Point("p", 8, at, at == 0, wall, 8, {}) for at, wall in enumerate(walls))
>>> sweep = Sweep(name="x", started="", variants=(Variant("p", "pickle 5"),), points=points)
>>> [(bar.label, time_text(bar)) for bar in runs_of(sweep, sweep.variants[0])]
[('warm', '5.00 µs'), ('cold', '9.00 µs')]
"""
