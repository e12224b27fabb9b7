"""Conversion of unique violations to errors of the API."""

import asyncpg
import pytest

from dashwright.common.database.pool import Database
from dashwright.common.database.unique_violations import convert_unique_violations
from dashwright.common.errors import Conflict

NAME_TAKEN = Conflict("Organization name taken")


async def test_a_duplicate_name_raises_the_declared_error(database: Database) -> None:
    """The violated constraint selects the error; the block may enclose the whole transaction."""
    with pytest.raises(Conflict, match="Organization name taken"), convert_unique_violations({"org_name_key": NAME_TAKEN}):
        async with database.transaction() as connection:
            await connection.execute("insert into org (name) values ('a'), ('a')")


async def test_an_unlisted_violation_is_not_converted(database: Database) -> None:
    """A violation of another constraint is an internal failure and not converted to a wrong message."""
    with pytest.raises(asyncpg.UniqueViolationError), convert_unique_violations({"user_by_login": NAME_TAKEN}):
        async with database.transaction() as connection:
            await connection.execute("insert into org (name) values ('a'), ('a')")


async def test_a_violation_in_a_savepoint_keeps_the_transaction(database: Database) -> None:
    """A violation inside a savepoint rolls back to the savepoint, and the transaction continues."""
    async with database.transaction() as connection:
        await connection.execute("insert into org (name) values ('a')")
        with pytest.raises(Conflict), convert_unique_violations({"org_name_key": NAME_TAKEN}):
            async with connection.transaction():
                await connection.execute("insert into org (name) values ('a')")
        await connection.execute("insert into org (name) values ('b')")
    async with database.connection() as connection:
        assert await connection.fetchval("select count(*) from org") == 2
