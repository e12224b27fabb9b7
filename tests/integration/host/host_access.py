"""A repository with a pull request at a git host, and a worker's access to it."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.servers import git_host
from tests.servers.git_host import ApiDescription, GitHost

from dashwright.common.allowed_hosts import LOOPBACK, AllowedHosts
from dashwright.common.host_resolver import HostResolver
from dashwright.common.kinds.repository import token_owner
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositorySpec, RepositoryType, SyncOptions, SyncTarget
from dashwright.common.secrets import SecretCipher
from dashwright.jobs_worker.adapters.host.client import HostClient
from dashwright.jobs_worker.adapters.host.host import RestHost
from dashwright.jobs_worker.domain.objects import Repository

TOKEN = "token-of-the-test"


@dataclass(frozen=True)
class HostAccess:
    """A repository at a git host. ``head`` is the newest commit of the pull request ``number``."""

    server: GitHost
    host: RestHost
    client: HostClient
    url: str
    sealed_token: str
    number: int
    head: str

    @property
    def repository(self) -> Repository:
        """The repository with its token."""
        githost = GitHostRepositoryConfig(url=self.url, branch="main", encrypted_token=self.sealed_token)
        sync = SyncOptions(enabled=True, target=SyncTarget.FOLDER)
        spec = RepositorySpec(title="Boards", workflows=[], sync=sync, type=RepositoryType.GITHOST, githost=githost)
        return Repository("default", "boards", "uid-of-boards", 1, spec)

    def with_url(self, url: str) -> Repository:
        """Return the repository at another address with the same token."""
        return replace(self, url=url).repository


@asynccontextmanager
async def open_host_access(
    folder: Path, description: ApiDescription | None = None, kind: type[GitHost] = GitHost, name: str = "team/boards"
) -> AsyncIterator[HostAccess]:
    """Yield the access of a worker to a repository with one pull request. ``description`` is the API that the host permits."""
    root = folder / "server"
    root.mkdir()
    async with git_host.serving(root, token=TOKEN, kind=kind) as server:
        server.description = description
        work_tree = server.create_repository(name)
        work_tree.commit({"kept.json": "{}", "gone.json": "what goes", "old/moved.json": '{"title": "moved"}\n' * 9})
        moved_files = {"old/moved.json": None, "new/moved.json": '{"title": "moved"}\n' * 9}
        head = work_tree.commit({"new.json": "what comes", "kept.json": '{"a": 1}', "gone.json": None, **moved_files}, branch="change")
        cipher = SecretCipher.from_keys("a key of the test's own")
        client = HostClient(HostResolver(AllowedHosts.parse(LOOPBACK), "the repository's"), seconds=5)
        sealed = base64.b64encode(cipher.encrypt(TOKEN, token_owner("default", "boards"))).decode()
        number = server.open_pull(name, "change")
        try:
            yield HostAccess(server, RestHost(client, cipher, server.apis), client, server.url(name), sealed, number, head)
        finally:
            await client.close()
