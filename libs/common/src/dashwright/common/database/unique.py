"""What is taken already, said in words: for callers that write without knowing the driver's errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import asyncpg

from dashwright.common.errors import DashwrightError


@contextmanager
def unique(*, otherwise: Mapping[str, DashwrightError]) -> Iterator[None]:
    """Raises the error that ``otherwise`` has for the constraint or unique index a statement of the block violates.

    A violation it does not name passes. The transaction is lost in either case: put the block around the whole of it, or a
    savepoint (``connection.transaction()``) inside the block where more is to be done after a refusal.
    """
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        known = otherwise.get(error.constraint_name or "")
        if known is None:
            raise
        raise known from error
