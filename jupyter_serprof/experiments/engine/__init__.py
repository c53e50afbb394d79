"""What every experiment has: steps, a budget, telling on the way, Ctrl-C and going on.

In: an `Experiment`. Out: its document, as far as it came.

>>> from jupyter_serprof.experiments.engine.experiment import complete, run
>>> from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
>>> trip = RoundTrip([1, 2], transports=["pickle"], repeat=3)
>>> begun = trip.steps()
>>> next(begun)
>>> trip.progress
Progress(done=1, left=0, left_s=None, bound='', is_alike=True, what='')
>>> begun.close()
>>> [(point.repeat, point.cold) for point in run(trip).points]
[(0, True), (1, False), (2, False), (3, False)]
"""
