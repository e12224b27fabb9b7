"""Unique violations as errors of the tree, for callers that do not know the driver's errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import asyncpg

from dashwright.common.errors import DashwrightError


@contextmanager
def unique(*, otherwise: Mapping[str, DashwrightError]) -> Iterator[None]:
    """Raise the error in ``otherwise`` for the unique constraint or index that the block violates.

    Other violations pass unchanged. PostgreSQL aborts the transaction in either case. Put the block around all of it,
    or a savepoint (``connection.transaction()``) inside the block if more is to be done after a refusal.
    """
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        known = otherwise.get(error.constraint_name or "")
        if known is None:
            raise
        raise known from error
