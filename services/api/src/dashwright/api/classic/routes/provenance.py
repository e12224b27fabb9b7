"""What the classic API says of a stored object beside its body: who made and changed it, when, and what the caller may do with it."""

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
    """Logins and times in words, and the annotations that they come from."""

    created: str
    created_by: str
    updated: str
    updated_by: str
    annotations: dict[str, str]


class Author(NamedTuple):
    """``number`` is 0 for whoever is not known."""

    number: int
    login: str
    email: str


@dataclass(frozen=True, slots=True)
class Abilities:
    can_save: bool
    can_delete: bool
    can_admin: bool


def abilities_on(view: View, stored: StoredObject, *, is_editable: bool) -> Abilities:
    """What a view allows on one object, where it ``is_editable`` at all."""
    kind, name, folder = stored.kind, stored.name, stored.folder
    return Abilities(
        is_editable and view.may(kind.actions["update"], kind, name, folder),
        is_editable and view.may(kind.actions["delete"], kind, name, folder),
        view.may(f"{kind.area}.permissions:write", kind, name, folder),
    )


async def authors(database: Database, names: Collection[str]) -> dict[str, Author]:
    """Those who made and changed objects, by their names in the store (``user:1``). Whoever is no user or service account any more, or
    never was one, has that name for a login.
    """
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
    """Return the provenance of each object, in their order."""
    names = {name for stored in objects for name in _author_names(annotations_of(stored))}
    known = await authors(database, names)
    return [_provenance(stored, known) for stored in objects]


def _author_names(annotations: Mapping[str, str]) -> tuple[str, str]:
    """Return who made and who last changed an object, by their names in the store."""
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
