"""Repositories of every type: probed, read and written by their type."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.jobs import paths
from dashwright.common.kinds.branches import is_branch
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositoryType
from dashwright.common.models.repository_views import HistoryItem
from dashwright.common.reach import Reach
from dashwright.common.secrets import SecretBox
from dashwright.common.settings import Settings
from dashwright.jobs_worker.adapters import directory_edits
from dashwright.jobs_worker.adapters.directory import DirectoryCheckout
from dashwright.jobs_worker.adapters.git import commits, log
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.command import Program
from dashwright.jobs_worker.adapters.git.commits import BranchChange
from dashwright.jobs_worker.adapters.git.last_changes import LastChanges
from dashwright.jobs_worker.adapters.git.mirrors import Commit, Mirrors
from dashwright.jobs_worker.adapters.git.remote import Budget, Remote
from dashwright.jobs_worker.adapters.host.addresses import token_of
from dashwright.jobs_worker.domain.edits import check_edits
from dashwright.jobs_worker.domain.objects import Draft, Edit, GitIdentity, Repository
from dashwright.jobs_worker.ports import Checkout, SizedCheckout

_LOOK_SECONDS: Final = 30.0
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


class RepositoryCheckouts:
    """Opens repositories by their type.

    ``box`` opens their sealed tokens; ``budget`` counts requests to hosts.
    """

    def __init__(self, settings: Settings, box: SecretBox, budget: Budget | None = None) -> None:
        self._settings = settings
        self._box = box
        self._budget = budget
        self._known_urls: dict[str, str] = {}
        self._program = Program()
        self._last_changes = LastChanges()
        self.mirrors = Mirrors(settings.data_dir.absolute() / "git", settings.repository_bytes)
        self._reach = Reach(AllowedHosts.of(settings.allowed_hosts), "the repository's")

    async def open(self, repository: Repository) -> Checkout | None:
        """Return the newest state of a repository; None for one on a git host that has no commit yet.

        Raises what its type of checkout does.
        """
        if repository.spec.type is RepositoryType.LOCAL:
            return self._directory(repository)
        githost = _githost(repository)
        remote = self._remote(repository, self._settings.git_seconds)
        commit = await self.mirrors.fetch(repository.uid, remote, githost.branch)
        if commit is None:
            _require_none_before(repository)
        return self._checkout(repository, commit)

    async def at(self, repository: Repository, ref: str) -> SizedCheckout | None:
        """Return the state at a branch or commit, as the port describes."""
        if repository.spec.type is RepositoryType.LOCAL:
            if ref:
                raise BadRequest("a folder has no branches: leave the ref out")
            return self._directory(repository)
        return self._checkout(repository, await self._at(repository, ref))

    async def commit(
        self, repository: Repository, base: str, ref: str, edits: Sequence[Edit], by: GitIdentity, message: str, at: datetime | None = None
    ) -> Checkout:
        """Make one commit of all edits, as the port describes."""
        settings = self._settings
        check_edits(edits, largest=settings.repository_file_bytes, most_bytes=settings.repository_bytes)
        if repository.spec.type is RepositoryType.LOCAL:
            return await self._edit(repository, ref, edits)
        return await self._push(repository, base, ref, [Draft(edits, by, message, at)], _LOOK_SECONDS)

    async def commits_by(
        self, repository: Repository, ref: str, by: GitIdentity, at: datetime
    ) -> Sequence[tuple[Checkout | None, Checkout]]:
        """Return the newest commits of an author, as the port describes."""
        if repository.spec.type is RepositoryType.LOCAL:
            return []
        try:
            newest = await self._at(repository, ref)
        except NotFound:
            return []
        found = [] if newest is None else await commits.commits_by(newest, by, at)
        return [(self._checkout(repository, before), self._opened(repository, made)) for before, made in found]

    async def push(self, repository: Repository, base: str, ref: str, drafts: Sequence[Draft]) -> Checkout:
        """Push many files or commits, as the port describes."""
        if repository.spec.type is RepositoryType.LOCAL:
            return await self._edit(repository, ref, [edit for draft in drafts for edit in draft.edits])
        return await self._push(repository, base, ref, drafts, self._settings.git_seconds)

    async def _edit(self, repository: Repository, ref: str, edits: Sequence[Edit]) -> Checkout:
        if ref:
            raise BadRequest("a folder has no branches: leave the ref out")
        folder = self._directory(repository)
        await directory_edits.edit(folder, edits, self._settings.data_dir.absolute() / "folders.lock")
        return folder

    async def _push(self, repository: Repository, base: str, ref: str, drafts: Sequence[Draft], seconds: float) -> Checkout:
        githost = _githost(repository)
        if ref and not is_branch(ref):
            raise BadRequest(f"ref {ref[:80]!r} is not a valid branch name")
        change = BranchChange(githost.branch, ref, base, drafts, githost.path or "")
        return self._opened(repository, await commits.commit(self.mirrors, repository.uid, self._remote(repository, seconds), change))

    async def at_synced(self, repository: Repository, commit: str) -> Checkout:
        """Return the state at a commit that was synced before, even if no branch contains it. Raises NotFound if it is lost."""
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest("this repository does not support rollback")
        found = await self.mirrors.fetch_synced(repository.uid, self._remote(repository, self._settings.git_seconds), commit)
        return self._opened(repository, found)

    async def keep_only_synced(self, repository: Repository, commits: Sequence[str]) -> None:
        """Keep exactly these commits for ``at_synced``."""
        await self.mirrors.keep_synced(repository.uid, commits)

    async def at_pull_request(self, repository: Repository, number: int) -> Checkout:
        """Return the state of a pull request, as the port describes."""
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest("a folder has no pull requests")
        found = await self.mirrors.fetch_pull_request(repository.uid, self._remote(repository, self._settings.git_seconds), number)
        return self._opened(repository, found)

    async def check_readable(self, repository: Repository) -> None:
        """Return if the repository can be read. Raises the error that prevents it."""
        if repository.spec.type is RepositoryType.LOCAL:
            await self._directory(repository).check_readable()
            return
        githost = _githost(repository)
        remote = self._remote(repository, _LOOK_SECONDS)
        if await remote.head(githost.branch, self.mirrors.place()) is None:
            if missing := await remote.missing(githost.branch, self.mirrors.place()):
                raise missing
            _require_none_before(repository)

    async def head(self, repository: Repository) -> str | None:
        """Return the newest commit; None for an empty repository and for a folder."""
        githost = repository.spec.remote
        if repository.spec.type is RepositoryType.LOCAL or githost is None:
            return None
        return await self._remote(repository, _LOOK_SECONDS).head(githost.branch, self.mirrors.place())

    async def branches(self, repository: Repository) -> Mapping[str, str]:
        """Return the commits of the branches on a git host, by branch."""
        return await self._remote(repository, _LOOK_SECONDS).branches(self.mirrors.place())

    async def history(self, repository: Repository, ref: str, path: str) -> Sequence[HistoryItem]:
        """Return the newest commits up to a branch or commit that touch a path. Raises NotFound for an unknown ref or path."""
        commit = await self._at(repository, ref)
        whole = paths.join(_githost(repository).path or "", path.strip("/"))
        found = [] if commit is None else await log.log(commit, whole)
        if not found and path.strip("/"):
            raise NotFound(f"path not found: {path[:200]!r}")
        return found

    async def _at(self, repository: Repository, ref: str) -> Commit | None:
        """Return the commit that a ref names; None if the repository has none yet."""
        githost = _githost(repository)
        remote = self._remote(repository, _LOOK_SECONDS)
        if ref and not is_branch(ref):
            raise BadRequest(f"ref {ref[:80]!r} is neither a branch name nor a commit")
        if not _COMMIT.fullmatch(ref):
            return await self.mirrors.fetch(repository.uid, remote, ref or githost.branch)
        newest = await self.mirrors.fetch(repository.uid, remote, githost.branch)
        if newest is None or not await newest.descends_from(ref):
            raise NotFound(f"commit not found: {ref}; a commit is found by all 40 digits, on the repository's own branch")
        return replace(newest, sha=ref)

    def _checkout(self, repository: Repository, commit: Commit | None) -> GitCheckout | None:
        return self._opened(repository, commit) if commit is not None else None

    def _opened(self, repository: Repository, commit: Commit) -> GitCheckout:
        settings = self._settings
        return GitCheckout(
            commit,
            _githost(repository).path or "",
            must_exist=repository.has_dashboards,
            last_changes=self._last_changes,
            most_entries=settings.repository_files,
            largest=settings.repository_file_bytes,
        )

    def _directory(self, repository: Repository) -> DirectoryCheckout:
        assert repository.spec.local is not None, "admission requires the block of the type"
        settings = self._settings
        return DirectoryCheckout(
            repository.spec.local.path,
            settings.local_paths,
            most_entries=settings.repository_files,
            most_bytes=settings.repository_bytes,
            largest=settings.repository_file_bytes,
        )

    def _remote(self, repository: Repository, seconds: float) -> Remote:
        githost = _githost(repository)
        authorities = self._settings.git_authorities
        return Remote(
            (githost.url or "").rstrip("/"),
            token_of(repository, githost, self._box),
            self._reach,
            seconds,
            authorities.absolute() if authorities else None,
            self._budget,
            self._known_urls,
            self._program,
            repository.namespace,
        )


def _require_none_before(repository: Repository) -> None:
    """Raise NotFound if a repository without commits had some before: it was emptied, or the server is not a git server."""
    if repository.commit:
        raise NotFound(
            f"there are no commits at this address any more, though {repository.commit[:10]} was synced; the stored objects are kept"
        )


def _githost(repository: Repository) -> GitHostRepositoryConfig:
    assert repository.spec.remote is not None, "admission requires the block of the type"
    return repository.spec.remote
