"""Requests of tools such as grafanactl, which push dashboards from files and pull them into files."""

from typing import Any, Final

import pytest
from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.identity import Role

#: Media types by which clients request all groups in one document.
AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
#: Annotations that a pull leaves out of its files.
SERVER_ANNOTATIONS: Final = ("createdBy", "updatedBy", "updatedTimestamp", "managedBy", "managerId", "sourcePath")


class Tool:
    """A client that sends the requests of a tool such as grafanactl, in their order."""

    def __init__(self, api: Api, auth: str) -> None:
        self._api = api
        self._auth = auth
        self._paths: dict[str, str] = {}  # by version and kind, as ``folder.grafana.app/v1 Folder``

    async def discover(self) -> None:
        """Read the namespace, the server's version and the kinds."""
        assert (await self._api("GET", "/bootdata", auth=None))[0] == 200
        _, health = await self._api("GET", "/api/health")
        # grafanactl supports Grafana from version 12 on.
        assert int(health["version"].partition(".")[0]) >= 12
        # The server has no groups below ``/api``, so that the tool continues with ``/apis``.
        assert (await self._api("GET", "/api", auth=self._auth, headers={"Accept": AGGREGATED}))[0] == 404
        status, body = await self._api("GET", "/apis", auth=self._auth, headers={"Accept": AGGREGATED})
        assert (status, body["kind"]) == (200, "APIGroupDiscoveryList")
        for group in body["items"]:
            for version in group["versions"]:
                for resource in version["resources"]:
                    name, kind = f"{group['metadata']['name']}/{version['version']}", resource["responseKind"]["kind"]
                    self._paths[f"{name} {kind}"] = f"/apis/{name}/namespaces/default/{resource['resource']}"

    async def push(self, manifest: dict[str, Any], query: str = "") -> tuple[str, int, Any]:
        """Create an object or replace the existing one; return the method, the status and the body of the response."""
        path = self._paths[f"{manifest['apiVersion']} {manifest['kind']}"]
        metadata = dict(manifest["metadata"])
        manager_annotations = {
            "grafana.app/managedBy": "kubectl",
            "grafana.app/managerId": "grafanactl",
            "grafana.app/sourcePath": "file:///d.json",
        }
        metadata["annotations"] = metadata.get("annotations", {}) | manager_annotations
        status, body = await self._api("GET", f"{path}/{metadata['name']}", auth=self._auth)
        if status == 404:
            status, response = await self._api("POST", path + query, manifest | {"metadata": metadata}, auth=self._auth)
            return "POST", status, response
        metadata["resourceVersion"] = body["metadata"]["resourceVersion"]
        status, response = await self._api("PUT", f"{path}/{metadata['name']}{query}", manifest | {"metadata": metadata}, auth=self._auth)
        return "PUT", status, response

    async def pull(self, kind: str) -> list[dict[str, Any]]:
        """Return all objects of a kind as the tool writes them to files."""
        objects: list[dict[str, Any]] = []
        token = ""
        while True:
            _, page = await self._api("GET", f"{self._paths[kind]}?limit=2&continue={token}", auth=self._auth)
            objects += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                return [_without_server_fields(item) for item in objects]


def _without_server_fields(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the fields that only the server sets."""
    metadata = item["metadata"]
    annotations = {key: text for key, text in metadata["annotations"].items() if key.partition("/")[2] not in SERVER_ANNOTATIONS}
    fields = {"name": metadata["name"], "namespace": metadata["namespace"]} | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": fields, "spec": item["spec"]}


@pytest.fixture(params=["password", "token"])
async def tool(api: Api, request: pytest.FixtureRequest) -> Tool:
    """Return a tool that has discovered the server, once for each type of credentials."""
    auth = ADMIN
    if request.param == "token":
        _, key = await api.token(await api.account("files", Role.ADMIN), "files")
        auth = f"Bearer {key}"
    tool = Tool(api, auth)
    await tool.discover()
    return tool


def folder(name: str) -> dict[str, Any]:
    """Return a folder whose title is its name."""
    return {"apiVersion": "folder.grafana.app/v0alpha1", "kind": "Folder", "metadata": {"name": name}, "spec": {"title": name}}


def dashboard(name: str, title: str, version: str = "v1beta1") -> dict[str, Any]:
    """Return a dashboard in the folder ``f``."""
    metadata = {"name": name, "annotations": {"grafana.app/folder": "f"}}
    return {"apiVersion": f"dashboard.grafana.app/{version}", "kind": "Dashboard", "metadata": metadata, "spec": {"title": title}}


async def test_pushed_objects_are_stored(tool: Tool) -> None:
    """A push creates an object or replaces the existing one. A repeated push changes nothing."""
    assert (await tool.push(folder("f")))[:2] == ("POST", 201)
    assert (await tool.push(dashboard("d", "One")))[:2] == ("POST", 201)
    _, _, changed = await tool.push(dashboard("d", "Two"))
    method, status, repeated = await tool.push(dashboard("d", "Two"))
    assert (method, status, repeated) == ("PUT", 200, changed)
    assert changed["metadata"]["generation"] == 2
    assert changed["metadata"]["annotations"]["grafana.app/managerId"] == "grafanactl"


async def test_a_dry_run_stores_nothing(tool: Tool) -> None:
    """A dry run of a push succeeds and does not store the object."""
    await tool.push(folder("f"))
    assert (await tool.push(dashboard("d", "One"), "?dryRun=All"))[:2] == ("POST", 201)
    # The tool would send PUT if the dashboard existed.
    assert (await tool.push(dashboard("d", "One"), "?dryRun=All"))[0] == "POST"


async def test_pulled_objects_can_be_pushed(tool: Tool) -> None:
    """Objects that were pulled in pages can be pushed without a change."""
    await tool.push(folder("f"))
    for index in range(3):
        await tool.push(dashboard(f"d{index}", f"T{index}"))
    files = await tool.pull("dashboard.grafana.app/v1beta1 Dashboard")
    assert [file["metadata"]["name"] for file in files] == ["d0", "d1", "d2"]
    for file in files:
        method, status, response = await tool.push(file)
        assert (method, status, response["metadata"]["generation"]) == ("PUT", 200, 1)
