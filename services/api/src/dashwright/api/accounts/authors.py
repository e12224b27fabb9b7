"""As whom a caller changes what lies in git: the author of a commit."""

import re
from typing import Final

from dashwright.api.stores import persons
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller, Identity
from dashwright.common.models.repository_calls import CommitAuthor

_NOWHERE: Final = "users.noreply.dashwright.invalid"
"""Where the addresses lie of those who have none: no mail ever gets there."""

_ADDRESS: Final = re.compile(r"[^\s<>@\x00-\x20\x7f]+@[^\s<>@\x00-\x20\x7f]+")
_NO_PART_OF_A_NAME: Final = re.compile(r"[\x00-\x20\x7f<>]+")
_LONGEST: Final = 200


async def author_of(database: Database, caller: Identity, clock: Clock) -> CommitAuthor:
    """The caller by name and e-mail, neither ever empty, who asks now.

    A person without a name goes by their login. Programs have no address of their own, and some people have none that git could hold.
    """
    person = None
    if caller.kind is Caller.USER and caller.user_id:
        async with database.connection() as connection:
            person = await persons.get(connection, caller.user_id)
    login = _plain(caller.login) or caller.uid
    email = "" if person is None else person.email
    return CommitAuthor(
        name=("" if person is None else _plain(person.name)) or login,
        email=email if _ADDRESS.fullmatch(email) and len(email) <= _LONGEST else f"{_local(caller.uid)}@{_NOWHERE}",
        uid=caller.uid,
        at=int(clock.seconds()),
    )


def _plain(text: str) -> str:
    """Without what git has no place for in a name, and without what it cuts off at its ends."""
    return _NO_PART_OF_A_NAME.sub(" ", text)[:_LONGEST].strip(" .,:;\"'\\")


def _local(uid: str) -> str:
    """``user-7`` for ``user:7``."""
    return re.sub(r"[^a-z0-9]+", "-", uid.lower()).strip("-") or "somebody"
