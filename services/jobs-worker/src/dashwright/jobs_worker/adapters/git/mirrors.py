"""Bare copies of repositories in the data folder: created when first needed, updated by fetches, recreated when damaged."""

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
from dashwright.jobs_worker.adapters.file_lock import to_end
from dashwright.jobs_worker.adapters.git import command, objects
from dashwright.jobs_worker.adapters.git.command import GitFailed
from dashwright.jobs_worker.adapters.git.remote import COMMIT_NOT_FOUND, Remote
from dashwright.jobs_worker.ports import CopyDamaged

log = structlog.get_logger()

_SEEN: Final = "refs/dashwright/"
_SYNCED: Final = _SEEN + "synced/"
_DAMAGED: Final = (
    *("not a git repository", "bad object", "object file", "missing blob", "missing tree", "loose object", "packfile", "index-pack"),
    *("corrupt", "unable to read", "Could not read", "did not send all necessary objects", "inflate"),
    # Locks that a killed program left: the copy is locked, so no other program holds them.
    *("Another git process", "cannot lock ref", "local refs could not be updated"),
)
_LEFT: Final = ("pack/tmp_*", "pack/.tmp-*", "tmp_objdir-*", "incoming-*")
"""Files below the objects that a killed program leaves."""

_TIDYING: Final = {
    "gc.auto": "1000",
    "gc.autoDetach": "false",
    "gc.autoPackLimit": "20",
    # Large packs are left alone: rewriting them for every few commits takes too long.
    "gc.bigPackThreshold": "64m",
    "gc.pruneExpire": "1.hour.ago",
}
_TIDY_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.5
_ANCESTRY_SECONDS: Final = 60.0
_IS_NO_ANCESTOR: Final = 1
_LONGEST_SAID: Final = 200

Result = TypeVar("Result")


class _CopyTooLarge(TooLarge):
    """The copy itself takes too much space, as opposed to a file that would be put in it."""


@dataclass(frozen=True, slots=True)
class Mirrors:
    """The copies of all repositories in one folder, which several workers may share."""

    #: Used for nothing else.
    folder: Path
    #: Limit for one copy.
    most_bytes: int

    async def fetch(self, uid: str, remote: Remote, branch: str) -> "Commit | None":
        """Fetch a branch, or the host's default one, and return its newest commit; None if the repository has no commit yet.

        At most four requests to the host. Raises what Remote raises, NotFound for a deleted branch, and TooLarge.
        """
        async with self.locked(uid) as place:
            return await self.fetch_locked(place, remote, branch)

    @asynccontextmanager
    async def locked(self, uid: str) -> AsyncIterator[Path]:
        """Lock the copy of a repository and yield its path. It may not exist yet."""
        place = self.folder / _name(uid)
        try:
            async with file_lock.exclusive(place.with_suffix(".lock")):
                yield place
        except OSError as error:
            raise _unwritten(str(error.strerror)) from error

    async def fetch_locked(self, place: Path, remote: Remote, branch: str) -> "Commit | None":
        """Fetch a branch into a copy that the caller has locked. Otherwise like ``fetch``."""
        return await self.with_repair(place, lambda: self._fetch(place, remote, branch))

    async def with_repair(self, place: Path, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of ``work`` on a copy that the caller has locked; the copy is created if missing.

        If the copy is damaged, or too large (it may hold objects that no branch contains any more), it is recreated and the work is done
        once more. A new copy that is damaged or too large is deleted, and the error raised.
        """
        is_new = not await asyncio.to_thread((place / "HEAD").exists)
        while True:
            await to_end(_make, place)
            try:
                return await work()
            # Deleting the copy also helps against size: it may hold objects of branches that are gone.
            except (SourceFailed, _CopyTooLarge) as error:
                if isinstance(error, SourceFailed) and not _is_damaged(error):
                    raise
                log.warning("mirror_dropped", reason=error.message)
                await to_end(shutil.rmtree, place, ignore_errors=True)
                if is_new:
                    raise
            is_new = True

    async def fetch_pull_request(self, uid: str, remote: Remote, number: int) -> "Commit":
        """Return the newest commit of a pull request, from a fork or not. Raises what ``fetch`` does."""
        async with self.locked(uid) as place:
            return await self.with_repair(place, lambda: self._fetch_pull_request(place, remote, number))

    async def fetch_synced(self, uid: str, remote: Remote, sha: str) -> "Commit":
        """Return a commit that was synced before, wherever branches are now. Raises NotFound if neither the copy nor its host has it."""
        async with self.locked(uid) as place:
            return await self.with_repair(place, lambda: self._fetch_synced(place, remote, sha))

    async def keep_synced(self, uid: str, shas: Collection[str]) -> None:
        """Protect exactly these commits from garbage collection, whatever happens to branches."""
        async with self.locked(uid) as place:
            await self.with_repair(place, lambda: to_end(_pin, place, shas))

    def place(self) -> Path:
        """Return the folder of all copies, which is not a repository itself."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritten(str(error.strerror)) from error
        return self.folder

    async def keep_only(self, uids: Sequence[str]) -> int:
        """Delete the copies of all other repositories, return how many, and tidy the remaining ones."""
        kept = {_name(uid) for uid in uids}
        dropped = 0
        for place in [place for place in self.place().iterdir() if place.is_dir()]:
            lock = place.with_suffix(".lock")
            async with file_lock.exclusive(lock):
                if place.name in kept:
                    await _tidy(place)
                    continue
                await to_end(shutil.rmtree, place, ignore_errors=True)
                lock.unlink(missing_ok=True)
                dropped += 1
        return dropped

    async def _fetch(self, place: Path, remote: Remote, branch: str) -> "Commit | None":
        source = f"refs/heads/{branch}" if branch else "HEAD"
        try:
            return await self._fetch_reference(place, remote, source, seen_as=source)
        except NotFound as error:
            if error.message != "branch not found":
                raise
            missing = await remote.missing(branch, place)
            if missing is None:
                return None
            raise missing from error

    async def _fetch_pull_request(self, place: Path, remote: Remote, number: int) -> "Commit":
        try:
            # All pull requests share one reference, so each is kept only until the next fetch and garbage collection.
            return await self._fetch_reference(place, remote, f"refs/pull/{number}/head", seen_as="refs/pull")
        except NotFound as error:
            if error.message != "branch not found":
                raise
            raise NotFound(f"the git host has no commits of pull request {number}") from error

    async def _fetch_reference(self, place: Path, remote: Remote, source: str, *, seen_as: str) -> "Commit":
        # By a digest: the name of a branch may equal the directory of another one.
        target = _SEEN + hashlib.sha256(seen_as.encode()).hexdigest()[:40]
        fetching = remote.run("fetch", "--no-tags", "--no-write-fetch-head", "--quiet", remote.url, f"+{source}:{target}", folder=place)
        await self.within_size_limit(place, fetching)
        return await asyncio.to_thread(_commit, place, target)

    async def _fetch_synced(self, place: Path, remote: Remote, sha: str) -> "Commit":
        if not await asyncio.to_thread(_has, place, sha):
            source = f"+{sha}:{_SYNCED}{sha}"
            fetching = remote.run("fetch", "--no-tags", "--no-write-fetch-head", "--quiet", remote.url, source, folder=place)
            try:
                await self.within_size_limit(place, fetching)
            except NotFound as error:
                if error.message != COMMIT_NOT_FOUND:
                    raise
                text = f"commit {sha} was synced before, but neither this worker nor the git host has it any more"
                raise NotFound(text) from error
        return Commit(place, sha)

    async def within_size_limit(self, place: Path, work: Coroutine[None, None, Result]) -> Result:
        """Return the result of ``work`` while watching the size of the copy: hosts do not announce how large a repository is.

        Raises TooLarge.
        """
        fetching = asyncio.ensure_future(work)
        try:
            is_done = False
            while not is_done:
                is_done = bool((await asyncio.wait([fetching], timeout=_LOOK_SECONDS))[0])
                if await asyncio.to_thread(_bytes, place) > self.most_bytes:
                    raise _CopyTooLarge(
                        f"the repository has more than {self.most_bytes} bytes: split it or raise DASHWRIGHT_REPOSITORY_BYTES"
                    )
            return await fetching
        finally:
            fetching.cancel()
            await asyncio.wait([fetching])


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit in a bare copy."""

    place: Path
    sha: str

    async def descends_from(self, sha: str) -> bool:
        """Return whether the copy has a commit of this name that is this one or an ancestor.

        Raises TooLarge, and SourceFailed if the copy is damaged or git takes too long.
        """
        is_near = await asyncio.to_thread(self._is_near, sha)
        return await self._is_ancestor(sha) if is_near is None else is_near

    def _is_near(self, sha: str) -> bool | None:
        """Return whether the commit is this one or a parent, which is the usual case; None if that is not enough to decide."""
        try:
            oid = pygit2.Oid(hex=sha)
        except ValueError:
            return False
        try:
            repository = pygit2.Repository(str(self.place))
            if sha == self.sha or objects.commit_of(repository, sha) is None:
                return sha == self.sha
            own = objects.commit_of(repository, self.sha)
        except pygit2.GitError as error:
            raise damaged(self.place, error) from error
        return True if own is not None and oid in own.parent_ids else None

    async def _is_ancestor(self, sha: str) -> bool:
        """Ask the git program, whose memory is limited: libgit2 would load all commits in between, whatever their size."""
        try:
            await command.run(["merge-base", "--is-ancestor", sha, self.sha], folder=self.place, settings={}, seconds=_ANCESTRY_SECONDS)
        except GitFailed as failed:
            error = SourceFailed(f"git cannot read the history before commit {self.sha}: {failed.stderr.strip()[:_LONGEST_SAID]}")
            if _is_damaged(error):
                raise damaged(self.place, error) from failed
            if failed.status != _IS_NO_ANCESTOR:
                raise error from failed
            return False
        return True


def damaged(place: Path, error: Exception) -> CopyDamaged:
    """Return the error for a copy that libgit2 cannot read, and mark the copy so that the next fetch recreates it."""
    (place / "HEAD").unlink(missing_ok=True)
    return CopyDamaged(f"the worker's copy of the repository is damaged and will be recreated: {error}")


def _unwritten(reason: str) -> SourceFailed:
    return SourceFailed(f"the jobs worker cannot keep a copy of the repository in its data folder: {reason}")


def _name(uid: str) -> str:
    return hashlib.sha256(uid.encode()).hexdigest()[:40]


def _make(place: Path) -> None:
    """Create a copy if it is missing. Deletes what an interrupted download left: nothing else would."""
    for left in [left for pattern in _LEFT for left in (place / "objects").glob(pattern)]:
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    if not (place / "HEAD").exists():
        shutil.rmtree(place, ignore_errors=True)
        try:
            pygit2.init_repository(str(place), bare=True)
        except pygit2.GitError as error:
            raise _unwritten(str(error)) from error
        place.chmod(0o700)


async def _tidy(place: Path) -> None:
    """Let git merge small packs and drop unreachable objects if it is worth it."""
    try:
        await command.run(["gc", "--auto", "--force", "--quiet"], folder=place, settings=_TIDYING, seconds=_TIDY_SECONDS)
    except (GitFailed, SourceFailed) as error:
        log.warning("mirror_not_tidied", reason=str(error))


def _commit(place: Path, reference: str) -> Commit:
    try:
        repository = pygit2.Repository(str(place))
        found = repository.references[reference]
        if isinstance(found.target, pygit2.Oid):
            objects.check(repository, found.target)
        return Commit(place, str(found.peel(pygit2.Commit).id))
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise damaged(place, error) from error


def _has(place: Path, sha: str) -> bool:
    try:
        return objects.commit_of(pygit2.Repository(str(place)), sha) is not None
    except pygit2.GitError as error:
        raise damaged(place, error) from error


def _pin(place: Path, shas: Collection[str]) -> None:
    try:
        references = pygit2.Repository(str(place)).references
        kept = {name.removeprefix(_SYNCED) for name in references if name.startswith(_SYNCED)}
        for sha in kept.difference(shas):
            references.delete(_SYNCED + sha)
        for sha in set(shas) - kept:
            if _has(place, sha):
                references.create(_SYNCED + sha, sha)
    except pygit2.GitError as error:
        raise damaged(place, error) from error


def _is_damaged(error: SourceFailed) -> bool:
    return isinstance(error, CopyDamaged) or any(sign in error.message for sign in _DAMAGED)


def _bytes(place: Path) -> int:
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - thousands of them, several times a second
            except FileNotFoundError:
                continue
    return total
