"""The commits of a bare copy, the newest first: all of them, or those that touch a path."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from threading import Event
from typing import Final

import pygit2

from dashwright.common.models.repository_views import Author, HistoryItem
from dashwright.jobs_worker.adapters.git import objects
from dashwright.jobs_worker.adapters.git.mirrors import Commit, damaged

MOST_ITEMS: Final = 1000
_MOST_SEEN: Final = 100_000
_LONGEST_MESSAGE: Final = 10_000
_LONGEST_NAME: Final = 200


async def log(commit: Commit, path: str) -> Sequence[HistoryItem]:
    """Return a commit and those before it that touch a path (empty: all), at most 1,000. Raises CopyDamaged if the copy is damaged.

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
        repository = pygit2.Repository(str(commit.place))
        found = islice(objects.history(repository, commit.sha), _MOST_SEEN)
        return [_item(each) for each in islice(_touching(repository, found, path, cancelled), MOST_ITEMS)]
    except (pygit2.GitError, KeyError) as error:
        raise damaged(commit.place, error) from error


def _touching(repository: pygit2.Repository, commits: Iterator[pygit2.Commit], path: str, cancelled: Event) -> Iterator[pygit2.Commit]:
    """Yield the commits that touch ``path``. A merge commit counts only if it differs from every parent there."""
    for commit in commits:
        if cancelled.is_set():
            return
        if not path or _touches(repository, commit, path):
            yield commit


def _touches(repository: pygit2.Repository, commit: pygit2.Commit, path: str) -> bool:
    now = _at(repository, commit.id, path)
    if not commit.parent_ids:
        return now is not None
    return all(_at(repository, parent, path) != now for parent in commit.parent_ids)


def _at(repository: pygit2.Repository, commit: pygit2.Oid, path: str) -> pygit2.Oid | None:
    """Return the id of the object at a path in a commit; None if the path does not exist."""
    found = objects.commit_of(repository, str(commit))
    named = objects.at(repository, objects.tree_of(repository, found), path) if found is not None else None
    return named.id if named is not None else None


def _item(commit: pygit2.Commit) -> HistoryItem:
    names = dict.fromkeys(signature.raw_name.decode(errors="replace")[:_LONGEST_NAME] for signature in (commit.author, commit.committer))
    return HistoryItem(
        ref=str(commit.id),
        message=commit.raw_message.decode(errors="replace").rstrip("\n")[:_LONGEST_MESSAGE],
        authors=[Author(name=name) for name in names],
        created_at=commit.commit_time * 1000,
    )
