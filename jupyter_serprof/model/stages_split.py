"""Stages inside one dumps and one loads, as passes that leave something out tell them apart."""

from __future__ import annotations

from jupyter_serprof.model.road import Stage

SPLIT_OF_DUMPS = (
    Stage(
        "pickle.reduce",
        "Reducers",
        11,
        "pickle",
        note="__reduce_ex__, __getstate__ and registered reducers, and those of cloudpickle for "
        "classes and functions written by value; a lower bound: what it costs to watch them is "
        "taken off",
        parent="pickle.dumps",
    ),
    Stage(
        "pickle.opcodes",
        "Write opcodes",
        12,
        "pickle",
        note="visiting every object and writing its opcodes",
        parent="pickle.dumps",
    ),
    Stage(
        "pickle.opcodes-memo",
        "Opcodes and memo",
        12,
        "pickle",
        note="visiting every object, writing its opcodes and remembering it, where a pickler "
        "without memo does other work, so that the two were not told apart",
        parent="pickle.dumps",
    ),
    Stage(
        "pickle.memo",
        "Memo",
        13,
        "pickle",
        note="remembering every object that was visited; what is saved by a pickler without memo; "
        "that of classes and functions written by value is in the opcodes",
        parent="pickle.dumps",
    ),
    Stage(
        "pickle.copy",
        "Copy into the pickle",
        14,
        "pickle",
        note="copying buffers and opcodes into memory that is known already",
        parent="pickle.dumps",
    ),
    Stage(
        "pickle.allocate",
        "Allocate and touch pages",
        15,
        "pickle",
        note="making the bytes object grow: new pages, page faults",
        parent="pickle.dumps",
    ),
)
SPLIT_OF_LOADS = (
    Stage(
        "unpickle.objects",
        "Build objects",
        91,
        "pickle",
        note="reading opcodes, building objects, __setstate__; without the bytes of large buffers",
        parent="pickle.loads",
    ),
    Stage(
        "unpickle.copy",
        "Copy out of the pickle",
        92,
        "pickle",
        note="copying the large buffers into memory that is known already",
        parent="pickle.loads",
    ),
    Stage(
        "unpickle.allocate",
        "Allocate and touch pages",
        93,
        "pickle",
        note="memory for the large buffers: new pages, page faults",
        parent="pickle.loads",
    ),
)
