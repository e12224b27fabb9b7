"""The route of the audit log, which Admins read in pages and with filters."""

import pytest

from dashwright.common.identity import Role

from .conftest import Api

AUDIT = "/api/audit"


async def test_changes_are_listed_with_actor_and_address(api: Api) -> None:
    """Changes are listed newest first with actor and address, without rejected requests."""
    account = await api.account("robot")
    await api("PATCH", f"/api/serviceaccounts/{account}", {"role": "Editor"}, headers={"X-Request-Id": "mine"})
    status, body = await api("GET", f"{AUDIT}?outcome=ok")
    events = [(event["action"], event["object"], event["actor"], event["login"], event["status"]) for event in body["events"]]
    assert status == 200
    assert body["next"] is None
    assert events == [
        ("service-account.update", f"service-account:{account}", "user:1", "admin", 200),
        ("service-account.create", f"service-account:{account}", "user:1", "admin", 201),
    ]
    newest = body["events"][0]
    assert newest["orgId"] == 1
    assert newest["address"] == "127.0.0.1"
    assert newest["requestId"] == "mine"
    assert newest["details"] == {"role": "Editor"}
    assert newest["at"].endswith("Z")


async def test_a_rejected_change_is_not_listed_as_a_change(api: Api) -> None:
    """The filter ``outcome=ok`` omits changes that were rejected."""
    await api("POST", "/api/serviceaccounts", {"name": "x", "role": "Boss"})
    await api("DELETE", "/api/serviceaccounts/9999")
    assert (await api("GET", f"{AUDIT}?outcome=ok"))[1] == {"events": [], "next": None}


async def test_pages_follow_one_another(api: Api) -> None:
    """``next`` of a page is ``before`` of the next page, and null on the last one. Events that are added later do not shift the pages."""
    for number in range(5):
        await api.account(f"robot {number}")
    first = (await api("GET", f"{AUDIT}?limit=2"))[1]
    await api.account("added between two pages")
    second = (await api("GET", f"{AUDIT}?limit=2&before={first['next']}"))[1]
    third = (await api("GET", f"{AUDIT}?limit=2&before={second['next']}"))[1]
    names = [event["details"]["name"] for page in (first, second, third) for event in page["events"]]
    assert names == [f"robot {number}" for number in (4, 3, 2, 1, 0)]
    assert third["next"] is None


async def test_events_are_filtered(api: Api) -> None:
    """Each filter works alone. A time is a date or a time of RFC 3339."""
    account = await api.account("robot", headers={"X-Request-Id": "one"})
    await api.token(account, "t")
    queries = {
        "action=token.create": ["token.create"],
        f"object=service-account:{account}": ["token.create", "service-account.create"],
        "requestId=one": ["service-account.create"],
        "actor=user:1": ["token.create", "service-account.create"],
        "actor=user:2": [],
        "outcome=refused": [],
        "from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00%2B02:00": [],
        "from=2020-01-01": ["token.create", "service-account.create"],
        "orgId=2": [],
        "orgId=1&limit=0": ["token.create", "service-account.create"],
    }
    for query, actions in queries.items():
        status, body = await api("GET", f"{AUDIT}?{query}")
        assert (status, [event["action"] for event in body["events"]]) == (200, actions), query


async def test_a_period_includes_its_start_and_excludes_its_end(api: Api) -> None:
    """An event at the time ``from`` is listed. An event at the time ``to`` is not, so consecutive periods have each event once."""
    await api.sql(
        "insert into audit_event (at, org_id, actor, login, action, outcome, status)"
        " values ('2026-01-02T00:00:00Z', 1, 'user:1', 'admin', 'token.create', 'ok', 200)"
    )
    (event,) = (await api("GET", AUDIT))[1]["events"]
    assert (await api("GET", f"{AUDIT}?from=2026-01-02"))[1]["events"] == [event]
    assert (await api("GET", f"{AUDIT}?to=2026-01-02"))[1]["events"] == []


@pytest.mark.parametrize(
    "query",
    [
        "from=yesterday",
        "to=5",
        "outcome=good",
        "orgId=x",
        "before=1.5",
        "from=0001-01-01T00:00:00%2B14:00",  # in UTC, a time before the year 1
    ],
)
async def test_an_invalid_filter_is_rejected(api: Api, query: str) -> None:
    """A request with an invalid filter gets 400 with the name of the filter. Without the filter, the list would have other events."""
    status, body = await api("GET", f"{AUDIT}?{query}")
    assert (status, body["message"].partition(" ")[0]) == (400, query.partition("=")[0])


async def test_an_event_belongs_to_the_changed_organization(api: Api) -> None:
    """An event belongs to the changed organization, or to none if the server was changed.

    Admins see the events of their organization only.
    """
    second_org_id = await api.organization("Two")
    second_admin = await api.person("boss", Role.ADMIN, org_id=second_org_id)
    first_admin = await api.person("first", Role.ADMIN)
    await api.person("anna", Role.VIEWER)
    anna = await api.sql("""select id from "user" where login = 'anna'""")
    await api("PUT", f"/api/orgs/{second_org_id}", {"name": "Zwei"})
    await api("POST", f"/api/orgs/{second_org_id}/users", {"loginOrEmail": "anna", "role": "Viewer"})
    await api("PUT", f"/api/orgs/{second_org_id}/quotas/org_user", {"limit": 9})
    await api("PUT", f"/api/access-control/users/{anna}/permissions?orgId={second_org_id}", {"permissions": [{"action": "teams:read"}]})
    await api("PUT", f"/api/access-control/users/{anna}/permissions?orgId=0", {"permissions": [{"action": "teams:read"}]})
    await api("POST", "/api/orgs", {"name": "Three"})
    await api("PUT", f"/api/admin/users/{anna}/quotas/org_user", {"limit": 9})
    await api("POST", f"/api/admin/users/{anna}/disable")
    events_of_second_org = ["org.update", "org.user.add", "quota.update", "permission.update"]
    events_of_server = ["permission.update", "org.create", "quota.update", "user.disable"]

    async def list_actions(query: str = "", **options: str) -> list[str]:
        """Return the actions of the events, the oldest first."""
        status, body = await api("GET", f"{AUDIT}{query}", **options)
        assert status == 200
        return [event["action"] for event in reversed(body["events"])]

    assert await list_actions(auth=second_admin) == await list_actions(f"?orgId={second_org_id}") == events_of_second_org
    assert await list_actions(auth=first_admin) == await list_actions("?orgId=1") == []
    assert await list_actions() == [*events_of_second_org, *events_of_server]


async def test_admins_see_their_own_organization_only(api: Api) -> None:
    """Admins see the events of their organization, the server admin sees all events, and other callers see none."""
    org_id = await api.organization("Two")
    second_admin = await api.person("two", Role.ADMIN, org_id=org_id)
    await api.account("first")
    await api.account("second", auth=second_admin)
    assert [event["details"]["name"] for event in (await api("GET", AUDIT, auth=second_admin))[1]["events"]] == ["second"]
    assert [event["details"]["name"] for event in (await api("GET", AUDIT))[1]["events"]] == ["second", "first"]
    assert (await api("GET", f"{AUDIT}?orgId={org_id}", auth=second_admin))[0] == 200
    assert (await api("GET", f"{AUDIT}?orgId=1", auth=second_admin))[0] == 403
    editor = await api.person("ed", Role.EDITOR)
    assert (await api("GET", AUDIT, auth=editor))[0] == 403
    assert (await api("GET", AUDIT, auth=None))[0] == 401
