"""Watches of callers who may read only some folders."""

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.watching import FOLDERS, create, current_version, dashboard, watching

from dashwright.common.identity import Role


@pytest.fixture
async def viewer(api: Api) -> str:
    """Create a Viewer and two folders at the root: ``open``, and ``secret``, which only Admins may read."""
    for name in ("open", "secret"):
        await create(api, {"metadata": {"name": name}, "spec": {"title": name}}, FOLDERS)
    await hide(api, "secret")
    return await api.person("viewer", Role.VIEWER)


async def hide(api: Api, folder: str) -> None:
    """Remove the access rules of a folder, so that only Admins may read it."""
    status, body = await api("POST", f"/api/folders/{folder}/permissions", {"items": []})
    assert status == 200, body


async def move_object(api: Api, name: str, folder: str) -> None:
    """Move an object into a folder."""
    await api.sql("update resource set annotations = jsonb_build_object('grafana.app/folder', $2::text) where name = $1", name, folder)


async def test_hidden_objects_are_not_sent(api: Api, viewer: str) -> None:
    """A watch does not send changes in folders that its user may not read."""
    start_version = await current_version(api)
    async with (
        watching(api, auth=viewer, resourceVersion=start_version) as watch,
        watching(api, resourceVersion=start_version) as admin_watch,
    ):
        for name, folder in (("a", "secret"), ("b", "open")):
            await create(api, dashboard(name, folder=folder))
        assert await watch.next_type_and_name() == ("ADDED", "b")
        assert [await admin_watch.next_type_and_name() for _ in "ab"] == [("ADDED", "a"), ("ADDED", "b")]
    async with watching(api, auth=viewer) as watch:
        assert await watch.next_type_and_name() == ("ADDED", "b")
        await create(api, dashboard("c"))
        assert await watch.next_type_and_name() == ("ADDED", "c")


async def test_an_object_moved_out_of_view_is_deleted(api: Api, viewer: str) -> None:
    """An object that is moved out of view is DELETED in its last visible state, without the new folder.

    An object that becomes visible is ADDED.
    """
    await create(api, dashboard("d", folder="open"))
    async with watching(api, auth=viewer, resourceVersion=await current_version(api)) as watch:
        await move_object(api, "d", "secret")
        deleted = await watch.event()
        assert (deleted["type"], deleted["object"]["metadata"]["annotations"]["grafana.app/folder"]) == ("DELETED", "open")
        assert deleted["object"]["metadata"]["resourceVersion"] == await current_version(api)
        await move_object(api, "d", "open")
        assert await watch.next_type_and_name() == ("ADDED", "d")


async def test_a_change_of_visibility_ends_a_watch(api: Api, viewer: str) -> None:
    """A change of access rules ends the watch, which cannot be resumed from an earlier version. The watches of Admins continue."""
    start_version = await current_version(api)
    async with (
        watching(api, auth=viewer, resourceVersion=start_version) as watch,
        watching(api, resourceVersion=start_version) as admin_watch,
    ):
        await hide(api, "open")
        assert [event["object"]["code"] for event in await watch.remaining_events()] == [410]
        await create(api, dashboard("a"))
        assert await admin_watch.next_type_and_name() == ("ADDED", "a")
    async with watching(api, auth=viewer, resourceVersion=start_version) as watch:
        assert [event["object"]["code"] for event in await watch.remaining_events()] == [410]
    async with watching(api, resourceVersion=start_version) as watch:
        assert await watch.next_type_and_name() == ("ADDED", "a")


async def test_a_folder_that_is_moved_out_of_view_ends_a_watch(api: Api, viewer: str) -> None:
    """A watch ends if a folder is moved to where its user may not read it.

    The move is a change of the folder only, so the watch could not report the objects in the folder as deleted.
    """
    await create(api, {"metadata": {"name": "inner", "annotations": {"grafana.app/folder": "open"}}, "spec": {"title": "I"}}, FOLDERS)
    await create(api, dashboard("d", folder="inner"))
    start_version = await current_version(api)
    async with watching(api, auth=viewer, resourceVersion=start_version) as watch:
        await move_object(api, "inner", "secret")
        assert [event["object"]["code"] for event in await watch.remaining_events()] == [410]
    async with watching(api, auth=viewer, resourceVersion=start_version) as watch:
        assert [event["object"]["code"] for event in await watch.remaining_events()] == [410]


async def test_a_new_folder_ends_no_watch(api: Api, viewer: str) -> None:
    """A new folder does not end a watch, because it changes the visibility of no existing object."""
    async with watching(api, auth=viewer, resourceVersion=await current_version(api)) as watch:
        await create(api, {"metadata": {"name": "new"}, "spec": {"title": "N"}}, FOLDERS)
        await create(api, dashboard("d", folder="new"))
        assert await watch.next_type_and_name() == ("ADDED", "d")
