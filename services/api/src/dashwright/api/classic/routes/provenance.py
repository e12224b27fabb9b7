"""Metadata of stored objects in the classic API: authors, times and the caller's rights."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import orjson

from dashwright.api.domain.access.view import View
from dashwright.api.domain.times import format_time
from dashwright.api.resources.metadata import annotations_of
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.kinds.annotations import CREATED_BY, UPDATED_AT, UPDATED_BY
from dashwright.common.stores.resources import StoredObject


@dataclass(frozen=True, slots=True)
class Provenance:
    """Authors and times of an object."""

    #: RFC 3339, as ``updated``.
    created: str
    #: A login, as ``updated_by``.
    created_by: str
    updated: str
    updated_by: str
    #: The annotations that this was read from.
    annotations: dict[str, str]


class Author(NamedTuple):
    """The author of a change. ``number`` is 0 for an unknown one."""

    #: 0 for an unknown author.
    number: int
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


def abilities_on(view: View, stored: StoredObject, *, is_editable: bool) -> Abilities:
    """Return the rights that a view gives on one object. Without ``is_editable`` it cannot be changed here."""
    kind, name, folder = stored.kind, stored.name, stored.folder
    return Abilities(
        is_editable and view.may(kind.actions["update"], kind, name, folder),
        is_editable and view.may(kind.actions["delete"], kind, name, folder),
        view.may(f"{kind.area}.permissions:write", kind, name, folder),
    )


async def authors(database: Database, names: Collection[str]) -> dict[str, Author]:
    """Return authors by their names in the store (``user:1``).

    A name that is not that of a user or service account becomes the login.
    """
    # Names of the queue, of repositories and of deleted accounts have no row.
    numbers = {name: number for name in names if (number := _number(name)) is not None}
    known: dict[int, titles.AccountName] = {}
    if numbers:
        async with database.connection() as connection:
            known = await titles.account_names(connection, set(numbers.values()))
    return {name: Author(number, *known[number]) if (number := numbers.get(name, 0)) in known else Author(0, name, "") for name in names}


async def provenance(database: Database, stored: StoredObject) -> Provenance:
    """Return the provenance of one object."""
    return (await provenances(database, [stored]))[0]


async def provenances(database: Database, objects: Sequence[StoredObject]) -> Sequence[Provenance]:
    """Return the provenance of each object, in the same order."""
    names = {name for stored in objects for name in _author_names(annotations_of(stored))}
    known = await authors(database, names)
    return [_provenance(stored, known) for stored in objects]


def _author_names(annotations: Mapping[str, str]) -> tuple[str, str]:
    """Return the names in the store of the authors who created and last changed an object."""
    maker = annotations.get(CREATED_BY, "")
    return maker, annotations.get(UPDATED_BY, maker)


def _provenance(stored: StoredObject, known: Mapping[str, Author]) -> Provenance:
    annotations = annotations_of(stored)
    maker, changer = _author_names(annotations)
    made = datetime.fromisoformat(orjson.loads(stored.metadata)["creationTimestamp"])
    changed = datetime.fromisoformat(annotations[UPDATED_AT]) if UPDATED_AT in annotations else made
    return Provenance(format_time(made), known[maker].login, format_time(changed), known[changer].login, annotations)


def _number(uid: str) -> int | None:
    kind, _, number = uid.partition(":")
    return int(number) if kind in ("user", "service-account") and number.isascii() and number.isdigit() else None
