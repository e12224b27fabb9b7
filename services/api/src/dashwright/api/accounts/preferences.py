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
"""The audit event of changed preferences."""

THEMES: Final = ("light", "dark", "system")
_SPECIAL_ZONES: Final = frozenset({"utc", "browser"})
"""Time zones of Grafana that the tz database does not have."""
_EXTRA_NAMES: Final = ("language", "queryHistory", "navbar")
"""Names of the preferences that are stored together as JSON, without columns of their own."""


class PreferenceChanges:
    """Changes of the preferences of users, teams and organizations."""

    def __init__(self, database: Database, timezones: Callable[[], frozenset[str]]) -> None:
        """Create the use cases.

        ``timezones`` returns the names of IANA's time zones, and may read files. If it returns an empty set, any name is accepted.
        """
        self._database = database
        self._timezones = timezones

    async def update(self, actor: Actor, owner: PreferencesOwner, changes: Mapping[str, Any], *, keep_others: bool) -> None:
        """Set preferences by their names in the API. An empty string resets a preference.

        Preferences that are not in ``changes`` are reset, too, unless ``keep_others`` is set. Raises BadRequest for an unknown theme or
        time zone, and NotFound for an unknown dashboard or team.
        """
        await self._check_values(changes)
        async with self._database.transaction() as connection:
            if owner.team_id:
                # The lock keeps the team from being deleted before its preferences are stored.
                team_exists = await teams.lock(connection, owner.org_id, owner.team_id)
                if not team_exists:
                    raise team_not_found()
            await preferences.lock(connection, owner)
            current = await preferences.get(connection, owner) if keep_others else Preferences()
            home_dashboard_uid = await _home_dashboard_uid(connection, owner.org_id, changes, current.home_dashboard_uid)
            extra = dict(current.extra) | {name: changes[name] for name in _EXTRA_NAMES if name in changes}
            updated = Preferences(
                home_dashboard_uid=home_dashboard_uid,
                theme=changes.get("theme", current.theme) or None,
                timezone=changes.get("timezone", current.timezone) or None,
                week_start=changes.get("weekStart", current.week_start) or None,
                extra={name: value for name, value in extra.items() if value != ""},
            )
            await preferences.replace(connection, owner, updated)
            details = {"given": sorted(changes), "replaced": not keep_others}
            await audit.record(connection, actor, UPDATE, _audit_target(owner), org_id=owner.org_id, details=details)

    async def _check_values(self, changes: Mapping[str, Any]) -> None:
        """Raise BadRequest for an unknown theme or time zone."""
        if changes.get("theme") and changes["theme"] not in THEMES:
            raise BadRequest(f"Invalid theme; give one of {', '.join(THEMES)}")
        zone = changes.get("timezone")
        if zone and zone not in _SPECIAL_ZONES:
            time_zones = await asyncio.to_thread(self._timezones)
            if time_zones and zone not in time_zones:
                raise BadRequest("Invalid timezone; give a name of the tz database such as Europe/Berlin, utc or browser")


async def _home_dashboard_uid(connection: Connection, org_id: int, changes: Mapping[str, Any], current_uid: str | None) -> str | None:
    """Return the uid of the home dashboard after the changes. A uid has precedence over an id; id 0 removes the dashboard."""
    if "homeDashboardUID" in changes:
        uid: str = changes["homeDashboardUID"]
        if uid and not await preferences.dashboard_exists(connection, org_id, uid):
            raise NotFound("Dashboard not found")
        return uid or None
    if dashboard_id := changes.get("homeDashboardId"):
        stored_uid = await titles.name_by_numeric_id(connection, DASHBOARD, org_id, dashboard_id)
        if stored_uid is None:
            raise NotFound("Dashboard not found")
        return stored_uid
    return None if "homeDashboardId" in changes else current_uid


def _audit_target(owner: PreferencesOwner) -> str:
    """Return the name of an owner in the audit log."""
    if owner.user_id:
        return f"user:{owner.user_id}"
    return f"team:{owner.team_id}" if owner.team_id else f"org:{owner.org_id}"
