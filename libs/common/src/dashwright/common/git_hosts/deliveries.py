"""The description of a git host's webhook deliveries: their headers, signatures and payloads.

A member is the path of a value in the payload, such as ``repository.full_name``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Event(StrEnum):
    """An event that a delivery reports."""

    PING = "ping"  #: The webhook was created.
    PUSH = "push"
    PULL_REQUEST = "pull_request"


class Proof(StrEnum):
    """The proof that a delivery comes from the host."""

    SIGNATURE = "signature"  #: HMAC-SHA256 of the body in hexadecimal digits.
    KEY = "key"  #: The key itself, which the host shares with the receiver.


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushes:
    """Payloads of pushes."""

    changes: str = ""  #: Member with the list of changed branches; empty if the payload is one change.
    ref: str  #: Member of a change with the branch.
    ref_prefix: str = ""  #: Beginning of the refs of branches.
    branch: tuple[str, Any] | None = None  #: Member of a change and its value if the change is that of a branch.
    commit: str  #: Member of a change with the newest commit; missing or zeros after a deletion.


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestEvents:
    """Payloads of events of pull requests. A field without a comment is the member with that part of the pull request."""

    member: str  #: Member without which the payload has no pull request.
    repository: tuple[str, ...] = ()  #: Path in these payloads that replaces the one in ``Deliveries``.
    action: str = ""  #: Member with the action; empty if it is the event of the header.
    actions: frozenset[str]  #: Actions after which the pull request has new commits.
    changed: tuple[str, str] | None = None  #: Action that may bring new commits, and the member that is then present.
    number: str
    page: str = ""  #: Empty if payloads do not have it.
    base: str
    head: str
    head_commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliveries:
    """Deliveries of webhooks. Of several headers, the first one that is present counts."""

    event_headers: tuple[str, ...]
    id_headers: tuple[str, ...]
    proof: Proof
    proof_headers: tuple[str, ...]
    proof_prefix: str = ""
    events: Mapping[str, Event]  #: Event of Dashwright by event in the header.
    rejects_other_events: bool = False  #: Whether other events get the status 501, not 200.
    repository: tuple[str, ...]  #: Members with the path of the repository, or with the names in it.
    default_branch: str = ""  #: Member with the default branch, which may be missing.
    pushes: Pushes
    pull_requests: PullRequestEvents
