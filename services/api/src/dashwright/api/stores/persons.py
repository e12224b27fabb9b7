"""Rows of persons: users with a password, and their stars.

Service accounts share the table, but only ``account`` finds them.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.database.unique import unique
from dashwright.common.errors import DashwrightError

_sql = load(__package__, "persons.sql")


@dataclass(frozen=True, slots=True)
class Person:
    """A stored user."""

    id: int
    uid: str
    login: str
    email: str
    name: str
    theme: str
    #: The current organization, which the user may have left since.
    org_id: int
    is_admin: bool
    is_disabled: bool
    created: datetime
    updated: datetime
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class PersonChanges:
    """Changes to a person. None keeps the stored value."""

    login: str | None = None
    email: str | None = None
    name: str | None = None
    theme: str | None = None


async def get(connection: Connection, user_id: int) -> Person | None:
    """Return a person by id, or None."""
    return _person(await connection.fetchrow(_sql.get, user_id))


async def account(connection: Connection, user_id: int) -> Person | None:
    """Return a person or service account by id, or None. Both have the same columns."""
    return _person(await connection.fetchrow(_sql.account, user_id))


async def find(connection: Connection, login_or_email: str) -> Person | None:
    """Return the person with a login or e-mail, in any letter case, or None."""
    return _person(await connection.fetchrow(_sql.find, login_or_email))


async def hold(connection: Connection, user_id: int) -> bool:
    """Keep a person from being deleted until the transaction ends. Returns False if the person does not exist."""
    return await connection.fetchval(_sql.hold, user_id) is not None


async def page(
    connection: Connection, *, containing: str, limit: int, offset: int, only: Collection[int] | None = None
) -> Sequence[Person]:
    """Return a page of persons, by login.

    ``containing`` is searched in login, e-mail and name. ``only`` limits the result to these user ids.
    """
    query = _sql.bind("page", containing=containing, only=None if only is None else list(only), limit=limit, offset=offset)
    rows = await connection.fetch(*query)
    return [Person(**row) for row in rows]


async def count(connection: Connection, *, containing: str, only: Collection[int] | None = None) -> int:
    """Return the number of persons that ``page`` finds without a limit."""
    return int(await connection.fetchval(*_sql.bind("count", containing=containing, only=None if only is None else list(only))))


async def lock_logins(connection: Connection) -> None:
    """Lock the assignment of logins and e-mails until the transaction ends."""
    await connection.execute(_sql.lock_logins)


async def is_taken(connection: Connection, login: str, email: str, *, but: int = 0) -> bool:
    """Return whether a login or e-mail belongs to another user than ``but``. Call it under ``lock_logins``."""
    return bool(await connection.fetchval(_sql.is_taken, login, email, but))


async def insert(
    connection: Connection, *, login: str, email: str, name: str, password: str, org_id: int, taken: DashwrightError
) -> tuple[int, str]:
    """Insert a person and return (id, uid). Raises ``taken`` if login or e-mail are in use."""
    with unique(otherwise=_taken(taken)):
        row = await connection.fetchrow(_sql.insert, login, email, name, password, org_id)
    assert row is not None
    return row["id"], row["uid"]


async def change(connection: Connection, user_id: int, changes: PersonChanges, *, taken: DashwrightError) -> None:
    """Update a person. Raises ``taken`` if login or e-mail are in use."""
    with unique(otherwise=_taken(taken)):
        query = _sql.bind("change", id=user_id, **asdict(changes))
        await connection.execute(*query)


async def password(connection: Connection, user_id: int) -> tuple[str | None, str | None] | None:
    """Return (hash, salt) of a person's password, or None if the person does not exist."""
    row = await connection.fetchrow(_sql.password, user_id)
    return None if row is None else (row["password"], row["salt"])


async def set_password(connection: Connection, user_id: int, hashed: str) -> bool:
    """Replace a password hash and return whether the person exists."""
    return await connection.fetchval(_sql.set_password, user_id, hashed) is not None


async def set_server_admin(connection: Connection, user_id: int, *, is_admin: bool) -> None:
    """Set whether a person is a server admin."""
    await connection.execute(_sql.set_server_admin, user_id, is_admin)


async def set_disabled(connection: Connection, user_id: int, *, is_disabled: bool) -> None:
    """Set whether a person is disabled."""
    await connection.execute(_sql.set_disabled, user_id, is_disabled)


async def set_org(connection: Connection, user_id: int, org_id: int) -> bool:
    """Change the current organization and return whether the person is a member of it."""
    return await connection.fetchval(_sql.set_org, user_id, org_id) is not None


async def is_only_server_admin(connection: Connection, user_id: int) -> bool:
    """Return whether a person is the only enabled server admin. Call it under ``members.lock_admins``."""
    return bool(await connection.fetchval(_sql.is_only_server_admin, user_id))


async def delete(connection: Connection, user_id: int) -> None:
    """Delete a person."""
    await connection.execute(_sql.delete, user_id)


async def notify_change(connection: Connection, user_id: int) -> None:
    """Make every gateway reload this user after the transaction has committed."""
    await connection.execute(_sql.notify_change, user_id)


async def add_star(connection: Connection, user_id: int, org_id: int, dashboard: str) -> None:
    """Star a dashboard. Does nothing if it is starred already."""
    await connection.execute(_sql.add_star, user_id, org_id, dashboard)


async def remove_star(connection: Connection, user_id: int, org_id: int, dashboard: str) -> None:
    """Remove a star. Does nothing if the dashboard is not starred."""
    await connection.execute(_sql.remove_star, user_id, org_id, dashboard)


def _person(row: Any) -> Person | None:
    return None if row is None else Person(**row)


def _taken(error: DashwrightError) -> dict[str, DashwrightError]:
    return {"user_by_login": error, "user_by_email": error}
