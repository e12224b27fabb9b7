"""References of a mirror: those of fetched branches, and those that protect commits from garbage collection.

The functions raise MirrorDamaged if the mirror cannot be read.
"""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import pygit2

from dashwright.common.errors import BadRequest
from dashwright.jobs_worker.adapters.git import objects
from dashwright.jobs_worker.adapters.git.damage import mark_damaged

_REFERENCE_PREFIX: Final = "refs/dashwright/"
SYNCED_PREFIX: Final = _REFERENCE_PREFIX + "synced/"
"""Prefix of the references that protect synced commits from garbage collection."""

PULL_REQUESTS: Final = "refs/pull"
"""Key of the reference that all pull requests share."""

SEARCHED_PREFIX: Final = _REFERENCE_PREFIX + "searched/"
"""Prefix of the references of all branches, while a commit is searched in them."""


def reference_name(key: str) -> str:
    """Return the reference of the mirror for a reference of the host.

    It is a digest, because the name of a branch may equal the directory of another branch.
    """
    return _REFERENCE_PREFIX + hashlib.sha256(key.encode()).hexdigest()[:40]


def branch_source(branch: str) -> str:
    """Return the reference of the host for a branch (empty: the default branch)."""
    return f"refs/heads/{branch}" if branch else "HEAD"


def branch_heads(mirror_path: Path) -> Mapping[str, str]:
    """Return the commits of the fetched branches by the name of their reference: an empty mapping before the first fetch."""
    if not (mirror_path / "HEAD").exists():
        return {}
    try:
        references = pygit2.Repository(str(mirror_path)).references
        other_prefixes = (SYNCED_PREFIX, SEARCHED_PREFIX, reference_name(PULL_REQUESTS))
        return {name: str(references[name].target) for name in references if not name.startswith(other_prefixes)}
    except pygit2.GitError as error:
        raise mark_damaged(mirror_path, error) from error


def commit_at(mirror_path: Path, reference: str) -> str:
    """Return the commit of a reference. Raises BadRequest if the reference names another kind of object."""
    try:
        repository = pygit2.Repository(str(mirror_path))
        git_reference = repository.references[reference]
        if isinstance(git_reference.target, pygit2.Oid):
            objects.check_object_size(repository, git_reference.target)
        return str(git_reference.peel(pygit2.Commit).id)
    except pygit2.InvalidSpecError as error:
        raise BadRequest("the branch names a git object that is not a commit: push a commit to it, or name another branch") from error
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise mark_damaged(mirror_path, error) from error


def has_commit(mirror_path: Path, sha: str) -> bool:
    """Return whether the mirror has a commit."""
    try:
        return objects.commit_of(pygit2.Repository(str(mirror_path)), sha) is not None
    except pygit2.GitError as error:
        raise mark_damaged(mirror_path, error) from error


def keep_synced_commit(mirror_path: Path, sha: str) -> None:
    """Protect one more commit from garbage collection."""
    try:
        pygit2.Repository(str(mirror_path)).references.create(SYNCED_PREFIX + sha, sha, force=True)
    except pygit2.GitError as error:
        raise mark_damaged(mirror_path, error) from error


def delete_searched_references(mirror_path: Path) -> None:
    """Delete the references of all branches in which a commit was searched."""
    try:
        references = pygit2.Repository(str(mirror_path)).references
        for name in [name for name in references if name.startswith(SEARCHED_PREFIX)]:
            references.delete(name)
    except pygit2.GitError as error:
        raise mark_damaged(mirror_path, error) from error


def set_synced_references(mirror_path: Path, shas: Collection[str]) -> None:
    """Protect exactly these commits from garbage collection, as far as the mirror has them."""
    try:
        references = pygit2.Repository(str(mirror_path)).references
        existing_shas = {name.removeprefix(SYNCED_PREFIX) for name in references if name.startswith(SYNCED_PREFIX)}
        for sha in existing_shas.difference(shas):
            references.delete(SYNCED_PREFIX + sha)
        for sha in set(shas) - existing_shas:
            if has_commit(mirror_path, sha):
                references.create(SYNCED_PREFIX + sha, sha)
    except pygit2.GitError as error:
        raise mark_damaged(mirror_path, error) from error
