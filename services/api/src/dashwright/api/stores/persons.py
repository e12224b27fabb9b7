"""Rows of persons: users with a password, and their stars.

Service accounts are in the same table, but only ``account`` returns them.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.database.unique_violations import convert_unique_violations
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
    #: The current organization. The user may have left it.
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


async def lock(connection: Connection, user_id: int) -> bool:
    """Keep a person from being deleted until the transaction ends. Returns False if the person does not exist."""
    return await connection.fetchval(_sql.lock, user_id) is not None


async def page(connection: Connection, *, containing: str, limit: int, offset: int, ids: Collection[int] | None = None) -> Sequence[Person]:
    """Return a page of persons, by login.

    ``containing`` is searched in login, e-mail and name. ``ids`` limits the result to these user ids.
    """
    query = _sql.bind("page", containing=containing, ids=None if ids is None else list(ids), limit=limit, offset=offset)
    rows = await connection.fetch(*query)
    return [Person(**row) for row in rows]


async def count(connection: Connection, *, containing: str, ids: Collection[int] | None = None) -> int:
    """Return the number of persons that ``page`` finds without a limit."""
    return int(await connection.fetchval(*_sql.bind("count", containing=containing, ids=None if ids is None else list(ids))))


async def lock_logins(connection: Connection) -> None:
    """Lock the assignment of logins and e-mails until the transaction ends."""
    await connection.execute(_sql.lock_logins)


async def is_taken(connection: Connection, login: str, email: str, *, except_user_id: int = 0) -> bool:
    """Return whether a login or e-mail belongs to a user other than ``except_user_id``. Call it under ``lock_logins``."""
    return bool(await connection.fetchval(_sql.is_taken, login, email, except_user_id))


async def insert(
    connection: Connection, *, login: str, email: str, name: str, password_hash: str, org_id: int, taken_error: DashwrightError
) -> tuple[int, str]:
    """Insert a person and return (id, uid). Raises ``taken_error`` if the login or e-mail is in use."""
    with convert_unique_violations(_unique_violations(taken_error)):
        row = await connection.fetchrow(_sql.insert, login, email, name, password_hash, org_id)
    assert row is not None
    return row["id"], row["uid"]


async def change(connection: Connection, user_id: int, changes: PersonChanges, *, taken_error: DashwrightError) -> None:
    """Update a person. Raises ``taken_error`` if the login or e-mail is in use."""
    with convert_unique_violations(_unique_violations(taken_error)):
        query = _sql.bind("change", id=user_id, **asdict(changes))
        await connection.execute(*query)


async def password_hash_and_salt(connection: Connection, user_id: int) -> tuple[str | None, str | None] | None:
    """Return hash and salt of a person's password, each None if it is not stored. Return None if the person does not exist."""
    row = await connection.fetchrow(_sql.password, user_id)
    return None if row is None else (row["password"], row["salt"])


async def set_password(connection: Connection, user_id: int, password_hash: str) -> bool:
    """Replace a password hash and return whether the person exists."""
    return await connection.fetchval(_sql.set_password, user_id, password_hash) is not None


async def set_server_admin(connection: Connection, user_id: int, *, is_admin: bool) -> None:
    """Set whether a person is a server admin."""
    await connection.execute(_sql.set_server_admin, user_id, is_admin)


async def set_disabled(connection: Connection, user_id: int, *, is_disabled: bool) -> None:
    """Set whether a person is disabled."""
    await connection.execute(_sql.set_disabled, user_id, is_disabled)


async def set_org(connection: Connection, user_id: int, org_id: int) -> bool:
    """Change a person's current organization and return whether the person is a member of it. Otherwise nothing changes."""
    return await connection.fetchval(_sql.set_org, user_id, org_id) is not None


async def is_only_server_admin(connection: Connection, user_id: int) -> bool:
    """Return whether a person is the only enabled server admin. Call it under ``members.lock_admins``."""
    return bool(await connection.fetchval(_sql.is_only_server_admin, user_id))


async def delete(connection: Connection, user_id: int) -> None:
    """Delete a person."""
    await connection.execute(_sql.delete, user_id)


async def notify_change(connection: Connection, user_id: int) -> None:
    """Make every gateway discard its cached identities of this user after the transaction has committed."""
    await connection.execute(_sql.notify_change, user_id)


async def add_star(connection: Connection, user_id: int, org_id: int, dashboard: str) -> None:
    """Star a dashboard. Does nothing if it is starred already."""
    await connection.execute(_sql.add_star, user_id, org_id, dashboard)


async def remove_star(connection: Connection, user_id: int, org_id: int, dashboard: str) -> None:
    """Remove a star. Does nothing if the dashboard is not starred."""
    await connection.execute(_sql.remove_star, user_id, org_id, dashboard)


def _person(row: Any) -> Person | None:
    return None if row is None else Person(**row)


def _unique_violations(error: DashwrightError) -> dict[str, DashwrightError]:
    """Return the error for a login or e-mail in use, by the names of the violated indexes."""
    return {"user_by_login": error, "user_by_email": error}
