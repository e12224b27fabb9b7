"""Client that watches a collection during faults: it resumes from its last version and must receive every change once, in order."""

import asyncio
import json
from contextlib import suppress
from typing import Any, NamedTuple

import aiohttp
from tests.acceptance.polling import wait_until
from tests.faults.audit import Audit
from tests.faults.loads.load import Database
from tests.faults.system import System

#: Time between two watches.
_PAUSE_SECONDS = 0.2
#: Limit of the bytes of one event.
_LONGEST_LINE = 16 * 1024 * 1024
#: Changes that have not arrived after this time without faults are lost.
_CATCH_UP_SECONDS = 60.0


class Event(NamedTuple):
    """Event of a watch."""

    version: int
    type: str
    name: str


class Watcher:
    """Watch of the collection at ``path``, whose changes have the resource name ``resource``.

    A gateway that loses its connection to the database ends its watches with 410, since it cannot know whether rights changed.
    The watcher then lists again, as every client has to, and need not receive the changes up to the version of that list.
    """

    def __init__(self, system: System, path: str, resource: str) -> None:
        self.name = f"watcher of {resource}"
        self._system = system
        self._path = path
        self._resource = resource
        self._events: list[Event] = []
        #: Versions between which a list replaced the events: above the first, up to the second.
        self._gaps: list[tuple[int, int]] = []
        self._version = 0
        #: Versions of the objects by name, as known from lists and events.
        self._objects: dict[str, int] = {}
        self._failures: list[str] = []
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """List the collection and begin to watch it."""
        assert await self._list()
        self._task = asyncio.create_task(self._watch(), name=self.name)

    async def _list(self) -> bool:
        """List the collection. Return whether that succeeded."""
        response = await self._system.request("GET", self._path)
        if response is None or not response.is_accepted:
            return False
        version = int(response.body["metadata"]["resourceVersion"])
        self._objects = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in response.body["items"]}
        self._gaps.append((self._version, version))
        self._version = version
        return True

    async def _watch(self) -> None:
        """Receive events, and list the collection again whenever a watch requires it."""
        must_list = False
        while True:
            with suppress(aiohttp.ClientError, TimeoutError, OSError):
                must_list = not await self._list() if must_list else await self._read_stream()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _read_stream(self) -> bool:
        """Receive events until the stream ends. Return whether the collection must be listed again."""
        parameters = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": str(self._version)}
        async with self._system.stream(self._path, **parameters) as response:
            if response.status == 410:
                return True
            if response.status not in (200, 429) and response.status < 500:
                self._failures.append(f"the watch from version {self._version} was refused: {response.status} {await response.text()}")
            if response.status != 200:
                return False
            while line := await response.content.readline(max_line_length=_LONGEST_LINE):
                if not line.endswith(b"\n"):
                    return False  # the connection ended within an event
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return bool(event["object"]["code"] == 410)
                self._receive(event["type"], event["object"]["metadata"])
        return False

    def _receive(self, event_type: str, metadata: dict[str, Any]) -> None:
        """Record an event and the version after it. A bookmark is a version without a change."""
        version = int(metadata["resourceVersion"])
        if event_type == "DELETED":
            self._objects.pop(metadata["name"], None)
        elif event_type != "BOOKMARK":
            self._objects[metadata["name"]] = version
        if event_type != "BOOKMARK":
            self._events.append(Event(version, event_type, metadata["name"]))
        self._version = max(self._version, version)

    async def audit(self, database: Database) -> Audit:
        """Compare the received events with the stored changes, once the watch has caught up."""
        rows = await database.fetch(
            "select resource_version as version, type, name from change "
            "where resource = $1 and namespace = 'default' order by resource_version",
            self._resource,
        )
        changes = [Event(row["version"], row["type"], row["name"]) for row in rows]
        with suppress(AssertionError):  # reported as lost events
            await wait_until(lambda: self._has_reached(changes[-1].version if changes else 0), seconds=_CATCH_UP_SECONDS)
        assert self._task is not None
        self._task.cancel()
        received = set(self._events)
        expected = [change for change in changes if not any(start < change.version <= end for start, end in self._gaps)]
        # The first gap precedes the first list, so the watcher missed nothing in it.
        audit = Audit(self.name, is_operation=False, accepted=len(self._events), unknown=len(self._gaps) - 1, wrong=self._failures)
        audit.lost += [f"{change} was not received" for change in expected if change not in received]
        audit.wrong += [f"{event} is no stored change" for event in received - set(changes)]
        if len(received) < len(self._events):
            audit.doubled.append(f"{len(self._events) - len(received)} events were received twice")
        if self._events != sorted(self._events):
            audit.wrong.append("the events are not in the order of their versions")
        audit.wrong += self._differences(changes)
        return audit

    def _differences(self, changes: list[Event]) -> list[str]:
        """Return the objects whose last version in the watch differs from that of the stored changes."""
        stored_versions: dict[str, int] = {}
        for change in changes:
            if change.type == "DELETED":
                stored_versions.pop(change.name, None)
            else:
                stored_versions[change.name] = change.version
        names = sorted(stored_versions.keys() | self._objects.keys())
        return [
            f"{name} is known in version {self._objects.get(name)}, but stored in version {stored_versions.get(name)}"
            for name in names
            if stored_versions.get(name) != self._objects.get(name)
        ]

    async def _has_reached(self, version: int) -> bool:
        """Return True if the watch has received this version."""
        return self._version >= version
