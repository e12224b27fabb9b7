"""Teams and their members, as existing clients use them."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.conftest import Api, basic

from dashwright.common.identity import Role

NOT_FOUND = (404, {"message": "Team not found"})
BAD_REQUEST = (400, "bad request data")


async def create_team(api: Api, name: str, **members: Any) -> int:
    """Create a team and return its id."""
    status, body = await api("POST", "/api/teams", {"name": name, **members})
    assert (status, body["message"]) == (200, "Team created"), body
    team_id: int = body["teamId"]
    return team_id


async def test_a_team_is_created_and_read(api: Api) -> None:
    """A team is read by id and uid and its creator is its admin; field names ignore case, and unknown fields have no effect."""
    status, body = await api("POST", "/api/teams", {"NAME": "Crew", "email": "crew@example.org", "orgId": 7, "id": 99, "uid": "mine"})
    assert (status, set(body)) == (200, {"message", "teamId", "uid"})
    status, team = await api("GET", f"/api/teams/{body['teamId']}")
    assert status == 200
    assert team == {
        "id": body["teamId"],
        "uid": body["uid"],
        "orgId": 1,
        "name": "Crew",
        "email": "crew@example.org",
        "externalUID": "",
        "isProvisioned": False,
        "avatarUrl": team["avatarUrl"],
        "memberCount": 1,
        "permission": 4,
        "accessControl": None,
    }
    assert team["avatarUrl"].startswith("/avatar/")
    assert team["id"] != 99
    assert await api("GET", f"/api/teams/{body['uid']}") == (200, team)
    status, members = await api("GET", f"/api/teams/{body['uid']}/members")
    assert status == 200
    assert members[0]["login"] == "admin"
    assert members[0]["permission"] == 4
    assert members[0]["teamUID"] == body["uid"]
    assert set(members[0]) == {
        "orgId",
        "teamId",
        "teamUID",
        "userId",
        "userUID",
        "auth_module",
        "email",
        "name",
        "login",
        "avatarUrl",
        "labels",
        "permission",
    }


async def test_names_are_unique_in_an_organization(api: Api) -> None:
    """Creating a team with an existing name is 409, and renaming one to an existing name is 400. Another organization may use the name."""
    await create_team(api, "A")
    second_team = await create_team(api, "B")
    assert await api("POST", "/api/teams", {"name": "A"}) == (409, {"message": "Team name taken"})
    assert await api("PUT", f"/api/teams/{second_team}", {"name": "A"}) == (400, {"message": "Team name taken"})
    org_id = await api.organization("Second")
    await api.sql("insert into org_user (org_id, user_id, role) values ($1, 1, 'Admin')", org_id)
    status, body = await api("POST", "/api/teams", {"name": "A"}, headers={"X-Grafana-Org-Id": str(org_id)})
    assert status == 200
    assert await api("GET", f"/api/teams/{body['teamId']}") == NOT_FOUND


@pytest.mark.parametrize(
    "body",
    [{}, {"name": " "}, {"name": 5}, {"name": None}, {"name": "x" * 191}, {"name": "a\0b"}, [], "text"],
    ids=["no name", "blank", "number", "null", "too long", "NUL", "list", "text"],
)
async def test_a_team_needs_a_name(api: Api, body: Any) -> None:
    """Every invalid body of a team gets the same message."""
    assert await api.message("POST", "/api/teams", body) == BAD_REQUEST


async def test_a_search_has_pages_sorted_by_name(api: Api) -> None:
    """A search finds a part of the name in any case, or the exact name.

    A page past the end has only the total count, and a page below 1 is the first.
    """
    for name in ("my team", "SecondTeam", "crew"):
        await create_team(api, name)

    async def search(query: str) -> tuple[int, list[str]]:
        """Return the number of all hits and the names on the page."""
        status, body = await api("GET", f"/api/teams/search?{query}")
        assert status == 200
        return body["totalCount"], [team["name"] for team in body["teams"]]

    assert await search("") == (3, ["crew", "my team", "SecondTeam"])
    assert await search("query=TEAM&perpage=1") == (2, ["my team"])
    assert await search("query=team&perpage=1&page=2") == (2, ["SecondTeam"])
    assert await search("query=team&page=3") == (2, [])
    assert await search("name=my%20team") == (1, ["my team"])
    assert await search("name=my") == (0, [])
    status, body = await api("GET", "/api/teams/search?page=-9999&perpage=0")
    assert status == 200
    assert body["page"] == 1
    assert body["perPage"] == 1000
    assert len(body["teams"]) == 3


async def test_missing_fields_are_kept(api: Api) -> None:
    """An update keeps the name or e-mail address that it omits.

    An empty e-mail address deletes the stored address, and an empty name is invalid.
    """
    team = await create_team(api, "A", email="a@example.org")
    assert await api("PUT", f"/api/teams/{team}", {"name": "B"}) == (200, {"message": "Team updated"})
    assert (await api("GET", f"/api/teams/{team}"))[1]["email"] == "a@example.org"
    assert (await api("PUT", f"/api/teams/{team}", {"email": ""}))[0] == 200
    body = (await api("GET", f"/api/teams/{team}"))[1]
    assert (body["name"], body["email"]) == ("B", "")
    assert await api.message("PUT", f"/api/teams/{team}", {"name": ""}) == BAD_REQUEST


async def test_an_unknown_team_is_404_whatever_is_sent(api: Api) -> None:
    """An unknown or negative id, or an unknown uid, is 404 before the body is checked."""
    for path in ("/api/teams/9999", "/api/teams/-1", "/api/teams/unknown"):
        for method, subpath, body in (
            ("GET", "", None),
            ("PUT", "", {}),
            ("DELETE", "", None),
            ("GET", "/members", None),
            ("POST", "/members", {}),
            ("GET", "/preferences", None),
        ):
            assert await api(method, f"{path}{subpath}", body) == NOT_FOUND, (method, path, subpath)


async def test_a_deleted_team_loses_its_members_and_preferences(api: Api) -> None:
    """Deleting a team deletes its memberships and preferences. A second delete is 404."""
    team = await create_team(api, "A")
    assert (await api("PUT", f"/api/teams/{team}/preferences", {"theme": "dark"}))[0] == 200
    assert await api("DELETE", f"/api/teams/{team}") == (200, {"message": "Team deleted"})
    assert await api.sql("select count(*) from team_member") == 0
    assert await api.sql("select count(*) from preferences") == 0
    assert await api("DELETE", f"/api/teams/{team}") == NOT_FOUND


async def test_members_are_users_of_the_organization(api: Api) -> None:
    """Users of the organization are added once, changed and removed; service accounts and permissions other than 0 and 4 are rejected."""
    team = await create_team(api, "A")
    await api.person("kim", Role.VIEWER)
    second_org_id = await api.organization("Second")
    await api.person("lee", Role.ADMIN, org_id=second_org_id)
    kim, lee = [await api.sql("""select id from "user" where login = $1""", login) for login in ("kim", "lee")]
    account = await api.sql(
        """insert into "user" (login, email, org_id, is_service_account) values ('sa-1-x', 'sa-1-x', 1, true) returning id"""
    )
    await api.sql("insert into org_user (org_id, user_id, role) values (1, $1, 'Viewer')", account)
    path = f"/api/teams/{team}/members"
    assert await api("POST", path, {"userId": kim}) == (200, {"message": "Member added to Team"})
    assert await api("POST", path, {"userId": kim}) == (400, {"message": "User is already added to this team"})
    for not_a_member in (lee, account, 9999, -1):
        assert await api("POST", path, {"userId": not_a_member}) == (404, {"message": "User not found"})
    for body in ({}, {"userId": "5"}, {"userId": 2**63}, {"userId": kim, "permission": 1}):
        assert await api.message("POST", path, body) == BAD_REQUEST
    assert await api("PUT", f"{path}/{kim}", {"permission": 4}) == (200, {"message": "Team member updated"})
    assert {member["login"]: member["permission"] for member in (await api("GET", path))[1]} == {"admin": 4, "kim": 4}
    assert await api("PUT", f"{path}/{lee}", {"permission": 4}) == (404, {"message": "Team member not found"})
    assert await api("PUT", f"{path}/kim", {"permission": 4}) == (400, {"message": "userId is invalid"})
    assert await api("DELETE", f"{path}/{kim}") == (200, {"message": "Team Member removed"})
    assert await api("DELETE", f"{path}/{kim}") == (404, {"message": "Team member not found"})


async def test_leaving_an_organization_leaves_its_teams(api: Api) -> None:
    """A user who is removed from an organization is no longer a member of its teams."""
    team = await create_team(api, "A")
    await api.person("kim", Role.VIEWER)
    kim = await api.sql("""select id from "user" where login = 'kim'""")
    assert (await api("POST", f"/api/teams/{team}/members", {"userId": kim}))[0] == 200
    await api.sql("delete from org_user where user_id = $1", kim)
    assert [member["login"] for member in (await api("GET", f"/api/teams/{team}/members"))[1]] == ["admin"]


async def test_teams_are_for_admins_and_those_with_grants(api: Api) -> None:
    """A caller with a grant on one team can read it by id and uid, and finds only this team. Other teams are not revealed."""
    first, second = await create_team(api, "A"), await create_team(api, "B")
    editor = await api.person("editor", Role.EDITOR)
    for path in ("/api/teams/search", f"/api/teams/{first}", "/api/teams/9999"):
        assert (await api("GET", path, auth=editor))[0] == 403
    assert (await api("POST", "/api/teams", {}, auth=editor))[0] == 403
    reader = await api.person("reader", Role.VIEWER, ("teams:read", f"teams:id:{first}"))
    status, body = await api("GET", "/api/teams/search?accesscontrol=true", auth=reader)
    assert (status, body["totalCount"], body["teams"][0]["accessControl"]) == (200, 1, {"teams:read": True})
    uids = {name: await api.sql("select uid from team where name = $1", name) for name in ("A", "B")}
    for reference, status in ((first, 200), (uids["A"], 200), (second, 403), (uids["B"], 403), (9999, 403)):
        assert (await api("GET", f"/api/teams/{reference}", auth=reader))[0] == status, reference
    assert (await api("PUT", f"/api/teams/{first}", {"name": "C"}, auth=reader))[0] == 403
    status, body = await api("GET", f"/api/teams/{first}?accesscontrol=1")
    assert body["accessControl"] == dict.fromkeys(
        ("teams:read", "teams:write", "teams:delete", "teams.permissions:read", "teams.permissions:write"), True
    )


async def test_the_teams_of_a_user_are_listed_by_name(api: Api) -> None:
    """All users may list their own teams. To list the teams of another user, a caller needs the right to read users.

    The list then has the teams that the caller may read.
    """
    for name in ("b", "A"):
        await create_team(api, name)
    status, own_teams = await api("GET", "/api/user/teams")
    assert (status, [team["name"] for team in own_teams], own_teams[0]["permission"]) == (200, ["A", "b"], 4)
    assert await api("GET", "/api/users/1/teams") == (200, own_teams)
    kim = await api.person("kim", Role.VIEWER)
    kims_id = await api.sql("""select id from "user" where login = 'kim'""")
    assert await api("GET", "/api/user/teams", auth=kim) == (200, [])
    assert await api("GET", f"/api/users/{kims_id}/teams") == (200, [])
    for unknown_user in ("9999", "-1", "kim"):
        assert await api("GET", f"/api/users/{unknown_user}/teams") == (404, {"message": "user not found"})
    assert (await api("GET", "/api/users/1/teams", auth=kim))[0] == 403
    status, teams = await api("GET", "/api/users/1/teams", auth=await create_reader(api, own_teams[1]["id"]))
    assert (status, [team["name"] for team in teams]) == (200, ["b"])


async def create_reader(api: Api, team_id: int) -> str:
    """Return the credentials of a user who may read all users, and one team."""
    auth = await api.person("lou", Role.VIEWER, ("teams:read", f"teams:id:{team_id}"))
    await api.grant(await api.sql("""select id from "user" where login = 'lou'"""), "users:read", "*", 0)
    return auth


async def test_each_change_is_audited_once(api: Api) -> None:
    """Each change is one audit event with the team; rejected changes have no event."""
    team = await create_team(api, "A")
    # Refused, because the name is in use.
    await api("POST", "/api/teams", {"name": "A"})
    await api("PUT", f"/api/teams/{team}", {"name": "B"})
    # Refused, because the creator of a team is already a member.
    await api("POST", f"/api/teams/{team}/members", {"userId": 1})
    await api("PUT", f"/api/teams/{team}/members/1", {"permission": 0})
    await api("DELETE", f"/api/teams/{team}/members/1")
    await api("DELETE", f"/api/teams/{team}")
    async with api.database.connection() as connection:
        rows = await connection.fetch("select action, object, actor, outcome from audit_event where action like 'team.%' order by id")
    actions = ["team.create", "team.update", "team.member.update", "team.member.remove", "team.delete"]
    assert [tuple(row) for row in rows] == [(action, f"team:{team}", "user:1", "ok") for action in actions]


async def test_concurrent_creates_of_a_name_create_one_team(api: Api) -> None:
    """One of many concurrent creates of a name succeeds, and all others are 409."""
    responses = await asyncio.gather(*(api("POST", "/api/teams", {"name": "A"}) for _ in range(8)))
    assert sorted(status for status, _ in responses) == [200] + [409] * 7


async def test_an_unauthenticated_client_is_401(api: Api) -> None:
    """Wrong credentials are 401 with the message and identifier of Grafana."""
    assert await api("GET", "/api/teams/search", auth=basic("unknown", "x")) == (
        401,
        {"message": "Invalid username or password", "messageId": "password-auth.failed", "statusCode": 401, "traceID": ""},
    )
