"""Watches of the resource API, as a client sees them."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api, StartApi, legacy_text
from tests.contract.api.watching import DASHBOARDS, FOLDERS, JOBS, create, dashboard, position, watching

from dashwright.common.identity import Role


async def test_a_watch_continues_after_a_list(api: Api) -> None:
    """Every change after the version of the list is sent, once and in order, and none from before."""
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
        assert await watch.next_event() == ("ADDED", "c")


async def test_a_watch_is_of_its_kind(api: Api) -> None:
    """Changes of other kinds and namespaces are not sent."""
    async with watching(api, FOLDERS, resourceVersion=await position(api)) as watch:
        await create(api, dashboard("d"))
        await create(api, {"metadata": {"name": "f"}, "spec": {"title": "F"}}, FOLDERS)
        assert await watch.next_event() == ("ADDED", "f")


async def test_a_watch_continues_from_an_old_version(api: Api) -> None:
    """A version from before the first watch is as good as any in the stored stream."""
    begun = await position(api)
    for name in ("a", "b", "c"):
        await create(api, dashboard(name))
    async with watching(api, resourceVersion=begun) as watch:
        assert [await watch.next_event() for _ in "abc"] == [("ADDED", name) for name in "abc"]


async def test_a_watch_ends_in_its_time_with_a_bookmark(api: Api) -> None:
    """``timeoutSeconds`` is honoured; with bookmarks the last one has the version to continue from."""
    begun = await position(api)
    async with watching(api, resourceVersion=begun, timeoutSeconds=1, allowWatchBookmarks="true") as watch:
        made = await create(api, dashboard("a"))
        await create(api, {"metadata": {"name": "f"}, "spec": {"title": "F"}}, FOLDERS)
        event, bookmark = await watch.rest()
    assert event == {"type": "ADDED", "object": made}
    assert bookmark["type"] == "BOOKMARK"
    assert (bookmark["object"]["kind"], bookmark["object"]["apiVersion"]) == ("Dashboard", "dashboard.grafana.app/v2alpha1")
    assert bookmark["object"]["metadata"] == {"resourceVersion": await position(api)}
    async with watching(api, resourceVersion=begun, timeoutSeconds=1) as watch:
        assert [event["type"] for event in await watch.rest()] == ["ADDED"]


async def test_initial_events_end_with_a_mark(api: Api) -> None:
    """The bookmark has a version of the store and marks the end, also for an empty collection."""
    query: dict[str, Any] = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    for names in ([], ["a"]):
        async with watching(api, **query) as watch:
            assert [await watch.next_event() for _ in names] == [("ADDED", name) for name in names]
            marked = await watch.event()
            assert marked["type"] == "BOOKMARK"
            assert marked["object"]["metadata"] == {
                "resourceVersion": await position(api),
                "annotations": {"k8s.io/initial-events-end": "true"},
            }
            await create(api, dashboard(f"{len(names)}"))
            assert await watch.next_event() == ("ADDED", f"{len(names)}")
        await api("DELETE", f"{DASHBOARDS}/{len(names)}")
        if not names:
            await create(api, dashboard("a"))


async def test_initial_events_may_be_left_out(api: Api) -> None:
    """``sendInitialEvents=false`` begins with what happens next, without a version too."""
    await create(api, dashboard("before"))
    async with watching(api, sendInitialEvents="false", resourceVersionMatch="NotOlderThan") as watch:
        await create(api, dashboard("after"))
        assert await watch.next_event() == ("ADDED", "after")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"sendInitialEvents": "true"}, 422),
        ({"sendInitialEvents": "true", "resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"}, 422),
        ({"resourceVersion": "x"}, 400),
        ({"resourceVersion": "-1"}, 400),
        ({"resourceVersion": "9223372036854775808"}, 400),
        ({"timeoutSeconds": "soon"}, 400),
        ({"labelSelector": "a in ("}, 400),
        ({"fieldSelector": "spec.title=x"}, 400),
        ({"labelSelector": "grafana.app/get-history=true"}, 400),
    ],
    ids=lambda value: "&".join(f"{name}={text}" for name, text in value.items()) if isinstance(value, dict) else str(value),
)
async def test_a_watch_that_cannot_be_given_is_refused(api: Api, query: dict[str, Any], status: int) -> None:
    """Before it begins, with a Status."""
    async with watching(api, **query) as watch:
        assert watch.answer.status == status
        assert (await watch.answer.json())["kind"] == "Status"


@pytest.mark.parametrize("word", ["1", "True", "yes", ""])
async def test_any_word_but_a_no_asks_for_a_watch(api: Api, word: str) -> None:
    """As Kubernetes reads a switch."""
    await create(api, dashboard("a"))
    async with watching(api, watch=word) as watch:
        assert await watch.next_event() == ("ADDED", "a")
    for no in ("false", "0", "False"):
        assert (await api("GET", f"{DASHBOARDS}?watch={no}"))[1]["kind"] == "DashboardList"


async def test_a_version_that_the_feed_has_dropped_is_gone(api: Api) -> None:
    """One ERROR with the Status that makes clients list again, and the end."""
    begun = await position(api)
    await create(api, dashboard("a"))
    await api.sql("delete from change")
    await api.sql("update change_horizon set resource_version = (select last_value from resource_version)")
    async with watching(api, resourceVersion=begun) as watch:
        assert watch.answer.status == 200
        (error,) = await watch.rest()
    assert (error["type"], error["object"]["kind"], error["object"]["code"], error["object"]["reason"]) == (
        "ERROR",
        "Status",
        410,
        "Expired",
    )


async def test_a_version_of_another_database_is_gone(api: Api) -> None:
    """A version that was never drawn here is not waited for."""
    await create(api, dashboard("a"))
    for after in (await api.sql("select last_value + 1 from resource_version"), 2**62):
        async with watching(api, resourceVersion=after) as watch:
            assert [event["object"]["code"] for event in await watch.rest()] == [410]


async def test_a_selection_is_entered_and_left(api: Api) -> None:
    """An object that gets the label is added; one that loses it is deleted in its last state, at the version of the change."""
    async with watching(api, resourceVersion=await position(api), labelSelector="team=a") as watch:
        await create(api, dashboard("other", team="b"))
        await create(api, dashboard("d", team="a"))
        assert await watch.next_event() == ("ADDED", "d")
        for team, told in (("b", "DELETED"), ("a", "ADDED"), ("a", "MODIFIED")):
            version = await relabel(api, "d", team)
            event = await watch.event()
            assert (event["type"], event["object"]["metadata"]["resourceVersion"]) == (told, str(version))
            assert event["object"]["metadata"]["labels"]["team"] == "a"


async def relabel(api: Api, name: str, team: str) -> int:
    """Give an object a label and a new annotation, so that it changes; return the version of the change."""
    version: int = await api.sql(
        """update resource set labels = jsonb_build_object('team', $2::text), annotations = jsonb_build_object('n', gen_random_uuid())
           where name = $1 returning resource_version""",
        name,
        team,
    )
    return version


async def test_large_objects_come_whole(api: Api) -> None:
    """Also when many of them, and many changes of one, are waited for: their bodies are in memory a few at a time."""
    begun, made = await position(api), []
    for number in range(4):
        body = dashboard(f"d{number}")
        body["spec"]["description"] = f"{number}" * (200_000 * (number + 1))
        made.append(await create(api, body))
    versions = [await relabel(api, "d3", team) for team in "abc"]
    async with watching(api, resourceVersion=begun) as watch:
        assert [(await watch.event())["object"] for _ in made] == made
        for version in versions:
            shown = (await watch.event())["object"]
            assert (shown["metadata"]["resourceVersion"], shown["spec"]) == (str(version), made[3]["spec"])


async def test_one_object_is_watched_by_its_name(api: Api) -> None:
    """As ``kubectl get NAME --watch`` does."""
    async with watching(api, resourceVersion=await position(api), fieldSelector="metadata.name=b") as watch:
        for name in "abc":
            await create(api, dashboard(name))
        await api("DELETE", f"{DASHBOARDS}/b")
        assert [await watch.next_event() for _ in range(2)] == [("ADDED", "b"), ("DELETED", "b")]


async def test_events_come_as_rows_of_a_table(api: Api) -> None:
    """As kubectl asks for them; the columns come with the first event only."""
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
    await create(api, dashboard("a"))
    async with watching(api, headers=accept) as watch:
        first = await watch.event()
        await create(api, dashboard("b", "Title of b"))
        second = await watch.event()
    assert [first["object"]["kind"], second["object"]["kind"]] == ["Table", "Table"]
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Title", "Created At"]
    assert not second["object"]["columnDefinitions"]
    assert second["object"]["rows"][0]["cells"][:2] == ["b", "Title of b"]


async def test_events_come_as_metadata_alone(api: Api) -> None:
    """Without a body being read."""
    accept = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    async with watching(api, headers=accept, resourceVersion=await position(api)) as watch:
        made = await create(api, dashboard("a"))
        event = await watch.event()
    assert event["object"] == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": made["metadata"]}


async def test_jobs_are_watched(api: Api) -> None:
    """From what is there through their changes to their end."""
    names = []
    for number in range(2):
        name = f"j{number}"
        await api.sql(
            """insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, spec, status, action, state,
                   wake_key, submitted_by)
               values (gen_random_uuid(), 'provisioning.grafana.app', 'jobs', 'default', $1, 0, jsonb_build_object('name', $1::text)::text,
                   '{}', '{"state": "pending"}', 'sync', 'pending', 'work.sync', '{}')""",
            name,
        )
        names.append(name)
    async with watching(api, JOBS) as watch:
        assert [await watch.next_event() for _ in names] == [("ADDED", name) for name in names]
        await api.sql("""update job set status = '{"state": "working"}' where name = 'j1'""")
        event = await watch.event()
        assert (event["type"], event["object"]["kind"], event["object"]["status"]) == ("MODIFIED", "Job", {"state": "working"})
        await api.sql("delete from job where name = 'j0'")
        assert await watch.next_event() == ("DELETED", "j0")


async def test_so_many_watch_and_no_more(start_api: StartApi) -> None:
    """One above WATCHES is asked to come back later; when one ends there is room again."""
    api = await start_api(watches=1)
    async with watching(api, resourceVersion=1) as first:
        assert first.answer.status == 200
        async with watching(api, resourceVersion=1) as second:
            assert (second.answer.status, second.answer.headers["Retry-After"]) == (429, "5")
            assert (await second.answer.json())["reason"] == "TooManyRequests"
        first.answer.close()
    async with asyncio.timeout(20):
        while True:
            async with watching(api, resourceVersion=1) as third:
                if third.answer.status == 200:
                    break


async def test_one_caller_holds_a_quarter(start_api: StartApi) -> None:
    """A caller with a quarter of WATCHES has to end some; other callers have room, and Admins may use all."""
    api = await start_api(watches=8)
    viewer, other = await api.person("viewer", Role.VIEWER), await api.person("other", Role.VIEWER)
    async with AsyncExitStack() as held:

        async def status_of(auth: str) -> int:
            watch = await held.enter_async_context(watching(api, auth=auth, resourceVersion=1))
            return watch.answer.status

        assert [await status_of(viewer) for _ in range(3)] == [200, 200, 429]
        assert await status_of(other) == 200
        assert [await status_of(ADMIN) for _ in range(6)] == [200] * 5 + [429]
    async with asyncio.timeout(20):
        while True:
            async with watching(api, auth=viewer, resourceVersion=1) as again:
                if again.answer.status == 200:
                    break


async def test_a_stop_ends_watches_cleanly(api: Api) -> None:
    """As if they had come to their end: no event is cut, no connection broken off."""
    async with watching(api, resourceVersion=await position(api)) as watch:
        made = await create(api, dashboard("a"))
        assert await watch.event() == {"type": "ADDED", "object": made}
        stopping = asyncio.create_task(api.stop())
        assert await watch.rest() == []
        await stopping


async def test_a_head_of_a_watch_ends_immediately(api: Api) -> None:
    """It has the headers of a GET and uses no watch."""
    async with api.session.head(f"{DASHBOARDS}?watch=true", headers={"Authorization": ADMIN}) as answer:
        assert answer.status == 200
    assert "dashwright_watches 0.0" in await metrics_of(api)


async def metrics_of(api: Api) -> str:
    async with api.session.get("/metrics") as answer:
        return await answer.text()


async def test_a_watch_ends_when_its_caller_changes(api: Api) -> None:
    """Former members and members with another role have to reconnect; other watches continue."""
    viewer, other = await api.person("viewer", Role.VIEWER), await api.person("other", Role.VIEWER)
    begun = await position(api)
    async with watching(api, auth=viewer, resourceVersion=begun) as watch, watching(api, auth=other, resourceVersion=begun) as undisturbed:
        assert (watch.answer.status, undisturbed.answer.status) == (200, 200)
        await api.sql("""delete from org_user where user_id = (select id from "user" where login = 'viewer')""")
        assert [event["object"]["code"] for event in await watch.rest()] == [410]
        await create(api, dashboard("a"))
        assert await undisturbed.next_event() == ("ADDED", "a")
    async with watching(api, auth=viewer, resourceVersion=begun) as watch:
        assert watch.answer.status in (401, 403)


async def test_a_watch_does_not_outlive_its_key(api: Api) -> None:
    """It ends when the key does that it came with."""
    begin, auth = await position(api), f"Bearer {legacy_text('short')}"
    await api.legacy_key("short", role=Role.VIEWER, expires=int(time.time()) + 6)
    async with watching(api, auth=auth, resourceVersion=begin) as watch:
        assert watch.answer.status == 200
        assert await watch.rest() == []


async def test_only_who_may_read_may_watch(api: Api) -> None:
    """As for a list."""
    nobody = await api.person("nobody", Role.NONE)
    async with watching(api, JOBS, auth=nobody) as watch:
        assert watch.answer.status == 403
