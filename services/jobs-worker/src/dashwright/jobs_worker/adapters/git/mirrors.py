"""Mirrors of repositories in the data directory: created when first needed, updated by fetches, recreated when damaged."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import pygit2
import structlog

from dashwright.common.errors import NotFound, SourceFailed, TooLarge
from dashwright.jobs_worker.adapters import file_lock
from dashwright.jobs_worker.adapters.file_lock import run_to_end
from dashwright.jobs_worker.adapters.git import command, mirror_references, objects
from dashwright.jobs_worker.adapters.git.bare_repository import create_bare_repository
from dashwright.jobs_worker.adapters.git.command import GitFailed
from dashwright.jobs_worker.adapters.git.damage import is_damaged, mark_damaged
from dashwright.jobs_worker.adapters.git.failures import BRANCH_NOT_FOUND, COMMIT_NOT_FOUND, COMMIT_NOT_SENT
from dashwright.jobs_worker.adapters.git.remote import Remote

log = structlog.get_logger()

_LEFTOVER_PATTERNS: Final = ("pack/tmp_*", "pack/.tmp-*", "tmp_objdir-*", "incoming-*")
"""Patterns, below ``objects``, of the files that a killed git program leaves."""

_GC_SETTINGS: Final = {
    "gc.auto": "1000",
    "gc.autoDetach": "false",
    "gc.autoPackLimit": "20",
    # Large packs are left alone: rewriting them for every few commits takes too long.
    "gc.bigPackThreshold": "64m",
    "gc.pruneExpire": "1.hour.ago",
}
_GC_TIMEOUT_SECONDS: Final = 120.0
_SIZE_CHECK_INTERVAL_SECONDS: Final = 0.5
_ANCESTRY_TIMEOUT_SECONDS: Final = 60.0
_STATUS_NOT_ANCESTOR: Final = 1
_MAX_DETAIL_CHARACTERS: Final = 200

Result = TypeVar("Result")


class _MirrorTooLarge(TooLarge):
    """The mirror has more bytes than the limit. A TooLarge of another class is about a single file."""


@dataclass(frozen=True, slots=True)
class Mirrors:
    """The mirrors of all repositories in one directory, which several workers may share."""

    #: Directory that contains nothing but mirrors and their lock files.
    root: Path
    #: Limit on the bytes of one mirror.
    max_bytes: int

    async def fetch(self, uid: str, remote: Remote, branch: str) -> "Commit | None":
        """Fetch a branch (empty: the host's default) and return its newest commit; None if the repository has no commit yet.

        It sends at most four requests to the host. Raises NotFound for a deleted branch, TooLarge if the mirror exceeds ``max_bytes``, and
        the errors of ``Remote.run``.
        """
        async with self.locked(uid) as mirror_path:
            return await self.fetch_locked(mirror_path, remote, branch)

    @asynccontextmanager
    async def locked(self, uid: str) -> AsyncIterator[Path]:
        """Lock the mirror of a repository and yield the path of the mirror, which may not exist yet."""
        mirror_path = self.root / _mirror_name(uid)
        try:
            async with file_lock.exclusive(mirror_path.with_suffix(".lock")):
                yield mirror_path
        except OSError as error:
            raise _unwritable_error(str(error.strerror)) from error

    async def fetch_locked(self, mirror_path: Path, remote: Remote, branch: str) -> "Commit | None":
        """Fetch a branch into a mirror that the caller has locked. Otherwise like ``fetch``."""
        return await self.with_repair(mirror_path, lambda: self._fetch(mirror_path, remote, branch))

    async def with_repair(self, mirror_path: Path, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of ``work`` on a mirror that the caller has locked; the mirror is created if missing.

        A damaged or too large mirror is recreated and the work is started again. If a new mirror is damaged or too large, it is deleted and
        the error is raised.
        """
        is_new = not await asyncio.to_thread((mirror_path / "HEAD").exists)
        while True:
            await run_to_end(_create_if_missing, mirror_path)
            try:
                return await work()
            # Recreating the mirror also reduces its size: it may contain objects of deleted branches.
            except (SourceFailed, _MirrorTooLarge) as error:
                if isinstance(error, SourceFailed) and not is_damaged(error):
                    raise
                log.warning("mirror_dropped", reason=error.message)
                await run_to_end(shutil.rmtree, mirror_path, ignore_errors=True)
                if is_new:
                    raise
            is_new = True

    async def fetch_pull_request(self, uid: str, remote: Remote, number: int, reference: str) -> "Commit":
        """Return the newest commit of a pull request, to which ``reference`` points at the host. Raises the errors of ``fetch``."""
        async with self.locked(uid) as mirror_path:
            return await self.with_repair(mirror_path, lambda: self._fetch_pull_request(mirror_path, remote, number, reference))

    async def known_commit(self, uid: str, branch: str, sha: str) -> "Commit | None":
        """Return the commit if it is in the fetched history of ``branch``, or is the newest commit of any fetched branch; else None."""
        async with self.locked(uid) as mirror_path:
            try:
                heads = await asyncio.to_thread(mirror_references.branch_heads, mirror_path)
                head = heads.get(mirror_references.reference_name(mirror_references.branch_source(branch)))
                is_present = await asyncio.to_thread(mirror_references.has_commit, mirror_path, sha)
                is_known = sha in heads.values() or (head is not None and await Commit(mirror_path, head).descends_from(sha))
            except SourceFailed:  # The next fetch repairs a damaged mirror.
                return None
            return Commit(mirror_path, sha) if is_present and is_known else None

    async def fetch_synced(self, uid: str, remote: Remote, sha: str) -> "Commit":
        """Return a commit that was synced before, even if no branch contains it now.

        Raises NotFound if neither the mirror nor its host has the commit.
        """
        async with self.locked(uid) as mirror_path:
            return await self.with_repair(mirror_path, lambda: self._fetch_synced(mirror_path, remote, sha))

    async def keep_synced(self, uid: str, shas: Collection[str]) -> None:
        """Protect exactly these commits from garbage collection, even if no branch contains them."""
        async with self.locked(uid) as mirror_path:
            await self.with_repair(mirror_path, lambda: run_to_end(mirror_references.set_synced_references, mirror_path, shas))

    def ensure_root(self) -> Path:
        """Create the directory of all mirrors if necessary and return it. Git commands that need no repository run in it."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable_error(str(error.strerror)) from error
        return self.root

    async def keep_only(self, uids: Sequence[str]) -> int:
        """Delete the mirrors of repositories not in ``uids``, and return how many were deleted. Collect garbage in the other mirrors."""
        mirror_names = {_mirror_name(uid) for uid in uids}
        deleted_count = 0
        for mirror_path in [mirror_path for mirror_path in self.ensure_root().iterdir() if mirror_path.is_dir()]:
            lock_path = mirror_path.with_suffix(".lock")
            async with file_lock.exclusive(lock_path):
                if mirror_path.name in mirror_names:
                    await _collect_garbage(mirror_path)
                    continue
                await run_to_end(shutil.rmtree, mirror_path, ignore_errors=True)
                lock_path.unlink(missing_ok=True)
                deleted_count += 1
        return deleted_count

    async def _fetch(self, mirror_path: Path, remote: Remote, branch: str) -> "Commit | None":
        source = mirror_references.branch_source(branch)
        try:
            return await self._fetch_reference(mirror_path, remote, source, reference_key=source)
        except NotFound as error:
            if error.message == COMMIT_NOT_FOUND:
                raise NotFound(
                    f"the git host does not have the commit of branch {branch or 'HEAD'!r}: if it occurs again, repair the repository there"
                ) from error
            if error.message != BRANCH_NOT_FOUND:
                raise
            branch_error = await remote.missing_branch_error(branch, mirror_path)
            # Without an error, the repository has no branch and so no commit yet.
            if branch_error is None:
                return None
            raise branch_error from error

    async def _fetch_pull_request(self, mirror_path: Path, remote: Remote, number: int, reference: str) -> "Commit":
        try:
            # All pull requests share one reference, so the commits of one are kept only until the next is fetched.
            return await self._fetch_reference(mirror_path, remote, reference, reference_key=mirror_references.PULL_REQUESTS)
        except NotFound as error:
            if error.message != BRANCH_NOT_FOUND:
                raise
            raise NotFound(f"the git host has no commits of pull request {number}") from error

    async def _fetch_reference(self, mirror_path: Path, remote: Remote, source: str, *, reference_key: str) -> "Commit":
        """Fetch a reference of the host into the reference of the mirror for ``reference_key``, and return its commit."""
        target = mirror_references.reference_name(reference_key)
        await self._fetch_into(mirror_path, remote, f"+{source}:{target}")
        return Commit(mirror_path, await asyncio.to_thread(mirror_references.commit_at, mirror_path, target))

    async def _fetch_synced(self, mirror_path: Path, remote: Remote, sha: str) -> "Commit":
        if not await asyncio.to_thread(mirror_references.has_commit, mirror_path, sha):
            try:
                await self._fetch_commit(mirror_path, remote, sha)
            except NotFound as error:
                if error.message not in (COMMIT_NOT_FOUND, COMMIT_NOT_SENT):
                    raise
                raise NotFound(f"commit {sha} was synced before, but neither this worker nor the git host has it any more") from error
        return Commit(mirror_path, sha)

    async def _fetch_commit(self, mirror_path: Path, remote: Remote, sha: str) -> None:
        """Fetch a commit and keep it. Without protocol v2, hosts send only branches, so the commit is searched in all of them."""
        try:
            await self._fetch_into(mirror_path, remote, f"+{sha}:{mirror_references.SYNCED_PREFIX}{sha}")
        except NotFound as error:
            if error.message != COMMIT_NOT_SENT:
                raise
            try:
                await self._fetch_into(mirror_path, remote, f"+refs/heads/*:{mirror_references.SEARCHED_PREFIX}*")
                if not await asyncio.to_thread(mirror_references.has_commit, mirror_path, sha):
                    # Raises the NotFound of the first fetch.
                    raise
                await run_to_end(mirror_references.keep_synced_commit, mirror_path, sha)
            finally:
                await run_to_end(mirror_references.delete_searched_references, mirror_path)

    async def _fetch_into(self, mirror_path: Path, remote: Remote, source_and_target: str) -> None:
        """Fetch a refspec, such as ``+refs/heads/main:refs/dashwright/…``. Raises the errors of ``Remote.run``, and TooLarge."""
        # Without --update-shallow, git leaves out the branches of a host with a shallow history, and reports success.
        arguments = ("fetch", "--no-tags", "--no-write-fetch-head", "--update-shallow", "--quiet", remote.url, source_and_target)
        await self.within_size_limit(mirror_path, remote.run(*arguments, directory=mirror_path))

    async def within_size_limit(self, mirror_path: Path, work: Coroutine[None, None, Result]) -> Result:
        """Return the result of ``work`` while watching the size of the mirror: hosts do not announce how large a repository is.

        Raises TooLarge if the mirror exceeds ``max_bytes``.
        """
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                await asyncio.wait([task], timeout=_SIZE_CHECK_INTERVAL_SECONDS)
                if await asyncio.to_thread(_size, mirror_path) > self.max_bytes:
                    raise _MirrorTooLarge(
                        f"the repository has more than {self.max_bytes} bytes: split it or raise DASHWRIGHT_REPOSITORY_BYTES"
                    )
            return await task
        finally:
            task.cancel()
            await asyncio.wait([task])


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit in a mirror."""

    mirror_path: Path
    sha: str

    async def descends_from(self, sha: str) -> bool:
        """Return whether ``sha`` is this commit or one of its ancestors. False if the mirror does not have ``sha``.

        Raises TooLarge, and SourceFailed if the mirror is damaged or git takes too long.
        """
        # The commit itself and its parents are the usual cases and need no other program.
        is_self_or_parent = await asyncio.to_thread(self._is_self_or_parent, sha)
        return await self._is_ancestor(sha) if is_self_or_parent is None else is_self_or_parent

    def _is_self_or_parent(self, sha: str) -> bool | None:
        """Return True if ``sha`` is this commit or a parent, False if it is unknown, and None if the history must be searched."""
        try:
            oid = pygit2.Oid(hex=sha)
        except ValueError:
            return False
        try:
            repository = pygit2.Repository(str(self.mirror_path))
            if sha == self.sha or objects.commit_of(repository, sha) is None:
                return sha == self.sha
            own_commit = objects.commit_of(repository, self.sha)
        except pygit2.GitError as error:
            raise mark_damaged(self.mirror_path, error) from error
        return True if own_commit is not None and oid in own_commit.parent_ids else None

    async def _is_ancestor(self, sha: str) -> bool:
        """Return whether ``sha`` is an ancestor, by the git program with limited memory.

        libgit2 would load all commits in between into the memory of this process.
        """
        try:
            await command.run(
                ["merge-base", "--is-ancestor", sha, self.sha],
                directory=self.mirror_path,
                settings={},
                timeout_seconds=_ANCESTRY_TIMEOUT_SECONDS,
            )
        except GitFailed as failed:
            error = SourceFailed(f"git cannot read the history before commit {self.sha}: {failed.stderr.strip()[:_MAX_DETAIL_CHARACTERS]}")
            if is_damaged(error):
                raise mark_damaged(self.mirror_path, error) from failed
            if failed.status != _STATUS_NOT_ANCESTOR:
                raise error from failed
            return False
        return True


def _unwritable_error(reason: str) -> SourceFailed:
    return SourceFailed(f"the jobs worker cannot keep a copy of the repository in its data directory: {reason}")


def _mirror_name(uid: str) -> str:
    """Return the name of the directory of a repository's mirror: a digest, which is a valid name for any uid."""
    return hashlib.sha256(uid.encode()).hexdigest()[:40]


def _create_if_missing(mirror_path: Path) -> None:
    """Create a mirror if it is missing, and delete the files of interrupted downloads, which git itself does not delete."""
    for leftover in [leftover for pattern in _LEFTOVER_PATTERNS for leftover in (mirror_path / "objects").glob(pattern)]:
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)
    if not (mirror_path / "HEAD").exists():
        shutil.rmtree(mirror_path, ignore_errors=True)
        create_bare_repository(mirror_path)


async def _collect_garbage(mirror_path: Path) -> None:
    """Let git merge small packs and delete unreachable objects, if there are many."""
    try:
        await command.run(
            ["gc", "--auto", "--force", "--quiet"], directory=mirror_path, settings=_GC_SETTINGS, timeout_seconds=_GC_TIMEOUT_SECONDS
        )
    except (GitFailed, SourceFailed) as error:
        log.warning("mirror_not_tidied", reason=str(error))


def _size(mirror_path: Path) -> int:
    """Return the bytes of all files in a mirror. Files that git deletes in the meantime are not counted."""
    total = 0
    for directory, _, names in os.walk(mirror_path):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size  # noqa: PTH118 - thousands of them, several times a second
            except FileNotFoundError:
                continue
    return total
