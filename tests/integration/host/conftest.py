"""Fixtures of a git host for one test, and of the port over its API."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.host.asking import Asked, asking


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    """Yield the repository ``team/boards`` with one pull request, as a worker sees it."""
    async with asking(tmp_path) as asked:
        yield asked
