"""What the classic API says of a stored object beside its body: who made and changed it, when, and what the caller may do with it."""

from dataclasses import dataclass
from datetime import datetime

import orjson

from dashwright.api.domain.times import shown
from dashwright.api.resources.classic import annotations_of
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity
from dashwright.common.kinds.annotations import CREATED_BY, UPDATED_AT, UPDATED_BY
from dashwright.common.stores.resources import Stored


@dataclass(frozen=True, slots=True)
class Provenance:
    """Logins and times in words."""

    created: str
    created_by: str
    updated: str
    updated_by: str


@dataclass(frozen=True, slots=True)
class Abilities:
    can_save: bool
    can_delete: bool


def abilities(caller: Identity, area: str) -> Abilities:
    """``area``: ``dashboards`` or ``folders``."""
    return Abilities(caller.may(f"{area}:write"), caller.may(f"{area}:delete"))


async def provenance(database: Database, stored: Stored) -> Provenance:
    """Whoever is no user or service account any more, or never was one, stands there as the store names them."""
    annotations = annotations_of(stored)
    maker = annotations.get(CREATED_BY, "")
    changer = annotations.get(UPDATED_BY, maker)
    numbers = {name: number for name in (maker, changer) if (number := _number(name)) is not None}
    logins: dict[int, str] = {}
    if numbers:
        async with database.connection() as connection:
            logins = await titles.logins(connection, set(numbers.values()))
    made = datetime.fromisoformat(orjson.loads(stored.metadata)["creationTimestamp"])
    changed = datetime.fromisoformat(annotations[UPDATED_AT]) if UPDATED_AT in annotations else made

    def login(name: str) -> str:
        return logins.get(numbers[name], name) if name in numbers else name

    return Provenance(shown(made), login(maker), shown(changed), login(changer))


def _number(uid: str) -> int | None:
    kind, _, number = uid.partition(":")
    return int(number) if kind in ("user", "service-account") and number.isascii() and number.isdigit() else None
