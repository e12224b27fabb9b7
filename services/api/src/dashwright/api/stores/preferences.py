"""What a user, a team or an organization prefers. None: nothing was chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "preferences.sql")


@dataclass(frozen=True, slots=True)
class PreferencesOwner:
    """Whose they are, in an organization: a user's, a team's, or (both 0) the organization's own."""

    org_id: int
    user_id: int = 0
    team_id: int = 0


@dataclass(frozen=True, slots=True)
class Preferences:
    """``extra`` holds what only clients understand, by its name in the API."""

    home_dashboard_uid: str | None = None
    theme: str | None = None
    timezone: str | None = None
    week_start: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class HomeDashboard(NamedTuple):
    """A dashboard that somebody chose to begin with; ``folder`` is None at the root."""

    name: str
    title: str
    folder: str | None


async def get(connection: Connection, owner: PreferencesOwner) -> Preferences:
    """A home dashboard that does not exist any more is left out."""
    row = await connection.fetchrow(_sql.get, owner.org_id, owner.user_id, owner.team_id)
    if row is None:
        return Preferences()
    return Preferences(row["home_dashboard_uid"], row["theme"], row["timezone"], row["week_start"], orjson.loads(row["extra"]))


async def hold(connection: Connection, owner: PreferencesOwner) -> None:
    """Keeps others from changing them until the transaction ends."""
    await connection.execute(_sql.hold, owner.org_id, owner.user_id, owner.team_id)


async def put(connection: Connection, owner: PreferencesOwner, wanted: Preferences) -> None:
    """Replaces them, under ``hold``."""
    extra = orjson.dumps(dict(wanted.extra)).decode()
    values = (wanted.home_dashboard_uid, wanted.theme, wanted.timezone, wanted.week_start, extra)
    await connection.execute(_sql.put, owner.org_id, owner.user_id, owner.team_id, *values)


async def dashboard_exists(connection: Connection, org_id: int, uid: str) -> bool:
    return bool(await connection.fetchval(_sql.dashboard_exists, org_id, uid))


async def home_dashboards(connection: Connection, org_id: int, user_id: int) -> Sequence[HomeDashboard]:
    """What a user begins with: their own choice, those of their teams, the organization's. ``user_id`` 0: nobody's but the last."""
    return [HomeDashboard(*row) for row in await connection.fetch(_sql.home_dashboards, org_id, user_id)]
