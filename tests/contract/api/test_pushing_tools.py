"""Tools that keep dashboards in files, as grafanactl does: what they ask before they begin, and how they push and pull."""

from typing import Any, Final

import pytest
from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.identity import Role

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
STRIPPED: Final = ("createdBy", "updatedBy", "updatedTimestamp", "managedBy", "managerId", "sourcePath")
"""Annotations that a pull leaves out of its files."""


class Tool:
    """Pushes and pulls in the order and the words of such a tool."""

    def __init__(self, api: Api, auth: str) -> None:
        self._api = api
        self._auth = auth
        self._paths: dict[str, str] = {}

    async def begin(self) -> None:
        """Finds the namespace, the version of the server, and what kinds there are."""
        assert (await self._api("GET", "/bootdata", auth=None))[0] == 200
        _, health = await self._api("GET", "/api/health")
        assert int(health["version"].partition(".")[0]) >= 12
        assert (await self._api("GET", "/api", auth=self._auth, headers={"Accept": AGGREGATED}))[0] == 404
        status, told = await self._api("GET", "/apis", auth=self._auth, headers={"Accept": AGGREGATED})
        assert (status, told["kind"]) == (200, "APIGroupDiscoveryList")
        for group in told["items"]:
            for version in group["versions"]:
                for resource in version["resources"]:
                    name, kind = f"{group['metadata']['name']}/{version['version']}", resource["responseKind"]["kind"]
                    self._paths[f"{name} {kind}"] = f"/apis/{name}/namespaces/default/{resource['resource']}"

    async def push(self, wanted: dict[str, Any], query: str = "") -> tuple[str, int, Any]:
        """What was sent, and what was answered: a new object, or the one that is there replaced as it was read."""
        path = self._paths[f"{wanted['apiVersion']} {wanted['kind']}"]
        metadata = dict(wanted["metadata"])
        marks = {"grafana.app/managedBy": "kubectl", "grafana.app/managerId": "grafanactl", "grafana.app/sourcePath": "file:///d.json"}
        metadata["annotations"] = metadata.get("annotations", {}) | marks
        status, found = await self._api("GET", f"{path}/{metadata['name']}", auth=self._auth)
        if status == 404:
            status, answer = await self._api("POST", path + query, wanted | {"metadata": metadata}, auth=self._auth)
            return "POST", status, answer
        metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
        status, answer = await self._api("PUT", f"{path}/{metadata['name']}{query}", wanted | {"metadata": metadata}, auth=self._auth)
        return "PUT", status, answer

    async def pull(self, kind: str) -> list[dict[str, Any]]:
        """All objects of a kind as its files hold them."""
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            _, page = await self._api("GET", f"{self._paths[kind]}?limit=2&continue={token}", auth=self._auth)
            found += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                return [_in_file(item) for item in found]


def _in_file(item: dict[str, Any]) -> dict[str, Any]:
    metadata = item["metadata"]
    annotations = {key: text for key, text in metadata["annotations"].items() if key.partition("/")[2] not in STRIPPED}
    kept = {"name": metadata["name"], "namespace": metadata["namespace"]} | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": kept, "spec": item["spec"]}


@pytest.fixture(params=["password", "token"])
async def tool(api: Api, request: pytest.FixtureRequest) -> Tool:
    auth = ADMIN
    if request.param == "token":
        _, key = await api.token(await api.account("files", Role.ADMIN), "files")
        auth = f"Bearer {key}"
    tool = Tool(api, auth)
    await tool.begin()
    return tool


def folder(name: str) -> dict[str, Any]:
    return {"apiVersion": "folder.grafana.app/v0alpha1", "kind": "Folder", "metadata": {"name": name}, "spec": {"title": name}}


def dashboard(name: str, title: str, version: str = "v1beta1") -> dict[str, Any]:
    metadata = {"name": name, "annotations": {"grafana.app/folder": "f"}}
    return {"apiVersion": f"dashboard.grafana.app/{version}", "kind": "Dashboard", "metadata": metadata, "spec": {"title": title}}


async def test_what_is_pushed_is_there(tool: Tool) -> None:
    """Folders first; what is missing is made, what is there replaced, and what is equal left alone."""
    assert (await tool.push(folder("f")))[:2] == ("POST", 201)
    assert (await tool.push(dashboard("d", "One")))[:2] == ("POST", 201)
    _, _, changed = await tool.push(dashboard("d", "Two"))
    method, status, again = await tool.push(dashboard("d", "Two"))
    assert (method, status, again) == ("PUT", 200, changed)
    assert changed["metadata"]["generation"] == 2
    assert changed["metadata"]["annotations"]["grafana.app/managerId"] == "grafanactl"


async def test_a_dry_run_pushes_nothing(tool: Tool) -> None:
    """Everything is checked, nothing is kept."""
    await tool.push(folder("f"))
    assert (await tool.push(dashboard("d", "One"), "?dryRun=All"))[:2] == ("POST", 201)
    assert (await tool.push(dashboard("d", "One"), "?dryRun=All"))[0] == "POST"


async def test_what_is_pulled_can_be_pushed(tool: Tool) -> None:
    """A pull in pages gives files that, pushed again, change nothing."""
    await tool.push(folder("f"))
    for at in range(3):
        await tool.push(dashboard(f"d{at}", f"T{at}"))
    files = await tool.pull("dashboard.grafana.app/v1beta1 Dashboard")
    assert [file["metadata"]["name"] for file in files] == ["d0", "d1", "d2"]
    for file in files:
        method, status, answer = await tool.push(file)
        assert (method, status, answer["metadata"]["generation"]) == ("PUT", 200, 1)
