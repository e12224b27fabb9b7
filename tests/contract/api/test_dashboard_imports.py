"""Imports of dashboards that were exported with inputs and library panels."""

from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api, case_id
from tests.contract.api.test_folder_permissions import EDIT, allow, folder, number_of

from dashwright.common.identity import Role

IMPORT: Final = "/api/dashboards/import"
EXPORTED: Final[dict[str, Any]] = {
    "__inputs": [{"name": "DS_PROM", "label": "Prometheus", "type": "datasource", "pluginId": "prometheus"}],
    "__elements": {"lib": {"name": "Lib", "uid": "lib", "kind": 1, "model": {"type": "text", "datasource": {"uid": "${DS_PROM}"}}}},
    "__requires": [{"type": "grafana", "id": "grafana", "name": "Grafana", "version": "12.4.3"}],
    "id": 77,
    "uid": "disks",
    "version": 12,
    "title": "Disks & more",
    "panels": [{"id": 1, "type": "stat", "datasource": {"uid": "${DS_PROM}"}}, {"id": 2, "libraryPanel": {"uid": "lib", "name": "Lib"}}],
}
INPUTS: Final = [{"name": "DS_PROM", "type": "datasource", "pluginId": "prometheus", "value": "prom-1"}]


def body(**members: Any) -> dict[str, Any]:
    """Return the body of an import of ``EXPORTED``."""
    return {"dashboard": EXPORTED, "inputs": INPUTS, **members}


async def count_objects(api: Api) -> tuple[int, int]:
    """Return the numbers of dashboards and library panels."""
    statement = "select count(*) from resource where resource = $1"
    return await api.sql(statement, "dashboards"), await api.sql(statement, "librarypanels")


async def test_an_import_stores_dashboard_and_library_panels(api: Api) -> None:
    """The dashboard has the values of its inputs and its own uid. The library panel is created once, in the folder of the dashboard."""
    await folder(api, "f")
    status, response = await api("POST", IMPORT, body(folderUid="f"))
    assert status == 200, response
    stored = (await api("GET", "/api/dashboards/uid/disks"))[1]
    assert stored["dashboard"]["panels"][0]["datasource"] == {"uid": "prom-1"}
    assert not {"__inputs", "__elements", "__requires"} & stored["dashboard"].keys()
    expected = {"uid": "disks", "title": "Disks & more", "imported": True, "importedUri": "db/disks-more", "folderUid": "f"}
    expected |= {"importedUrl": "/d/disks/disks-more", "slug": "disks-more", "dashboardId": stored["dashboard"]["id"], "revision": 1}
    assert {name: response[name] for name in expected} == expected
    assert response["folderId"] == stored["meta"]["folderId"]
    element = (await api("GET", "/api/library-elements/lib"))[1]["result"]
    assert (element["name"], element["folderUid"], element["model"]["datasource"]) == ("Lib", "f", {"uid": "prom-1"})
    assert element["meta"]["connectedDashboards"] == 1
    assert (await api("POST", IMPORT, body(overwrite=True)))[1]["revision"] == 2
    assert (await api("GET", "/api/library-elements/lib"))[1]["result"]["version"] == 1


@pytest.mark.parametrize(
    ("request_body", "status", "message"),
    [
        ({}, 422, "Dashboard must be set"),
        ({"pluginId": "prometheus", "path": "dashboards/stats.json"}, 422, "Dashboard must be set"),
        ({"dashboard": EXPORTED}, 400, "Dashboard input missing"),
        ({"dashboard": "text"}, 400, "bad request data"),
        ({"dashboard": {"title": ""}}, 400, "Dashboard title cannot be empty"),
        (body(folderUid="none"), 404, "folder not found"),
    ],
    ids=case_id,
)
async def test_an_invalid_import_stores_nothing(api: Api, request_body: dict[str, Any], status: int, message: str) -> None:
    """An invalid import is refused with the reason, and stores neither a dashboard nor a library panel."""
    actual_status, response = await api("POST", IMPORT, request_body)
    assert actual_status == status, response
    assert response["message"].startswith(message), response
    assert await count_objects(api) == (0, 0)


async def test_a_stored_dashboard_is_replaced_only_with_overwrite(api: Api) -> None:
    """Without ``overwrite``, an import with a used uid gets 412, and no library panel is created."""
    assert (await api("POST", "/api/dashboards/db", {"dashboard": {"uid": "disks", "title": "Other"}}))[0] == 200
    status, response = await api("POST", IMPORT, body())
    assert (status, response["status"]) == (412, "version-mismatch")
    assert await count_objects(api) == (1, 0)
    assert (await api("POST", IMPORT, body(overwrite=True)))[0] == 200
    assert (await api("GET", "/api/dashboards/uid/disks"))[1]["dashboard"]["title"] == "Disks & more"


async def test_a_taken_name_of_a_library_panel_refuses_the_import(api: Api) -> None:
    """If a library panel cannot be created, the dashboard is not stored, and neither is the first of its library panels."""
    assert (await api("POST", "/api/library-elements", {"uid": "other", "name": "Lib", "kind": 1, "model": {"type": "text"}}))[0] == 200
    first = {"id": 3, "libraryPanel": {"uid": "first", "name": "First"}}
    elements = {"first": {"name": "First", "kind": 1, "model": {"type": "text"}}, **EXPORTED["__elements"]}
    exported = {**EXPORTED, "panels": [first, *EXPORTED["panels"]], "__elements": elements}
    assert (await api("POST", IMPORT, body(dashboard=exported)))[0] == 400
    assert await count_objects(api) == (0, 1)


async def test_a_reached_quota_refuses_the_import(api: Api) -> None:
    """At the limit of dashboards the import is 403, and no library panel is created."""
    assert (await api("PUT", "/api/orgs/1/quotas/dashboard", {"target": "dashboard", "limit": 0}))[0] == 200
    status, response = await api("POST", IMPORT, body())
    assert (status, response["message"]) == (403, "Quota reached")
    assert await count_objects(api) == (0, 0)


async def test_rights_on_the_folder_decide(api: Api) -> None:
    """A Viewer may import a dashboard only into a folder with a rule that allows the Viewer to edit."""
    viewer = await api.person("vic", Role.VIEWER)
    await folder(api, "f")
    assert (await api("POST", IMPORT, body(folderUid="f"), auth=viewer))[0] == 403
    await allow(api, "folders/f", {"userId": await number_of(api, "vic"), "permission": EDIT})
    assert (await api("POST", IMPORT, body(), auth=viewer))[0] == 403
    assert await count_objects(api) == (0, 0)
    assert (await api("POST", IMPORT, body(folderUid="f"), auth=viewer))[0] == 200
    assert await count_objects(api) == (1, 1)


async def test_an_interpolated_dashboard_is_not_stored(api: Api) -> None:
    """An interpolation returns the dashboard with the values of its inputs, and stores nothing."""
    status, response = await api("POST", "/api/dashboards/interpolate", body())
    assert (status, response["panels"][0]["datasource"]) == (200, {"uid": "prom-1"})
    assert response.keys() == {"uid", "title", "panels"}
    assert await count_objects(api) == (0, 0)
