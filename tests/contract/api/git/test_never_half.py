"""Whoever reads or watches during syncs sees the state before or the state after, and never one between them."""

import asyncio
from collections.abc import Iterable
from typing import Any

from tests.contract.api.conftest import Api
from tests.contract.api.git.trial import DASHBOARDS, Trial, dashboard, well
from tests.contract.api.watching import watching

MANY = 500
REVISIONS = 3


class Watched:
    """What readers share: when to end, and how often they have seen a whole state of each revision."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.is_over = False
        self.seen: dict[str, set[str]] = {}

    def check(self, who: str, objects: Iterable[Any]) -> None:
        titles = {item["spec"]["title"]: item["metadata"]["name"] for item in objects}
        assert len(titles) <= 1, f"{who} was shown {titles}"
        self.seen.setdefault(who, set()).update(titles)


def revision(number: int) -> dict[str, str | bytes | None]:
    """Every dashboard says which revision it is of; a tenth of them comes with it, and goes with the next one."""
    files: dict[str, str | bytes | None] = {f"d{index % 7}/{index}.json": dashboard(f"n{index}", f"{number}") for index in range(MANY)}
    for index in range(MANY // 10):
        files[f"r{number}/{index}.json"] = dashboard(f"r{number}-{index}", f"{number}")
        if number:
            files[f"r{number - 1}/{index}.json"] = None
    return files


async def list_whole(watched: Watched) -> None:
    while not watched.is_over:
        status, found = await watched.api("GET", DASHBOARDS)
        assert status == 200
        assert len(found["items"]) == MANY + MANY // 10
        watched.check("a list", found["items"])


async def list_in_pages(watched: Watched) -> None:
    """All pages are of the version of the first."""
    while not watched.is_over:
        items, token = [], ""
        while True:
            status, page = await watched.api("GET", f"{DASHBOARDS}?limit=97&continue={token}")
            assert status == 200, page
            items += page["items"]
            if not (token := page["metadata"].get("continue", "")):
                break
        assert len(items) == MANY + MANY // 10
        watched.check("a list in pages", items)


async def follow(watched: Watched) -> None:
    """Lists once, then goes on from bookmark to bookmark; between two of them it may be told one change after the other."""
    _, found = await watched.api("GET", DASHBOARDS)
    objects = {item["metadata"]["name"]: item for item in found["items"]}
    version = found["metadata"]["resourceVersion"]
    last: Any = None
    while last is None or int(version) < int(last["metadata"]["resourceVersion"]):
        if watched.is_over and last is None:
            _, last = await watched.api("GET", DASHBOARDS)
        async with watching(watched.api, resourceVersion=version, timeoutSeconds=1, allowWatchBookmarks="true") as watch:
            while (event := await watch.event()) is not None:
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    watched.check("a watch at a bookmark", objects.values())
                elif event["type"] == "DELETED":
                    del objects[event["object"]["metadata"]["name"]]
                else:
                    objects[event["object"]["metadata"]["name"]] = event["object"]
    stored = {item["metadata"]["name"]: item for item in last["items"]}
    assert objects.keys() == stored.keys()
    assert [name for name in stored if objects[name] != stored[name]] == []


async def begin_with_what_is_there(watched: Watched) -> None:
    """The initial events of a watch are a state, too."""
    query: dict[str, Any] = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "1",
    }
    while not watched.is_over:
        objects = []
        async with watching(watched.api, **query) as watch:
            while (event := await watch.event())["type"] != "BOOKMARK":
                objects.append(event["object"])
        watched.check("a watch that begins", objects)


async def test_nobody_sees_half_a_sync(trial: Trial) -> None:
    """Lists, lists in pages, watches from bookmark to bookmark and watches that begin anew, while hundreds of objects are synced."""
    trial.work.commit(revision(0))
    await trial.make()
    watched = Watched(trial.api)
    async with asyncio.TaskGroup() as group:
        for reader in (list_whole, list_in_pages, follow, begin_with_what_is_there):
            group.create_task(reader(watched))
        for number in range(1, REVISIONS):
            trial.work.commit(revision(number))
            assert well(await trial.later())
        watched.is_over = True
    assert len(watched.seen) == 4
    assert all(len(titles) > 1 for titles in watched.seen.values()), watched.seen
