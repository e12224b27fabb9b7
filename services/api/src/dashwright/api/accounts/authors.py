"""Authors of the commits that result from requests."""

import re
from typing import Final

from dashwright.api.stores import persons
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import CallerType, Identity
from dashwright.common.models.repository_calls import CommitAuthor

_NO_MAIL_DOMAIN: Final = "users.noreply.dashwright.invalid"
"""Domain of generated e-mail addresses, for callers without an address. The top-level domain ``invalid`` never receives mail."""

_EMAIL: Final = re.compile(r"[^\s<>@\x00-\x20\x7f]+@[^\s<>@\x00-\x20\x7f]+")
"""E-mail addresses that git can store: without blanks, control characters and angle brackets."""
_INVALID_IN_NAMES: Final = re.compile(r"[\x00-\x20\x7f<>]+")
_MAX_LENGTH: Final = 200
"""Limit on the characters of a name, and of an e-mail address."""


async def author_of(database: Database, caller: Identity, clock: Clock) -> CommitAuthor:
    """Return the caller as author of a commit at the current time.

    A missing name is replaced by the login. A missing e-mail, or one that git cannot store, is replaced by a generated address.
    """
    user = None
    if caller.kind is CallerType.USER and caller.user_id:
        async with database.connection() as connection:
            user = await persons.get(connection, caller.user_id)
    login = _plain_name(caller.login) or caller.uid
    name = "" if user is None else _plain_name(user.name)
    email = "" if user is None else user.email
    has_valid_email = _EMAIL.fullmatch(email) and len(email) <= _MAX_LENGTH
    return CommitAuthor(
        name=name or login,
        email=email if has_valid_email else f"{_local_part(caller.uid)}@{_NO_MAIL_DOMAIN}",
        uid=caller.uid,
        at=int(clock.seconds()),
    )


def _plain_name(name: str) -> str:
    """Return a name without characters that git cannot store, and without characters at its ends that git would strip."""
    stripped_by_git = " .,:;\"'\\"
    return _INVALID_IN_NAMES.sub(" ", name)[:_MAX_LENGTH].strip(stripped_by_git)


def _local_part(uid: str) -> str:
    """Return the local part of a generated address, such as ``user-7`` for ``user:7``."""
    return re.sub(r"[^a-z0-9]+", "-", uid.lower()).strip("-") or "user"
