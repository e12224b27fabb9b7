"""Imports of whole programs."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Import a program without garbage collections, which would take a sixth of the time.

    Importing a service makes some 200,000 objects, and nearly all of them are kept as long as the process runs.
    """
    gc.disable()
    try:
        yield
    finally:
        # Later collections, during which nothing else runs, need not look at these objects either.
        gc.freeze()
        gc.enable()
