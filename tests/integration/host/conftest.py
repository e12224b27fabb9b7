"""A git host for one test, and a worker's access to its API."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.host.host_access import HostAccess, open_host_access


@pytest.fixture
async def host_access(tmp_path: Path) -> AsyncIterator[HostAccess]:
    """Yield the access of a worker to the repository ``team/boards`` with one pull request."""
    async with open_host_access(tmp_path) as host_access:
        yield host_access
