"""The subresource ``dto`` of dashboards, which has the dashboard and the caller's permissions on it."""

import pytest
from tests.contract.api.conftest import Api, legacy_text

from dashwright.common.identity import Role

DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
ABILITIES = ("canSave", "canEdit", "canAdmin", "canDelete", "canStar")


async def create_dashboard(api: Api, title: str = "Prod Overview") -> None:
    """Create the dashboard ``abc``."""
    status, body = await api("POST", DASHBOARDS, {"metadata": {"name": "abc"}, "spec": {"title": title}})
    assert status == 201, body


async def test_a_dashboard_has_its_address(api: Api) -> None:
    """A dashboard is returned with the slug of its title, the address of its page and the complete object."""
    await create_dashboard(api)
    status, body = await api("GET", f"{DASHBOARDS}/abc/dto")
    assert (status, body["kind"], body["apiVersion"]) == (200, "DashboardWithAccessInfo", "dashboard.grafana.app/v2alpha1")
    assert (body["access"]["slug"], body["access"]["url"]) == ("prod-overview", "/d/abc/prod-overview")
    _, dashboard = await api("GET", f"{DASHBOARDS}/abc")
    assert {key: body[key] for key in dashboard if key != "kind"} == {key: dashboard[key] for key in dashboard if key != "kind"}


async def test_the_access_is_optional(api: Api) -> None:
    """The response without access information is only the dashboard."""
    await create_dashboard(api)
    assert (await api("GET", f"{DASHBOARDS}/abc/dto?includeAccess=false")) == (await api("GET", f"{DASHBOARDS}/abc"))


async def test_the_classic_address_has_the_same_response(api: Api) -> None:
    """``/api/dashboards/uid/{uid}/dto`` is the subresource in the classic version, with the same rights and errors."""
    await create_dashboard(api)
    resource = f"{DASHBOARDS.replace('v2alpha1', 'v0alpha1')}/abc/dto"
    for query in ("", "?includeAccess=false"):
        assert await api("GET", f"/api/dashboards/uid/abc/dto{query}") == await api("GET", f"{resource}{query}")
    assert (await api("GET", "/api/dashboards/uid/none/dto"))[0] == 404
    assert (await api("GET", "/api/dashboards/uid/abc/dto", auth=await api.person("n", Role.NONE)))[0] == 403


@pytest.mark.parametrize(
    ("role", "abilities"),
    [
        (Role.VIEWER, ("canStar",)),
        (Role.EDITOR, ("canSave", "canEdit", "canDelete", "canStar")),
        (Role.ADMIN, ABILITIES),
    ],
)
async def test_abilities_are_those_of_the_caller(api: Api, role: Role, abilities: tuple[str, ...]) -> None:
    """A response lists each ability of the caller as true or false. A caller who may save a dashboard may change its annotations."""
    await create_dashboard(api)
    _, body = await api("GET", f"{DASHBOARDS}/abc/dto", auth=await api.person("anna", role))
    assert {key: body["access"][key] for key in ABILITIES} == {key: key in abilities for key in ABILITIES}
    actions = dict.fromkeys(("canAdd", "canEdit", "canDelete"), "canSave" in abilities)
    assert body["access"]["annotationsPermissions"] == {"dashboard": actions, "organization": actions}


async def test_users_and_service_accounts_may_star(api: Api) -> None:
    """``canStar`` is true for the token of a service account, and false for a legacy key, because no account has its stars."""
    await create_dashboard(api)
    _, token = await api.token(await api.account("robot", Role.ADMIN), "t")
    await api.legacy_key("old", role=Role.ADMIN)
    for credential, can_star in ((token, True), (legacy_text("old"), False)):
        _, body = await api("GET", f"{DASHBOARDS}/abc/dto", auth=f"Bearer {credential}")
        assert body["access"]["canAdmin"] is True
        assert body["access"]["canStar"] is can_star


async def test_an_explicit_grant_is_an_ability(api: Api) -> None:
    """A Viewer with an explicit grant of dashboards:write has the abilities to save and edit, but not to delete or administer."""
    await create_dashboard(api)
    _, body = await api("GET", f"{DASHBOARDS}/abc/dto", auth=await api.person("v", Role.VIEWER, ("dashboards:write", "dashboards:uid:abc")))
    assert [key for key in ABILITIES if body["access"][key]] == ["canSave", "canEdit", "canStar"]


async def test_an_unreadable_dashboard_is_refused(api: Api) -> None:
    """A caller without read access gets 403, and an unknown dashboard is 404, as for the dashboard itself."""
    await create_dashboard(api)
    assert (await api("GET", f"{DASHBOARDS}/abc/dto", auth=await api.person("n", Role.NONE)))[0] == 403
    assert (await api("GET", f"{DASHBOARDS}/nothing/dto"))[0] == 404


async def test_a_dashboard_is_converted(api: Api) -> None:
    """In another version, the dashboard is converted and has the same address."""
    body = {"metadata": {"name": "abc"}, "spec": {"title": "Prod Overview", "elements": {}, "layout": {}}}
    assert (await api("POST", DASHBOARDS, body))[0] == 201
    _, response = await api("GET", f"{DASHBOARDS.replace('v2alpha1', 'v0alpha1')}/abc/dto")
    assert response["spec"]["title"] == "Prod Overview"
    assert response["status"]["conversion"]["failed"] is False
    assert response["access"]["slug"] == "prod-overview"
