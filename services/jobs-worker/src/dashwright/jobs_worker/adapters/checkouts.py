"""Repositories of every type, as they are looked at and read."""

import asyncio
import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, Cause, NotFound
from dashwright.common.kinds.branches import is_branch
from dashwright.common.kinds.repository import token_place
from dashwright.common.models.provisioning import RepositoryType
from dashwright.common.models.repository_views import HistoryItem
from dashwright.common.reach import Reach
from dashwright.common.secrets import SecretBox
from dashwright.common.settings import Settings
from dashwright.jobs_worker.adapters.directory import DirectoryCheckout
from dashwright.jobs_worker.adapters.git import log
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.mirrors import Commit, Mirrors
from dashwright.jobs_worker.adapters.git.remote import Remote
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.ports import Checkout

_LOOK_SECONDS: Final = 30.0
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


class Checkouts:
    """Opens repositories by their type. ``box`` opens the tokens that were sealed for them."""

    def __init__(self, settings: Settings, box: SecretBox) -> None:
        self._settings = settings
        self._box = box
        self.mirrors = Mirrors(settings.data_dir.absolute() / "git", settings.repository_bytes)
        self._reach = Reach(AllowedHosts.of(settings.allowed_hosts), "the repository's")

    async def open(self, repository: Repository) -> Checkout | None:
        """The newest state of a repository; None of one on a git host that has no commit yet. Raises what its kind of checkout does."""
        if repository.spec.type is RepositoryType.LOCAL:
            return self._directory(repository)
        githost = repository.spec.githost
        assert githost is not None, "admission wants the block of the type"
        commit = await self.mirrors.fetch(repository.uid, self._remote(repository, self._settings.git_seconds), githost.branch)
        if commit is None:
            return None
        settings = self._settings
        return GitCheckout(commit, most_entries=settings.repository_files, largest=settings.repository_file_bytes)

    async def look(self, repository: Repository) -> None:
        """Returns when a repository can be read. Raises an error that says why it cannot."""
        if repository.spec.type is RepositoryType.LOCAL:
            await self._directory(repository).look()
            return
        githost = repository.spec.githost
        assert githost is not None, "admission wants the block of the type"
        remote = self._remote(repository, _LOOK_SECONDS)
        if (
            await remote.head(githost.branch, self.mirrors.place()) is None
            and githost.branch
            and await remote.default_branch(self.mirrors.place())
        ):
            text = f"branch not found: {githost.branch!r}; the repository has others"
            raise NotFound(text, causes=[Cause("spec.githost.branch", "FieldValueInvalid", text)])

    async def head(self, repository: Repository) -> str | None:
        """The newest commit; None where there is none, and of a folder."""
        githost = repository.spec.githost
        if repository.spec.type is RepositoryType.LOCAL or githost is None:
            return None
        return await self._remote(repository, _LOOK_SECONDS).head(githost.branch, self.mirrors.place())

    async def branches(self, repository: Repository) -> Mapping[str, str]:
        """The commits that the branches of a git host stand at."""
        return await self._remote(repository, _LOOK_SECONDS).branches(self.mirrors.place())

    async def history(self, repository: Repository, ref: str, path: str) -> Sequence[HistoryItem]:
        """The newest commits up to a branch or a commit, that touch a path. Raises NotFound for a ref or path that is none."""
        if ref and not is_branch(ref):
            raise BadRequest(f"ref {ref[:80]!r} is no name of a branch, and no commit")
        commit = await self._at(repository, ref)
        found = [] if commit is None else await log.log(commit, path)
        if not found and path.strip("/"):
            raise NotFound(f"path not found: {path[:200]!r}")
        return found

    async def _at(self, repository: Repository, ref: str) -> Commit | None:
        """The commit that a ref names; None where the repository has none yet."""
        githost = repository.spec.githost
        assert githost is not None, "admission wants the block of the type"
        remote = self._remote(repository, _LOOK_SECONDS)
        if not _COMMIT.fullmatch(ref):
            return await self.mirrors.fetch(repository.uid, remote, ref or githost.branch)
        newest = await self.mirrors.fetch(repository.uid, remote, githost.branch)
        if newest is None or not await asyncio.to_thread(newest.knows, ref):
            raise NotFound(f"commit not found: {ref}; a commit is found by all 40 digits, on the repository's own branch")
        return replace(newest, sha=ref)

    def _directory(self, repository: Repository) -> DirectoryCheckout:
        assert repository.spec.local is not None, "admission wants the block of the type"
        settings = self._settings
        return DirectoryCheckout(
            repository.spec.local.path,
            settings.local_paths,
            most_entries=settings.repository_files,
            most_bytes=settings.repository_bytes,
            largest=settings.repository_file_bytes,
        )

    def _remote(self, repository: Repository, seconds: float) -> Remote:
        githost = repository.spec.githost
        assert githost is not None, "admission wants the block of the type"
        sealed = githost.encrypted_token
        token = self._box.open(base64.b64decode(sealed), token_place(repository.namespace, repository.name)) if sealed else ""
        return Remote((githost.url or "").rstrip("/"), token, self._reach, seconds, self._settings.git_authorities)
