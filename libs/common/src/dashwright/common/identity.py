"""Who asks: the caller of a request or the submitter of a job, and what they may do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """The role of a member in an organization, lowest first."""

    NONE = "None"
    VIEWER = "Viewer"
    EDITOR = "Editor"
    ADMIN = "Admin"

    def holds(self, other: "Role") -> bool:
        """Whether this role may what the other may."""
        return _RANK[self] >= _RANK[other]


_RANK: Final = {role: rank for rank, role in enumerate(Role)}


class Caller(StrEnum):
    """What kind of credential asks. Only a USER is a person: quotas of users, stars and passwords are theirs alone."""

    USER = "user"
    SERVICE_ACCOUNT = "service-account"
    API_KEY = "api-key"
    QUEUE = "queue"
    ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Identity:
    """A verified caller, in the organization the request is about; ``org_id`` 0 is the caller as seen globally.

    ``permissions`` maps an action (``dashboards:read``) to the scopes it is granted on; the scope ``*`` is every object of the
    organization. ``granted`` are those of them that somebody granted by hand: what the role gives on folders and what lies in them is
    for the rules of access to say. ``teams`` are the numbers of the caller's teams in the organization. ``uid`` is what ``createdBy``
    annotations hold (``user:1``, ``service-account:7``, ``api-key:3``). ``user_id`` is the row of a user or service account, ``key_id``
    that of the key or token they came with, ``expires_at`` its end in Unix seconds.
    """

    uid: str
    login: str
    org_id: int
    role: Role
    user_id: int = 0
    is_server_admin: bool = False
    permissions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    granted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    teams: frozenset[int] = frozenset()
    kind: Caller = Caller.USER
    key_id: int = 0
    expires_at: int | None = None

    @property
    def namespace(self) -> str:
        return namespace_of(self.org_id)

    def may(self, action: str, scope: str = "*") -> bool:
        """Whether a grant of ``action`` covers ``scope``: all that it names, so ``*`` is covered by ``*`` only."""
        scopes = self.permissions.get(action)
        if scopes is None:
            return False
        return "*" in scopes or scope in scopes or any(covers(granted, scope) for granted in scopes)

    def holds(self, action: str) -> bool:
        """Whether ``action`` is granted on anything at all."""
        return bool(self.permissions.get(action))

    def ids(self, action: str, prefix: str) -> frozenset[int] | None:
        """The numbers of the objects ``prefix`` + number that ``action`` is granted on; None stands for all of them."""
        scopes = self.permissions.get(action, frozenset[str]())
        if any(covers(granted, f"{prefix}*") for granted in scopes):
            return None
        numbers = (scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))
        return frozenset(int(text) for text in numbers if text.isascii() and text.isdigit() and (text == "0" or text[0] != "0"))

    def names(self, action: str, prefix: str) -> frozenset[str] | None:
        """What stands behind ``prefix`` in the scopes that ``action`` is granted on; None stands for everything."""
        scopes = self.permissions.get(action, frozenset[str]())
        if any(covers(granted, f"{prefix}*") for granted in scopes):
            return None
        return frozenset(scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))


def covers(granted: str, scope: str) -> bool:
    """Whether a granted scope covers another: the same, ``*``, or a pattern ``teams:*`` of what begins so.

    A ``*`` anywhere but alone or behind the last colon is an ordinary character.
    """
    return granted in (scope, "*") or (granted.endswith(":*") and scope.startswith(granted[:-1]))


def namespace_of(org_id: int) -> str:
    """The resource API's name of an organization: ``default`` for 1, ``org-N`` for the others."""
    return "default" if org_id == 1 else f"org-{org_id}"


def org_of(namespace: str) -> int | None:
    """The organization a namespace names, or None where it names none."""
    if namespace == "default":
        return 1
    digits = namespace.removeprefix("org-")
    if digits == namespace or not digits.isascii() or not digits.isdigit() or digits.startswith("0"):
        return None
    org_id = int(digits)
    return org_id if 1 < org_id < 2**63 else None
