"""Authors and times of stored objects in the classic API, and the rights of callers on them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import orjson

from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.times import format_time
from dashwright.api.resources.metadata import annotations_of
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.kinds.annotations import CREATED_BY, UPDATED_AT, UPDATED_BY
from dashwright.common.stores.resources import StoredObject


@dataclass(frozen=True, slots=True)
class Provenance:
    """Authors and times of an object."""

    created: str  #: RFC 3339.
    created_by: str  #: A login.
    updated: str  #: RFC 3339.
    updated_by: str  #: A login.
    #: The annotations of the object.
    annotations: dict[str, str]


class Author(NamedTuple):
    """The author of a change."""

    #: 0 for an unknown author.
    account_id: int
    #: The login, or the name in the store of an unknown author.
    login: str
    email: str


@dataclass(frozen=True, slots=True)
class Abilities:
    """The rights of a caller on one object."""

    can_save: bool
    can_delete: bool
    #: May set access rules.
    can_admin: bool


def abilities_on(view: AccessView, stored_object: StoredObject, *, is_editable: bool) -> Abilities:
    """Return the rights that a view gives on one object. An object that is not editable can be neither saved nor deleted."""
    kind, name, folder = stored_object.kind, stored_object.name, stored_object.folder
    return Abilities(
        is_editable and view.may(kind.actions["update"], kind, name, folder),
        is_editable and view.may(kind.actions["delete"], kind, name, folder),
        view.may(f"{kind.area}.permissions:write", kind, name, folder),
    )


async def find_authors(database: Database, names: Collection[str]) -> dict[str, Author]:
    """Return the authors by their names in the store, such as ``user:1``.

    Names of the queue, of repositories and of deleted accounts are used as login.
    """
    account_ids = {name: account_id for name in names if (account_id := _account_id(name)) is not None}
    accounts: dict[int, titles.AccountName] = {}
    if account_ids:
        async with database.connection() as connection:
            accounts = await titles.account_names(connection, set(account_ids.values()))
    authors_by_name: dict[str, Author] = {}
    for name in names:
        account_id = account_ids.get(name, 0)
        account = accounts.get(account_id)
        authors_by_name[name] = Author(0, name, "") if account is None else Author(account_id, *account)
    return authors_by_name


async def find_provenance(database: Database, stored_object: StoredObject) -> Provenance:
    """Return the provenance of one object."""
    return (await find_provenances(database, [stored_object]))[0]


async def find_provenances(database: Database, objects: Sequence[StoredObject]) -> Sequence[Provenance]:
    """Return the provenance of each object, in the same order."""
    names = {name for stored_object in objects for name in _author_names(annotations_of(stored_object))}
    authors_by_name = await find_authors(database, names)
    return [_provenance(stored_object, authors_by_name) for stored_object in objects]


def _author_names(annotations: Mapping[str, str]) -> tuple[str, str]:
    """Return the names in the store of the authors who created and last changed an object."""
    creator = annotations.get(CREATED_BY, "")
    return creator, annotations.get(UPDATED_BY, creator)


def _provenance(stored_object: StoredObject, authors_by_name: Mapping[str, Author]) -> Provenance:
    """Return the provenance of an object. One that was never changed has its creator and creation time as the last change."""
    annotations = annotations_of(stored_object)
    creator, last_editor = _author_names(annotations)
    created = datetime.fromisoformat(orjson.loads(stored_object.metadata)["creationTimestamp"])
    updated = datetime.fromisoformat(annotations[UPDATED_AT]) if UPDATED_AT in annotations else created
    return Provenance(
        created=format_time(created),
        created_by=authors_by_name[creator].login,
        updated=format_time(updated),
        updated_by=authors_by_name[last_editor].login,
        annotations=annotations,
    )


def _account_id(name: str) -> int | None:
    """Return the account id in an author's name in the store, or None if the author is not an account."""
    prefix, _, digits = name.partition(":")
    return int(digits) if prefix in ("user", "service-account") and digits.isascii() and digits.isdigit() else None
