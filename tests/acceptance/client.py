"""A client of the HTTP API."""

import asyncio
from types import TracebackType
from typing import Any, Self

import aiohttp

PROVISIONING = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default"
DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
ENDED_STATES = ("success", "error")


FIRST_USER = aiohttp.encode_basic_auth("admin", "admin")


class Client:
    """A session with a gateway, by default authenticated as the first user."""

    def __init__(self, address: str, *, authorization: str | None = FIRST_USER) -> None:
        headers = {} if authorization is None else {"Authorization": authorization}
        self._session = aiohttp.ClientSession(address, headers=headers)
        self.request = self._session.request

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the session and its connections."""
        await self._session.close()

    async def call(self, method: str, path: str, *, status: int = 200, **options: Any) -> Any:
        """Send a request and return the decoded JSON of the response. Raises AssertionError for another status."""
        async with self._session.request(method, path, **options) as response:
            body = await response.text()
            assert response.status == status, f"{method} {path}: {response.status} {body[:2000]}"
            return await response.json() if body else None

    async def response(self, method: str, path: str, **options: Any) -> tuple[int, Any, dict[str, str]]:
        """Return the status, the body and the headers of a response. The body is decoded JSON, or text of any other type."""
        async with self._session.request(method, path, **options) as response:
            body = await (response.json() if response.content_type == "application/json" else response.text())
            return response.status, body, dict(response.headers)

    async def create_repository(self, name: str, path: str, **sync: object) -> Any:
        """Create a local repository that syncs into a folder, and return it. ``sync`` has further members of ``spec.sync``."""
        spec = {
            "title": name.title(),
            "workflows": [],
            "type": "local",
            "local": {"path": path},
            "sync": {"enabled": True, "target": "folder"} | sync,
        }
        return await self.call("POST", f"{PROVISIONING}/repositories", status=201, json={"metadata": {"name": name}, "spec": spec})

    async def sync(self, repository: str) -> Any:
        """Request a sync and return its Job."""
        return await self.call("POST", f"{PROVISIONING}/repositories/{repository}/sync", status=202)

    async def wait_for_job(self, job: Any, *, seconds: float = 60) -> Any:
        """Wait until a job has ended, and return it."""
        name = job["metadata"]["name"]
        async with asyncio.timeout(seconds):
            while True:
                current = await self.call("GET", f"{PROVISIONING}/jobs/{name}")
                if current["status"]["state"] in ENDED_STATES:
                    return current
                await asyncio.sleep(0.05)

    async def sync_and_wait(self, repository: str) -> Any:
        """Request a sync, wait until it ends, and return its status."""
        return (await self.wait_for_job(await self.sync(repository)))["status"]

    async def dashboards(self) -> dict[str, Any]:
        """Return all dashboards by name."""
        return {item["metadata"]["name"]: item for item in (await self.call("GET", DASHBOARDS))["items"]}

    async def folders(self) -> dict[str, Any]:
        """Return all folders by name."""
        return {item["metadata"]["name"]: item for item in (await self.call("GET", FOLDERS))["items"]}


def counts(status: Any, resource: str) -> dict[str, int]:
    """Return the counters of a resource, such as ``dashboards``, in the summary of a job, without zeros."""
    (entry,) = [entry for entry in status["summary"] if entry["resource"] == resource]
    return {key: value for key, value in entry.items() if isinstance(value, int) and value}
