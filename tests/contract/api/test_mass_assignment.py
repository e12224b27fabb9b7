"""Mass assignment: fields of a body that its route does not declare have no effect."""

from typing import Any

import orjson
import pytest
from tests.contract.api.conftest import Api

from dashwright.common.identity import Role

#: Names of columns and of members of other routes, with values that the tests would notice.
UNDECLARED_FIELDS: dict[str, Any] = {
    "id": 4711,
    "uid": "smuggled",
    "userId": 1,
    "version": 99,
    "isAdmin": True,
    "is_admin": True,
    "isGrafanaAdmin": True,
    "isDisabled": True,
    "isServiceAccount": True,
    "is_service_account": True,
    "orgRole": "Admin",
    "org_id": 2,
    "salt": "salt",
    "rands": "rands",
    "created": "2001-01-01T00:00:00Z",
    "lastSeenAt": "2001-01-01T00:00:00Z",
    "permissions": [{"action": "orgs:create", "scope": "*"}],
}
#: Method and path of a route, a valid body, and the columns of the account that it may change.
ROUTES: list[tuple[str, str, dict[str, Any], set[str]]] = [
    ("PUT", "/api/user", {"login": "anna"}, set()),
    ("PUT", "/api/users/{anna}", {"login": "anna"}, set()),
    ("PUT", "/api/admin/users/{anna}/password", {"password": "pw-of-everybody"}, {"password"}),
    ("PUT", "/api/user/password", {"oldPassword": "pw-of-everybody", "newPassword": "pw-of-everybody"}, {"password"}),
    ("PATCH", "/api/org/users/{anna}", {"role": "Viewer"}, set()),
    ("PATCH", "/api/orgs/1/users/{anna}", {"role": "Viewer"}, set()),
    ("PUT", "/api/org", {"name": "Main Org."}, set()),
    ("PUT", "/api/orgs/1", {"name": "Main Org."}, set()),
    ("PUT", "/api/org/address", {"city": ""}, set()),
    ("POST", "/api/user/using/1", {}, set()),
    ("POST", "/api/users/{anna}/using/1", {}, set()),
    ("POST", "/api/admin/users/{anna}/enable", {}, set()),
]
STATE_OF_ACCOUNT = """
select to_jsonb(u) - 'updated' - 'version' as account, m.role, o.id as org, o.name, o.created,
       (select count(*) from permission) as grants, (select count(*) from "user") as users, (select count(*) from org) as orgs
from "user" u join org_user m on m.user_id = u.id join org o on o.id = m.org_id where u.login = 'anna'
"""


@pytest.mark.parametrize(("method", "path", "body", "changed_columns"), ROUTES, ids=lambda value: value if isinstance(value, str) else "")
async def test_undeclared_fields_are_not_written(api: Api, method: str, path: str, body: dict[str, Any], changed_columns: set[str]) -> None:
    """Fields of a body that a route does not declare change neither the account nor its membership, organization or grants."""
    anna = await api.person("anna", Role.VIEWER)
    user_id = await api.sql("""select id from "user" where login = 'anna'""")
    before = await read_state(api, changed_columns)
    # Below ``/api/user`` are the routes of the caller's own account; the server admin calls all routes that are not below it.
    options = {"auth": anna} if path.startswith("/api/user/") or path == "/api/user" else {}
    status, response = await api(method, path.format(anna=user_id), {**UNDECLARED_FIELDS, **body}, **options)
    assert status == 200, response
    assert await read_state(api, changed_columns) == before


async def read_state(api: Api, changed_columns: set[str]) -> Any:
    """Return the account without the columns that the route may change, its membership and organization, and numbers of rows."""
    async with api.database.connection() as connection:
        row = await connection.fetchrow(STATE_OF_ACCOUNT)
    assert row is not None
    account = {name: value for name, value in orjson.loads(row["account"]).items() if name not in changed_columns}
    return account, [row[name] for name in ("role", "org", "name", "created", "grants", "users", "orgs")]


async def test_a_new_user_has_the_defaults_of_the_route(api: Api) -> None:
    """A new user is enabled, neither server admin nor Admin nor service account, and has an id and uid chosen by the database."""
    status, created = await api("POST", "/api/admin/users", {**UNDECLARED_FIELDS, "login": "new", "password": "secret", "role": "Admin"})
    assert status == 200, created
    assert created["id"] != UNDECLARED_FIELDS["id"]
    assert created["uid"] != UNDECLARED_FIELDS["uid"]
    profile = (await api("GET", f"/api/users/{created['id']}"))[1]
    assert (profile["isGrafanaAdmin"], profile["isDisabled"], profile["orgId"]) == (False, False, 1)
    assert [org["role"] for org in (await api("GET", f"/api/users/{created['id']}/orgs"))[1]] == ["Viewer"]
    assert await api.sql("select count(*) from permission") == 0


async def test_a_new_organization_has_the_defaults_of_the_route(api: Api) -> None:
    """A new organization takes nothing but its name from the body."""
    status, created = await api("POST", "/api/orgs", {**UNDECLARED_FIELDS, "name": "New", "orgId": 77, "address": {"city": "C"}})
    assert status == 200, created
    assert created["orgId"] not in (77, UNDECLARED_FIELDS["id"])
    assert (await api("GET", f"/api/orgs/{created['orgId']}"))[1]["address"]["city"] == ""
