"""The database of one machine: the one that is named, or the embedded one while somebody needs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dashwright.common.settings import Settings
from dashwright.standalone.postgres import EmbeddedPostgres


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncIterator[tuple[str, Path]]:
    """Its address, and the folder for what belongs to it. Raises Unavailable, saying what to do, where it cannot be had."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value(), settings.data_dir
        return
    postgres = EmbeddedPostgres(settings.data_dir)
    url = await postgres.start()
    try:
        yield url, postgres.folder
    finally:
        await postgres.stop()
