"""Authors of commits that callers cause in repositories."""

import re
from typing import Final

from dashwright.api.stores import persons
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller, Identity
from dashwright.common.models.repository_calls import CommitAuthor

_NO_MAIL_DOMAIN: Final = "users.noreply.dashwright.invalid"
"""Domain of the addresses of callers without one. The top-level domain ``invalid`` never receives mail."""

_ADDRESS: Final = re.compile(r"[^\s<>@\x00-\x20\x7f]+@[^\s<>@\x00-\x20\x7f]+")
_INVALID_IN_NAMES: Final = re.compile(r"[\x00-\x20\x7f<>]+")
_LONGEST: Final = 200


async def author_of(database: Database, caller: Identity, clock: Clock) -> CommitAuthor:
    """Return the caller as author at the current time, with a name and an e-mail that are never empty.

    The login replaces a missing name. A generated address replaces the missing one of a program, and one that git cannot store.
    """
    person = None
    if caller.kind is Caller.USER and caller.user_id:
        async with database.connection() as connection:
            person = await persons.get(connection, caller.user_id)
    login = _plain(caller.login) or caller.uid
    email = "" if person is None else person.email
    return CommitAuthor(
        name=("" if person is None else _plain(person.name)) or login,
        email=email if _ADDRESS.fullmatch(email) and len(email) <= _LONGEST else f"{_local(caller.uid)}@{_NO_MAIL_DOMAIN}",
        uid=caller.uid,
        at=int(clock.seconds()),
    )


def _plain(text: str) -> str:
    """Return a name without the characters that git cannot store or strips at the ends."""
    return _INVALID_IN_NAMES.sub(" ", text)[:_LONGEST].strip(" .,:;\"'\\")


def _local(uid: str) -> str:
    """Return the local part of a generated address, such as ``user-7`` for ``user:7``."""
    return re.sub(r"[^a-z0-9]+", "-", uid.lower()).strip("-") or "somebody"
