"""Preferences of users, teams and organizations. None means that a preference is not set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "preferences.sql")


@dataclass(frozen=True, slots=True)
class PreferencesOwner:
    """The owner of preferences: a user, a team, or (both ids 0) the organization itself."""

    org_id: int
    user_id: int = 0
    team_id: int = 0


@dataclass(frozen=True, slots=True)
class Preferences:
    """Stored preferences."""

    home_dashboard_uid: str | None = None
    theme: str | None = None
    timezone: str | None = None
    week_start: str | None = None
    #: Settings that only clients interpret, by their names in the API.
    extra: Mapping[str, Any] = field(default_factory=dict)


class HomeDashboard(NamedTuple):
    """A dashboard that a preference names as home dashboard."""

    name: str
    title: str
    #: None at the root.
    folder: str | None


async def get(connection: Connection, owner: PreferencesOwner) -> Preferences:
    """Return the preferences of an owner. A home dashboard that no longer exists is left out."""
    row = await connection.fetchrow(_sql.get, owner.org_id, owner.user_id, owner.team_id)
    if row is None:
        return Preferences()
    return Preferences(row["home_dashboard_uid"], row["theme"], row["timezone"], row["week_start"], orjson.loads(row["extra"]))


async def lock(connection: Connection, owner: PreferencesOwner) -> None:
    """Lock the preferences of an owner until the transaction ends."""
    await connection.execute(_sql.lock, owner.org_id, owner.user_id, owner.team_id)


async def replace(connection: Connection, owner: PreferencesOwner, new_preferences: Preferences) -> None:
    """Replace the preferences of an owner. Call it under ``lock``."""
    query = _sql.bind(
        "put",
        org_id=owner.org_id,
        user_id=owner.user_id,
        team_id=owner.team_id,
        home_dashboard_uid=new_preferences.home_dashboard_uid,
        theme=new_preferences.theme,
        timezone=new_preferences.timezone,
        week_start=new_preferences.week_start,
        extra=orjson.dumps(dict(new_preferences.extra)).decode(),
    )
    await connection.execute(*query)


async def dashboard_exists(connection: Connection, org_id: int, uid: str) -> bool:
    """Return whether an organization has a dashboard with a uid."""
    return bool(await connection.fetchval(_sql.dashboard_exists, org_id, uid))


async def home_dashboards(connection: Connection, org_id: int, user_id: int) -> Sequence[HomeDashboard]:
    """Return the home dashboards in preferences: the user's, those of the user's teams, then the organization's.

    For ``user_id`` 0, only that of the organization is returned.
    """
    return [HomeDashboard(*row) for row in await connection.fetch(_sql.home_dashboards, org_id, user_id)]
