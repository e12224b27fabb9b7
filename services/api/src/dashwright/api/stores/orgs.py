"""Rows of organizations.

When an organization is deleted, foreign keys and triggers delete its dependent rows. Other stores delete its objects and
jobs.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.database.unique_violations import convert_unique_violations
from dashwright.common.errors import DashwrightError

_sql = load(__package__, "orgs.sql")


@dataclass(frozen=True, slots=True)
class Address:
    """The postal address of an organization."""

    address1: str = ""
    address2: str = ""
    city: str = ""
    zip_code: str = ""
    state: str = ""
    country: str = ""


@dataclass(frozen=True, slots=True)
class Organization:
    """A stored organization."""

    id: int
    name: str
    address: Address


async def get(connection: Connection, org_id: int) -> Organization | None:
    """Return an organization by its id, or None."""
    return _organization(await connection.fetchrow(_sql.get, org_id))


async def get_by_name(connection: Connection, name: str) -> Organization | None:
    """Return an organization by its exact, case-sensitive name, or None."""
    return _organization(await connection.fetchrow(_sql.get_by_name, name))


async def page(connection: Connection, *, containing: str, name: str, limit: int, offset: int) -> Sequence[tuple[int, str]]:
    """Return (id, name) of the organizations on a page, sorted by name.

    ``containing`` is a part of the name, ``name`` the complete name. An empty string does not filter.
    """
    return [(row["id"], row["name"]) for row in await connection.fetch(_sql.page, containing, name, limit, offset)]


async def lock(connection: Connection, org_id: int) -> bool:
    """Keep an organization from being deleted until the transaction ends. Returns False if it does not exist."""
    return await connection.fetchval(_sql.lock, org_id) is not None


async def insert(connection: Connection, name: str, *, taken_error: DashwrightError) -> int:
    """Insert an organization and return its id. Raises ``taken_error`` if the name is in use."""
    with convert_unique_violations({"org_name_key": taken_error}):
        return int(await connection.fetchval(_sql.insert, name))


async def rename(connection: Connection, org_id: int, name: str, *, taken_error: DashwrightError) -> bool:
    """Rename an organization and return whether it exists. Raises ``taken_error`` if the name is in use."""
    with convert_unique_violations({"org_name_key": taken_error}):
        return await connection.fetchval(_sql.rename, org_id, name) is not None


async def set_address(connection: Connection, org_id: int, address: Address) -> bool:
    """Replace an organization's address and return whether it exists."""
    return await connection.fetchval(*_sql.bind("set_address", id=org_id, **asdict(address))) is not None


async def delete(connection: Connection, org_id: int) -> bool:
    """Delete an organization with its service accounts and memberships, and return whether it existed."""
    # Service accounts are in the table of users, whose rows are kept when an organization is deleted.
    await connection.execute(_sql.delete_service_accounts, org_id)
    return await connection.fetchval(_sql.delete, org_id) is not None


def _organization(row: Any) -> Organization | None:
    if row is None:
        return None
    address_columns = ("address1", "address2", "city", "zip_code", "state", "country")
    return Organization(row["id"], row["name"], Address(*(row[column] or "" for column in address_columns)))
