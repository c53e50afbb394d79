"""Calls in threads that change places as often as the interpreter lets them."""

import sys
import threading
from collections.abc import Callable, Iterable


def in_threads(calls: Iterable[Callable[[], object]]) -> None:
    """Run each call in a thread of its own, until all are done."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
