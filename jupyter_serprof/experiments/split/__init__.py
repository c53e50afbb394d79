"""What pickling a value consists of: opcodes, reducers, frames, copies, each with its time.

In: a value. Out: a `Trace` of passes that leave one kind of work out.

>>> from jupyter_serprof.experiments.engine.experiment import run
>>> from jupyter_serprof.experiments.split.passes import Split
>>> trace = run(Split([1.5] * 1000, name="prices"))
>>> print(trace.summary.headline)
prices (9.02 kB in-band): dumps ...: 100 % Opcodes and memo; loads ...: 100 % Build objects.
"""
