"""Curves over sizes: middle times, straight pieces, crossovers, the sentence about growth.

In: points. Out: fits, crossovers, summary.

>>> from jupyter_serprof.analysis.sizes.curve import Curve
>>> from jupyter_serprof.analysis.sizes.fit import pieces
>>> sizes = tuple(10**power for power in range(3, 9))
>>> times = tuple(20_000 + 0.5 * size for size in sizes)  # 20 us and 2 GB/s
>>> line = pieces(Curve(sizes, times, (5,) * 6, (None,) * 6, 0.01, 24))[0]
>>> line.growth, round(line.fixed_ns), round(line.ns_per_byte, 3)
('linear', 20000, 0.5)
"""
