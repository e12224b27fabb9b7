"""Fixtures: a git server for one test, and mirrors of its repositories."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.servers import git
from tests.servers.git import GitServer

from dashwright.common.allowed_hosts import LOOPBACK, AllowedHosts
from dashwright.common.host_resolver import HostResolver
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.adapters.git.remote import Remote

OpenRemote = Callable[..., Remote]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[GitServer]:
    """Yield a git server over HTTP without repositories."""
    root = tmp_path / "server"
    root.mkdir()
    async with git.serving(root) as running_server:
        yield running_server


@pytest.fixture
def mirrors(tmp_path: Path) -> Mirrors:
    """Return the mirrors of one worker, of at most 64 MiB each."""
    return Mirrors(tmp_path / "mirrors", max_bytes=64 * 1024 * 1024)


@pytest.fixture
def open_remote(server: GitServer) -> OpenRemote:
    """Return a function that opens a repository of the server as a worker does."""

    def open_remote(name: str, token: str = "", *, seconds: float = 20, allowed: tuple[str, ...] = LOOPBACK) -> Remote:
        return Remote(server.url(name), token, HostResolver(AllowedHosts.parse(allowed), "the repository's"), seconds)

    return open_remote
