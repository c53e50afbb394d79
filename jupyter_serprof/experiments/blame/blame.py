"""The anatomy of one object, and its plain pickle beside it."""

from __future__ import annotations

import math
import pickle
import time

from jupyter_serprof.experiments.blame.descent import Descent
from jupyter_serprof.experiments.blame.tree import anatomy_of
from jupyter_serprof.model import Anatomy, UsageError
from jupyter_serprof.objects.ask import attribute, kind_module
from jupyter_serprof.objects.culprits import told

BUDGET_S = 30.0
_PROTOCOLS = (4, 5)


class Blame:
    """The anatomy of a value, as far as it has come: an interrupt leaves what is known.

    Parameters
    ----------
    value
        Anything that cloudpickle is asked to pickle; a remote function or actor class of Ray is
        replaced by the function or class that Ray pickles.
    name
        What its paths begin with.
    budget_s
        Seconds; a single reducer that takes longer can exceed it.

    Raises
    ------
    UsageError
        For another protocol than 4 or 5, and for a budget that is no number above 0.
    """

    def __init__(
        self, value: object, name: str = "it", budget_s: float = BUDGET_S, protocol: int = 5
    ) -> None:
        import cloudpickle  # noqa: F401  (its first import is nothing of the object)

        _check(budget_s, protocol)
        self._name, self._budget_s, self._protocol = name, budget_s, protocol
        self.value = unwrapped(value)
        self._descent: Descent | None = None

    def run(self, known_s: float | None = None, known_bytes: int | None = None) -> Anatomy:
        """Make the anatomy; what one pickle has taken before tells how often it can be pickled."""
        deadline = time.monotonic() + self._budget_s
        self._descent = Descent(self.value, self._name, deadline, self._protocol, known_s)
        self._descent.known_bytes = known_bytes
        self._descent.run()
        return self.anatomy

    @property
    def was_interrupted(self) -> bool:
        """Tell whether the user interrupted it."""
        return self._descent is not None and self._descent.was_interrupted

    @property
    def anatomy(self) -> Anatomy:
        """What is known until now."""
        return self.timed(None)

    def timed(self, dumps_ns: int | None) -> Anatomy:
        """Return what is known until now, its times scaled to those of the plain dumps."""
        if self._descent is None:
            return Anatomy(name=self._name, is_complete=False)
        return anatomy_of(self._descent, dumps_ns)


def pickle_and_back(value: object) -> str:
    """Make a plain pickle of a value and a value of it; return what went wrong, or nothing.

    A recording around it sees both: with the anatomy they make the picture of one object.
    """
    import cloudpickle

    try:
        data = cloudpickle.dumps(value, protocol=5)
    except Exception:  # noqa: BLE001  (the anatomy says what, and where)
        return ""
    try:
        pickle.loads(data)  # noqa: S301  (its own pickle)
    except Exception as error:  # noqa: BLE001  (reducers of users raise anything)
        return f"its pickle cannot be loaded again: {told(error)}"
    return ""


def unwrapped(value: object) -> object:
    """Return what Ray pickles of a remote function or an actor class; anything else as it is."""
    kinds = type.__dict__["__mro__"].__get__(type(value), type)
    if not any(kind_module(kind).startswith("ray.") for kind in kinds):
        return value
    function = attribute(value, "_function")
    if function is not None:
        return function
    found = attribute(attribute(value, "__ray_metadata__"), "modified_class")
    return value if found is None else found


def _check(budget_s: float, protocol: int) -> None:
    if protocol not in _PROTOCOLS:
        message = f"protocol is {protocol!r}; an anatomy is made of protocol 4 or 5: protocol=5"
        raise UsageError(message)
    known: object = budget_s
    is_number = isinstance(known, int | float) and not isinstance(known, bool)
    if not is_number or not 0 < budget_s < math.inf:
        message = f"budget_s is {budget_s!r}; it is a number of seconds above 0, e.g. budget_s=60"
        raise UsageError(message)
