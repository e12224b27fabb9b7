"""Fixtures of the acceptance tests, for stacks of two versions."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.acceptance.conftest import MakeStack, make_stack, records
from tests.acceptance.processes import PROGRAMS
from tests.servers import databases

__all__ = ["MakeStack", "make_stack", "records"]


@pytest.fixture
def previous_programs() -> Path:
    """Return the folder of the previous version's programs, which ``tests/upgrade/run`` installs."""
    return Path(os.environ["DASHWRIGHT_TEST_PREVIOUS"])


@pytest.fixture
async def database_url(postgres_dsn: str, previous_programs: Path) -> AsyncIterator[str]:
    """Yield the URL of a database with the schema of the previous version."""
    async with databases.temporary_database(postgres_dsn, "template0") as url:
        await migrate(url, previous_programs)
        yield url


async def migrate(url: str, programs: Path = PROGRAMS) -> None:
    """Run ``dashwright migrate`` of a version."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DASHWRIGHT_")}
    process = await asyncio.create_subprocess_exec(
        programs / "dashwright", "migrate", env=environment | {"DASHWRIGHT_DATABASE_URL": url}, stdout=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0
