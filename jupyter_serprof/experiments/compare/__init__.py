"""Before and after: whether a difference is real, or the noise of the machine.

In: two documents, or two functions that run in turns. Out: a `Comparison` with its verdicts.

>>> import math
>>> from jupyter_serprof.experiments.compare.statistics import shift_of
>>> before, after = [10.0, 10.1, 10.2, 10.3, 10.4] * 2, [15.0, 15.1, 15.2, 15.3, 15.4] * 2
>>> shift = shift_of(before, after)
>>> print(f"{math.exp(shift.low):.2f}x to {math.exp(shift.high):.2f}x")
1.47x to 1.51x
"""
