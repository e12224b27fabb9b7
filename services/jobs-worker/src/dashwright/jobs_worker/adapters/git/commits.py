"""Changes of files as commits: made in a mirror without a work tree, and sent to their host in one push.

New objects are kept in a directory of their own, next to the mirror's objects, until the host has accepted them. A failed push
therefore leaves no objects in the mirror.
"""

import asyncio
import re
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import pygit2
from pygit2.enums import FileMode

from dashwright.common.errors import BadRequest, Conflict, DashwrightError, NotFound, SourceFailed
from dashwright.common.jobs import paths
from dashwright.jobs_worker.adapters.file_lock import run_to_end
from dashwright.jobs_worker.adapters.git import objects
from dashwright.jobs_worker.adapters.git.bare_repository import create_bare_repository
from dashwright.jobs_worker.adapters.git.damage import mark_damaged
from dashwright.jobs_worker.adapters.git.mirrors import Commit, Mirrors
from dashwright.jobs_worker.adapters.git.remote import Remote
from dashwright.jobs_worker.adapters.git.signatures import Signing, check_signature, sign
from dashwright.jobs_worker.domain.objects import CommitDraft, Edit, GitIdentity

_OWN_IDENTITY: Final = GitIdentity("Dashwright", "noreply@dashwright.invalid")
"""The committer of all commits, and the author of commits without an author."""

_OUTGOING_NAME: Final = "outgoing"
"""Name of the directory in a mirror for objects that the host has not accepted yet."""

_HASH: Final = re.compile(r"[0-9a-f]{40}")
_MAX_NAME_CHARACTERS: Final = 200
_MAX_SEARCHED_COMMITS: Final = 1000
"""Limit on the newest commits of a branch that ``commits_by`` examines."""

_MAX_MESSAGE_CHARACTERS: Final = 10_000
_MAX_QUOTED_CHARACTERS: Final = 80
"""Limit on the characters of an invalid commit hash that an error quotes."""

_UNWRITABLE_MODES: Final = frozenset({FileMode.LINK, FileMode.COMMIT})
"""Modes of symbolic links and submodules."""


@dataclass(frozen=True, slots=True)
class BranchChange:
    """A change of a branch."""

    #: The repository's own branch; empty for the host's default branch.
    own_branch: str
    #: Branch to change; empty for the own one.
    branch: str
    #: Commit of ``branch``, or of ``own_branch`` if ``branch`` does not exist yet; empty in an empty repository.
    base: str
    #: The commits to make. They are iterated again if the mirror must be recreated.
    drafts: Sequence[CommitDraft]
    #: Directory that the paths of edits are relative to; empty for the root. Files outside of it are kept.
    directory: str = ""
    #: Signatures that the base must have and the new commits get.
    signing: Signing = field(default_factory=Signing)


class _TreeWrite(NamedTuple):
    """The write of one file below a directory."""

    #: Names in the path of the file, from the directory on.
    names: Sequence[str]
    #: New content; None deletes the file.
    blob: pygit2.Oid | None


async def commit(mirrors: Mirrors, uid: str, remote: Remote, change: BranchChange) -> Commit:
    """Make the commits, push them and return the last one; the commit of ``base`` if nothing differs from it.

    The push takes two requests to the host. Two to four requests precede it if the branch is not the repository's own or the mirror lacks
    ``base``. Raises Conflict if the branch is not at ``base``, NotFound for a missing file to delete, BadRequest for edits that do not fit
    the tree, and the errors of ``Remote.push``.
    """
    async with mirrors.locked(uid) as mirror_path:
        return await mirrors.with_repair(mirror_path, lambda: _commit(mirrors, mirror_path, remote, change))


async def _commit(mirrors: Mirrors, mirror_path: Path, remote: Remote, change: BranchChange) -> Commit:
    """Make and push the commits, with the mirror locked; see ``commit``."""
    branch, expected_head = await _target(mirrors, mirror_path, remote, change)
    if change.base and not await asyncio.to_thread(_has_commit, mirror_path, change.base):
        await mirrors.fetch_locked(mirror_path, remote, change.branch if change.branch and expected_head else change.own_branch)
        if not await asyncio.to_thread(_has_commit, mirror_path, change.base):
            raise _moved_error(branch)
    if change.base:
        # A signature covers all files of its commit, so files of an unsigned base must not get one.
        await check_signature(Commit(mirror_path, change.base), change.signing)
    outgoing = await run_to_end(OutgoingObjects, mirror_path)
    try:
        new_sha = await run_to_end(outgoing.make_commits, change)
        # The edits change nothing.
        if new_sha == change.base:
            return Commit(mirror_path, new_sha)
        try:
            await remote.push(new_sha, branch, expected_head, directory=outgoing.path)
        except SourceFailed as error:
            return await _pushed_commit(mirrors, mirror_path, remote, branch, new_sha, error)
        await run_to_end(outgoing.publish)
        return Commit(mirror_path, new_sha)
    finally:
        await run_to_end(outgoing.remove)


async def _target(mirrors: Mirrors, mirror_path: Path, remote: Remote, change: BranchChange) -> tuple[str, str]:
    """Return the branch to push to, and the commit that must be its head; the commit is empty if the branch must not exist."""
    if not change.branch or change.branch == change.own_branch:
        return change.own_branch or await _default_branch(mirrors, mirror_path, remote), change.base
    if not change.own_branch and change.branch == await _default_branch(mirrors, mirror_path, remote):
        # The right to write other branches must not be enough to write the repository's own branch by its name.
        raise BadRequest(f"branch {change.branch!r} is the repository's own: leave the ref out")
    head = await remote.head(change.branch, mirror_path)
    if head not in (None, change.base):
        raise _moved_error(change.branch)
    return change.branch, head or ""


async def _default_branch(mirrors: Mirrors, mirror_path: Path, remote: Remote) -> str:
    """Return the branch that the host's HEAD names, also if it has no commit yet."""
    name = await remote.default_branch(mirror_path)
    return name if name is not None else await mirrors.within_size_limit(mirror_path, remote.unborn_branch(mirror_path))


async def _pushed_commit(mirrors: Mirrors, mirror_path: Path, remote: Remote, branch: str, pushed_sha: str, error: SourceFailed) -> Commit:
    """Return the pushed commit if the branch contains it, because a push with a lost response may have succeeded.

    Raises ``error`` if the branch does not contain it.
    """
    try:
        newest = await mirrors.fetch_locked(mirror_path, remote, branch)
    except DashwrightError:
        raise SourceFailed(
            f"{error.message}; it is unknown whether the host stored the change: check the branch before you repeat it"
        ) from error
    if newest is None or not await newest.descends_from(pushed_sha):
        raise error
    return replace(newest, sha=pushed_sha)


async def commits_by(newest: Commit, author: GitIdentity, author_time: datetime) -> Sequence[tuple[Commit | None, Commit]]:
    """Return the newest commits of a branch with this author and author time (compared in seconds), each with its parent."""
    return await asyncio.to_thread(_commits_by, newest, _signature(author, author_time))


def _commits_by(newest: Commit, author: pygit2.Signature) -> list[tuple[Commit | None, Commit]]:
    try:
        history = islice(objects.history(pygit2.Repository(str(newest.mirror_path)), newest.sha), _MAX_SEARCHED_COMMITS)
        matches = [(commit.id, next(iter(commit.parent_ids), None)) for commit in history if _is_same_signature(commit.author, author)]
    except (pygit2.GitError, KeyError) as error:
        raise mark_damaged(newest.mirror_path, error) from error
    return [(replace(newest, sha=str(parent)) if parent else None, replace(newest, sha=str(sha))) for sha, parent in matches]


def _is_same_signature(first: pygit2.Signature, second: pygit2.Signature) -> bool:
    return (first.raw_name, first.raw_email, first.time) == (second.raw_name, second.raw_email, second.time)


def _moved_error(branch: str) -> Conflict:
    return Conflict(f"branch {branch!r} has moved: read it again and repeat the change")


def _has_commit(mirror_path: Path, sha: str) -> bool:
    """Return whether the mirror has a commit. Raises BadRequest if ``sha`` is not a complete hash."""
    if not _HASH.fullmatch(sha):
        raise BadRequest(f"{sha[:_MAX_QUOTED_CHARACTERS]!r} is not a commit: give all 40 digits")
    try:
        return objects.commit_of(pygit2.Repository(str(mirror_path)), sha) is not None
    except pygit2.GitError as error:
        raise mark_damaged(mirror_path, error) from error


class OutgoingObjects:
    """A bare repository on top of the objects of a mirror, for objects that the host has not accepted yet."""

    def __init__(self, mirror_path: Path) -> None:
        self.path = mirror_path / _OUTGOING_NAME
        self._mirror_path = mirror_path
        self.remove()
        create_bare_repository(self.path)
        (self.path / "objects" / "info" / "alternates").write_text(f"{mirror_path.absolute() / 'objects'}\n")
        self._repository = pygit2.Repository(str(self.path))

    def make_commits(self, change: BranchChange) -> str:
        """Make the commits and return the last one; ``base`` if its tree is unchanged. A draft that changes nothing makes no commit."""
        try:
            newest = self._repository[change.base].peel(pygit2.Commit) if change.base else None
            for draft in change.drafts:
                newest = self._repository[self._make_commit(newest, draft, change)].peel(pygit2.Commit)
            return str(newest.id) if newest is not None else ""
        except (pygit2.GitError, KeyError) as error:
            raise mark_damaged(self._mirror_path, error) from error

    def _make_commit(self, parent: pygit2.Commit | None, draft: CommitDraft, change: BranchChange) -> pygit2.Oid:
        """Make the commit of one draft and return it; ``parent`` if the draft changes nothing."""
        directory = change.directory
        old_tree = objects.tree_of(self._repository, parent, directory) if parent is not None else None
        new_tree = self._tree(old_tree, [_TreeWrite(edit.path.split("/"), self._blob(edit)) for edit in draft.edits]) or objects.EMPTY_TREE
        if parent is not None and old_tree is not None and new_tree == old_tree.id:
            return parent.id
        if directory and new_tree == objects.EMPTY_TREE:
            new_tree = self._tree_with_keep_file()
        tree = self._tree_with_subtree(parent.tree if parent is not None else None, directory.split("/") if directory else [], new_tree)
        author, committer = _signature(draft.author, draft.author_time), _signature(_OWN_IDENTITY)
        message, parents = _message_text(draft.message), [parent.id] if parent else []
        if not change.signing.private_key:
            return self._repository.create_commit(None, author, committer, message, tree, parents)
        content = str(self._repository.create_commit_string(author, committer, message, tree, list(parents)))
        return self._repository.create_commit_with_signature(content, sign(change.signing.private_key, content), "gpgsig")

    def _blob(self, edit: Edit) -> pygit2.Oid | None:
        return None if edit.body is None else self._repository.create_blob(edit.body)

    def _tree_with_keep_file(self) -> pygit2.Oid:
        """Return a tree with a ``.keep`` file, because git has no empty directories and the repository's directory must exist."""
        builder = self._repository.TreeBuilder()
        builder.insert(paths.KEEP_FILE, self._repository.create_blob(b""), FileMode.BLOB)
        return builder.write()

    def _tree_with_subtree(self, tree: pygit2.Object | None, directories: Sequence[str], subtree: pygit2.Oid) -> pygit2.Oid:
        """Return the tree with another tree at the path ``directories``; other entries are kept."""
        if not directories:
            return subtree
        builder = self._repository.TreeBuilder(tree) if isinstance(tree, pygit2.Tree) else self._repository.TreeBuilder()
        builder.insert(directories[0], self._tree_with_subtree(builder.get(directories[0]), directories[1:], subtree), FileMode.TREE)
        return builder.write()

    def publish(self) -> None:
        """Move the objects into the mirror one by one. Writing a pack would take ten times as long; ``git gc`` makes one later."""
        for object_file in (self.path / "objects").glob("[0-9a-f][0-9a-f]/*"):
            directory = self._mirror_path / "objects" / object_file.parent.name
            directory.mkdir(exist_ok=True)
            object_file.replace(directory / object_file.name)

    def remove(self) -> None:
        """Delete the objects."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _tree(self, before: pygit2.Tree | None, writes: Sequence[_TreeWrite], parent_path: str = "") -> pygit2.Oid | None:
        """Return a directory after the writes; None if it is empty. Entries without a write are kept."""
        if before is not None:
            objects.check_object_size(self._repository, before.id)
        builder = self._repository.TreeBuilder(before) if before is not None else self._repository.TreeBuilder()
        writes_by_directory: dict[str, list[_TreeWrite]] = {}
        for names, blob in writes:
            if len(names) > 1:
                writes_by_directory.setdefault(names[0], []).append(_TreeWrite(names[1:], blob))
        file_writes = [(names[0], blob) for names, blob in writes if len(names) == 1]
        # Deletions first, so that a file can replace a directory in one change, and a directory a file.
        _remove_files(builder, [name for name, blob in file_writes if blob is None], parent_path)
        for name, directory_writes in writes_by_directory.items():
            self._update_directory(builder, name, directory_writes, parent_path)
        for name, blob in file_writes:
            if blob is not None:
                _insert_blob(builder, name, blob, parent_path)
        return builder.write() if len(builder) else None

    def _update_directory(self, builder: pygit2.TreeBuilder, name: str, writes: Sequence[_TreeWrite], parent_path: str) -> None:
        """Write files below a directory, which is deleted if it becomes empty. Raises BadRequest if a file is in its place."""
        existing_entry: pygit2.Object | None = builder.get(name)
        if existing_entry is not None and not isinstance(existing_entry, pygit2.Tree):
            raise BadRequest(f"{parent_path}{name} is a file: nothing can be put below it")
        new_tree = self._tree(existing_entry, writes, f"{parent_path}{name}/")
        if new_tree is not None:
            builder.insert(name, new_tree, FileMode.TREE)
        elif existing_entry is not None:
            builder.remove(name)


def _insert_blob(builder: pygit2.TreeBuilder, name: str, blob: pygit2.Oid, parent_path: str) -> None:
    """Write a file, which keeps the mode of an existing one. Raises BadRequest if something else is in its place."""
    existing_entry: pygit2.Object | None = builder.get(name)
    if isinstance(existing_entry, pygit2.Tree):
        raise BadRequest(f"{parent_path}{name} is a directory: no file can be put in its place")
    if existing_entry is not None and existing_entry.filemode in _UNWRITABLE_MODES:
        raise BadRequest(f"{parent_path}{name} is a link or submodule and cannot be written: delete it first")
    builder.insert(name, blob, FileMode.BLOB if existing_entry is None else existing_entry.filemode)


def _remove_files(builder: pygit2.TreeBuilder, names: Iterable[str], parent_path: str) -> None:
    """Delete files. Raises NotFound for a missing one."""
    for name in names:
        existing_entry: pygit2.Object | None = builder.get(name)
        if existing_entry is None or isinstance(existing_entry, pygit2.Tree):
            raise NotFound(f"file not found: {parent_path}{name}")
        builder.remove(name)


def _signature(identity: GitIdentity, time: datetime | None = None) -> pygit2.Signature:
    """Return a git signature.

    Characters that git forbids are removed. An empty name or address is replaced by Dashwright's own. ``time`` None is the present time.
    """
    name, email = _plain(identity.name) or _OWN_IDENTITY.name, _plain(identity.email) or _OWN_IDENTITY.email
    return pygit2.Signature(name, email) if time is None else pygit2.Signature(name, email, int(time.timestamp()), 0)


def _plain(value: str) -> str:
    """Return a name or address without the characters that git forbids, such as ``<`` and a final comma."""
    return "".join(character for character in value if character.isprintable() and character not in "<>").strip(" .,:;\"'")[
        :_MAX_NAME_CHARACTERS
    ]


def _message_text(message: str) -> str:
    """Return the message without control characters, because a terminal that shows it would execute them."""
    visible = "".join(character for character in message if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs"))
    return visible.strip()[:_MAX_MESSAGE_CHARACTERS] + "\n"
