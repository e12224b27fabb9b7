"""People: the users who log in with a password. Service accounts are rows of the same table and never found here, but by ``account``."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.database.unique import unique
from dashwright.common.errors import DashwrightError

_sql = load(__package__, "persons.sql")


@dataclass(frozen=True, slots=True)
class Person:
    """``org_id`` is the current organization, which they may have left since."""

    id: int
    uid: str
    login: str
    email: str
    name: str
    theme: str
    org_id: int
    is_admin: bool
    is_disabled: bool
    created: datetime
    updated: datetime
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class PersonChanges:
    """What is None stays as it is."""

    login: str | None = None
    email: str | None = None
    name: str | None = None
    theme: str | None = None


async def get(connection: Connection, user_id: int) -> Person | None:
    return _person(await connection.fetchrow(_sql.get, user_id))


async def account(connection: Connection, user_id: int) -> Person | None:
    """A person, or a service account, which has the same columns."""
    return _person(await connection.fetchrow(_sql.account, user_id))


async def find(connection: Connection, login_or_email: str) -> Person | None:
    """By login or e-mail, in any case of letters."""
    return _person(await connection.fetchrow(_sql.find, login_or_email))


async def hold(connection: Connection, user_id: int) -> bool:
    """Keeps a person from being deleted until the transaction ends; False where there is none."""
    return await connection.fetchval(_sql.hold, user_id) is not None


async def page(
    connection: Connection, *, containing: str, limit: int, offset: int, only: Collection[int] | None = None
) -> Sequence[Person]:
    """By login; ``containing`` is looked for in login, e-mail and name; ``only`` those with these ids, None: all."""
    rows = await connection.fetch(_sql.page, containing, limit, offset, None if only is None else list(only))
    return [Person(**row) for row in rows]


async def count(connection: Connection, *, containing: str, only: Collection[int] | None = None) -> int:
    """How many ``page`` finds without a limit."""
    return int(await connection.fetchval(_sql.count, containing, None if only is None else list(only)))


async def lock_logins(connection: Connection) -> None:
    """Makes the caller's transaction the only one that gives out logins until it ends."""
    await connection.execute(_sql.lock_logins)


async def is_taken(connection: Connection, login: str, email: str, *, but: int = 0) -> bool:
    """Whether either is somebody's login or e-mail, except the user ``but``. Ask under ``lock_logins``."""
    return bool(await connection.fetchval(_sql.is_taken, login, email, but))


async def insert(
    connection: Connection, *, login: str, email: str, name: str, password: str, org_id: int, taken: DashwrightError
) -> tuple[int, str]:
    """Makes a person and answers (id, uid). Raises ``taken``."""
    with unique(otherwise=_taken(taken)):
        row = await connection.fetchrow(_sql.insert, login, email, name, password, org_id)
    assert row is not None
    return row["id"], row["uid"]


async def change(connection: Connection, user_id: int, changes: PersonChanges, *, taken: DashwrightError) -> None:
    """Raises ``taken``."""
    with unique(otherwise=_taken(taken)):
        await connection.execute(_sql.change, user_id, changes.login, changes.email, changes.name, changes.theme)


async def password(connection: Connection, user_id: int) -> tuple[str | None, str | None] | None:
    """(hash, salt) of a person's password, None where there is no such person."""
    row = await connection.fetchrow(_sql.password, user_id)
    return None if row is None else (row["password"], row["salt"])


async def set_password(connection: Connection, user_id: int, hashed: str) -> bool:
    """False where there is no such person."""
    return await connection.fetchval(_sql.set_password, user_id, hashed) is not None


async def set_server_admin(connection: Connection, user_id: int, *, is_admin: bool) -> None:
    await connection.execute(_sql.set_server_admin, user_id, is_admin)


async def set_disabled(connection: Connection, user_id: int, *, is_disabled: bool) -> None:
    await connection.execute(_sql.set_disabled, user_id, is_disabled)


async def set_org(connection: Connection, user_id: int, org_id: int) -> bool:
    """Changes the current organization; False for who is no member of it."""
    return await connection.fetchval(_sql.set_org, user_id, org_id) is not None


async def is_only_server_admin(connection: Connection, user_id: int) -> bool:
    """Whether nobody else can act as server admin. Ask under ``members.lock_admins``."""
    return bool(await connection.fetchval(_sql.is_only_server_admin, user_id))


async def delete(connection: Connection, user_id: int) -> None:
    await connection.execute(_sql.delete, user_id)


async def notify_change(connection: Connection, user_id: int) -> None:
    """Makes every gateway look at this user anew, once the transaction has committed."""
    await connection.execute(_sql.notify_change, user_id)


async def add_star(connection: Connection, user_id: int, org_id: int, dashboard: str) -> None:
    """Once or twice is the same."""
    await connection.execute(_sql.add_star, user_id, org_id, dashboard)


async def remove_star(connection: Connection, user_id: int, org_id: int, dashboard: str) -> None:
    """Also where there was none."""
    await connection.execute(_sql.remove_star, user_id, org_id, dashboard)


def _person(row: Any) -> Person | None:
    return None if row is None else Person(**row)


def _taken(error: DashwrightError) -> dict[str, DashwrightError]:
    return {"user_by_login": error, "user_by_email": error}
