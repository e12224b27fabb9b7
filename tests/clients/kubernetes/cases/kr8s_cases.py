"""Cases of kr8s, which uses bearer tokens, paths with a trailing slash, and merge patches."""

import asyncio
from typing import Any

import kr8s
from kr8s.asyncio.objects import new_class

# The kind is named, because kr8s lists kinds only if Kubernetes' core group exists.
Dashboard = new_class("Dashboard", "dashboard.grafana.app/v1beta1", asyncio=True, namespaced=True, plural="dashboards")


def resource(name: str, title: str = "One", **labels: str) -> dict[str, Any]:
    """Return the manifest of a dashboard."""
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": {"title": title}}


async def create(api: Any, name: str, **labels: str) -> Any:
    """Create a dashboard and return it."""
    dashboard = await Dashboard(resource(name, **labels), api=api)
    await dashboard.create()
    return dashboard


async def test_an_object_is_created_changed_and_deleted() -> None:
    """An object is created, read, patched, labelled and deleted."""
    api = await kr8s.asyncio.api()
    dashboard = await create(api, "kr8s-life")
    assert await dashboard.exists()
    await dashboard.patch({"spec": {"title": "Two"}})
    await dashboard.label({"team": "a"})
    await dashboard.annotate({"note": "x"})
    read = await Dashboard.get("kr8s-life", namespace="default", api=api)
    assert (read.spec.title, read.labels["team"], read.annotations["note"]) == ("Two", "a", "x")
    await read.delete()
    assert not await dashboard.exists()


async def test_a_json_patch_changes_an_object() -> None:
    """A JSON patch changes an object like a merge patch."""
    api = await kr8s.asyncio.api()
    dashboard = await create(api, "kr8s-patch")
    await dashboard.patch([{"op": "replace", "path": "/spec/title", "value": "Two"}], type="json")
    await dashboard.refresh()
    assert dashboard.spec.title == "Two"
    await dashboard.delete()


async def test_objects_are_listed_in_pages_and_by_labels() -> None:
    """Objects are listed by labels. kr8s requests every list in pages of a hundred."""
    api = await kr8s.asyncio.api()
    dashboards = [await create(api, f"kr8s-{index}", case="kr8s-lists") for index in range(3)]
    names = [item.name async for item in Dashboard.list(namespace="default", label_selector={"case": "kr8s-lists"}, api=api)]
    assert names == ["kr8s-0", "kr8s-1", "kr8s-2"]
    for dashboard in dashboards:
        await dashboard.delete()


async def test_an_object_is_watched_and_waited_for() -> None:
    """One object is watched, and waited for by a field."""
    api = await kr8s.asyncio.api()
    dashboard = await create(api, "kr8s-watch")
    task = asyncio.create_task(dashboard.wait("jsonpath='{.spec.title}'=Two", timeout=20))
    other = await Dashboard.get("kr8s-watch", namespace="default", api=api)
    await other.patch({"spec": {"title": "Two"}})
    await task
    assert dashboard.spec.title == "Two"
    await dashboard.delete()


async def test_every_version_is_served(plural: str, manifest: dict[str, Any]) -> None:
    """An object is created, patched, read and deleted in each version of its kind."""
    api = await kr8s.asyncio.api()
    kind_class = new_class(manifest["kind"], manifest["apiVersion"], asyncio=True, namespaced=True, plural=plural)
    created = await kind_class(manifest, api=api)
    await created.create()
    await created.patch({"spec": {"title": "Two"}})
    read = (await kind_class.get(manifest["metadata"]["name"], namespace="default", api=api)).raw.to_dict()
    assert (read["apiVersion"], read["kind"]) == (manifest["apiVersion"], manifest["kind"])
    assert read["spec"] | manifest["spec"] | {"title": "Two"} == read["spec"]
    await created.delete()


async def test_the_version_is_readable() -> None:
    """The server's version is readable."""
    api = await kr8s.asyncio.api()
    assert (await api.version())["gitVersion"]
