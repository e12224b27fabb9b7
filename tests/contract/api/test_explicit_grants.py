"""Explicit grants over HTTP, which callers create and revoke within their own permissions."""

from typing import Any

import orjson
import pytest
from tests.contract.api.conftest import Api, case_id

from dashwright.api.auth import key_material
from dashwright.common.identity import Role


async def create_service_account(api: Api) -> tuple[int, str]:
    """Create a service account with the role Viewer in the first organization. Return its id and the credentials of a token."""
    account_id = await api.sql(
        """insert into "user" (login, email, org_id, is_service_account) values ('sa', 'sa', 1, true) returning id"""
    )
    await api.sql("insert into org_user (org_id, user_id, role) values (1, $1, 'Viewer')", account_id)
    text = key_material.new_token()
    material = key_material.parse(text)
    assert material is not None
    statement = "insert into api_key (org_id, name, key, role, service_account_id) values (1, 't', $1, 'Viewer', $2)"
    await api.sql(statement, key_material.hash_secret(material.secret, material.salt), account_id)
    return account_id, f"Bearer {text}"


async def test_a_user_has_exactly_the_granted_permissions(api: Api) -> None:
    """Granted permissions apply to the next request and are listed by canonical names. A later request that omits them is a revocation."""
    anna = await api.person("anna", Role.VIEWER)
    user_id = await api.sql("""select id from "user" where login = 'anna'""")
    path = f"/api/access-control/users/{user_id}/permissions"
    assert (await api("GET", "/api/org/users", auth=anna))[0] == 403
    # The two entries are forms of one grant.
    body = {"permissions": [{"action": "org.users:read", "scope": "users:id:*"}, {"Action": "org.users:read", "Scope": "users:*"}]}
    assert await api("PUT", path, body) == (200, {"message": "Permissions updated"})
    assert await api("GET", path) == (200, {"permissions": [{"action": "org.users:read", "scope": "users:*"}]})
    assert (await api("GET", "/api/org/users", auth=anna))[0] == 200
    assert (await api("PUT", path, {"permissions": []}))[0] == 200
    assert (await api("GET", "/api/org/users", auth=anna))[0] == 403


async def test_a_service_account_is_made_a_server_admin_by_grants(api: Api) -> None:
    """With global grants a service account's token may administer the server. With grants in its organization, the token may not."""
    account, bearer = await create_service_account(api)
    path = f"/api/access-control/serviceaccounts/{account}/permissions"
    body = {"permissions": [{"action": "orgs:read", "scope": "orgs:*"}, {"action": "users:read", "scope": "global.users:id:*"}]}
    assert (await api("GET", "/api/orgs", auth=bearer))[0] == 403
    assert (await api("PUT", path, body))[0] == 200
    assert (await api("GET", "/api/orgs", auth=bearer))[0] == 403
    assert (await api("PUT", f"{path}?orgId=0", body))[0] == 200
    assert (await api("GET", "/api/orgs", auth=bearer))[0] == 200
    assert (await api("GET", "/api/users", auth=bearer))[0] == 200
    listed_grants = (await api("GET", f"{path}?orgId=0"))[1]["permissions"]
    assert listed_grants == [{"action": "orgs:read", "scope": "org:*"}, {"action": "users:read", "scope": "global.users:*"}]


@pytest.mark.parametrize(
    ("grant", "text"),
    [
        ({"action": "everything:do"}, "There is no action 'everything:do' to grant"),
        ({"action": "*"}, "There is no action '*' to grant"),
        ({"action": "orgs:read", "scope": "users:id:1"}, "orgs:read cannot be granted on the scope"),
        ({"action": "orgs:read", "scope": "org:id:x"}, "orgs:read cannot be granted on the scope"),
        ({"scope": "*"}, "bad request data"),
        ({"action": 5}, "bad request data"),
    ],
    ids=case_id,
)
async def test_an_invalid_grant_is_refused(api: Api, grant: Any, text: str) -> None:
    """An invalid grant is refused with an error that names the action or the scope. Earlier grants are kept."""
    await api.person("anna", Role.VIEWER, ("org.users:read", "users:id:1"))
    user_id = await api.sql("""select id from "user" where login = 'anna'""")
    path = f"/api/access-control/users/{user_id}/permissions"
    status, error = await api("PUT", path, {"permissions": [grant]})
    assert status == 400, error
    assert text in error["message"], error
    assert (await api("GET", path))[1]["permissions"] == [{"action": "org.users:read", "scope": "users:id:1"}]


async def test_callers_grant_only_their_own_permissions(api: Api) -> None:
    """An organization's Admin can grant permissions of Admins, but can neither grant nor revoke permissions of server admins."""
    org_admin = await api.person("boss", Role.ADMIN)
    account, _ = await create_service_account(api)
    path = f"/api/access-control/serviceaccounts/{account}/permissions"
    permission_of_admins = {"action": "teams:read", "scope": "*"}
    assert (await api("PUT", path, {"permissions": [permission_of_admins]}, auth=org_admin))[0] == 200
    status, error = await api("PUT", path, {"permissions": [permission_of_admins, {"action": "orgs:create"}]}, auth=org_admin)
    assert status == 403
    assert "orgs:create on *" in error["message"]
    await api("PUT", path, {"permissions": [permission_of_admins, {"action": "orgs:create"}]})
    assert (await api("PUT", path, {"permissions": []}, auth=org_admin))[0] == 403
    assert len((await api("GET", path, auth=org_admin))[1]["permissions"]) == 2


@pytest.mark.parametrize("verb", ["merge patch", "apply", "update", "classic"])
async def test_a_write_requires_the_permission_to_read(api: Api, verb: str) -> None:
    """A write returns the complete object, so it requires the permissions to read and to write."""
    objects = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
    assert (await api("POST", objects, {"metadata": {"name": "d"}, "spec": {"title": "Secret"}}))[0] == 201
    manifest = {"apiVersion": "dashboard.grafana.app/v2alpha1", "kind": "Dashboard", "metadata": {"name": "d"}}
    requests: dict[str, tuple[Any, ...]] = {
        "merge patch": ("PATCH", f"{objects}/d", {}, "application/merge-patch+json"),
        "apply": ("PATCH", f"{objects}/d?fieldManager=me", manifest, "application/apply-patch+yaml"),
        "update": ("PUT", f"{objects}/d", {**manifest, "spec": {"title": "Mine"}}, "application/json"),
        "classic": ("POST", "/api/dashboards/db", {"dashboard": {"uid": "d", "title": "B"}, "overwrite": True}, "application/json"),
    }
    method, path, body, media = requests[verb]
    for login, grants, expected in (("writer", ["write"], 403), ("both", ["read", "write"], 200)):
        auth = await api.person(login, Role.NONE, *((f"dashboards:{action}", "dashboards:uid:d") for action in grants))
        status, response = await api(method, path, body, auth=auth, headers={"Content-Type": media})
        assert status == expected, response
        if status == 403:
            assert b"Secret" not in orjson.dumps(response)


async def test_grants_beyond_the_current_organization_are_for_server_admins(api: Api) -> None:
    """Only server admins read or change global grants and grants in other organizations."""
    second_org_id = await api.organization("Two")
    helper = await api.person(
        "helper", Role.ADMIN, ("users.permissions:read", "*"), ("users.permissions:write", "*"), ("users:read", "*"), grants_in=0
    )
    path = "/api/access-control/users/1/permissions"
    for org_id in (0, second_org_id):
        assert (await api("GET", f"{path}?orgId={org_id}", auth=helper))[0] == 403
        assert (await api("PUT", f"{path}?orgId={org_id}", {"permissions": []}, auth=helper))[0] == 403
    assert (await api("PUT", path, {"permissions": [{"action": "teams:read"}]}, auth=helper))[0] == 200
    assert (await api("GET", f"{path}?orgId=x"))[0] == 400


async def test_only_members_have_grants(api: Api) -> None:
    """A user who is not a member of an organization cannot have grants in it. A member who leaves loses all grants in the organization."""
    second_org_id = await api.organization("Two")
    await api.person("anna", Role.VIEWER)
    user_id = await api.sql("""select id from "user" where login = 'anna'""")
    path = f"/api/access-control/users/{user_id}/permissions"
    assert await api("PUT", f"{path}?orgId={second_org_id}", {"permissions": []}) == (404, {"message": "user not found"})
    await api("PUT", path, {"permissions": [{"action": "teams:read"}]})
    await api("DELETE", f"/api/org/users/{user_id}")
    await api("POST", "/api/org/users", {"loginOrEmail": "anna", "role": "Viewer"})
    assert (await api("GET", path))[1] == {"permissions": []}


async def test_a_service_account_of_another_organization_is_unknown(api: Api) -> None:
    """A service account of another organization, a user's id and an unknown id are not found."""
    second_org_id = await api.organization("Two")
    foreign_account_id = await api.sql(
        """insert into "user" (login, email, org_id, is_service_account) values ('b', 'b', $1, true) returning id""", second_org_id
    )
    for account_id in (foreign_account_id, 1, 9999):
        status, error = await api("GET", f"/api/access-control/serviceaccounts/{account_id}/permissions")
        assert (status, error["message"]) == (404, "service account not found")
    account, _ = await create_service_account(api)
    path = f"/api/access-control/serviceaccounts/{account}/permissions"
    assert (await api("GET", f"{path}?orgId={second_org_id}"))[0] == 400


async def test_a_change_of_grants_is_audited(api: Api) -> None:
    """The audit event of a change of grants has the grants and the name of the account."""
    account, _ = await create_service_account(api)
    await api("PUT", f"/api/access-control/serviceaccounts/{account}/permissions", {"permissions": [{"action": "teams:read"}]})
    async with api.database.connection() as connection:
        row = await connection.fetchrow("select object, details::text from audit_event where action = 'permission.update'")
    assert row is not None
    assert row["object"] == f"service-account:{account}"
    assert "teams:read *" in row["details"]
