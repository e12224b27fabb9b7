"""The history of a mirror: all commits, or the commits that touch a path, the newest first."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from threading import Event
from typing import Final

import pygit2

from dashwright.common.models.repository_views import Author, HistoryItem
from dashwright.jobs_worker.adapters.git import objects
from dashwright.jobs_worker.adapters.git.damage import mark_damaged
from dashwright.jobs_worker.adapters.git.mirrors import Commit

MAX_ITEMS: Final = 1000
"""Limit on the commits of one history."""

_MAX_EXAMINED_COMMITS: Final = 100_000
"""Limit on the commits that are searched: for a path that few commits touch, the search would read the whole history."""

_MAX_MESSAGE_CHARACTERS: Final = 10_000
_MAX_NAME_CHARACTERS: Final = 200


async def log(commit: Commit, path: str) -> Sequence[HistoryItem]:
    """Return at most 1,000 commits, from ``commit`` backwards, that touch a path (empty: any). Raises MirrorDamaged.

    When cancelled, the walk ends after the present commit.
    """
    cancelled = Event()
    try:
        return await asyncio.to_thread(_log, commit, path.strip("/"), cancelled)
    except asyncio.CancelledError:
        cancelled.set()
        raise


def _log(commit: Commit, path: str, cancelled: Event) -> list[HistoryItem]:
    try:
        repository = pygit2.Repository(str(commit.mirror_path))
        history = islice(objects.history(repository, commit.sha), _MAX_EXAMINED_COMMITS)
        return [_history_item(touching_commit) for touching_commit in islice(_touching(repository, history, path, cancelled), MAX_ITEMS)]
    except (pygit2.GitError, KeyError) as error:
        raise mark_damaged(commit.mirror_path, error) from error


def _touching(repository: pygit2.Repository, commits: Iterator[pygit2.Commit], path: str, cancelled: Event) -> Iterator[pygit2.Commit]:
    """Yield the commits that touch ``path``. A merge commit counts only if it differs from every parent there."""
    for commit in commits:
        if cancelled.is_set():
            return
        if not path or _touches(repository, commit, path):
            yield commit


def _touches(repository: pygit2.Repository, commit: pygit2.Commit, path: str) -> bool:
    """Return whether a commit differs at a path from all of its parents; the first commit, whether it has the path."""
    object_id = _object_id_at(repository, commit.id, path)
    if not commit.parent_ids:
        return object_id is not None
    return all(_object_id_at(repository, parent, path) != object_id for parent in commit.parent_ids)


def _object_id_at(repository: pygit2.Repository, commit: pygit2.Oid, path: str) -> pygit2.Oid | None:
    """Return the id of the object at a path in a commit; None if the path does not exist."""
    loaded_commit = objects.commit_of(repository, str(commit))
    git_object = objects.object_at(repository, objects.tree_of(repository, loaded_commit), path) if loaded_commit is not None else None
    return git_object.id if git_object is not None else None


def _history_item(commit: pygit2.Commit) -> HistoryItem:
    names = dict.fromkeys(
        signature.raw_name.decode(errors="replace")[:_MAX_NAME_CHARACTERS] for signature in (commit.author, commit.committer)
    )
    return HistoryItem(
        ref=str(commit.id),
        message=commit.raw_message.decode(errors="replace").rstrip("\n")[:_MAX_MESSAGE_CHARACTERS],
        authors=[Author(name=name) for name in names],
        created_at=commit.commit_time * 1000,
    )
