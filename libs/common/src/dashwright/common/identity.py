"""Identity of a caller or of the submitter of a job, and what it may do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """Role of a member in an organization, lowest first."""

    NONE = "None"
    VIEWER = "Viewer"
    EDITOR = "Editor"
    ADMIN = "Admin"

    def holds(self, other: "Role") -> bool:
        """Return whether this role includes the other."""
        return _RANK[self] >= _RANK[other]


_RANK: Final = {role: rank for rank, role in enumerate(Role)}


class Caller(StrEnum):
    """Kind of the credential. Only a USER is a person: quotas of users, stars and passwords belong to users alone."""

    USER = "user"
    SERVICE_ACCOUNT = "service-account"
    API_KEY = "api-key"
    QUEUE = "queue"
    ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Identity:
    """Verified caller in the organization of the request."""

    uid: str  #: Value of ``createdBy`` annotations: ``user:1``, ``service-account:7``, ``api-key:3``.
    login: str
    org_id: int  #: 0: the caller outside of any organization.
    role: Role
    user_id: int = 0  #: Row of the user or service account.
    is_server_admin: bool = False
    #: Scopes on which each action (``dashboards:read``) is granted. ``*`` is every object of the organization.
    permissions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Those permissions that were granted explicitly. What a role may do in folders is decided by access rules.
    granted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    teams: frozenset[int] = frozenset()  #: Numbers of the caller's teams in the organization.
    kind: Caller = Caller.USER
    key_id: int = 0  #: Row of the key or token.
    expires_at: int | None = None  #: End of the key or token, in Unix seconds.

    @property
    def namespace(self) -> str:
        """Namespace of the organization."""
        return namespace_of(self.org_id)

    def may(self, action: str, scope: str = "*") -> bool:
        """Return whether a grant of ``action`` covers ``scope``. The scope ``*`` is covered only by ``*``."""
        scopes = self.permissions.get(action)
        if scopes is None:
            return False
        return "*" in scopes or scope in scopes or any(covers(granted, scope) for granted in scopes)

    def holds(self, action: str) -> bool:
        """Return whether ``action`` is granted on any scope."""
        return bool(self.permissions.get(action))

    def ids(self, action: str, prefix: str) -> frozenset[int] | None:
        """Return the numbers after ``prefix`` in the scopes on which ``action`` is granted; None means all."""
        scopes = self.permissions.get(action, frozenset[str]())
        if any(covers(granted, f"{prefix}*") for granted in scopes):
            return None
        numbers = (scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))
        return frozenset(int(text) for text in numbers if text.isascii() and text.isdigit() and (text == "0" or text[0] != "0"))

    def names(self, action: str, prefix: str) -> frozenset[str] | None:
        """Return the names after ``prefix`` in the scopes on which ``action`` is granted; None means all."""
        scopes = self.permissions.get(action, frozenset[str]())
        if any(covers(granted, f"{prefix}*") for granted in scopes):
            return None
        return frozenset(scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))


def covers(granted: str, scope: str) -> bool:
    """Return whether a granted scope covers another: an equal one, ``*``, or a pattern like ``teams:*``.

    A ``*`` elsewhere than alone or after the last colon is an ordinary character.
    """
    return granted in (scope, "*") or (granted.endswith(":*") and scope.startswith(granted[:-1]))


def namespace_of(org_id: int) -> str:
    """Return the namespace of an organization: ``default`` for 1, ``org-N`` for the others."""
    return "default" if org_id == 1 else f"org-{org_id}"


def org_of(namespace: str) -> int | None:
    """Return the organization of a namespace, or None."""
    if namespace == "default":
        return 1
    digits = namespace.removeprefix("org-")
    if digits == namespace or not digits.isascii() or not digits.isdigit() or digits.startswith("0"):
        return None
    org_id = int(digits)
    return org_id if 1 < org_id < 2**63 else None
