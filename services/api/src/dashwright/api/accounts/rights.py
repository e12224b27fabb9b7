"""The one way to change who may do what: in a transaction, and forgotten here before anybody is answered."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dashwright.api.auth.identity_cache import IdentityInvalidation
from dashwright.common.database.pool import Connection, Database


class Rights:
    """Triggers tell the other gateways at the commit; this one must not answer before it has forgotten, too."""

    def __init__(self, database: Database, identities: IdentityInvalidation) -> None:
        self._database = database
        self._identities = identities

    @asynccontextmanager
    async def changing(self, *subjects: str) -> AsyncIterator[Connection]:
        """A transaction about ``user:5`` or ``org:2``. They are forgotten however it ends: a commit that was lost may have happened."""
        try:
            async with self._database.transaction() as connection:
                yield connection
        finally:
            for subject in subjects:
                self._identities.forget(subject)
