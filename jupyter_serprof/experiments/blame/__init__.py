"""Which part of an object is to blame: its pickle, divided among its parts, exact to the byte.

In: a value, or what crossed a boundary while code ran. Out: an `Anatomy`, a tree of nodes.

>>> import jupyter_serprof as sp
>>> anatomy = sp.blame({"table": bytes(5_000), "labels": ["a", "b"]}, name="parcel")
>>> [(part.label, part.self_bytes) for part in anatomy.parts]
[('parcel', 33), ('["table"]', 5006), ('["labels"]', 12)]
"""
