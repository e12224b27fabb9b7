"""Watches of the resource API, as a client sees them."""

from tests.contract.api.conftest import Api
from tests.contract.api.watching import DASHBOARDS, FOLDERS, create, dashboard, position, watching


async def test_a_watch_goes_on_where_a_list_ended(api: Api) -> None:
    """Everything after the version of a list comes, once and in order, and nothing from before it."""
    await create(api, dashboard("before"))
    async with watching(api, resourceVersion=await position(api)) as watch:
        assert (watch.answer.status, watch.answer.content_type) == (200, "application/json")
        made = await create(api, dashboard("after"))
        assert await watch.event() == {"type": "ADDED", "object": made}
        assert (await api("DELETE", f"{DASHBOARDS}/before"))[0] == 200
        gone = await watch.event()
        assert (gone["type"], gone["object"]["metadata"]["name"]) == ("DELETED", "before")
        assert int(gone["object"]["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
        assert gone["object"]["spec"] == {"title": "T"}


async def test_a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    """An ADDED for each object, then what happens."""
    made = [await create(api, dashboard(name)) for name in ("a", "b")]
    async with watching(api) as watch:
        assert [await watch.event() for _ in made] == [{"type": "ADDED", "object": each} for each in made]
        await create(api, dashboard("c"))
        assert await watch.told() == ("ADDED", "c")


async def test_a_watch_is_of_its_kind(api: Api) -> None:
    """What happens to others is not told."""
    async with watching(api, FOLDERS, resourceVersion=await position(api)) as watch:
        await create(api, dashboard("d"))
        await create(api, {"metadata": {"name": "f"}, "spec": {"title": "F"}}, FOLDERS)
        assert await watch.told() == ("ADDED", "f")


async def test_a_watch_goes_on_from_long_ago(api: Api) -> None:
    """A version from before anybody watched is as good as any that the feed still holds."""
    begun = await position(api)
    for name in ("a", "b", "c"):
        await create(api, dashboard(name))
    async with watching(api, resourceVersion=begun) as watch:
        assert [await watch.told() for _ in "abc"] == [("ADDED", name) for name in "abc"]
