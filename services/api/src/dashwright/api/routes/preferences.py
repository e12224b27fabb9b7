"""Routes of preferences: of the caller, of a team and of the current organization."""

import zoneinfo
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from dashwright.api.accounts.preferences import UPDATE, PreferenceChanges
from dashwright.api.http.authentication import not_a_member
from dashwright.api.http.call import Call, require_account_id
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Access, Operation, Permission, Route
from dashwright.api.models.preferences import PreferencesShape
from dashwright.api.models.response import Message
from dashwright.api.routes import teams
from dashwright.api.stores import preferences
from dashwright.api.stores.preferences import PreferencesOwner
from dashwright.common.database.pool import Database
from dashwright.common.errors import Invalid
from dashwright.common.json_documents import check_depth, check_strings, write_json
from dashwright.common.models.classic import ClassicBody, Name

_TAG: Final = "preferences"
#: The largest body in bytes: clients load ``navbar`` and ``queryHistory`` with every page.
_MAX_BODY_BYTES: Final = 64 * 1024

#: A function that returns the owner of the preferences of a call. The flag is ``True`` if the call changes the preferences. The function
#: raises Forbidden and NotFound.
FindOwner = Callable[[Call, bool], Awaitable[PreferencesOwner]]


def _require_storable(value: dict[str, Any]) -> dict[str, Any]:
    """Return ``value``. Raises ValueError if the database cannot store it."""
    try:
        check_depth(value)
        check_strings(value)
        write_json(value)
    except Invalid as error:
        raise ValueError(error.message) from error
    return value


_StorableObject = Annotated[dict[str, Any], AfterValidator(_require_storable)]


class PreferencesBody(ClassicBody):
    """New preferences. An empty string resets a preference."""

    theme: Name | None = None
    home_dashboard_uid: Name | None = Field(default=None, alias="homeDashboardUID")
    home_dashboard_id: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    timezone: Name | None = None
    week_start: Name | None = None
    language: Name | None = None
    query_history: _StorableObject | None = None
    navbar: _StorableObject | None = None

    @property
    def sent_fields(self) -> dict[str, Any]:
        """The fields that the client sent, by their names in the API."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class _PreferencesHandlers:
    """The handlers for the preferences of one kind of owner."""

    def __init__(self, database: Database, use_cases: PreferenceChanges, find_owner: FindOwner) -> None:
        self._database = database
        self._use_cases = use_cases
        self._find_owner = find_owner

    async def get(self, call: Call) -> Response:
        """Return the preferences."""
        owner = await self._find_owner(call, False)
        async with self._database.connection() as connection:
            current = await preferences.get(connection, owner)
        response_model = PreferencesShape(
            theme=current.theme,
            home_dashboard_uid=current.home_dashboard_uid,
            timezone=current.timezone,
            week_start=current.week_start,
            language=current.extra.get("language"),
            query_history=current.extra.get("queryHistory"),
            navbar=current.extra.get("navbar"),
        )
        return json_response(response_model)

    async def replace(self, call: Call) -> Response:
        """Replace all preferences."""
        return await self._change(call, keep_others=False)

    async def change(self, call: Call) -> Response:
        """Change the preferences in the body, and keep all other preferences."""
        return await self._change(call, keep_others=True)

    async def _change(self, call: Call, *, keep_others: bool) -> Response:
        owner = await self._find_owner(call, True)
        body = await call.model_or_400(PreferencesBody, message="bad request data")
        await self._use_cases.update(call.actor, owner, body.sent_fields, keep_others=keep_others)
        return message_response("Preferences updated")


@cache
def _timezones() -> frozenset[str]:
    """Return the names of all time zones."""
    # This reads hundreds of files, so it runs neither at startup nor on the event loop.
    return frozenset(zoneinfo.available_timezones())


def routes(database: Database) -> list[Route]:
    """Return the routes of ``/api/user|org|teams/{team_id}/preferences``: GET, PUT (replaces all), PATCH (changes some)."""
    use_cases = PreferenceChanges(database, _timezones)

    async def find_user_owner(call: Call, _is_change: bool) -> PreferencesOwner:
        user_id = require_account_id(call, account_data="preferences")
        if not call.identity.org_id:
            raise not_a_member()
        return PreferencesOwner(call.identity.org_id, user_id=user_id)

    async def find_org_owner(call: Call, _is_change: bool) -> PreferencesOwner:
        return PreferencesOwner(call.identity.org_id)

    async def find_team_owner(call: Call, is_change: bool) -> PreferencesOwner:
        team = await teams.find(database, call, "teams:write" if is_change else "teams:read")
        return PreferencesOwner(team.org_id, team_id=team.id)

    org_scope = "org:id:{current_org}"
    read, write = Permission("orgs.preferences:read", org_scope), Permission("orgs.preferences:write", org_scope)
    team_read, team_write = Permission("teams:read", any_scope_suffices=True), Permission("teams:write", any_scope_suffices=True)
    return [
        *_routes(
            "/api/user/preferences", "User", SIGNED_IN, SIGNED_IN, _PreferencesHandlers(database, use_cases, find_user_owner), (403, 404)
        ),
        *_routes("/api/org/preferences", "Org", read, write, _PreferencesHandlers(database, use_cases, find_org_owner), (404,)),
        *_routes(
            "/api/teams/{team_id}/preferences",
            "Team",
            team_read,
            team_write,
            _PreferencesHandlers(database, use_cases, find_team_owner),
            (404,),
        ),
    ]


def _routes(
    path: str,
    owner_name: str,
    read: Access | Permission,
    write: Access | Permission,
    handlers: _PreferencesHandlers,
    errors: tuple[int, ...],
) -> list[Route]:
    """Return the routes of the preferences of one kind of owner. ``read`` and ``write`` are the required permissions."""
    get = Operation(
        f"get{owner_name}Preferences", "get the preferences that are set", _TAG, responses={200: PreferencesShape}, errors=errors
    )
    replace = Operation(f"update{owner_name}Preferences", "replace all preferences", _TAG, PreferencesBody, {200: Message}, errors=errors)
    change = Operation(
        f"patch{owner_name}Preferences", "change the preferences in the body", _TAG, PreferencesBody, {200: Message}, errors=errors
    )
    return [
        Route("GET", path, handlers.get, read, get),
        Route("PUT", path, handlers.replace, write, replace, body_limit=_MAX_BODY_BYTES, audit=UPDATE),
        Route("PATCH", path, handlers.change, write, change, body_limit=_MAX_BODY_BYTES, audit=UPDATE),
    ]
