"""Bare copies of repositories in the data folder: made when first needed, brought up to date, made anew when damaged."""

import asyncio
import fcntl
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pygit2
import structlog

from dashwright.common.errors import NotFound, SourceFailed, TooLarge
from dashwright.jobs_worker.adapters.git.remote import Remote

log = structlog.get_logger()

_HEADS: Final = "refs/remotes/origin/"
_DEFAULT: Final = "refs/dashwright/default"
_EMPTY: Final = "couldn't find remote ref HEAD"
_DAMAGED: Final = (
    *("not a git repository", "bad object", "object file", "missing blob", "missing tree", "loose object", "packfile", "index-pack"),
    *("corrupt", "unable to read", "did not send all necessary objects", "inflate"),
)
_LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Mirrors:
    """``folder`` is theirs alone; a copy takes ``most_bytes`` at most. Several workers may share the folder."""

    folder: Path
    most_bytes: int

    async def fetch(self, uid: str, remote: Remote, branch: str) -> "Commit | None":
        """The newest commit of a branch, or of the host's default one; None where the repository has no commit yet.

        At most four requests to the host. Raises what Remote raises, NotFound for a branch that is gone, and TooLarge.
        """
        place = self.folder / _name(uid)
        async with _held(place):
            try:
                return await self._fetch(place, remote, branch)
            except SourceFailed as error:
                if not _is_damaged(error):
                    raise
                log.warning("mirror_made_anew", reason=error.message)
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
                return await self._fetch(place, remote, branch)

    def place(self) -> Path:
        """The folder of all copies, which is no repository itself."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder

    async def keep(self, uids: Sequence[str]) -> int:
        """Drops the copies of all other repositories, which are gone; answers how many."""
        kept = {_name(uid) for uid in uids}
        gone = [place for place in self.place().iterdir() if place.is_dir() and place.name not in kept]
        for place in gone:
            async with _held(place):
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            place.with_suffix(".lock").unlink(missing_ok=True)
        return len(gone)

    async def _fetch(self, place: Path, remote: Remote, branch: str) -> "Commit | None":
        await asyncio.to_thread(_make, place)
        source, target = (f"refs/heads/{branch}", f"{_HEADS}{branch}") if branch else ("HEAD", _DEFAULT)
        fetching = remote.run("fetch", "--no-tags", "--no-write-fetch-head", "--quiet", remote.url, f"+{source}:{target}", folder=place)
        try:
            await self._bounded(place, asyncio.ensure_future(fetching))
        except NotFound as error:
            if error.message != "branch not found":
                raise
            if not branch or not await remote.default_branch(place):
                return None
            raise NotFound(f"branch not found: {branch!r}; the repository has others") from error
        return await asyncio.to_thread(_commit, place, target)

    async def _bounded(self, place: Path, fetching: "asyncio.Future[bytes]") -> None:
        """Looks at the folder while it fills: nobody says beforehand how large a repository is."""
        try:
            is_done = False
            while not is_done:
                is_done = bool((await asyncio.wait([fetching], timeout=_LOOK_SECONDS))[0])
                if await asyncio.to_thread(_bytes, place) > self.most_bytes:
                    raise TooLarge(f"the repository has more than {self.most_bytes} bytes: split it or raise DASHWRIGHT_REPOSITORY_BYTES")
            await fetching
        finally:
            fetching.cancel()
            await asyncio.wait([fetching])


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit in a bare copy."""

    place: Path
    sha: str

    def knows(self, sha: str) -> bool:
        """Whether the copy has a commit of this name, that this one or one before it is."""
        repository = pygit2.Repository(str(self.place))
        try:
            found = repository.get(sha)
            return isinstance(found, pygit2.Commit) and (sha == self.sha or repository.descendant_of(self.sha, sha))
        except pygit2.GitError as error:
            raise SourceFailed(f"git failed: corrupt copy: {error}") from error


def _name(uid: str) -> str:
    return hashlib.sha256(uid.encode()).hexdigest()[:40]


def _make(place: Path) -> None:
    if not (place / "HEAD").exists():
        shutil.rmtree(place, ignore_errors=True)
        pygit2.init_repository(str(place), bare=True)
        place.chmod(0o700)


def _commit(place: Path, reference: str) -> Commit:
    try:
        repository = pygit2.Repository(str(place))
        return Commit(place, str(repository.references[reference].peel(pygit2.Commit).id))
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise SourceFailed(f"git failed: corrupt copy: {error}") from error


def _is_damaged(error: SourceFailed) -> bool:
    return any(sign in error.message for sign in _DAMAGED)


def _bytes(place: Path) -> int:
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - thousands of them, several times a second
            except FileNotFoundError:
                continue
    return total


@asynccontextmanager
async def _held(place: Path) -> AsyncIterator[None]:
    """One at a time, of all processes: the lock ends with its holder."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("a") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        yield
