"""A client of watches, which reads their events one by one."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
from tests.contract.api.conftest import ADMIN, Api

DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
JOBS = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/jobs"

_EVENT_TIMEOUT_SECONDS = 20.0
_MAX_EVENT_BYTES = 16 * 1024 * 1024


class OpenWatch:
    """A watch whose response has begun."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def event(self) -> Any:
        """Return the next event; None at the end."""
        async with asyncio.timeout(_EVENT_TIMEOUT_SECONDS):
            line = await self.response.content.readline(max_line_length=_MAX_EVENT_BYTES)
        assert not line or line.endswith(b"\n"), "the connection broke off within an event"
        return orjson.loads(line) if line else None

    async def next_type_and_name(self) -> tuple[str, str]:
        """Return the type and name of the next event."""
        event = await self.event()
        return event["type"], event["object"]["metadata"].get("name", "")

    async def remaining_events(self) -> list[Any]:
        """Return all remaining events of the watch, until it ends."""
        events = []
        while (event := await self.event()) is not None:
            events.append(event)
        return events


@asynccontextmanager
async def watching(
    api: Api, path: str = DASHBOARDS, *, auth: str = ADMIN, headers: Mapping[str, str] = {}, **query: Any
) -> AsyncIterator[OpenWatch]:
    """Open a watch of a collection and yield it. ``query`` are its query parameters."""
    parameters = {"watch": "true", **{name: str(value) for name, value in query.items()}}
    all_headers = {"Authorization": auth, **headers}
    async with api.session.get(path, params=parameters, headers=all_headers, timeout=aiohttp.ClientTimeout(total=None)) as response:
        yield OpenWatch(response)


def dashboard(name: str, title: str = "T", folder: str = "", **labels: str) -> dict[str, Any]:
    """Return a dashboard in a folder, with labels."""
    annotations = {"grafana.app/folder": folder} if folder else {}
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations}, "spec": {"title": title}}


async def current_version(api: Api, path: str = DASHBOARDS) -> str:
    """Return the resource version of a list that is requested now."""
    status, body = await api("GET", f"{path}?limit=1")
    assert status == 200, body
    version: str = body["metadata"]["resourceVersion"]
    return version


async def create(api: Api, body: dict[str, Any], path: str = DASHBOARDS) -> Any:
    """Create an object and return it."""
    status, created = await api("POST", path, body)
    assert status == 201, created
    return created
