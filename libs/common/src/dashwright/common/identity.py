"""Identity and permissions of a caller or of the submitter of a job."""

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

    def includes(self, other: "Role") -> bool:
        """Return whether this role may do all that ``other`` may do."""
        return _RANK[self] >= _RANK[other]


_RANK: Final = {role: rank for rank, role in enumerate(Role)}


class CallerType(StrEnum):
    """Type of a caller. Only a USER is a person: only users have quotas, stars and passwords."""

    USER = "user"
    SERVICE_ACCOUNT = "service-account"
    API_KEY = "api-key"
    QUEUE = "queue"
    PROVISIONING = "provisioning"
    ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Identity:
    """Verified caller in the organization of the request."""

    uid: str  #: Value of ``createdBy`` annotations: ``user:1``, ``service-account:7``, ``api-key:3``.
    login: str
    org_id: int  #: 0 if the request concerns no organization.
    role: Role
    user_id: int = 0  #: Id of the user or service account.
    is_server_admin: bool = False
    #: Scopes on which each action (``dashboards:read``) is granted. ``*`` is every object of the organization.
    permissions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Permissions that were granted explicitly and not by the role. Access rules of folders do not restrict them.
    granted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    teams: frozenset[int] = frozenset()  #: Ids of the caller's teams in the organization.
    kind: CallerType = CallerType.USER
    key_id: int = 0  #: Id of the API key or token.
    expires_at: int | None = None  #: Expiry of the API key or token, in Unix seconds.

    @property
    def namespace(self) -> str:
        """Namespace of the organization."""
        return namespace_of(self.org_id)

    def may(self, action: str, scope: str = "*") -> bool:
        """Return whether a grant of ``action`` covers ``scope``. The scope ``*`` is covered only by ``*``."""
        scopes = self.permissions.get(action)
        if scopes is None:
            return False
        return "*" in scopes or scope in scopes or any(covers(granted_scope, scope) for granted_scope in scopes)

    def has_action(self, action: str) -> bool:
        """Return whether ``action`` is granted on any scope."""
        return bool(self.permissions.get(action))

    def ids(self, action: str, prefix: str) -> frozenset[int] | None:
        """Return the ids after ``prefix`` in the scopes on which ``action`` is granted. None means all ids."""
        scopes = self.permissions.get(action, frozenset[str]())
        if any(covers(granted_scope, f"{prefix}*") for granted_scope in scopes):
            return None
        suffixes = (scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))
        return frozenset(int(digits) for digits in suffixes if _is_canonical_id(digits))

    def names(self, action: str, prefix: str) -> frozenset[str] | None:
        """Return the names after ``prefix`` in the scopes on which ``action`` is granted. None means all names."""
        scopes = self.permissions.get(action, frozenset[str]())
        if any(covers(granted_scope, f"{prefix}*") for granted_scope in scopes):
            return None
        return frozenset(scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))


def _is_canonical_id(digits: str) -> bool:
    """Return whether a text is a number without leading zeros, so that each id has one notation only."""
    return digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")


def covers(granted_scope: str, scope: str) -> bool:
    """Return whether ``granted_scope``, which may be ``*`` or a pattern like ``teams:*``, covers ``scope``.

    A ``*`` in another position is an ordinary character.
    """
    return granted_scope in (scope, "*") or (granted_scope.endswith(":*") and scope.startswith(granted_scope[:-1]))


def namespace_of(org_id: int) -> str:
    """Return the namespace of an organization, which is ``default`` for the id 1, and else ``org-N``."""
    return "default" if org_id == 1 else f"org-{org_id}"


def org_of(namespace: str) -> int | None:
    """Return the id of the organization of a namespace, or None if it is not the namespace of an organization."""
    if namespace == "default":
        return 1
    digits = namespace.removeprefix("org-")
    if digits == namespace or not digits.isascii() or not digits.isdigit() or digits.startswith("0"):
        return None
    org_id = int(digits)
    return org_id if 1 < org_id < 2**63 else None
