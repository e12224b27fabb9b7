"""Access to repositories of every type: probes, reads and writes."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, Forbidden, NotFound
from dashwright.common.host_resolver import HostResolver
from dashwright.common.jobs import paths
from dashwright.common.kinds.branches import is_branch
from dashwright.common.kinds.repository import signing_key_owner, ssh_key_owner
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositoryType, Verification
from dashwright.common.models.repository_views import HistoryItem
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import Settings
from dashwright.jobs_worker.adapters import directory_edits
from dashwright.jobs_worker.adapters.directory import DirectoryCheckout
from dashwright.jobs_worker.adapters.git import commits, log
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.command import GitProgram
from dashwright.jobs_worker.adapters.git.commits import BranchChange
from dashwright.jobs_worker.adapters.git.last_changes import LastChanges
from dashwright.jobs_worker.adapters.git.mirrors import Commit, Mirrors
from dashwright.jobs_worker.adapters.git.references import ReferenceReader
from dashwright.jobs_worker.adapters.git.remote import Remote, RequestBudget
from dashwright.jobs_worker.adapters.git.signatures import Signing, check_signature
from dashwright.jobs_worker.adapters.git.ssh import SshAccess
from dashwright.jobs_worker.adapters.host.addresses import token_of
from dashwright.jobs_worker.domain.edits import check_edits
from dashwright.jobs_worker.domain.hosting import PullRequest
from dashwright.jobs_worker.domain.objects import SHORT_HASH_DIGITS, CommitDraft, Edit, GitIdentity, Repository
from dashwright.jobs_worker.ports import Checkout, SizedCheckout


@dataclass(frozen=True, slots=True)
class _TimeLimit:
    """A limit on one run of git, and what to do if it is exceeded."""

    seconds: float
    advice: str


# A client waits for the response to a read or edit; a job has the time of DASHWRIGHT_GIT_SECONDS.
_READ_LIMIT: Final = _TimeLimit(30.0, "try again later, or after a sync, which has more time")
_JOB_ADVICE: Final = "sync again later, or raise DASHWRIGHT_GIT_SECONDS if the repository is large or the host slow"

_COMMIT_HASH: Final = re.compile(r"[0-9a-f]{40}")

_MAX_QUOTED_CHARACTERS: Final = 80
"""Limit on the characters of a ref that an error quotes."""

_MAX_QUOTED_PATH_CHARACTERS: Final = 200


class RepositoryCheckouts:
    """An opener of repositories of every type.

    ``cipher`` decrypts their tokens and keys; ``budget`` counts requests to hosts, None for no limit. ``references``
    reads the commits of branches, None to use the git program only.
    """

    def __init__(
        self,
        settings: Settings,
        cipher: SecretCipher,
        budget: RequestBudget | None = None,
        references: ReferenceReader | None = None,
    ) -> None:
        self._settings = settings
        self._job_limit = _TimeLimit(settings.git_seconds, _JOB_ADVICE)
        self._local_paths = settings.local_paths
        self._cipher = cipher
        self._budget = budget
        #: Working address of each repository by its url, see ``Remote.known_urls``.
        self._known_urls: dict[str, str] = {}
        self._program = GitProgram()
        self._last_changes = LastChanges()
        self.mirrors = Mirrors(settings.data_dir.absolute() / "git", settings.repository_bytes)
        self._authorities = settings.git_authorities.absolute() if settings.git_authorities else None
        self._references = references
        self._resolver = HostResolver(AllowedHosts.parse(settings.allowed_hosts), "the repository's")

    async def open(self, repository: Repository) -> Checkout | None:
        """Return the newest checkout of a repository; None if it is on a git host and has no commit yet.

        Raises NotFound if the repository was synced before and has no commits now, Conflict if the commit lacks a required signature, and
        Forbidden, TooManyRequests and SourceFailed like ``Checkouts.at``.
        """
        if repository.spec.type is RepositoryType.LOCAL:
            return self._directory_checkout(repository)
        githost = _githost(repository)
        remote = self._remote(repository, self._job_limit)
        commit = await self.mirrors.fetch(repository.uid, remote, githost.branch)
        if commit is None:
            _require_never_synced(repository)
        else:
            await check_signature(commit, self._signing(repository, githost))
        return self._optional_checkout(repository, commit)

    async def at(self, repository: Repository, ref: str) -> SizedCheckout | None:
        """Return the checkout at a branch or commit; see ``Checkouts.at``."""
        if repository.spec.type is RepositoryType.LOCAL:
            if ref:
                raise BadRequest("a local directory has no branches: leave the ref out")
            return self._directory_checkout(repository)
        return self._optional_checkout(repository, await self._fetch(repository, ref))

    async def commit(
        self,
        repository: Repository,
        base: str,
        ref: str,
        edits: Sequence[Edit],
        author: GitIdentity,
        message: str,
        author_time: datetime | None = None,
    ) -> Checkout:
        """Make one commit of all edits; see ``Checkouts.commit``."""
        settings = self._settings
        check_edits(edits, max_file_bytes=settings.repository_file_bytes, max_total_bytes=settings.repository_bytes)
        if repository.spec.type is RepositoryType.LOCAL:
            return await self._edit_directory(repository, ref, edits)
        return await self._push(repository, base, ref, [CommitDraft(edits, author, message, author_time)], _READ_LIMIT)

    async def commits_by(
        self, repository: Repository, ref: str, author: GitIdentity, author_time: datetime
    ) -> Sequence[tuple[Checkout | None, Checkout]]:
        """Return the newest commits of an author; see ``Checkouts.commits_by``."""
        if repository.spec.type is RepositoryType.LOCAL:
            return []
        try:
            newest = await self._fetch(repository, ref)
        except NotFound:
            return []
        matches = [] if newest is None else await commits.commits_by(newest, author, author_time)
        return [(self._optional_checkout(repository, parent), self._git_checkout(repository, commit)) for parent, commit in matches]

    async def push(self, repository: Repository, base: str, ref: str, drafts: Sequence[CommitDraft]) -> Checkout:
        """Push a commit of each draft; see ``Checkouts.push``."""
        if repository.spec.type is RepositoryType.LOCAL:
            return await self._edit_directory(repository, ref, [edit for draft in drafts for edit in draft.edits])
        return await self._push(repository, base, ref, drafts, self._job_limit)

    async def _edit_directory(self, repository: Repository, ref: str, edits: Sequence[Edit]) -> Checkout:
        if ref:
            raise BadRequest("a local directory has no branches: leave the ref out")
        checkout = self._directory_checkout(repository)
        await directory_edits.edit(checkout, edits, self._settings.data_dir.absolute() / "folders.lock")
        return checkout

    async def _push(self, repository: Repository, base: str, ref: str, drafts: Sequence[CommitDraft], limit: _TimeLimit) -> Checkout:
        """Push a commit of each draft to the branch ``ref`` (empty: the repository's own), and return the checkout of the last one."""
        githost = _githost(repository)
        if ref and not is_branch(ref):
            raise BadRequest(f"ref {ref[:_MAX_QUOTED_CHARACTERS]!r} is not a valid branch name")
        change = BranchChange(githost.branch, ref, base, drafts, githost.path or "", self._signing(repository, githost))
        return self._git_checkout(repository, await commits.commit(self.mirrors, repository.uid, self._remote(repository, limit), change))

    async def at_synced(self, repository: Repository, commit: str) -> Checkout:
        """Return the checkout of a commit that was synced before; see ``SyncedCommits.at_synced``."""
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest("this repository does not support rollback: a local directory keeps no commits")
        commit_in_mirror = await self.mirrors.fetch_synced(repository.uid, self._remote(repository, self._job_limit), commit)
        await check_signature(commit_in_mirror, self._signing(repository, _githost(repository)))
        return self._git_checkout(repository, commit_in_mirror)

    async def keep_only_synced(self, repository: Repository, commits: Sequence[str]) -> None:
        """Keep the given commits, and no other synced ones; see ``SyncedCommits.keep_only_synced``."""
        await self.mirrors.keep_synced(repository.uid, commits)

    async def at_pull_request(self, repository: Repository, pull_request: PullRequest) -> Checkout:
        """Return the checkout of a pull request; see ``PullRequestCheckouts.at_pull_request``."""
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest("a local directory has no pull requests")
        if not pull_request.reference:
            raise BadRequest(
                f"pull request {pull_request.number} comes from a fork that does not exist any more; "
                "push its branch to the repository, and open the pull request from it"
            )
        # The reference may contain a branch name that the author of a fork chose, and becomes an argument of git.
        if not is_branch(pull_request.reference.removeprefix("refs/")):
            raise BadRequest(f"pull request {pull_request.number} has a branch with an invalid name; rename it")
        return self._git_checkout(repository, await self._fetch_pull_request(repository, pull_request))

    async def _fetch_pull_request(self, repository: Repository, pull_request: PullRequest) -> Commit:
        """Fetch the newest commit of a pull request from the repository, or from the fork that has the pull request's branch."""
        remote = self._remote(repository, self._job_limit)
        fetch = partial(self.mirrors.fetch_pull_request, repository.uid, number=pull_request.number, reference=pull_request.reference)
        if not pull_request.fork_path:
            return await fetch(remote)
        fork = remote.at_path(pull_request.fork_path)
        try:
            return await fetch(fork)
        except (Forbidden, NotFound):
            if not fork.token:
                raise
            # The token may be valid for its own repository only, but the fork may be public.
            return await fetch(replace(fork, token=""))

    async def check_readable(self, repository: Repository) -> None:
        """Check that the repository can be read. Raises the error that prevents it."""
        if repository.spec.type is RepositoryType.LOCAL:
            await self._directory_checkout(repository).check_readable()
            return
        githost = _githost(repository)
        remote = self._remote(repository, _READ_LIMIT)
        if await remote.head(githost.branch, self.mirrors.ensure_root()) is None:
            if branch_error := await remote.missing_branch_error(githost.branch, self.mirrors.ensure_root()):
                raise branch_error
            _require_never_synced(repository)

    async def head(self, repository: Repository) -> str | None:
        """Return the newest commit; None for an empty repository and for a local directory."""
        githost = repository.spec.remote
        if repository.spec.type is RepositoryType.LOCAL or githost is None:
            return None
        return await self._remote(repository, _READ_LIMIT).head(githost.branch, self.mirrors.ensure_root())

    async def branches(self, repository: Repository) -> Mapping[str, str]:
        """Return the commits of the branches on a git host, by branch."""
        return await self._remote(repository, _READ_LIMIT).branches(self.mirrors.ensure_root())

    async def history(self, repository: Repository, ref: str, path: str) -> Sequence[HistoryItem]:
        """Return the newest commits up to a branch or commit that touch a path. Raises NotFound for an unknown ref or path."""
        commit = await self._fetch(repository, ref)
        path_in_repository = paths.join(_githost(repository).path or "", path.strip("/"))
        items = [] if commit is None else await log.log(commit, path_in_repository)
        if not items and path.strip("/"):
            raise NotFound(f"path not found: {path[:_MAX_QUOTED_PATH_CHARACTERS]!r}")
        return items

    async def _fetch(self, repository: Repository, ref: str) -> Commit | None:
        """Return the commit that a ref names; None if the repository has no commit yet."""
        githost = _githost(repository)
        remote = self._remote(repository, _READ_LIMIT)
        if ref and not is_branch(ref):
            raise BadRequest(f"ref {ref[:_MAX_QUOTED_CHARACTERS]!r} is neither a branch name nor a commit")
        if not _COMMIT_HASH.fullmatch(ref):
            return await self.mirrors.fetch(repository.uid, remote, ref or githost.branch)
        # A page requests many pictures of one commit, and a fetch for each of them would take longer than drawing it.
        if known_commit := await self.mirrors.known_commit(repository.uid, githost.branch, ref):
            return known_commit
        newest = await self.mirrors.fetch(repository.uid, remote, githost.branch)
        if newest is not None and await newest.descends_from(ref):
            return replace(newest, sha=ref)
        return await self._branch_head(repository, remote, ref)

    async def _branch_head(self, repository: Repository, remote: Remote, sha: str) -> Commit:
        """Return the commit ``sha`` if it is the newest one of a branch. Raises NotFound for any other commit."""
        branches = await remote.branches(self.mirrors.ensure_root())
        branch = next((name for name, head in branches.items() if head == sha), None)
        if branch is not None:
            newest = await self.mirrors.fetch(repository.uid, remote, branch)
            if newest is not None and await newest.descends_from(sha):
                return replace(newest, sha=sha)
        reason = "a commit is found by all 40 digits, on the repository's own branch or as the newest one of another branch"
        raise NotFound(f"commit not found: {sha}; {reason}")

    def _optional_checkout(self, repository: Repository, commit: Commit | None) -> GitCheckout | None:
        return self._git_checkout(repository, commit) if commit is not None else None

    def _git_checkout(self, repository: Repository, commit: Commit) -> GitCheckout:
        settings = self._settings
        return GitCheckout(
            commit,
            _githost(repository).path or "",
            must_exist=repository.has_dashboards,
            last_changes=self._last_changes,
            max_entries=settings.repository_files,
            max_file_bytes=settings.repository_file_bytes,
        )

    def _directory_checkout(self, repository: Repository) -> DirectoryCheckout:
        assert repository.spec.local is not None, "admission requires the block of the type"
        settings = self._settings
        return DirectoryCheckout(
            repository.spec.local.path,
            self._local_paths,
            max_entries=settings.repository_files,
            max_total_bytes=settings.repository_bytes,
            max_file_bytes=settings.repository_file_bytes,
        )

    def _remote(self, repository: Repository, limit: _TimeLimit) -> Remote:
        githost = _githost(repository)
        return Remote(
            (githost.url or "").rstrip("/"),
            token_of(repository, githost, self._cipher),
            self._resolver,
            limit.seconds,
            self._settings.git_idle_seconds,
            self._authorities,
            self._budget,
            self._known_urls,
            self._program,
            repository.namespace,
            self._ssh_access(repository, githost),
            self._references,
            limit.advice,
        )

    def _ssh_access(self, repository: Repository, githost: GitHostRepositoryConfig) -> SshAccess:
        """Return the key and known hosts of a repository. Raises SecretUnreadable if the key was encrypted under another key."""
        shared = self._settings.ssh_known_hosts
        private_key = self._unsealed(githost.encrypted_ssh_key, ssh_key_owner(repository.namespace, repository.name))
        return SshAccess(private_key, githost.known_hosts or "", shared.absolute() if shared else None)

    def _signing(self, repository: Repository, githost: GitHostRepositoryConfig) -> Signing:
        """Return the rules for signatures. Raises SecretUnreadable if the signing key was encrypted under another key."""
        private_key = self._unsealed(githost.encrypted_signing_key, signing_key_owner(repository.namespace, repository.name))
        allowed_signers = (githost.allowed_signers or "") if githost.verify is Verification.REQUIRE else None
        return Signing(private_key, allowed_signers)

    def _unsealed(self, sealed: str | None, owner: str) -> str:
        """Return the plain text of a sealed secret; empty if the repository has no such secret."""
        return self._cipher.decrypt(base64.b64decode(sealed), owner) if sealed else ""


def _require_never_synced(repository: Repository) -> None:
    """Raise NotFound if a repository without commits was synced before: it was emptied, or another server has the address now."""
    if repository.commit:
        short_hash = repository.commit[:SHORT_HASH_DIGITS]
        raise NotFound(f"there are no commits at this address any more, though {short_hash} was synced; the stored objects are kept")


def _githost(repository: Repository) -> GitHostRepositoryConfig:
    assert repository.spec.remote is not None, "admission requires the block of the type"
    return repository.spec.remote
