"""Organizations over HTTP, with the fields, messages and statuses that existing clients expect."""

from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api, StartApi

from dashwright.common.identity import Role

EMPTY_ADDRESS = {"address1": "", "address2": "", "city": "", "zipCode": "", "state": "", "country": ""}
#: The start of the message of status 403. The names of the missing permissions follow it.
DENIED = "You'll need additional permissions to perform this action. Permissions needed: "


async def test_the_callers_organization_has_id_name_and_address(api: Api) -> None:
    """The caller's organization has id, name and address; unknown parts of the address are empty strings."""
    assert await api("GET", "/api/org") == (200, {"id": 1, "name": "Main Org.", "address": EMPTY_ADDRESS})


async def test_the_callers_organization_is_renamed_by_its_admins(api: Api) -> None:
    """An Admin may set the organization's name, even to the current name. An Editor may not."""
    org_admin, editor = await api.person("boss", Role.ADMIN), await api.person("ed", Role.EDITOR)
    for auth in (ADMIN, org_admin):
        assert await api("PUT", "/api/org", {"name": "Main Org."}, auth=auth) == (200, {"message": "Organization updated"})
    status, error = await api("PUT", "/api/org", {"name": "Renamed"}, auth=editor)
    assert (status, error["message"], error["title"]) == (403, DENIED + "orgs:write", "Access denied")


@pytest.mark.parametrize("path", ["/api/org/address", "/api/orgs/1/address"])
async def test_an_address_is_replaced_completely(api: Api, path: str) -> None:
    """After an update of the address, fields that the body omits are empty."""
    assert await api("PUT", path, {"address1": "A 1", "city": "B", "zipCode": "1"}) == (200, {"message": "Address updated"})
    assert await api("PUT", path, {"ADDRESS2": "c/o", "country": None}) == (200, {"message": "Address updated"})
    assert (await api("GET", "/api/org"))[1]["address"] == EMPTY_ADDRESS | {"address2": "c/o"}


async def test_an_organization_is_created_found_and_deleted(api: Api) -> None:
    """Creating an organization returns its id and makes its creator an Admin, without changing the creator's current organization."""
    status, created = await api("POST", "/api/orgs", {"name": "New Org."})
    assert (status, created) == (200, {"message": "Organization created", "orgId": created["orgId"]})
    org_id = created["orgId"]
    expected = (200, {"id": org_id, "name": "New Org.", "address": EMPTY_ADDRESS})
    assert await api("GET", f"/api/orgs/{org_id}") == expected
    assert await api("GET", "/api/orgs/name/New%20Org%2E") == expected
    memberships = [{"orgId": 1, "name": "Main Org.", "role": "Admin"}, {"orgId": org_id, "name": "New Org.", "role": "Admin"}]
    assert await api("GET", "/api/user/orgs") == (200, memberships)
    assert (await api("GET", "/api/org"))[1]["id"] == 1
    assert await api("DELETE", f"/api/orgs/{org_id}") == (200, {"message": "Organization deleted"})
    assert await api("GET", f"/api/orgs/{org_id}") == (404, {"message": "Organization not found"})


@pytest.mark.parametrize("name", ["unknown", "main org.", "a%2Fb", "%C3%BC"])
async def test_an_unknown_name_is_not_found(api: Api, name: str) -> None:
    """Names are compared exactly: two names that differ in case belong to two organizations."""
    assert await api("GET", f"/api/orgs/name/{name}") == (404, {"message": "Organization not found"})


async def test_a_name_with_a_slash_is_found(api: Api) -> None:
    """The path is split before it is decoded, so a name may contain a slash."""
    org_id = await api.organization("a/b")
    assert (await api("GET", "/api/orgs/name/a%2Fb"))[1]["id"] == org_id


async def test_names_are_unique(api: Api) -> None:
    """Creating an organization with an existing name is 409, and renaming one to the name of another is 400.

    Blanks around a name are ignored, and case is not.
    """
    org_id = await api.organization("Two")
    assert await api("POST", "/api/orgs", {"name": "Two"}) == (409, {"message": "Organization name taken"})
    assert await api("POST", "/api/orgs", {"name": " Two "}) == (409, {"message": "Organization name taken"})
    for path in ("/api/org", "/api/orgs/1"):
        assert await api("PUT", path, {"name": "Two"}) == (400, {"message": "Organization name taken"})
    assert await api("PUT", f"/api/orgs/{org_id}", {"name": "Two"}) == (200, {"message": "Organization updated"})
    assert (await api("POST", "/api/orgs", {"name": "TWO"}))[0] == 200


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "  "}, {"name": None}, {"name": 5}, {"name": ["a"]}, [], "text", {"name": "a\0b"}], ids=str
)
async def test_an_organization_needs_a_name(api: Api, body: Any) -> None:
    """Every route that sets the name refuses a body whose name is missing, blank, not a text, or has a NUL."""
    for method, path in (("POST", "/api/orgs"), ("PUT", "/api/org"), ("PUT", "/api/orgs/1")):
        assert await api.message(method, path, body) == (400, "bad request data"), (method, path)


async def test_a_name_has_a_maximum_length(api: Api) -> None:
    """A name has at most 190 characters. The error for a longer name has its length and the limit."""
    assert (await api("POST", "/api/orgs", {"name": "a" * 190}))[0] == 200
    status, error = await api("POST", "/api/orgs", {"name": "b" * 191})
    assert (status, error["message"]) == (400, "name has 191 characters; at most 190 are allowed")


async def test_organizations_are_selected_by_name_and_listed_in_pages(api: Api) -> None:
    """``query`` selects names that contain it, and ``name`` an exact one. Pages are counted from 0, and a page past the end is empty."""
    for name in ("Beta", "alpha beta", "Gamma"):
        await api.organization(name)
    names = [item["name"] for item in (await api("GET", "/api/orgs"))[1]]
    assert sorted(names) == sorted(["Beta", "alpha beta", "Gamma", "Main Org."])
    assert {item["name"] for item in (await api("GET", "/api/orgs?query=BETA"))[1]} == {"Beta", "alpha beta"}
    assert [item["name"] for item in (await api("GET", "/api/orgs?name=Beta"))[1]] == ["Beta"]
    pages = [(await api("GET", f"/api/orgs?perpage=3&page={page}"))[1] for page in (0, 1, 2)]
    assert [len(page) for page in pages] == [3, 1, 0]
    assert [item["name"] for page in pages for item in page] == names
    assert all(set(item) == {"id", "name"} for item in pages[0])
    # A percent sign is not a wildcard.
    assert (await api("GET", "/api/orgs?query=%25"))[1] == []


async def test_a_current_organization_cannot_be_deleted(api: Api) -> None:
    """The caller's organization and the one that the header selects cannot be deleted."""
    org_id = await api.organization("Two")
    await api("POST", f"/api/orgs/{org_id}/users", {"loginOrEmail": "admin", "role": "Admin"})
    refusal = (400, {"message": "Cannot delete your active organization"})
    assert await api("DELETE", "/api/orgs/1") == refusal
    assert await api("DELETE", f"/api/orgs/{org_id}", headers={"X-Grafana-Org-Id": str(org_id)}) == refusal
    assert (await api("DELETE", f"/api/orgs/{org_id}"))[0] == 200


@pytest.mark.parametrize("org_id", ["9999", "-9999", "0", "9223372036854775807"])
async def test_an_unknown_organization_is_not_found(api: Api, org_id: str) -> None:
    """For a server admin an unknown organization is 404 to read, delete or change, and 500 to rename, as in Grafana."""
    assert await api("GET", f"/api/orgs/{org_id}") == (404, {"message": "Organization not found"})
    assert await api("GET", f"/api/orgs/{org_id}/users") == (404, {"message": "Organization not found"})
    assert await api("GET", f"/api/orgs/{org_id}/users/search") == (404, {"message": "Organization not found"})
    assert await api("DELETE", f"/api/orgs/{org_id}") == (404, {"message": "Failed to delete organization. ID not found"})
    assert await api("PUT", f"/api/orgs/{org_id}", {"name": "X"}) == (500, {"message": "Failed to update organization"})
    assert await api("PUT", f"/api/orgs/{org_id}/address", {}) == (404, {"message": "Organization not found"})


@pytest.mark.parametrize("org_id", ["unknown", "1.0", "9223372036854775808", "1_0", "%D9%A1", "1%20"])
async def test_an_organizations_number_is_an_integer(api: Api, org_id: str) -> None:
    """An id that is not an integer is refused before permissions are checked."""
    viewer = await api.person("vera", Role.VIEWER)
    for auth in (ADMIN, viewer):
        for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/users"), ("PATCH", "/users/1")):
            assert await api(method, f"/api/orgs/{org_id}{path}", auth=auth) == (400, {"message": "orgId is invalid"})


async def test_other_organizations_are_not_revealed(api: Api) -> None:
    """An Admin of one organization receives the same 403 for another organization and for an unknown one."""
    org_admin = await api.person("boss", Role.ADMIN)
    org_id = await api.organization("Secret")
    for method, path, body in (
        ("GET", "", None),
        ("PUT", "", {"name": "X"}),
        ("DELETE", "", None),
        ("PUT", "/address", {}),
        ("GET", "/users", None),
        ("POST", "/users", {"loginOrEmail": "admin", "role": "Viewer"}),
        ("PATCH", "/users/1", {"role": "Viewer"}),
        ("DELETE", "/users/1", None),
    ):
        status, error = await api(method, f"/api/orgs/{org_id}{path}", body, auth=org_admin)
        status_of_unknown, error_of_unknown = await api(method, f"/api/orgs/9999{path}", body, auth=org_admin)
        assert (status, status_of_unknown, error["message"]) == (403, 403, error_of_unknown["message"]), (method, path)
    assert (await api("GET", "/api/orgs/1", auth=org_admin))[0] == 200
    assert (await api("GET", "/api/orgs/name/Secret", auth=org_admin))[0] == 403
    assert (await api("GET", "/api/orgs", auth=org_admin))[0] == 403


async def test_an_admin_of_another_organization_sees_that_one(api: Api) -> None:
    """A request about an organization needs permissions in that organization. Permissions in the caller's current one do not count."""
    org_id = await api.organization("Two")
    anna = await api.person("anna", Role.VIEWER)
    await api("POST", f"/api/orgs/{org_id}/users", {"loginOrEmail": "anna", "role": "Admin"})
    assert (await api("GET", f"/api/orgs/{org_id}", auth=anna))[1]["name"] == "Two"
    assert await api("PUT", f"/api/orgs/{org_id}", {"name": "Zwei"}, auth=anna) == (200, {"message": "Organization updated"})
    assert (await api("GET", "/api/orgs/1", auth=anna))[0] == 403
    assert (await api("DELETE", f"/api/orgs/{org_id}", auth=anna))[0] == 403


async def test_an_organization_beyond_the_quota_is_not_created(start_api: StartApi) -> None:
    """The refusal of an organization above the quota names the target and its limit, and nothing is stored."""
    api = await start_api(quota_defaults="global_org=2,user_org=5")
    assert (await api("POST", "/api/orgs", {"name": "Two"}))[0] == 200
    status, error = await api("POST", "/api/orgs", {"name": "Three"})
    assert (status, error["message"], error["messageId"]) == (403, "org Quota reached", "quota.reached")
    assert error["extra"] == {"scope": "global", "target": "org", "limit": 2, "used": 2}
    assert (await api("GET", "/api/orgs?name=Three"))[1] == []


async def test_deleting_an_organization_deletes_its_service_accounts(api: Api) -> None:
    """The service accounts of a deleted organization are deleted; its users are kept, and act in their first organization."""
    org_id = await api.organization("Two")
    anna = await api.person("anna", Role.VIEWER)
    await api("POST", f"/api/orgs/{org_id}/users", {"loginOrEmail": "anna", "role": "Admin"})
    await api("POST", f"/api/user/using/{org_id}", auth=anna)
    await api.sql("""insert into "user" (login, email, org_id, is_service_account) values ('sa', 'sa', $1, true)""", org_id)
    assert (await api("GET", "/api/org", auth=anna))[1]["id"] == org_id
    assert (await api("DELETE", f"/api/orgs/{org_id}"))[0] == 200
    assert (await api("GET", "/api/org", auth=anna))[1]["id"] == 1
    assert await api.sql("""select count(*) from "user" where is_service_account""") == 0
    assert await api.sql("select count(*) from org_user where org_id = $1", org_id) == 0


async def test_every_change_of_an_organization_is_audited(api: Api) -> None:
    """The audit events of an organization have actor and object, in order; a refused change is not recorded as successful."""
    org_id = (await api("POST", "/api/orgs", {"name": "Two"}))[1]["orgId"]
    await api("PUT", f"/api/orgs/{org_id}", {"name": "Zwei"})
    # Refused, because the first organization has this name.
    await api("PUT", f"/api/orgs/{org_id}", {"name": "Main Org."})
    await api("PUT", f"/api/orgs/{org_id}/address", {"city": "C"})
    await api("DELETE", f"/api/orgs/{org_id}")
    async with api.database.connection() as connection:
        rows = await connection.fetch("select actor, action, object from audit_event where outcome = 'ok' order by id")
    expected = ("org.create", "org.update", "org.address.update", "org.delete")
    assert [tuple(row) for row in rows] == [("user:1", action, f"org:{org_id}") for action in expected]
