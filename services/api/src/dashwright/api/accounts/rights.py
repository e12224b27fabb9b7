"""Transactions that change rights, with the invalidation of cached identities."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dashwright.api.auth.identity_cache import IdentityInvalidation
from dashwright.common.database.pool import Connection, Database


class Rights:
    """Changes of rights. Every use case that changes what a caller may do uses ``changing``."""

    def __init__(self, database: Database, identities: IdentityInvalidation) -> None:
        self._database = database
        self._identities = identities

    @asynccontextmanager
    async def changing(self, *subjects: str) -> AsyncIterator[Connection]:
        """Open a transaction that changes the rights of subjects such as ``user:5`` or ``org:2``, and yield it."""
        try:
            async with self._database.transaction() as connection:
                yield connection
        finally:
            # Triggers notify the other gateways at the commit; this one must invalidate before it responds. Also after a failure:
            # the commit may have happened although its confirmation was lost.
            for subject in subjects:
                self._identities.forget(subject)
