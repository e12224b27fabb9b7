"""Violations of uniqueness as errors of ours."""

import asyncpg
import pytest

from dashwright.common.database.pool import Database
from dashwright.common.database.unique import unique
from dashwright.common.errors import Conflict

TAKEN = Conflict("Organization name taken")


async def test_what_is_taken_is_the_error_that_was_named(database: Database) -> None:
    """The violated constraint decides; the block may stand around the whole transaction."""
    with pytest.raises(Conflict, match="Organization name taken"), unique(otherwise={"org_name_key": TAKEN}):
        async with database.transaction() as connection:
            await connection.execute("insert into org (name) values ('a'), ('a')")


async def test_a_violation_nobody_named_passes(database: Database) -> None:
    """An unforeseen one is a failure of ours, never the wrong words."""
    with pytest.raises(asyncpg.UniqueViolationError), unique(otherwise={"user_by_login": TAKEN}):
        async with database.transaction() as connection:
            await connection.execute("insert into org (name) values ('a'), ('a')")


async def test_with_a_savepoint_the_transaction_goes_on(database: Database) -> None:
    """A refusal inside a savepoint costs the savepoint only."""
    async with database.transaction() as connection:
        await connection.execute("insert into org (name) values ('a')")
        with pytest.raises(Conflict), unique(otherwise={"org_name_key": TAKEN}):
            async with connection.transaction():
                await connection.execute("insert into org (name) values ('a')")
        await connection.execute("insert into org (name) values ('b')")
    async with database.connection() as connection:
        assert await connection.fetchval("select count(*) from org") == 2
