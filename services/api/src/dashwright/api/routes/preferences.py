"""Routes of preferences: of the caller, of a team and of the current organization."""

import zoneinfo
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from dashwright.api.accounts.preferences import UPDATE, PreferenceChanges
from dashwright.api.http.authentication import not_a_member
from dashwright.api.http.call import Call, user_only
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Access, Operation, Permission, Route
from dashwright.api.models.preferences import PreferencesShape
from dashwright.api.models.response import Message
from dashwright.api.routes import teams
from dashwright.api.stores import preferences
from dashwright.api.stores.preferences import PreferencesOwner
from dashwright.common.database.pool import Database
from dashwright.common.document import check_depth, check_texts, write_json
from dashwright.common.errors import Invalid
from dashwright.common.models.classic import ClassicBody, Name

_TAG: Final = "preferences"
#: The largest body in bytes: clients load ``navbar`` and ``queryHistory`` with every page.
_LIMIT: Final = 64 * 1024

#: Returns the owner of the preferences in a call, given whether the call changes them. Raises Forbidden and NotFound.
OwnerOf = Callable[[Call, bool], Awaitable[PreferencesOwner]]


def _storable(tree: dict[str, Any]) -> dict[str, Any]:
    try:
        check_depth(tree)
        check_texts(tree)
        write_json(tree)
    except Invalid as error:
        raise ValueError(error.message) from error
    return tree


_Tree = Annotated[dict[str, Any], AfterValidator(_storable)]


class PreferencesBody(ClassicBody):
    """New preferences. An empty text removes a choice."""

    theme: Name | None = None
    home_dashboard_uid: Name | None = Field(default=None, alias="homeDashboardUID")
    home_dashboard_id: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    timezone: Name | None = None
    week_start: Name | None = None
    language: Name | None = None
    query_history: _Tree | None = None
    navbar: _Tree | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The members that were sent, by their names in the API."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class _PreferencesHandlers:
    """The handlers for the preferences of one kind of owner."""

    def __init__(self, database: Database, changes: PreferenceChanges, owner: OwnerOf) -> None:
        self._database = database
        self._changes = changes
        self._owner = owner

    async def get(self, call: Call) -> Response:
        """Return the preferences."""
        owner = await self._owner(call, False)
        async with self._database.connection() as connection:
            found = await preferences.get(connection, owner)
        shown = PreferencesShape(
            theme=found.theme,
            home_dashboard_uid=found.home_dashboard_uid,
            timezone=found.timezone,
            week_start=found.week_start,
            language=found.extra.get("language"),
            query_history=found.extra.get("queryHistory"),
            navbar=found.extra.get("navbar"),
        )
        return json_response(shown)

    async def replace(self, call: Call) -> Response:
        """Replace all preferences."""
        return await self._change(call, keep=False)

    async def change(self, call: Call) -> Response:
        """Change the given preferences."""
        return await self._change(call, keep=True)

    async def _change(self, call: Call, *, keep: bool) -> Response:
        owner = await self._owner(call, True)
        body = await call.fields(PreferencesBody, fault="bad request data")
        await self._changes.put(call.actor, owner, body.given, keep=keep)
        return message_response("Preferences updated")


@cache
def _timezones() -> frozenset[str]:
    # Reads hundreds of files, so it is left out of the start and of the event loop.
    return frozenset(zoneinfo.available_timezones())


def routes(database: Database) -> list[Route]:
    """Return the routes of ``/api/user|org|teams/{team_id}/preferences``: GET, PUT (replaces all), PATCH (changes some)."""
    changes = PreferenceChanges(database, _timezones)

    async def user(call: Call, _changes: bool) -> PreferencesOwner:
        user_id = user_only(call, lacks="preferences")
        if not call.identity.org_id:
            raise not_a_member()
        return PreferencesOwner(call.identity.org_id, user_id=user_id)

    async def org(call: Call, _changes: bool) -> PreferencesOwner:
        return PreferencesOwner(call.identity.org_id)

    async def team(call: Call, is_change: bool) -> PreferencesOwner:
        found = await teams.find(database, call, "teams:write" if is_change else "teams:read")
        return PreferencesOwner(found.org_id, team_id=found.id)

    in_org = "org:id:{current_org}"
    read, write = Permission("orgs.preferences:read", in_org), Permission("orgs.preferences:write", in_org)
    team_read, team_write = Permission("teams:read", any_scope=True), Permission("teams:write", any_scope=True)
    return [
        *_routes("/api/user/preferences", "User", SIGNED_IN, SIGNED_IN, _PreferencesHandlers(database, changes, user), (403, 404)),
        *_routes("/api/org/preferences", "Org", read, write, _PreferencesHandlers(database, changes, org), (404,)),
        *_routes("/api/teams/{team_id}/preferences", "Team", team_read, team_write, _PreferencesHandlers(database, changes, team), (404,)),
    ]


def _routes(
    path: str, whose: str, read: Access | Permission, write: Access | Permission, handlers: _PreferencesHandlers, errors: tuple[int, ...]
) -> list[Route]:
    get = Operation(f"get{whose}Preferences", "get the preferences that are set", _TAG, responses={200: PreferencesShape}, errors=errors)
    replace = Operation(f"update{whose}Preferences", "replace all preferences", _TAG, PreferencesBody, {200: Message}, errors=errors)
    change = Operation(f"patch{whose}Preferences", "change the preferences given", _TAG, PreferencesBody, {200: Message}, errors=errors)
    return [
        Route("GET", path, handlers.get, read, get),
        Route("PUT", path, handlers.replace, write, replace, body_limit=_LIMIT, audit=UPDATE),
        Route("PATCH", path, handlers.change, write, change, body_limit=_LIMIT, audit=UPDATE),
    ]
