"""Ports of authentication, which ``dashwright.api.auth`` implements."""

from typing import Final, NamedTuple, Protocol

from dashwright.common.errors import Unauthorized
from dashwright.common.identity import Identity

NOT_A_MEMBER: Final = "organization.not-a-member"
ORGANIZATION_MISMATCH: Final = "api-key.organization-mismatch"


class Credentials(NamedTuple):
    """The credentials of one request."""

    authorization: str  #: Value of the ``Authorization`` header.
    address: str = ""  #: Address of the caller; empty for a message from the queue.
    may_be_weak: bool = False  #: Accept a password that must be changed, since this request changes it.


class Scheme(Protocol):
    """One scheme of authentication."""

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the caller in an organization (None: the caller's current one).

        Raises Unauthorized, with the message id NOT_A_MEMBER or ORGANIZATION_MISMATCH if only the organization is wrong, or
        TooManyRequests.
        """
        ...


class IdentityViews(Protocol):
    """Views of a caller from other organizations."""

    async def seen_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the caller with the role and grants that they have in organization ``org_id``. Raises Unavailable.

        For organizations without the caller as member, and for 0 (no organization), the role is ``None`` and only global
        permissions remain.
        """
        ...


class Authenticator(Scheme, IdentityViews, Protocol):
    """Authentication of callers, and their views from other organizations."""


def not_a_member() -> Unauthorized:
    """Return the error for a caller with valid credentials who is not a member of the requested organization."""
    text = "You are not a member of the organization this request names; see GET /api/user/orgs for yours"
    return Unauthorized(text, message_id=NOT_A_MEMBER)
