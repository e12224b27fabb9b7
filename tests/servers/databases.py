"""A fresh database for each test, copied from a template that has the whole schema."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import token_hex
from urllib.parse import urlsplit

import asyncpg

from dashwright.common.database import schema

_LOCK = 0x74657374  # one worker makes the template, the others wait


async def make_template(server_url: str) -> str:
    """The name of the template database, made unless one of the same schema is there already."""
    digest = hashlib.sha256("".join(migration.checksum for migration in schema.read(schema.MIGRATIONS)).encode()).hexdigest()
    name, unfinished = f"dashwright_template_{digest[:16]}", f"dashwright_unfinished_{digest[:16]}"
    async with _connected(server_url) as connection:
        await connection.execute("select pg_advisory_lock($1)", _LOCK)
        if not await connection.fetchval("select exists (select from pg_database where datname = $1)", name):
            await connection.execute(f"drop database if exists {unfinished} with (force)")
            await connection.execute(f"create database {unfinished}")
            await schema.migrate(with_database(server_url, unfinished))
            await connection.execute(f"alter database {unfinished} rename to {name}")
    return name


@asynccontextmanager
async def fresh(server_url: str, template: str) -> AsyncIterator[str]:
    """The URL of a copy of ``template``, dropped afterwards with whoever is still connected."""
    name = f"dashwright_test_{token_hex(8)}"
    async with _connected(server_url) as connection:
        await connection.execute(f"create database {name} template {template} strategy wal_log")
    try:
        yield with_database(server_url, name)
    finally:
        async with _connected(server_url) as connection:
            await connection.execute(f"drop database {name} with (force)")


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()
