"""Watches of the resource API, as a client sees them."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api, StartApi, legacy_text
from tests.contract.api.watching import DASHBOARDS, FOLDERS, JOBS, create, current_version, dashboard, watching

from dashwright.common.identity import Role

#: The media types with which kubectl requests tables.
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def test_a_watch_continues_after_a_list(api: Api) -> None:
    """A watch that starts at the version of a list sends every later change once and in order, and no earlier change."""
    await create(api, dashboard("before"))
    async with watching(api, resourceVersion=await current_version(api)) as watch:
        assert (watch.response.status, watch.response.content_type) == (200, "application/json")
        created = await create(api, dashboard("after"))
        assert await watch.event() == {"type": "ADDED", "object": created}
        assert (await api("DELETE", f"{DASHBOARDS}/before"))[0] == 200
        deleted = await watch.event()
        assert (deleted["type"], deleted["object"]["metadata"]["name"]) == ("DELETED", "before")
        assert int(deleted["object"]["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
        assert deleted["object"]["spec"] == {"title": "T"}


async def test_a_watch_without_a_version_starts_with_all_objects(api: Api) -> None:
    """A watch without a version sends one ADDED event per object, and then the changes."""
    created = [await create(api, dashboard(name)) for name in ("a", "b")]
    async with watching(api) as watch:
        assert [await watch.event() for _ in created] == [{"type": "ADDED", "object": item} for item in created]
        await create(api, dashboard("c"))
        assert await watch.next_type_and_name() == ("ADDED", "c")


async def test_a_watch_sends_only_changes_of_its_kind(api: Api) -> None:
    """Changes of other kinds are not sent."""
    async with watching(api, FOLDERS, resourceVersion=await current_version(api)) as watch:
        await create(api, dashboard("d"))
        await create(api, {"metadata": {"name": "f"}, "spec": {"title": "F"}}, FOLDERS)
        assert await watch.next_type_and_name() == ("ADDED", "f")


async def test_a_watch_continues_from_an_old_version(api: Api) -> None:
    """A watch may continue from any version in the stored change stream, even if no watch was open then."""
    start_version = await current_version(api)
    for name in ("a", "b", "c"):
        await create(api, dashboard(name))
    async with watching(api, resourceVersion=start_version) as watch:
        assert [await watch.next_type_and_name() for _ in "abc"] == [("ADDED", name) for name in "abc"]


async def test_a_watch_ends_in_its_time_with_a_bookmark(api: Api) -> None:
    """A watch ends after ``timeoutSeconds``. With bookmarks, the last one has the version to continue from."""
    start_version = await current_version(api)
    async with watching(api, resourceVersion=start_version, timeoutSeconds=2, allowWatchBookmarks="true") as watch:
        created = await create(api, dashboard("a"))
        await create(api, {"metadata": {"name": "f"}, "spec": {"title": "F"}}, FOLDERS)
        event, bookmark = await watch.remaining_events()
    assert event == {"type": "ADDED", "object": created}
    assert bookmark["type"] == "BOOKMARK"
    assert (bookmark["object"]["kind"], bookmark["object"]["apiVersion"]) == ("Dashboard", "dashboard.grafana.app/v2alpha1")
    assert bookmark["object"]["metadata"] == {"resourceVersion": await current_version(api)}
    async with watching(api, resourceVersion=start_version, timeoutSeconds=1) as watch:
        assert [event["type"] for event in await watch.remaining_events()] == ["ADDED"]


async def test_initial_events_end_with_a_bookmark(api: Api) -> None:
    """A bookmark with the version of the store marks the end of the initial events, even if the collection is empty."""
    query: dict[str, Any] = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    for names, new_name in (([], "a"), (["a"], "b")):
        async with watching(api, **query) as watch:
            assert [await watch.next_type_and_name() for _ in names] == [("ADDED", name) for name in names]
            bookmark = await watch.event()
            assert bookmark["type"] == "BOOKMARK"
            assert bookmark["object"]["metadata"] == {
                "resourceVersion": await current_version(api),
                "annotations": {"k8s.io/initial-events-end": "true"},
            }
            await create(api, dashboard(new_name))
            assert await watch.next_type_and_name() == ("ADDED", new_name)


async def test_initial_events_are_optional(api: Api) -> None:
    """With ``sendInitialEvents=false``, a watch without a version starts with the next change."""
    await create(api, dashboard("before"))
    async with watching(api, sendInitialEvents="false", resourceVersionMatch="NotOlderThan") as watch:
        await create(api, dashboard("after"))
        assert await watch.next_type_and_name() == ("ADDED", "after")


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
async def test_invalid_watches_are_rejected(api: Api, query: dict[str, Any], status: int) -> None:
    """An invalid watch is rejected with a Status before it starts."""
    async with watching(api, **query) as watch:
        assert watch.response.status == status
        assert (await watch.response.json())["kind"] == "Status"


@pytest.mark.parametrize("parameter", ["1", "True", "yes", ""])
async def test_every_value_but_false_requests_a_watch(api: Api, parameter: str) -> None:
    """Every value that does not mean false requests a watch, as in Kubernetes."""
    await create(api, dashboard("a"))
    async with watching(api, watch=parameter) as watch:
        assert await watch.next_type_and_name() == ("ADDED", "a")
    for false_value in ("false", "0", "False"):
        assert (await api("GET", f"{DASHBOARDS}?watch={false_value}"))[1]["kind"] == "DashboardList"


@pytest.mark.parametrize("media_type", ["application/json", TABLE], ids=["JSON", "a table"])
async def test_a_version_before_the_horizon_is_410(api: Api, media_type: str) -> None:
    """A watch from a version before the horizon has one ERROR event with the Status that makes clients list again, and ends.

    The Status is the same if the client requested tables.
    """
    start_version = await current_version(api)
    await create(api, dashboard("a"))
    await api.sql("delete from change")
    await api.sql("update change_horizon set resource_version = (select last_value from resource_version)")
    async with watching(api, headers={"Accept": media_type}, resourceVersion=start_version) as watch:
        assert watch.response.status == 200
        (error,) = await watch.remaining_events()
    assert error["type"] == "ERROR"
    assert error["object"]["kind"] == "Status"
    assert error["object"]["code"] == 410
    assert error["object"]["reason"] == "Expired"


async def test_a_version_of_another_database_is_410(api: Api) -> None:
    """A watch from a version that this database never issued is refused instead of waiting for it."""
    await create(api, dashboard("a"))
    for future_version in (await api.sql("select last_value + 1 from resource_version"), 2**62):
        async with watching(api, resourceVersion=future_version) as watch:
            assert [event["object"]["code"] for event in await watch.remaining_events()] == [410]


async def test_objects_enter_and_leave_a_selection(api: Api) -> None:
    """An object that receives the selected label is ADDED. If it loses the label, it is DELETED in its last selected state."""
    async with watching(api, resourceVersion=await current_version(api), labelSelector="team=a") as watch:
        await create(api, dashboard("other", team="b"))
        await create(api, dashboard("d", team="a"))
        assert await watch.next_type_and_name() == ("ADDED", "d")
        for team, expected in (("b", "DELETED"), ("a", "ADDED"), ("a", "MODIFIED")):
            version = await relabel(api, "d", team)
            event = await watch.event()
            assert (event["type"], event["object"]["metadata"]["resourceVersion"]) == (expected, str(version))
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


async def test_large_objects_are_sent_completely(api: Api) -> None:
    """Many large objects and changes are sent completely."""
    start_version, created = await current_version(api), []
    for index in range(4):
        body = dashboard(f"d{index}")
        body["spec"]["description"] = f"{index}" * (200_000 * (index + 1))
        created.append(await create(api, body))
    versions = [await relabel(api, "d3", team) for team in "abc"]
    async with watching(api, resourceVersion=start_version) as watch:
        assert [(await watch.event())["object"] for _ in created] == created
        for version in versions:
            received = (await watch.event())["object"]
            assert (received["metadata"]["resourceVersion"], received["spec"]) == (str(version), created[3]["spec"])


async def test_one_object_is_watched_by_its_name(api: Api) -> None:
    """A watch of one name works as for ``kubectl get NAME --watch``."""
    async with watching(api, resourceVersion=await current_version(api), fieldSelector="metadata.name=b") as watch:
        for name in "abc":
            await create(api, dashboard(name))
        await api("DELETE", f"{DASHBOARDS}/b")
        assert [await watch.next_type_and_name() for _ in range(2)] == [("ADDED", "b"), ("DELETED", "b")]


async def test_events_are_sent_as_rows_of_a_table(api: Api) -> None:
    """kubectl receives events as rows; only the first event has the columns."""
    accept = {"Accept": TABLE}
    await create(api, dashboard("a"))
    async with watching(api, headers=accept) as watch:
        first = await watch.event()
        await create(api, dashboard("b", "Title of b"))
        second = await watch.event()
    assert [first["object"]["kind"], second["object"]["kind"]] == ["Table", "Table"]
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Title", "Created At"]
    assert not second["object"]["columnDefinitions"]
    assert second["object"]["rows"][0]["cells"][:2] == ["b", "Title of b"]


async def test_events_are_sent_as_metadata_only(api: Api) -> None:
    """A client that accepts only metadata receives events without specs."""
    accept = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    async with watching(api, headers=accept, resourceVersion=await current_version(api)) as watch:
        created = await create(api, dashboard("a"))
        event = await watch.event()
    assert event["object"] == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"]}


async def test_jobs_are_watched(api: Api) -> None:
    """A watch of jobs sends the existing jobs, then changed jobs and deleted jobs."""
    names = []
    for index in range(2):
        name = f"j{index}"
        await api.sql(
            """insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, spec, status, action, state,
                   wake_key, submitted_by)
               values (gen_random_uuid(), 'provisioning.grafana.app', 'jobs', 'default', $1, 0, jsonb_build_object('name', $1::text)::text,
                   '{}', '{"state": "pending"}', 'sync', 'pending', 'work.sync', '{}')""",
            name,
        )
        names.append(name)
    async with watching(api, JOBS) as watch:
        assert [await watch.next_type_and_name() for _ in names] == [("ADDED", name) for name in names]
        await api.sql("""update job set status = '{"state": "working"}' where name = 'j1'""")
        event = await watch.event()
        assert (event["type"], event["object"]["kind"], event["object"]["status"]) == ("MODIFIED", "Job", {"state": "working"})
        await api.sql("delete from job where name = 'j0'")
        assert await watch.next_type_and_name() == ("DELETED", "j0")


async def test_the_number_of_watches_is_limited(start_api: StartApi) -> None:
    """A watch above the setting WATCHES is 429 with Retry-After. After an open watch has ended, a new one is accepted."""
    api = await start_api(watches=1)
    async with watching(api, resourceVersion=1) as first:
        assert first.response.status == 200
        async with watching(api, resourceVersion=1) as second:
            assert (second.response.status, second.response.headers["Retry-After"]) == (429, "5")
            assert (await second.response.json())["reason"] == "TooManyRequests"
        first.response.close()
    # The gateway notices the closed connection with a delay.
    async with asyncio.timeout(20):
        while True:
            async with watching(api, resourceVersion=1) as third:
                if third.response.status == 200:
                    break


async def test_one_caller_has_a_quarter_of_the_watches(start_api: StartApi) -> None:
    """A caller may have a quarter of WATCHES, so that another caller can open a watch. Admins may have all remaining watches."""
    api = await start_api(watches=8)
    viewer, other_viewer = await api.person("viewer", Role.VIEWER), await api.person("other", Role.VIEWER)
    async with AsyncExitStack() as stack:

        async def open_watch(auth: str) -> int:
            """Open a watch for the duration of the block, and return the status of its response."""
            watch = await stack.enter_async_context(watching(api, auth=auth, resourceVersion=1))
            return watch.response.status

        assert [await open_watch(viewer) for _ in range(3)] == [200, 200, 429]
        assert await open_watch(other_viewer) == 200
        # Three of the eight watches are open, so five are left.
        assert [await open_watch(ADMIN) for _ in range(6)] == [200] * 5 + [429]
    # The gateway notices the closed connections with a delay.
    async with asyncio.timeout(20):
        while True:
            async with watching(api, auth=viewer, resourceVersion=1) as further_watch:
                if further_watch.response.status == 200:
                    break


async def test_a_stop_ends_watches_cleanly(api: Api) -> None:
    """When the gateway stops, no event is truncated and no connection is reset."""
    async with watching(api, resourceVersion=await current_version(api)) as watch:
        created = await create(api, dashboard("a"))
        assert await watch.event() == {"type": "ADDED", "object": created}
        stopping = asyncio.create_task(api.stop())
        assert await watch.remaining_events() == []
        await stopping


async def test_a_head_request_for_a_watch_ends_immediately(api: Api) -> None:
    """A HEAD request has the headers of a GET and does not count as a watch."""
    async with api.session.head(f"{DASHBOARDS}?watch=true", headers={"Authorization": ADMIN}) as response:
        assert response.status == 200
    assert "dashwright_watches 0.0" in await metrics_of(api)


async def metrics_of(api: Api) -> str:
    """Return the metrics of the gateway as text."""
    async with api.session.get("/metrics") as response:
        return await response.text()


async def test_a_watch_ends_when_its_caller_changes(api: Api) -> None:
    """The watch of a user who is removed from the organization ends with 410. Other watches continue."""
    viewer, other_viewer = await api.person("viewer", Role.VIEWER), await api.person("other", Role.VIEWER)
    start_version = await current_version(api)
    async with (
        watching(api, auth=viewer, resourceVersion=start_version) as watch,
        watching(api, auth=other_viewer, resourceVersion=start_version) as other_watch,
    ):
        assert (watch.response.status, other_watch.response.status) == (200, 200)
        await api.sql("""delete from org_user where user_id = (select id from "user" where login = 'viewer')""")
        assert [event["object"]["code"] for event in await watch.remaining_events()] == [410]
        await create(api, dashboard("a"))
        assert await other_watch.next_type_and_name() == ("ADDED", "a")
    async with watching(api, auth=viewer, resourceVersion=start_version) as watch:
        assert watch.response.status in (401, 403)


async def test_a_watch_ends_with_its_credentials(api: Api) -> None:
    """A watch ends when the key that started it expires."""
    start_version, auth = await current_version(api), f"Bearer {legacy_text('short')}"
    # Six seconds are enough to open the watch on a busy machine.
    await api.legacy_key("short", role=Role.VIEWER, expires=int(time.time()) + 6)
    async with watching(api, auth=auth, resourceVersion=start_version) as watch:
        assert watch.response.status == 200
        assert await watch.remaining_events() == []


async def test_a_watch_needs_read_permission(api: Api) -> None:
    """A caller without a role cannot watch jobs."""
    unprivileged = await api.person("unprivileged", Role.NONE)
    async with watching(api, JOBS, auth=unprivileged) as watch:
        assert watch.response.status == 403
