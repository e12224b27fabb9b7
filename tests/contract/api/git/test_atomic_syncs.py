"""Readers and watches during a sync see the state before or after it, never a state in between."""

import asyncio
from collections.abc import Iterable
from typing import Any

from tests.contract.api.conftest import Api
from tests.contract.api.git.sync_environment import DASHBOARDS, SyncEnvironment, dashboard, is_healthy
from tests.contract.api.watching import watching

#: Every reader needs several batches for this number of objects. More objects would make the test slow on a loaded machine.
DASHBOARD_COUNT = 220
#: Number of additional dashboards that exist in one revision only.
TEMPORARY_COUNT = 22
#: Number of synced commits.
REVISIONS = 3
#: Size of pages of lists, the last of which is shorter.
PAGE_SIZE = 97
#: Names of the readers in messages.
READERS = ("a list", "a list in pages", "a watch at a bookmark", "a new watch")


class Observations:
    """The revisions that each reader has seen, and whether the readers should end."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.is_over = False
        self.seen: dict[str, set[str]] = {reader: set() for reader in READERS}
        self._changed = asyncio.Event()

    def check(self, reader: str, objects: Iterable[Any]) -> None:
        """Record the revision of the objects that a reader has read. Raises AssertionError if they belong to several revisions."""
        # The title of an object is the number of its revision. The name of an object of each revision helps to find the fault.
        names_by_revision = {item["spec"]["title"]: item["metadata"]["name"] for item in objects}
        assert len(names_by_revision) <= 1, f"{reader} returned {names_by_revision}"
        self.seen[reader].update(names_by_revision)
        self._changed.set()

    async def wait_for_revision(self, number: int) -> None:
        """Wait until every reader has seen a revision."""
        async with asyncio.timeout(120):
            while not all(str(number) in revisions for revisions in self.seen.values()):
                self._changed.clear()
                await self._changed.wait()


def revision(number: int) -> dict[str, str | bytes | None]:
    """Return the files of a revision, whose number is the title of each dashboard. Some dashboards exist in this revision only."""
    files: dict[str, str | bytes | None] = {
        f"d{index % 7}/{index}.json": dashboard(f"n{index}", f"{number}") for index in range(DASHBOARD_COUNT)
    }
    for index in range(TEMPORARY_COUNT):
        files[f"r{number}/{index}.json"] = dashboard(f"r{number}-{index}", f"{number}")
        # The commit of a revision deletes the additional dashboards of the previous one.
        if number > 0:
            files[f"r{number - 1}/{index}.json"] = None
    return files


async def list_in_one_response(observations: Observations) -> None:
    """List all objects in one response, repeatedly."""
    while not observations.is_over:
        status, body = await observations.api("GET", DASHBOARDS)
        assert status == 200
        assert len(body["items"]) == DASHBOARD_COUNT + TEMPORARY_COUNT
        observations.check("a list", body["items"])


async def list_in_pages(observations: Observations) -> None:
    """List the objects in pages, repeatedly. All pages have the version of the first one."""
    while not observations.is_over:
        items, token = [], ""
        while True:
            status, page = await observations.api("GET", f"{DASHBOARDS}?limit={PAGE_SIZE}&continue={token}")
            assert status == 200, page
            items += page["items"]
            if not (token := page["metadata"].get("continue", "")):
                break
        assert len(items) == DASHBOARD_COUNT + TEMPORARY_COUNT
        observations.check("a list in pages", items)


async def watch_between_bookmarks(observations: Observations) -> None:
    """List once, then apply the events of watches, and check the objects at each bookmark.

    The reader ends when it has reached the version of a list that was made after the last sync. It then must have the listed objects.
    """
    _, body = await observations.api("GET", DASHBOARDS)
    objects = {item["metadata"]["name"]: item for item in body["items"]}
    version = body["metadata"]["resourceVersion"]
    final_list: Any = None
    while final_list is None or int(version) < int(final_list["metadata"]["resourceVersion"]):
        if observations.is_over and final_list is None:
            _, final_list = await observations.api("GET", DASHBOARDS)
        async with watching(observations.api, resourceVersion=version, timeoutSeconds=1, allowWatchBookmarks="true") as watch:
            while (event := await watch.event()) is not None:
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    observations.check("a watch at a bookmark", objects.values())
                elif event["type"] == "DELETED":
                    del objects[event["object"]["metadata"]["name"]]
                else:
                    objects[event["object"]["metadata"]["name"]] = event["object"]
    stored = {item["metadata"]["name"]: item for item in final_list["items"]}
    assert objects.keys() == stored.keys()
    differing_names = [name for name in stored if objects[name] != stored[name]]
    assert differing_names == []


async def watch_with_initial_events(observations: Observations) -> None:
    """Start watches with initial events, repeatedly, and check the objects of the initial events, which end with a bookmark."""
    query: dict[str, Any] = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "1",
    }
    while not observations.is_over:
        objects = []
        async with watching(observations.api, **query) as watch:
            while (event := await watch.event())["type"] != "BOOKMARK":
                objects.append(event["object"])
        observations.check("a new watch", objects)


async def test_readers_never_see_a_partial_sync(environment: SyncEnvironment) -> None:
    """Lists, pages, watches at bookmarks and new watches each show one revision while hundreds of objects are synced."""
    environment.work_tree.commit(revision(0))
    await environment.create_repository()
    observations = Observations(environment.api)
    async with asyncio.TaskGroup() as group:
        for reader in (list_in_one_response, list_in_pages, watch_between_bookmarks, watch_with_initial_events):
            group.create_task(reader(observations))
        await observations.wait_for_revision(0)
        for index in range(1, REVISIONS):
            environment.work_tree.commit(revision(index))
            assert is_healthy(await environment.advance())
            await observations.wait_for_revision(index)
        observations.is_over = True
