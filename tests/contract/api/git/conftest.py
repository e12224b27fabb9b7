"""Fixture of the tests with a git server: a gateway, a jobs worker and a repository."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.api.conftest import StartApi
from tests.contract.api.git.sync_environment import AheadClock, SyncEnvironment
from tests.servers.git import GitServer

from dashwright.common.messaging.memory import MemoryBroker


@pytest.fixture
async def environment(start_api: StartApi, broker: MemoryBroker, git_server: GitServer, tmp_path: Path) -> AsyncIterator[SyncEnvironment]:
    """Start a gateway, a jobs worker and a git server with an empty repository ``team.git``."""
    environment = SyncEnvironment(
        await start_api(), git_server, git_server.create_repository("team.git"), AheadClock(), broker, tmp_path / "data"
    )
    await environment.start()
    yield environment
    await environment.stop()
