"""Changes of files as commits: made in a bare copy without a work tree, and sent to their host in one push.

New objects are kept in a folder of their own next to the copy's objects until the host has accepted them, so a failed push leaves nothing.
"""

import asyncio
import re
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

import pygit2
from pygit2.enums import FileMode

from dashwright.common.errors import BadRequest, Conflict, DashwrightError, NotFound, SourceFailed
from dashwright.common.jobs import paths
from dashwright.jobs_worker.adapters.file_lock import to_end
from dashwright.jobs_worker.adapters.git import objects
from dashwright.jobs_worker.adapters.git.mirrors import Commit, Mirrors, damaged
from dashwright.jobs_worker.adapters.git.remote import Remote
from dashwright.jobs_worker.domain.objects import Draft, Edit, GitIdentity

_OURS: Final = GitIdentity("Dashwright", "noreply@dashwright.invalid")
_OUTGOING: Final = "outgoing"
_NAME: Final = re.compile(r"[0-9a-f]{40}")
_LONGEST_NAME: Final = 200
_LOOKED_AT: Final = 1000
"""Commits after the one that is looked for."""

_LONGEST_MESSAGE: Final = 10_000
_NO_FILES: Final = frozenset({FileMode.LINK, FileMode.COMMIT})


@dataclass(frozen=True, slots=True)
class BranchChange:
    """A change of a branch."""

    #: The repository's own branch; empty for the host's default branch.
    own: str
    #: Branch to change; empty for the own one.
    ref: str
    #: Commit that ``ref`` is at, or ``own`` if ``ref`` does not exist yet; empty in an empty repository.
    base: str
    #: One commit each. Iterated again if the copy has to be recreated.
    drafts: Sequence[Draft]
    #: Directory that the paths of edits are relative to; empty for the root. Files outside of it are kept.
    directory: str = ""


_Write: TypeAlias = tuple[Sequence[str], pygit2.Oid | None]
"""The rest of a path and the blob to put there; None deletes."""


async def commit(mirrors: Mirrors, uid: str, remote: Remote, change: BranchChange) -> Commit:
    """Make the commits, push them and return the last one; the commit of ``base`` if nothing differs from it.

    The push takes two requests to the host, preceded by two to four if the branch is not named as the own one or the copy lacks ``base``,
    whatever the number of files. Raises Conflict if the branch is not at ``base``, what ``Remote.push`` raises, NotFound for a missing file
    to delete, and BadRequest for edits that do not fit the tree.
    """
    async with mirrors.locked(uid) as place:
        return await mirrors.with_repair(place, lambda: _commit(mirrors, place, remote, change))


async def _commit(mirrors: Mirrors, place: Path, remote: Remote, change: BranchChange) -> Commit:
    branch, expected = await _target(mirrors, place, remote, change)
    if change.base and not await asyncio.to_thread(_knows, place, change.base):
        await mirrors.fetch_locked(place, remote, change.ref if expected else change.own)
        if not await asyncio.to_thread(_knows, place, change.base):
            raise _moved(branch)
    outgoing = await to_end(OutgoingObjects, place)
    try:
        made = await to_end(outgoing.make, change)
        if made == change.base:
            return Commit(place, made)
        try:
            await remote.push(made, branch, expected, folder=outgoing.folder)
        except SourceFailed as error:
            return await _arrived(mirrors, place, remote, branch, made, error)
        await to_end(outgoing.keep)
        return Commit(place, made)
    finally:
        await to_end(outgoing.remove)


async def _target(mirrors: Mirrors, place: Path, remote: Remote, change: BranchChange) -> tuple[str, str]:
    """Return the branch to push to and the commit it must be at; empty if the branch must not exist."""
    if not change.ref or change.ref == change.own:
        return change.own or await _default_branch(mirrors, place, remote), change.base
    if not change.own and change.ref == await _default_branch(mirrors, place, remote):
        # Otherwise the right to write other branches would be enough to write the own one by its name.
        raise BadRequest(f"branch {change.ref!r} is the repository's own: leave the ref out")
    head = await remote.head(change.ref, place)
    if head not in (None, change.base):
        raise _moved(change.ref)
    return change.ref, head or ""


async def _default_branch(mirrors: Mirrors, place: Path, remote: Remote) -> str:
    name = await remote.default_branch(place)
    return name if name is not None else await mirrors.within_size_limit(place, remote.unborn_branch(place))


async def _arrived(mirrors: Mirrors, place: Path, remote: Remote, branch: str, made: str, error: SourceFailed) -> Commit:
    """Return the commit if the branch has it: a push with a lost response may have succeeded. Raises the error if it does not."""
    try:
        newest = await mirrors.fetch_locked(place, remote, branch)
    except DashwrightError:
        raise SourceFailed(f"{error.message}; it is unknown whether the change arrived there") from error
    if newest is None or not await newest.descends_from(made):
        raise error
    return replace(newest, sha=made)


async def commits_by(newest: Commit, by: GitIdentity, at: datetime) -> Sequence[tuple[Commit | None, Commit]]:
    """Return the newest commits of a branch by this author in that second, each with its parent."""
    return await asyncio.to_thread(_commits_by, newest, _signature(by, at))


def _commits_by(newest: Commit, author: pygit2.Signature) -> list[tuple[Commit | None, Commit]]:
    try:
        seen = islice(objects.history(pygit2.Repository(str(newest.place)), newest.sha), _LOOKED_AT)
        own = [(commit.id, next(iter(commit.parent_ids), None)) for commit in seen if _is_by(commit.author, author)]
    except (pygit2.GitError, KeyError) as error:
        raise damaged(newest.place, error) from error
    return [(replace(newest, sha=str(before)) if before else None, replace(newest, sha=str(made))) for made, before in own]


def _is_by(author: pygit2.Signature, wanted: pygit2.Signature) -> bool:
    return (author.raw_name, author.raw_email, author.time) == (wanted.raw_name, wanted.raw_email, wanted.time)


def _moved(branch: str) -> Conflict:
    return Conflict(f"branch {branch!r} has moved: read it again and repeat the change")


def _knows(place: Path, sha: str) -> bool:
    if not _NAME.fullmatch(sha):
        raise BadRequest(f"{sha[:80]!r} is not a commit: give all 40 digits")
    try:
        return objects.commit_of(pygit2.Repository(str(place)), sha) is not None
    except pygit2.GitError as error:
        raise damaged(place, error) from error


class OutgoingObjects:
    """A bare repository on top of the objects of a copy, for objects that the host has not accepted yet."""

    def __init__(self, place: Path) -> None:
        self.folder = place / _OUTGOING
        self._place = place
        self.remove()
        pygit2.init_repository(str(self.folder), bare=True)
        (self.folder / "objects" / "info" / "alternates").write_text(f"{place.absolute() / 'objects'}\n")
        self._repository = pygit2.Repository(str(self.folder))

    def make(self, change: BranchChange) -> str:
        """Make the commits and return the last one; ``base`` if its tree is unchanged. A draft that changes nothing makes no commit."""
        try:
            newest = self._repository[change.base].peel(pygit2.Commit) if change.base else None
            for draft in change.drafts:
                newest = self._repository[self._commit(newest, draft, change.directory)].peel(pygit2.Commit)
            return str(newest.id) if newest is not None else ""
        except (pygit2.GitError, KeyError) as error:
            raise damaged(self._place, error) from error

    def _commit(self, before: pygit2.Commit | None, draft: Draft, directory: str) -> pygit2.Oid:
        old = objects.tree_of(self._repository, before, directory) if before is not None else None
        new = self._tree(old, [(edit.path.split("/"), self._blob(edit)) for edit in draft.edits]) or objects.EMPTY
        if before is not None and old is not None and new == old.id:
            return before.id
        if directory and new == objects.EMPTY:
            new = self._kept()
        tree = self._around(before.tree if before is not None else None, directory.split("/") if directory else [], new)
        author, committer = _signature(draft.by, draft.at), _signature(_OURS)
        return self._repository.create_commit(None, author, committer, _text(draft.message), tree, [before.id] if before else [])

    def _blob(self, edit: Edit) -> pygit2.Oid | None:
        return None if edit.body is None else self._repository.create_blob(edit.body)

    def _kept(self) -> pygit2.Oid:
        """Return a tree with a ``.keep`` file: git has no empty directories, and readers of the directory must find it."""
        builder = self._repository.TreeBuilder()
        builder.insert(paths.KEEP, self._repository.create_blob(b""), FileMode.BLOB)
        return builder.write()

    def _around(self, before: pygit2.Object | None, way: Sequence[str], inside: pygit2.Oid) -> pygit2.Oid:
        """Return the tree with another tree at the end of the path ``way``; everything else is kept."""
        if not way:
            return inside
        builder = self._repository.TreeBuilder(before) if isinstance(before, pygit2.Tree) else self._repository.TreeBuilder()
        builder.insert(way[0], self._around(builder.get(way[0]), way[1:], inside), FileMode.TREE)
        return builder.write()

    def keep(self) -> None:
        """Move the objects into the copy one by one: writing a pack takes ten times as long, and git makes one when it tidies the copy."""
        for made in (self.folder / "objects").glob("[0-9a-f][0-9a-f]/*"):
            directory = self._place / "objects" / made.parent.name
            directory.mkdir(exist_ok=True)
            made.replace(directory / made.name)

    def remove(self) -> None:
        """Delete the objects."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _tree(self, before: pygit2.Tree | None, writes: Sequence[_Write], above: str = "") -> pygit2.Oid | None:
        """Return a directory after the writes; None if it is empty. Names without a write are kept."""
        if before is not None:
            objects.check(self._repository, before.id)
        builder = self._repository.TreeBuilder(before) if before is not None else self._repository.TreeBuilder()
        inside: dict[str, list[_Write]] = {}
        for parts, blob in writes:
            if len(parts) > 1:
                inside.setdefault(parts[0], []).append((parts[1:], blob))
        here = [(parts[0], blob) for parts, blob in writes if len(parts) == 1]
        # Deletions first, so that a file can replace a directory in one change, and a directory a file.
        _remove(builder, [name for name, blob in here if blob is None], above)
        for name, below in inside.items():
            self._directory(builder, name, below, above)
        for name, blob in here:
            if blob is not None:
                _put(builder, name, blob, above)
        return builder.write() if len(builder) else None

    def _directory(self, builder: pygit2.TreeBuilder, name: str, writes: Sequence[_Write], above: str) -> None:
        before: pygit2.Object | None = builder.get(name)
        if before is not None and not isinstance(before, pygit2.Tree):
            raise BadRequest(f"{above}{name} is a file: nothing can be put below it")
        after = self._tree(before, writes, f"{above}{name}/")
        if after is not None:
            builder.insert(name, after, FileMode.TREE)
        elif before is not None:
            builder.remove(name)


def _put(builder: pygit2.TreeBuilder, name: str, blob: pygit2.Oid, above: str) -> None:
    before: pygit2.Object | None = builder.get(name)
    if isinstance(before, pygit2.Tree):
        raise BadRequest(f"{above}{name} is a directory: no file can be put in its place")
    if before is not None and before.filemode in _NO_FILES:
        raise BadRequest(f"{above}{name} is a link or submodule and cannot be written: delete it first")
    builder.insert(name, blob, FileMode.BLOB if before is None else before.filemode)


def _remove(builder: pygit2.TreeBuilder, names: Iterable[str], above: str) -> None:
    for name in names:
        before: pygit2.Object | None = builder.get(name)
        if before is None or isinstance(before, pygit2.Tree):
            raise NotFound(f"file not found: {above}{name}")
        builder.remove(name)


def _signature(by: GitIdentity, at: datetime | None = None) -> pygit2.Signature:
    """Return a git signature.

    Characters that git forbids are dropped, and missing parts replaced by those of Dashwright. ``at`` None is now.
    """
    name, email = _plain(by.name) or _OURS.name, _plain(by.email) or _OURS.email
    return pygit2.Signature(name, email) if at is None else pygit2.Signature(name, email, int(at.timestamp()), 0)


def _plain(text: str) -> str:
    return "".join(character for character in text if character.isprintable() and character not in "<>").strip(" .,:;\"'")[:_LONGEST_NAME]


def _text(message: str) -> str:
    """Return the message without control characters, which a terminal would execute."""
    shown = "".join(character for character in message if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs"))
    return shown.strip()[:_LONGEST_MESSAGE] + "\n"
