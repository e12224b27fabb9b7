"""Protocols of authentication, which ``dashwright.api.auth`` implements."""

from typing import Final, NamedTuple, Protocol

from dashwright.common.errors import Unauthorized
from dashwright.common.identity import Identity

NOT_A_MEMBER: Final = "organization.not-a-member"
"""Message id for valid credentials of a user who is not a member of the requested organization."""
ORGANIZATION_MISMATCH: Final = "api-key.organization-mismatch"
"""Message id for a valid key or token of another organization than the requested one."""


class Credentials(NamedTuple):
    """The credentials of one request."""

    authorization: str  #: Value of the ``Authorization`` header.
    address: str = ""  #: Address of the caller; empty for a message from the queue.
    accepts_weak_password: bool = False  #: Accept a password that must be changed, because this request changes it.


class Scheme(Protocol):
    """A scheme of HTTP authentication, such as Basic."""

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the caller in an organization (None: the caller's current one).

        Raises Unauthorized, with the message id NOT_A_MEMBER or ORGANIZATION_MISMATCH if only the organization is wrong, or
        TooManyRequests.
        """
        ...


class OrganizationIdentities(Protocol):
    """Identities of a caller in other organizations."""

    async def identity_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the caller with the role and grants that they have in organization ``org_id``. Raises Unavailable.

        In organizations that the caller is not a member of, and for 0 (no organization), the role is ``None`` and only global
        permissions apply.
        """
        ...


class Authenticator(Scheme, OrganizationIdentities, Protocol):
    """Authentication of callers, and their identities in other organizations."""


def not_a_member() -> Unauthorized:
    """Return the error for a caller with valid credentials who is not a member of the requested organization."""
    message = "You are not a member of the organization this request names; see GET /api/user/orgs for yours"
    return Unauthorized(message, message_id=NOT_A_MEMBER)
