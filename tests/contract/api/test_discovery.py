"""Discovery over HTTP, as kubectl, client libraries and Grafana's own tools request it."""

from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.identity import Role
from dashwright.common.kinds.registry import KINDS

#: Media type of the document that describes all groups, by its version.
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
#: The header ``Accept`` of kubectl.
KUBECTL = ",".join((AGGREGATED.format("v2"), AGGREGATED.format("v2beta1"), "application/json"))
ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]

# group/version: (resource, kind, verbs, short names)
GOLDEN: dict[str, list[tuple[str, str, list[str], list[str] | None]]] = {
    **{
        f"dashboard.grafana.app/{version}": [
            ("dashboards", "Dashboard", ALL_VERBS, ["dash"]),
            ("dashboards/dto", "DashboardWithAccessInfo", ["get"], None),
            ("dashboards/versions", "DashboardVersionList", ["get"], None),
            *([("librarypanels", "LibraryPanel", ALL_VERBS, ["libpanel"])] if version in ("v2alpha1", "v1beta1", "v0alpha1") else []),
        ]
        for version in ("v2alpha1", "v2", "v2beta1", "v1", "v1beta1", "v1alpha1", "v0alpha1")
    },
    **{
        f"folder.grafana.app/{version}": [
            ("folders", "Folder", ALL_VERBS, ["fold"]),
            ("folders/parents", "FolderInfoList", ["get"], None),
            ("folders/counts", "DescendantCounts", ["get"], None),
            ("folders/access", "FolderAccessInfo", ["get"], None),
        ]
        for version in ("v0alpha1", "v1", "v1beta1", "v1alpha1")
    },
    **{
        f"provisioning.grafana.app/{version}": [
            ("repositories", "Repository", ALL_VERBS, ["repo"]),
            ("repositories/status", "Repository", ["get", "patch", "update"], None),
            ("repositories/sync", "Job", ["create"], None),
            ("repositories/export", "Job", ["create"], None),
            ("repositories/jobs", "Job", ["create"], None),
            ("repositories/test", "TestResults", ["create"], None),
            ("repositories/resources", "ResourceList", ["get"], None),
            ("repositories/files", "FileList", ["get"], None),
            ("repositories/refs", "RefList", ["get"], None),
            ("repositories/history", "HistoryList", ["get"], None),
            ("repositories/rollback", "Job", ["create"], None),
            ("repositories/revisions", "RevisionList", ["get"], None),
            ("jobs", "Job", ["create", "delete", "deletecollection", "get", "list", "watch"], None),
            ("jobs/status", "Job", ["get"], None),
        ]
        for version in ("v0alpha1", "v1", "v1beta1")
    },
    "expressions.dashwright.io/v0alpha1": [
        ("evaluations", "Evaluation", ["create", "delete", "deletecollection", "get", "list", "watch"], None),
        ("evaluations/status", "Evaluation", ["get"], None),
    ],
    "jobs.dashwright.io/v0alpha1": [
        ("batches", "Batch", ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"], None),
        ("batches/status", "Batch", ["get", "patch", "update"], None),
        ("batches/items", "BatchItemList", ["create", "get"], None),
        ("batches/results", "BatchItemResult", ["get"], None),
        ("batches/close", "Batch", ["create"], None),
        ("batches/cancel", "Batch", ["create"], None),
        ("batches/retry", "BatchRetry", ["create"], None),
        ("deadletters", "DeadLetter", ["delete", "deletecollection", "get", "list"], None),
        ("deadletters/status", "DeadLetter", ["get"], None),
        ("deadletters/replay", "DeadLetter", ["create"], None),
    ],
    **{f"playlist.grafana.app/{version}": [("playlists", "Playlist", ALL_VERBS, None)] for version in ("v1", "v0alpha1")},
    "iam.grafana.app/v0alpha1": [
        ("users", "User", ["get", "list"], None),
        ("users/status", "User", ["get"], None),
        ("teams", "Team", ["get", "list"], None),
    ],
    "preferences.grafana.app/v1alpha1": [("preferences", "Preferences", ["get", "list"], None)],
}


#: Kinds without the category ``grafana``. A list of a category fails for callers who may not read one of its kinds.
WITHOUT_CATEGORY = ("batches", "deadletters", "users", "teams", "preferences")


async def test_eight_groups_are_served(api: Api) -> None:
    """Discovery lists eight groups, and dashboards prefer v2alpha1. A trailing slash makes no difference."""
    status, body = await api("GET", "/apis/")
    assert (status, body["kind"]) == (200, "APIGroupList")
    versions = [f"{group['name']}/{version['version']}" for group in body["groups"] for version in group["versions"]]
    assert versions == list(GOLDEN)
    assert body["groups"][0]["preferredVersion"] == {"groupVersion": "dashboard.grafana.app/v2alpha1", "version": "v2alpha1"}
    status, group = await api("GET", "/apis/dashboard.grafana.app")
    assert (status, group) == (200, {"kind": "APIGroup", "apiVersion": "v1", **body["groups"][0]})


@pytest.mark.parametrize("group_version", GOLDEN)
async def test_resources_have_the_listed_verbs_and_short_names(api: Api, group_version: str) -> None:
    """Kinds, verbs and short names equal the list in this test."""
    status, body = await api("GET", f"/apis/{group_version}")
    assert (status, body["kind"], body["groupVersion"]) == (200, "APIResourceList", group_version)
    resources = [(item["name"], item["kind"], item["verbs"], item.get("shortNames")) for item in body["resources"]]
    assert resources == GOLDEN[group_version]
    singular_names = {kind.plural: kind.singular for kind in KINDS}
    for item in body["resources"]:
        is_kind = "/" not in item["name"]
        assert item["namespaced"] is True
        assert item["singularName"] == (singular_names[item["name"]] if is_kind else "")
        has_category = is_kind and item["name"] not in WITHOUT_CATEGORY
        assert item.get("categories") == (["grafana"] if has_category else None)


@pytest.mark.parametrize(
    ("accept", "api_version"),
    [
        (KUBECTL, "apidiscovery.k8s.io/v2"),
        (AGGREGATED.format("v2beta1") + ",application/json", "apidiscovery.k8s.io/v2beta1"),
        (AGGREGATED.format("v3") + ",application/json", "v1"),
        (f"application/json,{AGGREGATED.format('v2')}", "v1"),
        ("*/*", "v1"),
        (f"application/vnd.kubernetes.protobuf,{KUBECTL}", "apidiscovery.k8s.io/v2"),
    ],
    ids=["kubectl", "v2beta1", "unknown version", "JSON first", "any type", "protobuf first"],
)
async def test_the_aggregated_document_has_all_resources(api: Api, accept: str, api_version: str) -> None:
    """The aggregated document has the resources of all groups, and the content type by which clients recognize it."""
    async with api.session.get("/apis", headers={"Authorization": ADMIN, "Accept": accept}) as response:
        result = await response.json(content_type=None)
        assert result["apiVersion"] == api_version
        assert response.headers["Vary"] == "Accept, Accept-Encoding"
        if api_version == "v1":
            assert response.headers["Content-Type"] == "application/json"
            return
        meta = api_version.rpartition("/")[2]
        assert response.headers["Content-Type"] == AGGREGATED.format(meta)
    assert flatten(result) == {key: [(name, kind, verbs) for name, kind, verbs, _ in rows] for key, rows in GOLDEN.items()}


def flatten(result: Any) -> dict[str, list[tuple[str, str, list[str]]]]:
    """Return an aggregated document as rows."""
    rows: dict[str, list[tuple[str, str, list[str]]]] = {}
    for group in result["items"]:
        for version in group["versions"]:
            resources = rows.setdefault(f"{group['metadata']['name']}/{version['version']}", [])
            for resource in version["resources"]:
                resources.append((resource["resource"], resource["responseKind"]["kind"], resource["verbs"]))
                for part in resource.get("subresources", ()):
                    resources.append((f"{resource['resource']}/{part['subresource']}", part["responseKind"]["kind"], part["verbs"]))
    return rows


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/v1"])
async def test_kubernetes_core_group_is_not_served(api: Api, path: str) -> None:
    """``/api`` is 404 in the classic format: Grafana's command line tools refuse a server with this group, and kubectl does not need it."""
    assert await api("GET", path, headers={"Accept": KUBECTL}) == (404, {"message": "Not found"})


@pytest.mark.parametrize("path", ["/apis", "/apis/folder.grafana.app", "/apis/folder.grafana.app/v0alpha1"])
async def test_an_unchanged_document_is_304(api: Api, path: str) -> None:
    """A request with the document's tag gets 304 without a body. The aggregated document of a path has another tag."""
    headers = {"Authorization": ADMIN}
    async with api.session.get(path, headers=headers) as response:
        tag = response.headers["ETag"]
    for if_none_match in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        async with api.session.get(path, headers={**headers, "If-None-Match": if_none_match}) as response:
            assert (response.status, await response.read(), response.headers["ETag"]) == (304, b"", tag)
    async with api.session.get(path, headers={**headers, "If-None-Match": '"x"'}) as response:
        assert response.status == 200
    if path == "/apis":
        async with api.session.get(path, headers={**headers, "Accept": KUBECTL, "If-None-Match": tag}) as response:
            assert response.status == 200
            assert response.headers["ETag"] != tag


@pytest.mark.parametrize("path", ["/apis/apps", "/apis/folder.grafana.app/v9", "/apis/apps/v1"])
async def test_unknown_groups_are_404(api: Api, path: str) -> None:
    """An unknown group or version is 404 with a Status that says where to look."""
    status, body = await api("GET", path)
    assert (status, body["kind"], body["reason"]) == (404, "Status", "NotFound")
    assert "/apis lists" in body["message"]


async def test_discovery_needs_credentials(api: Api) -> None:
    """A Viewer may read the documents of discovery. Unauthenticated clients receive 401 as a Status."""
    viewer = await api.person("vic", Role.VIEWER)
    for path in ("/apis", "/apis/folder.grafana.app", "/apis/folder.grafana.app/v0alpha1"):
        assert (await api("GET", path, auth=viewer))[0] == 200
        status, body = await api("GET", path, auth=None)
        assert (status, body["kind"]) == (401, "Status")


async def test_tools_find_the_namespace_without_credentials(api: Api) -> None:
    """The route that reports the namespace needs no credentials, because Grafana's tools request it before they sign in.

    ``default`` is not the name of a cloud stack, so these tools use the organization.
    """
    assert await api("GET", "/bootdata", auth=None) == (200, {"settings": {"namespace": "default"}})


async def test_openapi_v2_is_empty_as_protobuf(api: Api) -> None:
    """The OpenAPI v2 document is complete as JSON and empty as protobuf.

    kubectl validates lists with the protobuf, and leaves kinds that are missing in it to the server.
    """
    status, body = await api("GET", "/openapi/v2", auth=None)
    assert status == 200
    assert body["swagger"] == "2.0"
    assert "/api/folders" in body["paths"]
    media_type = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    async with api.session.get("/openapi/v2", headers={"Accept": media_type}) as response:
        # A content type of a response must not contain @, so that Kubernetes replaces it.
        assert response.headers["Content-Type"] == media_type.replace("@", ".")
        # The only field is the version "2.0".
        assert await response.read() == b"\n\x032.0"
