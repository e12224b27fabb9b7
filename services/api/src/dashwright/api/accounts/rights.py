"""Transactions that change rights, with the invalidation of cached identities."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dashwright.api.auth.identity_cache import IdentityInvalidation
from dashwright.common.database.pool import Connection, Database


class RightsTransactions:
    """Transactions that change rights, and then invalidate the cached identities of the callers concerned."""

    def __init__(self, database: Database, identities: IdentityInvalidation) -> None:
        self._database = database
        self._identities = identities

    @asynccontextmanager
    async def invalidating(self, *subjects: str) -> AsyncIterator[Connection]:
        """Open a transaction, and yield its connection.

        At the end, the cached identities of ``subjects``, such as ``user:5`` or ``org:2``, are invalidated.
        """
        try:
            async with self._database.transaction() as connection:
                yield connection
        finally:
            # Triggers notify the other gateways at the commit, but this one must invalidate its cache before it responds. It does so
            # even after a failure, since the commit may have happened although its confirmation was lost.
            for subject in subjects:
                self._identities.invalidate(subject)
