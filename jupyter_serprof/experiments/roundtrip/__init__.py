"""One value through every transport and back: pickle, cloudpickle, Ray's object store, Dask.

In: a value. Out: a `Sweep` of one size, a variant for each transport.

>>> from jupyter_serprof.experiments.engine.experiment import run
>>> from jupyter_serprof.experiments.roundtrip.trip import RoundTrip
>>> trip = RoundTrip(bytearray(1000), name="block", transports=["pickle", "pickle-oob"])
>>> for variant in run(trip).variants:
...     print(variant.title, variant.facts["in_band_bytes"], variant.result, sep=" | ")
pickle in-band | 1022 | a new object
pickle out-of-band | 1022 | a new object
"""
