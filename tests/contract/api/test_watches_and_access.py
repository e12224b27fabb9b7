"""Watches of callers who may not see everything."""

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.watching import FOLDERS, create, dashboard, position, watching

from dashwright.common.identity import Role


@pytest.fixture
async def viewer(api: Api) -> str:
    """A Viewer, in a namespace with two folders at the root: ``open``, and ``secret``, which is for Admins."""
    for name in ("open", "secret"):
        await create(api, {"metadata": {"name": name}, "spec": {"title": name}}, FOLDERS)
    await hide(api, "secret")
    return await api.person("viewer", Role.VIEWER)


async def hide(api: Api, folder: str) -> None:
    status, answered = await api("POST", f"/api/folders/{folder}/permissions", {"items": []})
    assert status == 200, answered


async def move(api: Api, name: str, folder: str) -> None:
    await api.sql("update resource set annotations = jsonb_build_object('grafana.app/folder', $2::text) where name = $1", name, folder)


async def test_hidden_objects_are_not_sent(api: Api, viewer: str) -> None:
    """Changes in a folder without permission are not sent."""
    begun = await position(api)
    async with watching(api, auth=viewer, resourceVersion=begun) as watch, watching(api, resourceVersion=begun) as whole:
        for name, folder in (("a", "secret"), ("b", "open")):
            await create(api, dashboard(name, folder=folder))
        assert await watch.next_event() == ("ADDED", "b")
        assert [await whole.next_event() for _ in "ab"] == [("ADDED", "a"), ("ADDED", "b")]
    async with watching(api, auth=viewer) as watch:
        assert await watch.next_event() == ("ADDED", "b")
        await create(api, dashboard("c"))
        assert await watch.next_event() == ("ADDED", "c")


async def test_what_is_moved_out_of_sight_is_deleted(api: Api, viewer: str) -> None:
    """The event has the last visible state, not the new folder. An object that becomes visible is added."""
    await create(api, dashboard("d", folder="open"))
    async with watching(api, auth=viewer, resourceVersion=await position(api)) as watch:
        await move(api, "d", "secret")
        gone = await watch.event()
        assert (gone["type"], gone["object"]["metadata"]["annotations"]["grafana.app/folder"]) == ("DELETED", "open")
        assert gone["object"]["metadata"]["resourceVersion"] == await position(api)
        await move(api, "d", "open")
        assert await watch.next_event() == ("ADDED", "d")


async def test_a_rule_that_changes_what_is_seen_ends_a_watch(api: Api, viewer: str) -> None:
    """So does a resume from before it. Admins are not disturbed."""
    begun = await position(api)
    async with watching(api, auth=viewer, resourceVersion=begun) as watch, watching(api, resourceVersion=begun) as whole:
        await hide(api, "open")
        assert [event["object"]["code"] for event in await watch.rest()] == [410]
        await create(api, dashboard("a"))
        assert await whole.next_event() == ("ADDED", "a")
    async with watching(api, auth=viewer, resourceVersion=begun) as watch:
        assert [event["object"]["code"] for event in await watch.rest()] == [410]
    async with watching(api, resourceVersion=begun) as watch:
        assert await watch.next_event() == ("ADDED", "a")


async def test_a_folder_that_moves_out_of_sight_ends_a_watch(api: Api, viewer: str) -> None:
    """Everything in it moves with it, and leaves no change of its own."""
    await create(api, {"metadata": {"name": "inner", "annotations": {"grafana.app/folder": "open"}}, "spec": {"title": "I"}}, FOLDERS)
    await create(api, dashboard("d", folder="inner"))
    begun = await position(api)
    async with watching(api, auth=viewer, resourceVersion=begun) as watch:
        await move(api, "inner", "secret")
        assert [event["object"]["code"] for event in await watch.rest()] == [410]
    async with watching(api, auth=viewer, resourceVersion=begun) as watch:
        assert [event["object"]["code"] for event in await watch.rest()] == [410]


async def test_a_new_folder_ends_no_watch(api: Api, viewer: str) -> None:
    """Its content was not visible before."""
    async with watching(api, auth=viewer, resourceVersion=await position(api)) as watch:
        await create(api, {"metadata": {"name": "new"}, "spec": {"title": "N"}}, FOLDERS)
        await create(api, dashboard("d", folder="new"))
        assert await watch.next_event() == ("ADDED", "d")
