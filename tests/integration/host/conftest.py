"""A git host of the test's own, and the port over its API."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.host.asking import Asked, asking


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    """The repository ``team/boards`` with one pull request, as a worker asks its host."""
    async with asking(tmp_path) as asked:
        yield asked
