"""From credentials to an identity: the ports that the listener asks. Behind them stand ``schemes``, ``basic`` and ``bearer``."""

from typing import Final, NamedTuple, Protocol

from dashwright.common.errors import Unauthorized
from dashwright.common.identity import Identity

NOT_A_MEMBER: Final = "organization.not-a-member"
ORGANIZATION_MISMATCH: Final = "api-key.organization-mismatch"


class Credentials(NamedTuple):
    """What a caller presents: the ``Authorization`` header, and the address they come from ("" through the queue).

    ``may_be_weak``: a password that must be changed before anything else is enough, as for its change.
    """

    authorization: str
    address: str = ""
    may_be_weak: bool = False


class Scheme(Protocol):
    """Turns credentials into an identity in the wanted organization (None: the caller's current one).

    Raises Unauthorized, with the identifier NOT_A_MEMBER or ORGANIZATION_MISMATCH where only the organization is wrong, or
    TooManyRequests.
    """

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity: ...


class IdentityViews(Protocol):
    """The caller as organization ``org_id`` sees them: with the role and the grants they have there.

    Where they are no member, and for 0, which stands for no organization, the role is None and only what they may do globally is left.
    Raises Unavailable.
    """

    async def seen_in(self, identity: Identity, org_id: int) -> Identity: ...


class Authenticator(Scheme, IdentityViews, Protocol):
    """Knows callers by their credentials, and as other organizations see them."""


def not_a_member() -> Unauthorized:
    """The refusal of a caller whose credentials are right, in an organization that is not theirs."""
    text = "You are not a member of the organization this request names; see GET /api/user/orgs for yours"
    return Unauthorized(text, message_id=NOT_A_MEMBER)
