"""Routes of teams in the current organization. ``{team_id}`` is a team's id or its uid."""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.accounts.teams import ADD_MEMBER, CREATE, DELETE, REMOVE_MEMBER, UPDATE, UPDATE_MEMBER, Teams, not_found
from dashwright.api.domain.access.metadata import ScopedType, access_control
from dashwright.api.domain.urls import avatar_url
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, OrganizationScope, Permission, Route
from dashwright.api.models.response import Message
from dashwright.api.models.teams import TeamCreated, TeamMemberShape, TeamPage, TeamShape
from dashwright.api.stores import teams
from dashwright.common.database.pool import Database
from dashwright.common.errors import NotFound
from dashwright.common.identity import Identity
from dashwright.common.models.classic import ClassicBody, Name

_TAG: Final = "teams"
_DEFAULT_PAGE_SIZE: Final = 1000
_MAX_PAGE_SIZE: Final = 5000
_MAX_PAGE: Final = 1_000_000_000
"""Limit on the number of a page, which keeps the offset within a bigint."""
_BAD_BODY: Final = "bad request data"
_SCOPE_PREFIX: Final = ScopedType.TEAM.prefix
_ACCESS_PARAMETER: Final = {"accesscontrol": bool}

_NotBlank = Annotated[Name, StringConstraints(pattern=r"\S")]


class CreateTeamCommand(ClassicBody):
    """A request to create a team."""

    name: _NotBlank
    email: Name = ""


class TeamChanges(ClassicBody):
    """Changes to a team. Missing members keep their values."""

    name: _NotBlank | None = None
    email: Name | None = None


class AddTeamMemberCommand(ClassicBody):
    """A request to add a member."""

    #: Within the bounds of the column, a bigint.
    user_id: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    #: 4 for an admin of the team, else 0.
    permission: Literal[0, 4] = 0


class MemberChanges(ClassicBody):
    """The new permission of a member."""

    #: 4 for an admin of the team, else 0.
    permission: Literal[0, 4]


def team_view(team: teams.Team, caller: Identity, *, with_access: bool) -> TeamShape:
    """Return the response model of a team. ``with_access`` adds the caller's permissions."""
    return TeamShape(
        id=team.id,
        uid=team.uid,
        org_id=team.org_id,
        name=team.name,
        email=team.email,
        avatar_url=avatar_url(team.email, team.name),
        member_count=team.member_count,
        permission=team.permission,
        access_control=(access_control(caller, ScopedType.TEAM, team.id) if with_access else None) or {},
    )


async def find(database: Database, call: Call, action: str) -> teams.Team:
    """Return the team that the path names by id or uid. Raises Forbidden if the caller may not do ``action`` on it, and NotFound."""
    reference = call.parameters["team_id"]
    team_id = parse_integer(reference)
    # Before the team is read, so that a caller without the permission does not find out which ids exist.
    if team_id is not None:
        call.require(action, f"{_SCOPE_PREFIX}{team_id}")
    async with database.connection() as connection:
        team = await teams.find(connection, call.identity.org_id, team_id, reference, user_id=call.identity.user_id)
    if team is None:
        raise not_found()
    call.require(action, f"{_SCOPE_PREFIX}{team.id}")
    return team


class _TeamHandlers:
    """The handlers of the team routes."""

    def __init__(self, database: Database, transactions: RightsTransactions) -> None:
        self._database = database
        self._teams = Teams(database, transactions)

    async def search(self, call: Call) -> Response:
        """Return a page of teams."""
        page = call.query_integer("page", 1, minimum=1, maximum=_MAX_PAGE)
        limit = call.query_integer("perpage", _DEFAULT_PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE)
        team_query = teams.TeamQuery(
            call.identity.org_id, call.query.get("query", ""), call.query.get("name", ""), call.identity.ids("teams:read", _SCOPE_PREFIX)
        )
        async with self._database.connection() as connection:
            offset, user_id = (page - 1) * limit, call.identity.user_id
            matching_teams = await teams.page(connection, team_query, limit=limit, offset=offset, user_id=user_id)
            total = await teams.count(connection, team_query)
        with_access = call.query_flag("accesscontrol")
        views = [team_view(team, call.identity, with_access=with_access) for team in matching_teams]
        return json_response(TeamPage(total_count=total, teams=views, page=page, per_page=limit))

    async def create(self, call: Call) -> Response:
        """Create a team."""
        body = await call.model_or_400(CreateTeamCommand, message=_BAD_BODY)
        team_id, uid = await self._teams.create(call.actor, body.name, body.email, creator_id=call.identity.user_id)
        return json_response(TeamCreated(message="Team created", team_id=team_id, uid=uid))

    async def get(self, call: Call) -> Response:
        """Return a team."""
        team = await find(self._database, call, "teams:read")
        return json_response(team_view(team, call.identity, with_access=call.query_flag("accesscontrol")))

    async def update(self, call: Call) -> Response:
        """Change a team."""
        # Before the body is read: an unknown team is 404 even if the body is invalid.
        team = await find(self._database, call, "teams:write")
        body = await call.model_or_400(TeamChanges, message=_BAD_BODY)
        await self._teams.change(call.actor, team.id, body.name, body.email)
        return message_response("Team updated")

    async def delete(self, call: Call) -> Response:
        """Delete a team."""
        team = await find(self._database, call, "teams:delete")
        await self._teams.remove(call.actor, team.id)
        return message_response("Team deleted")

    async def list_own(self, call: Call) -> Response:
        """Return the caller's teams."""
        caller = call.identity
        async with self._database.connection() as connection:
            member_teams = await teams.of_member(connection, caller.org_id, caller.user_id)
        return json_response([team_view(team, caller, with_access=False) for team in member_teams])

    async def list_of_user(self, call: Call) -> Response:
        """Return a user's teams."""
        caller = call.identity
        # The permission of the route is users:read. A route has only one, so the second one is checked here.
        if not caller.has_action("teams:read"):
            raise permission_denied("users:read", "teams:read")
        user_id = parse_integer(call.parameters["id"])
        async with self._database.connection() as connection:
            if user_id is None or not await teams.person_exists(connection, user_id):
                raise NotFound("user not found")
            member_teams = await teams.of_member(connection, caller.org_id, user_id, caller.ids("teams:read", _SCOPE_PREFIX))
        return json_response([team_view(team, caller, with_access=False) for team in member_teams])

    async def members(self, call: Call) -> Response:
        """Return the members of a team."""
        team = await find(self._database, call, "teams.permissions:read")
        async with self._database.connection() as connection:
            members = await teams.members(connection, team.id)
        return json_response(
            [
                TeamMemberShape(
                    org_id=member.org_id,
                    team_id=member.team_id,
                    team_uid=member.team_uid,
                    user_id=member.user_id,
                    user_uid=member.user_uid,
                    email=member.email,
                    name=member.name,
                    login=member.login,
                    avatar_url=avatar_url(member.email, member.name),
                    permission=member.permission,
                )
                for member in members
            ]
        )

    async def add_member(self, call: Call) -> Response:
        """Add a member."""
        team = await find(self._database, call, "teams.permissions:write")
        body = await call.model_or_400(AddTeamMemberCommand, message=_BAD_BODY)
        await self._teams.add_member(call.actor, call.identity, team.id, body.user_id, body.permission)
        return message_response("Member added to Team")

    async def update_member(self, call: Call) -> Response:
        """Change a member's permission."""
        user_id = call.path_integer("user_id", "userId is invalid")
        team = await find(self._database, call, "teams.permissions:write")
        body = await call.model_or_400(MemberChanges, message=_BAD_BODY)
        await self._teams.change_member(call.actor, team.id, user_id, body.permission)
        return message_response("Team member updated")

    async def remove_member(self, call: Call) -> Response:
        """Remove a member."""
        user_id = call.path_integer("user_id", "userId is invalid")
        team = await find(self._database, call, "teams.permissions:write")
        await self._teams.remove_member(call.actor, team.id, user_id)
        return message_response("Team Member removed")


def routes(database: Database, transactions: RightsTransactions) -> list[Route]:
    """Return the routes of ``/api/teams`` and of the members of a team."""
    handlers = _TeamHandlers(database, transactions)
    collection_path, team_path, members_path, member_path = (
        "/api/teams",
        "/api/teams/{team_id}",
        "/api/teams/{team_id}/members",
        "/api/teams/{team_id}/members/{user_id}",
    )
    access_query = {"accesscontrol": "add accessControl"}
    search = Operation(
        "searchTeams",
        "teams of the current organization, by name",
        _TAG,
        responses={200: TeamPage},
        query={
            "query": "part of the name",
            "name": "the exact name",
            "page": "number of the page, from 1",
            "perpage": f"teams on a page, by default {_DEFAULT_PAGE_SIZE}, at most {_MAX_PAGE_SIZE}",
            **access_query,
        },
        parameters={"page": int, "perpage": int, **_ACCESS_PARAMETER},
    )
    create = Operation("createTeam", "create a team; its creator is its admin", _TAG, CreateTeamCommand, {200: TeamCreated}, errors=(409,))
    get = Operation(
        "getTeamByID", "one team", _TAG, responses={200: TeamShape}, query=access_query, parameters=_ACCESS_PARAMETER, errors=(404,)
    )
    update = Operation("updateTeam", "change name or e-mail", _TAG, TeamChanges, {200: Message}, errors=(404,))
    delete = Operation("deleteTeamByID", "delete a team", _TAG, responses={200: Message}, errors=(404,))
    listing = Operation("getTeamMembers", "the members of a team, by login", _TAG, responses={200: list[TeamMemberShape]}, errors=(404,))
    add = Operation(
        "addTeamMember", "add a member of the organization to a team", _TAG, AddTeamMemberCommand, {200: Message}, errors=(404,)
    )
    change = Operation(
        "updateTeamMember",
        "make a member an admin of the team (4), or not (0)",
        _TAG,
        MemberChanges,
        {200: Message},
        errors=(404,),
        parameters={"user_id": int},
    )
    remove = Operation("removeTeamMember", "remove a member", _TAG, responses={200: Message}, parameters={"user_id": int}, errors=(404,))

    list_own = Operation(
        "getSignedInUserTeamList", "the caller's teams in the current organization", _TAG, responses={200: list[TeamShape]}
    )
    list_of_user = Operation(
        "getUserTeams",
        "a user's teams in the current organization",
        _TAG,
        responses={200: list[TeamShape]},
        parameters={"id": int},
        errors=(404,),
        description="Also requires teams:read, which limits the teams that are returned.",
    )

    def permission_on_any(action: str) -> Permission:
        # The scope has the id of the team, but the path may have its uid: ``find`` checks the scope after it has read the team.
        return Permission(action, any_scope_suffices=True)

    return [
        Route("GET", "/api/user/teams", handlers.list_own, SIGNED_IN, list_own),
        Route(
            "GET",
            "/api/users/{id}/teams",
            handlers.list_of_user,
            Permission("users:read", "global.users:{id}", OrganizationScope.GLOBAL),
            list_of_user,
        ),
        Route("GET", "/api/teams/search", handlers.search, permission_on_any("teams:read"), search),
        Route("POST", collection_path, handlers.create, Permission("teams:create"), create, audit=CREATE),
        Route("GET", team_path, handlers.get, permission_on_any("teams:read"), get),
        Route("PUT", team_path, handlers.update, permission_on_any("teams:write"), update, audit=UPDATE),
        Route("DELETE", team_path, handlers.delete, permission_on_any("teams:delete"), delete, audit=DELETE),
        Route("GET", members_path, handlers.members, permission_on_any("teams.permissions:read"), listing),
        Route("POST", members_path, handlers.add_member, permission_on_any("teams.permissions:write"), add, audit=ADD_MEMBER),
        Route("PUT", member_path, handlers.update_member, permission_on_any("teams.permissions:write"), change, audit=UPDATE_MEMBER),
        Route("DELETE", member_path, handlers.remove_member, permission_on_any("teams.permissions:write"), remove, audit=REMOVE_MEMBER),
    ]
