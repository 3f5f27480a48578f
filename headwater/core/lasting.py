"""Modules are there to stay: the garbage collector need not look at them, neither now nor later.

Importing a server makes some hundred thousand objects.  Python searches them for garbage again and
again while they are made, and once more at every full collection; PySpark's workers ask for
one after each task, which was 30 ms of processor time a task.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lasting() -> Iterator[None]:
    """Whatever is made inside is never looked at again; for imports at the start of a process."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        # Libraries complain of what is still there when the process ends.
        atexit.register(gc.unfreeze)
