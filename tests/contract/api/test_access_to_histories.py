"""Old versions of objects, which callers who are limited by access rules cannot read: the rules of deleted objects are unknown."""

import base64
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_folder_permissions import VIEW
from tests.contract.api.watching import DASHBOARDS, FOLDERS, create, current_version, dashboard, watching

from dashwright.common.identity import Role

#: A change after which hidden objects exist only in older versions, or elsewhere.
Change = Callable[[Api], Awaitable[None]]


def folder(name: str, parent: str = "") -> dict[str, Any]:
    """Return a folder with a secret title."""
    annotations = {"grafana.app/folder": parent} if parent else {}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": {"title": f"Secret {name}"}}


async def hide(api: Api, object_path: str) -> None:
    """Replace the access rules of an object by none, so that only Admins may read it."""
    status, body = await api("POST", f"/api/{object_path}/permissions", {"items": []})
    assert status == 200, body


async def create_hidden_objects(api: Api) -> str:
    """Create a dashboard, and a folder with content, that only Admins see. Return the newest resource version."""
    await create(api, dashboard("secret", title="Secret top"))
    await create(api, folder("closed"), FOLDERS)
    await create(api, folder("inner", "closed"), FOLDERS)
    await create(api, dashboard("inside", title="Secret inside", folder="closed"))
    await create(api, dashboard("deep", title="Secret deep", folder="inner"))
    await create(api, dashboard("shown"))
    await hide(api, "dashboards/uid/secret")
    await hide(api, "folders/closed")
    return await current_version(api)


async def remove_the_dashboard(api: Api) -> None:
    """Delete the hidden dashboard."""
    assert (await api("DELETE", f"{DASHBOARDS}/secret"))[0] == 200


async def remove_the_folder(api: Api) -> None:
    """Delete the hidden folder with its content."""
    assert (await api("DELETE", f"{FOLDERS}/closed?propagationPolicy=Foreground"))[0] == 200


async def remove_all(api: Api) -> None:
    """Delete the hidden dashboard and the hidden folder."""
    await remove_the_dashboard(api)
    await remove_the_folder(api)


async def remove_the_collection(api: Api) -> None:
    """Delete all dashboards."""
    assert (await api("DELETE", DASHBOARDS))[0] == 200


async def replace_the_folder(api: Api) -> None:
    """Replace the hidden folder by a visible folder of the same name."""
    await remove_the_folder(api)
    editor = await api.person("editor", Role.EDITOR)
    status, created = await api("POST", FOLDERS, folder("closed"), auth=editor)
    assert status == 201, created


async def move_out(api: Api) -> None:
    """Move the inner folder out of the hidden folder, so that the inner folder becomes visible."""
    patch = [{"op": "remove", "path": "/metadata/annotations/grafana.app~1folder"}]
    status, body = await api("PATCH", f"{FOLDERS}/inner", patch, headers={"Content-Type": "application/json-patch+json"})
    assert status == 200, body


async def show_folder_without_dashboard(api: Api) -> None:
    """Delete a hidden dashboard in the folder, then make the folder visible."""
    assert (await api("DELETE", f"{DASHBOARDS}/inside"))[0] == 200
    assert (await api("POST", "/api/folders/closed/permissions", {"items": [{"role": "Viewer", "permission": VIEW}]}))[0] == 200


CHANGES = [
    remove_the_dashboard,
    remove_the_folder,
    remove_all,
    remove_the_collection,
    replace_the_folder,
    move_out,
    show_folder_without_dashboard,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("path", [DASHBOARDS, FOLDERS], ids=["dashboards", "folders"])
async def test_hidden_objects_of_the_past_are_not_revealed(api: Api, change: Change, path: str) -> None:
    """Callers who are restricted by access rules get 410 for older versions, and continue a list with current objects.

    Admins can read the older versions.
    """
    viewer = await api.person("viewer", Role.VIEWER)
    start_version = await create_hidden_objects(api)
    async with watching(api, path, auth=viewer, resourceVersion=start_version) as open_watch:
        await change(api)
        await create(api, dashboard("last"))
        await create(api, folder("end") | {"spec": {"title": "End"}}, FOLDERS)
        event = orjson.dumps(await open_watch.event())
        assert b"Secret" not in event, event
    end_version = await current_version(api)
    for version in range(int(start_version), int(end_version) + 1):
        for query in (f"resourceVersion={version}&resourceVersionMatch=Exact", f"limit=9&continue={token(version)}"):
            status, body = await api("GET", f"{path}?{query}", auth=viewer)
            assert (status, body.get("reason")) == (410, "Expired") or has_only_visible_objects(change, body), (version, body)
    async with watching(api, path, auth=viewer, resourceVersion=start_version) as watch:
        assert [event["object"].get("code") for event in await watch.remaining_events()] == [410]
    status, body = await api("GET", f"{path}?limit=9&continue={token(int(start_version))}", auth=viewer)
    assert status == 410
    status, body = await api("GET", f"{path}?limit=9&continue={body['metadata']['continue']}", auth=viewer)
    assert status == 200
    status, body = await api("GET", f"{path}?resourceVersion={start_version}&resourceVersionMatch=Exact")
    assert status == 200
    assert b"Secret" in orjson.dumps(body)


def has_only_visible_objects(change: Change, listed: Any) -> bool:
    """Return whether a response has only objects that every user may see after the change."""
    opened_by_change: dict[Change, set[str]] = {
        replace_the_folder: {"closed"},
        move_out: {"inner", "deep"},
        show_folder_without_dashboard: {"closed", "inner", "deep"},
    }
    return {item["metadata"]["name"] for item in listed["items"]} <= {"shown", "last", "end"} | opened_by_change.get(change, set())


def token(version: int) -> str:
    """Return a forged ``continue`` token, for the first page of a list at a version."""
    return base64.urlsafe_b64encode(orjson.dumps({"v": 1, "at": version, "after": ""})).decode()
