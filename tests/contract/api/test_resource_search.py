"""The search below ``/apis/dashboard.grafana.app``, which finds only objects that the caller may read."""

import json
from typing import Any, Final

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.test_folder_permissions import DASHBOARDS, allow, folder, number_of

from dashwright.common.identity import Role

SEARCH: Final = DASHBOARDS.replace("dashboards", "search")
#: The folder that clients use for objects whose own folder the caller may not read.
SHARED: Final = "sharedwithme"


async def create_dashboard(api: Api, uid: str, title: str, *tags: str, folder: str = "") -> None:
    """Create a dashboard in a folder."""
    body = {"dashboard": {"uid": uid, "title": title, "tags": list(tags)}, "folderUid": folder}
    status, response = await api("POST", "/api/dashboards/db", body)
    assert status == 200, response


@pytest.fixture
async def gateway(api: Api) -> Api:
    """Return a gateway with folders a and b (in a), and dashboards d1 at the root, d2 in a and d3 in b."""
    await folder(api, "a")
    await folder(api, "b", "a")
    await create_dashboard(api, "d1", "Disk usage", "disk", "prod")
    await create_dashboard(api, "d2", "CPU of production", "prod", folder="a")
    await create_dashboard(api, "d3", "disk errors", folder="b")
    return api


async def search(api: Api, query: str = "", auth: str = ADMIN) -> list[str]:
    """Return the names of the hits."""
    status, response = await api("GET", f"{SEARCH}{query}", auth=auth)
    assert status == 200, response
    return [hit["name"] for hit in response["hits"]]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["a", "b", "d2", "d3", "d1"]),
        ("?query=*", ["a", "b", "d2", "d3", "d1"]),
        ("?query=DISK", ["d3", "d1"]),
        ("?type=folder", ["a", "b"]),
        ("?type=folders", ["a", "b"]),
        ("?type=dashboard&sort=-title", ["d1", "d3", "d2"]),
        # The title of each folder contains the word.
        ("?type=dashboard&type=folder&query=folder", ["a", "b"]),
        ("?tag=prod", ["d2", "d1"]),
        ("?tag=prod&tag=disk", ["d1"]),
        ("?folder=general", ["a", "d1"]),
        ("?folder=a", ["b", "d2"]),
        ("?name=d3&name=a&name=none", ["a", "d3"]),
        ("?limit=2&page=2", ["d2", "d3"]),
        ("?limit=2&offset=3", ["d3", "d1"]),
        ("?offset=9", []),
        ("?folder=sharedwithme", []),
        ("?permission=admin&type=folder", ["a", "b"]),
    ],
)
async def test_hits_are_filtered_and_ordered(gateway: Api, query: str, names: list[str]) -> None:
    """Folders come before dashboards, each by title, and every filter restricts the hits."""
    assert await search(gateway, query) == names


async def test_a_page_counts_all_hits(gateway: Api) -> None:
    """A page has one hit with its folder and manager, but the numbers of hits and tags of all pages."""
    manager = {"grafana.app/managedBy": "repo", "grafana.app/managerId": "git"}
    await gateway.sql("update resource set annotations = annotations || $1::text::jsonb where name = 'd3'", json.dumps(manager))
    status, response = await gateway("GET", f"{SEARCH}?limit=1&offset=3&facet=tags&facetLimit=1")
    assert status == 200
    assert (response["kind"], response["totalHits"], response["offset"]) == ("SearchResults", 5, 3)
    assert response["sortBy"] == {"field": "title", "desc": False}
    hit = {"resource": "dashboards", "name": "d3", "title": "disk errors", "folder": "b", "managedBy": {"kind": "repo", "id": "git"}}
    assert response["hits"] == [{**hit, "score": 1.0}]
    tags = {"field": "tags", "total": 3, "missing": 3, "terms": [{"term": "prod", "count": 2}]}
    assert response["facets"] == {"tags": tags}


async def test_hits_are_those_that_the_caller_may_read(gateway: Api) -> None:
    """A caller finds neither unreadable objects nor their tags, their number or the names of their folders."""
    viewer = await gateway.person("vic", Role.VIEWER)
    await allow(gateway, "folders/a", {"userId": 1, "permission": 4})
    await allow(gateway, "folders/b", {"userId": await number_of(gateway, "vic"), "permission": 1})
    status, response = await gateway("GET", f"{SEARCH}?facet=tags", auth=viewer)
    assert status == 200
    assert [(hit["name"], hit.get("folder")) for hit in response["hits"]] == [("b", None), ("d3", "b"), ("d1", None)]
    assert response["totalHits"] == 3
    assert response["facets"]["tags"]["total"] == 2
    assert await search(gateway, f"?folder={SHARED}", viewer) == ["b"]


async def test_the_namespace_is_that_of_the_path(gateway: Api) -> None:
    """A search finds only objects of the namespace in its path, and nothing for callers who are not members."""
    org_id = await gateway.organization("Other")
    second_admin = await gateway.person("boss", Role.ADMIN, org_id=org_id)
    assert (await gateway("POST", "/api/folders", {"uid": "foreign", "title": "T"}, auth=second_admin))[0] == 200
    search_of_other_organization = SEARCH.replace("/default/", f"/org-{org_id}/")
    status, response = await gateway("GET", search_of_other_organization, auth=second_admin)
    assert (status, [hit["name"] for hit in response["hits"]], response["totalHits"]) == (200, ["foreign"], 1)
    assert (await gateway("GET", search_of_other_organization, auth=await gateway.person("vic", Role.VIEWER)))[0] == 403


async def test_permission_restricts_to_what_may_be_changed(gateway: Api) -> None:
    """With ``edit`` and ``admin`` a caller finds only objects on which they have this permission."""
    viewer = await gateway.person("vic", Role.VIEWER)
    viewer_id = await number_of(gateway, "vic")
    await allow(gateway, "folders/a", {"role": "Viewer", "permission": 1}, {"userId": viewer_id, "permission": 2})
    await allow(gateway, "dashboards/uid/d1", {"role": "Viewer", "permission": 1}, {"userId": viewer_id, "permission": 4})
    assert await search(gateway, "", viewer) == ["a", "b", "d2", "d3", "d1"]
    assert await search(gateway, "?permission=view", viewer) == ["a", "b", "d2", "d3", "d1"]
    assert await search(gateway, "?permission=edit", viewer) == ["a", "b", "d2", "d3", "d1"]
    assert await search(gateway, "?permission=admin", viewer) == ["d1"]
    ann = await gateway.person("ann", Role.VIEWER)
    assert await search(gateway, "?permission=edit", ann) == []


async def test_dashboards_are_found_by_a_library_panel(gateway: Api) -> None:
    """With ``libraryPanel`` only dashboards that show this panel are found."""
    element = {"uid": "p", "name": "P", "kind": 1, "model": {"type": "text"}}
    assert (await gateway("POST", "/api/library-elements", element))[0] == 200
    dashboard_with_panel = {"uid": "d4", "title": "With P", "panels": [{"id": 1, "libraryPanel": {"uid": "p", "name": "P"}}]}
    assert (await gateway("POST", "/api/dashboards/db", {"dashboard": dashboard_with_panel}))[0] == 200
    assert await search(gateway, "?libraryPanel=p") == ["d4"]
    assert await search(gateway, "?libraryPanel=q") == []


@pytest.mark.parametrize(
    "query",
    ["?type=panel", "?sort=views", "?permission=own", "?facet=title", "?panelType=table", "?explain=true", "?dataSourceType=prometheus"],
)
async def test_unknown_values_are_refused(api: Api, query: str) -> None:
    """A filter that cannot be applied is 400, because a client would take all objects for hits."""
    status, error = await api("GET", f"{SEARCH}{query}")
    assert (status, error["kind"]) == (400, "Status")


async def test_sortable_fields_are_listed(api: Api) -> None:
    """The fields by which hits can be sorted have a name and a type."""
    status, response = await api("GET", f"{SEARCH}/sortable")
    fields: list[dict[str, Any]] = response["fields"]
    assert (status, [field["field"] for field in fields]) == (200, ["title", "-title"])
    for field in fields:
        assert await search(api, f"?sort={field['field']}") == []
