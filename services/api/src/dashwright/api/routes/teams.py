"""Routes of teams in the current organization. ``{team_id}`` is a team's number or its uid."""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from dashwright.api.accounts.rights import Rights
from dashwright.api.accounts.teams import ADD_MEMBER, CREATE, DELETE, REMOVE_MEMBER, UPDATE, UPDATE_MEMBER, Teams, not_found
from dashwright.api.domain.access.metadata import Subject, access_control
from dashwright.api.domain.urls import avatar_url
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, OrganizationView, Permission, Route
from dashwright.api.models.response import Message
from dashwright.api.models.teams import TeamMade, TeamMemberShape, TeamPage, TeamShape
from dashwright.api.stores import teams
from dashwright.common.database.pool import Database
from dashwright.common.errors import NotFound
from dashwright.common.identity import Identity
from dashwright.common.models.classic import ClassicBody, Name

_TAG: Final = "teams"
_PAGE: Final = 1000
_LARGEST_PAGE: Final = 5000
_MOST_PAGES: Final = 1_000_000_000
_FAULT: Final = "bad request data"
_PREFIX: Final = Subject.TEAM.prefix
_PARAMETERS: Final = {"accesscontrol": bool}

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

    user_id: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    permission: Literal[0, 4] = 0


class MemberChanges(ClassicBody):
    """The new permission of a member."""

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
        member_count=team.members,
        permission=team.permission,
        access_control=(access_control(caller, Subject.TEAM, team.id) if with_access else None) or {},
    )


async def find(database: Database, call: Call, action: str) -> teams.Team:
    """Return the team in the path. Raises Forbidden if the caller may not do ``action`` on it, and NotFound."""
    reference = call.parameters["team_id"]
    number = parse_integer(reference)
    if number is not None:
        call.demand(action, f"{_PREFIX}{number}")
    async with database.connection() as connection:
        team = await teams.find(connection, call.identity.org_id, number, reference, viewer=call.identity.user_id)
    if team is None:
        raise not_found()
    call.demand(action, f"{_PREFIX}{team.id}")
    return team


class _TeamHandlers:
    """The handlers of the team routes."""

    def __init__(self, database: Database, rights: Rights) -> None:
        self._database = database
        self._teams = Teams(database, rights)

    async def search(self, call: Call) -> Response:
        """Return a page of teams."""
        page = call.number("page", 1, least=1, most=_MOST_PAGES)
        limit = call.number("perpage", _PAGE, least=1, most=_LARGEST_PAGE)
        wanted = teams.TeamQuery(
            call.identity.org_id, call.query.get("query", ""), call.query.get("name", ""), call.identity.ids("teams:read", _PREFIX)
        )
        async with self._database.connection() as connection:
            found = await teams.page(connection, wanted, limit=limit, offset=(page - 1) * limit, viewer=call.identity.user_id)
            total = await teams.count(connection, wanted)
        with_access = call.switch("accesscontrol")
        listed = [team_view(team, call.identity, with_access=with_access) for team in found]
        return json_response(TeamPage(total_count=total, teams=listed, page=page, per_page=limit))

    async def create(self, call: Call) -> Response:
        """Create a team."""
        body = await call.fields(CreateTeamCommand, fault=_FAULT)
        team_id, uid = await self._teams.create(call.actor, body.name, body.email, creator=call.identity.user_id)
        return json_response(TeamMade(message="Team created", team_id=team_id, uid=uid))

    async def get(self, call: Call) -> Response:
        """Return a team."""
        team = await find(self._database, call, "teams:read")
        return json_response(team_view(team, call.identity, with_access=call.switch("accesscontrol")))

    async def update(self, call: Call) -> Response:
        """Change a team."""
        team = await find(self._database, call, "teams:write")  # Before the body: an unknown team is 404 even if the body is invalid.
        body = await call.fields(TeamChanges, fault=_FAULT)
        await self._teams.change(call.actor, team.id, body.name, body.email)
        return message_response("Team updated")

    async def delete(self, call: Call) -> Response:
        """Delete a team."""
        team = await find(self._database, call, "teams:delete")
        await self._teams.remove(call.actor, team.id)
        return message_response("Team deleted")

    async def own(self, call: Call) -> Response:
        """Return the caller's teams."""
        caller = call.identity
        async with self._database.connection() as connection:
            found = await teams.of_member(connection, caller.org_id, caller.user_id)
        return json_response([team_view(team, caller, with_access=False) for team in found])

    async def of_user(self, call: Call) -> Response:
        """Return a user's teams."""
        caller = call.identity
        if not caller.holds("teams:read"):
            raise permission_denied("users:read", "teams:read")
        user_id = parse_integer(call.parameters["id"])
        async with self._database.connection() as connection:
            if user_id is None or not await teams.person_exists(connection, user_id):
                raise NotFound("user not found")
            found = await teams.of_member(connection, caller.org_id, user_id, caller.ids("teams:read", _PREFIX))
        return json_response([team_view(team, caller, with_access=False) for team in found])

    async def members(self, call: Call) -> Response:
        """Return the members of a team."""
        team = await find(self._database, call, "teams.permissions:read")
        async with self._database.connection() as connection:
            found = await teams.members(connection, team.id)
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
                for member in found
            ]
        )

    async def add_member(self, call: Call) -> Response:
        """Add a member."""
        team = await find(self._database, call, "teams.permissions:write")
        body = await call.fields(AddTeamMemberCommand, fault=_FAULT)
        await self._teams.add_member(call.actor, call.identity, team.id, body.user_id, body.permission)
        return message_response("Member added to Team")

    async def update_member(self, call: Call) -> Response:
        """Change a member's permission."""
        user_id = call.integer("user_id", "userId is invalid")
        team = await find(self._database, call, "teams.permissions:write")
        body = await call.fields(MemberChanges, fault=_FAULT)
        await self._teams.change_member(call.actor, team.id, user_id, body.permission)
        return message_response("Team member updated")

    async def remove_member(self, call: Call) -> Response:
        """Remove a member."""
        user_id = call.integer("user_id", "userId is invalid")
        team = await find(self._database, call, "teams.permissions:write")
        await self._teams.remove_member(call.actor, team.id, user_id)
        return message_response("Team Member removed")


def routes(database: Database, rights: Rights) -> list[Route]:
    """Return the routes of ``/api/teams`` and of the members of a team."""
    handlers = _TeamHandlers(database, rights)
    teams_at, one, members, member = (
        "/api/teams",
        "/api/teams/{team_id}",
        "/api/teams/{team_id}/members",
        "/api/teams/{team_id}/members/{user_id}",
    )
    access = {"accesscontrol": "add accessControl"}
    search = Operation(
        "searchTeams",
        "teams of the current organization, by name",
        _TAG,
        responses={200: TeamPage},
        query={
            "query": "part of the name",
            "name": "the exact name",
            "page": "from 1",
            "perpage": "teams on a page, by default 1000, at most 5000",
            **access,
        },
        parameters={"page": int, "perpage": int, **_PARAMETERS},
    )
    create = Operation("createTeam", "create a team; its creator is its admin", _TAG, CreateTeamCommand, {200: TeamMade}, errors=(409,))
    get = Operation("getTeamByID", "one team", _TAG, responses={200: TeamShape}, query=access, parameters=_PARAMETERS, errors=(404,))
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

    own = Operation("getSignedInUserTeamList", "the caller's teams in the current organization", _TAG, responses={200: list[TeamShape]})
    of_user = Operation(
        "getUserTeams",
        "a user's teams in the current organization",
        _TAG,
        responses={200: list[TeamShape]},
        parameters={"id": int},
        errors=(404,),
        description="Also requires teams:read, which limits the teams that are returned.",
    )

    def on_any(action: str) -> Permission:
        return Permission(action, any_scope=True)

    return [
        Route("GET", "/api/user/teams", handlers.own, SIGNED_IN, own),
        Route(
            "GET",
            "/api/users/{id}/teams",
            handlers.of_user,
            Permission("users:read", "global.users:{id}", OrganizationView.GLOBAL),
            of_user,
        ),
        Route("GET", "/api/teams/search", handlers.search, on_any("teams:read"), search),
        Route("POST", teams_at, handlers.create, Permission("teams:create"), create, audit=CREATE),
        Route("GET", one, handlers.get, on_any("teams:read"), get),
        Route("PUT", one, handlers.update, on_any("teams:write"), update, audit=UPDATE),
        Route("DELETE", one, handlers.delete, on_any("teams:delete"), delete, audit=DELETE),
        Route("GET", members, handlers.members, on_any("teams.permissions:read"), listing),
        Route("POST", members, handlers.add_member, on_any("teams.permissions:write"), add, audit=ADD_MEMBER),
        Route("PUT", member, handlers.update_member, on_any("teams.permissions:write"), change, audit=UPDATE_MEMBER),
        Route("DELETE", member, handlers.remove_member, on_any("teams.permissions:write"), remove, audit=REMOVE_MEMBER),
    ]
