"""What a git host keeps beside the commits: pull requests and what is said of them, statuses of commits, hooks."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_FILES: Final = 1000
"""Changed files that are told of one pull request."""


class FileStatus(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"


class CommitState(StrEnum):
    """What is said of a commit. ``failure``: of what it holds; ``error``: it could not be looked at."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """``base`` and ``head`` are branches, with the commits that they stand at. ``files`` counts all that it changes.

    ``is_from_elsewhere``: its head is a branch of another repository, which cannot be fetched by its name.
    """

    number: int
    title: str
    url: str
    is_open: bool
    is_merged: bool
    base: str
    base_commit: str
    head: str
    head_commit: str
    is_from_elsewhere: bool
    files: int


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """``previous_path`` is where a renamed file was, else empty."""

    path: str
    status: FileStatus
    previous_path: str = ""


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """A commit status as it is to be: ``url`` is where to read more."""

    commit: str
    state: CommitState
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Hook:
    """What the host calls at ``url`` when one of the events happens."""

    id: int
    url: str
    events: frozenset[str]
    is_active: bool


@dataclass(frozen=True, slots=True)
class HookSpec:
    """``secret`` signs what is delivered."""

    url: str
    events: frozenset[str]
    secret: str
