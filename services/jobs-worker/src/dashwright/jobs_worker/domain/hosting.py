"""Data of a git host apart from commits: pull requests, commit statuses and webhooks."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_CHANGED_FILES: Final = 1000
"""Limit on the changed files of a pull request that are read."""


class FileStatus(StrEnum):
    """The way in which a pull request changes a file."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"


class CommitState(StrEnum):
    """The state of a commit status."""

    PENDING = "pending"
    SUCCESS = "success"
    #: The commit's content is broken.
    FAILURE = "failure"
    #: The commit could not be reviewed.
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as the host describes it."""

    number: int
    title: str
    url: str
    is_open: bool
    is_merged: bool
    #: Name of the target branch.
    base: str
    #: Name of the branch with the changes.
    head: str
    #: Hash of the newest commit, abbreviated by some hosts.
    head_commit: str
    #: ``True`` if the head is a branch of another repository, which cannot be fetched by name.
    is_from_fork: bool
    changed_file_count: int
    #: Git reference of the newest commit; empty if the repository has none.
    reference: str
    #: Path of the fork that has the reference; empty if the repository itself has it.
    fork_path: str = ""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a pull request changes."""

    path: str
    status: FileStatus
    #: Former path of a renamed file, else empty.
    previous_path: str = ""


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """A status to set on a commit."""

    commit: str
    state: CommitState
    text: str
    #: Address with details, may be empty.
    url: str


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook that exists at the host."""

    id: int
    url: str
    events: frozenset[str]
    is_active: bool


@dataclass(frozen=True, slots=True)
class HookSpec:
    """The desired state of a webhook."""

    url: str
    events: frozenset[str]
    #: Key that signs the deliveries.
    secret: str
