"""Conversion of unique violations to errors of the API, for callers that do not know the driver's errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import asyncpg

from dashwright.common.errors import DashwrightError


@contextmanager
def convert_unique_violations(errors: Mapping[str, DashwrightError]) -> Iterator[None]:
    """Raise an error of ``errors``, by the name of the unique constraint or index that the block violates.

    Other violations pass unchanged. PostgreSQL aborts the transaction in either case. Enclose the whole transaction in
    the block, or only a savepoint (``connection.transaction()``) if the transaction continues after the error.
    """
    try:
        yield
    except asyncpg.UniqueViolationError as violation:
        error = errors.get(violation.constraint_name or "")
        if error is None:
            raise
        raise error from violation
