"""Changes of preferences, after a check that the dashboard, theme and time zone in them exist."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.api.accounts.teams import not_found as team_not_found
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, preferences, teams, titles
from dashwright.api.stores.preferences import Preferences, PreferencesOwner
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.kinds.registry import DASHBOARD

UPDATE: Final = "preferences.update"

THEMES: Final = frozenset({"light", "dark", "system"})
_SPECIAL_ZONES: Final = frozenset({"utc", "browser"})
_EXTRA: Final = ("language", "queryHistory", "navbar")


class PreferenceChanges:
    """Changes of the preferences of users, teams and organizations."""

    def __init__(self, database: Database, timezones: Callable[[], frozenset[str]]) -> None:
        """Create the use cases.

        ``timezones`` returns the names of IANA's time zones, and may read files. If it returns an empty set, any name is accepted.
        """
        self._database = database
        self._timezones = timezones

    async def put(self, actor: Actor, owner: PreferencesOwner, given: Mapping[str, Any], *, keep: bool) -> None:
        """Set the ``given`` preferences, by their names in the API; an empty text resets one. ``keep`` the others, or reset them.

        Raises BadRequest for an unknown theme or time zone, and NotFound for an unknown dashboard or team.
        """
        await self._check(given)
        async with self._database.transaction() as connection:
            if owner.team_id and not await teams.hold(connection, owner.org_id, owner.team_id):
                raise team_not_found()
            await preferences.hold(connection, owner)
            before = await preferences.get(connection, owner) if keep else Preferences()
            home = await _home(connection, owner.org_id, given, before.home_dashboard_uid)
            extra = dict(before.extra) | {name: given[name] for name in _EXTRA if name in given}
            wanted = Preferences(
                home,
                given.get("theme", before.theme) or None,
                given.get("timezone", before.timezone) or None,
                given.get("weekStart", before.week_start) or None,
                {name: value for name, value in extra.items() if value != ""},
            )
            await preferences.put(connection, owner, wanted)
            details = {"given": sorted(given), "replaced": not keep}
            await audit.record(connection, actor, UPDATE, _object(owner), org_id=owner.org_id, details=details)

    async def _check(self, given: Mapping[str, Any]) -> None:
        if given.get("theme") and given["theme"] not in THEMES:
            raise BadRequest("Invalid theme")
        zone = given.get("timezone")
        if zone and zone not in _SPECIAL_ZONES:
            known = await asyncio.to_thread(self._timezones)
            if known and zone not in known:
                raise BadRequest("Invalid timezone")


async def _home(connection: Connection, org_id: int, given: Mapping[str, Any], before: str | None) -> str | None:
    """Return the uid of the home dashboard. A uid has precedence over a number; 0 means that there is no home dashboard."""
    if "homeDashboardUID" in given:
        uid: str = given["homeDashboardUID"]
        if uid and not await preferences.dashboard_exists(connection, org_id, uid):
            raise NotFound("Dashboard not found")
        return uid or None
    if number := given.get("homeDashboardId"):
        found = await titles.name_by_number(connection, DASHBOARD, org_id, number)
        if found is None:
            raise NotFound("Dashboard not found")
        return found
    return None if "homeDashboardId" in given else before


def _object(owner: PreferencesOwner) -> str:
    if owner.user_id:
        return f"user:{owner.user_id}"
    return f"team:{owner.team_id}" if owner.team_id else f"org:{owner.org_id}"
