"""Patches of objects in the three formats of Kubernetes. A patch is applied to the current object and validated like an update."""

import asyncio
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_resource_writes import DASHBOARDS, FOLDERS, MODIFIED, REPOSITORIES, count_rows, create_object, dashboard

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"


async def patch_object(api: Api, body: Any, media_type: str = MERGE, path: str = f"{DASHBOARDS}/d") -> tuple[int, Any]:
    """Patch the dashboard ``d`` or another object. Return the status and the body of the response."""
    return await api("PATCH", path, body, headers={"Content-Type": media_type})


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (JSON_PATCH, [{"op": "replace", "path": "/spec/title", "value": "U"}]),
        (MERGE, {"spec": {"title": "U"}}),
        (STRATEGIC, {"spec": {"title": "U", "$retainKeys": ["title"]}}),
        (f"{MERGE}; charset=utf-8", {"spec": {"title": "U"}}),
    ],
)
async def test_each_format_changes_an_object(api: Api, media_type: str, body: Any) -> None:
    """A patch in each format changes its members, keeps the others, and makes a new generation."""
    await create_object(api, {**dashboard(labels={"a": "b"}), "spec": {"title": "T", "big": 12345678901234567890}})
    status, response = await patch_object(api, body, media_type)
    assert status == 200, response
    assert response["spec"] == {"title": "U", "big": 12345678901234567890}
    assert response["metadata"]["generation"] == 2
    assert response["metadata"]["labels"]["a"] == "b"
    assert "12345678901234567890" in await api.sql("select spec from resource_history where generation = 2")
    assert await api.sql("select action from audit_event order by id desc limit 1") == "dashboard.update"


@pytest.mark.parametrize("media_type", ["application/json", "text/plain", "", "application/yaml"])
async def test_an_unknown_format_is_415(api: Api, media_type: str) -> None:
    """An unknown format is 415 with the names of the four formats."""
    await create_object(api, dashboard())
    status, response = await api("PATCH", f"{DASHBOARDS}/d", data=b"{}", headers={"Content-Type": media_type})
    assert (status, response["reason"]) == (415, "UnsupportedMediaType")
    for known_format in (JSON_PATCH, MERGE, STRATEGIC, "application/apply-patch+yaml"):
        assert known_format in response["message"]


async def test_labels_are_removed_one_by_one_or_all_together(api: Api) -> None:
    """Null in a patch removes one label, or all labels. Each such patch makes a version, but no generation."""
    await create_object(api, dashboard(labels={"a": "1", "b": "2"}))
    status, response = await patch_object(api, {"metadata": {"labels": {"a": None, "c": "3"}}})
    assert status == 200
    # Labels with a slash are those of the server.
    assert {key: value for key, value in response["metadata"]["labels"].items() if "/" not in key} == {"b": "2", "c": "3"}
    _, response = await patch_object(api, {"metadata": {"labels": None}})
    assert {key for key in response["metadata"]["labels"] if "/" not in key} == set()
    assert response["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"metadata": {"name": "e"}}, "metadata.name"),
        ({"metadata": {"namespace": "org-2"}}, "metadata.namespace"),
        ({"metadata": {"uid": "x"}}, "metadata.uid"),
        ({"metadata": {"uid": None}}, "metadata.uid"),
        ({"kind": "Folder"}, "kind"),
        ({"apiVersion": "dashboard.grafana.app/v0alpha1"}, "apiVersion"),
    ],
)
async def test_identifying_fields_are_immutable(api: Api, change: Any, field: str) -> None:
    """A patch of a field that identifies the object is a 422 with that field."""
    await create_object(api, dashboard())
    before = await count_rows(api)
    status, response = await patch_object(api, change)
    assert (status, response["reason"]) == (422, "Invalid")
    (cause,) = response["details"]["causes"]
    assert cause["field"] == field
    assert cause["message"].endswith("field is immutable")
    assert await count_rows(api) == before


@pytest.mark.parametrize(
    ("media_type", "body", "status"),
    [
        (JSON_PATCH, {}, 400),
        (JSON_PATCH, [{"op": "jump", "path": "/spec"}], 400),
        (JSON_PATCH, [{"op": "test", "path": "/spec/title", "value": "U"}], 422),
        (JSON_PATCH, [{"op": "remove", "path": "/spec/none"}], 422),
        (JSON_PATCH, [{"op": "add", "path": "/spec/x", "value": 1}] * 10_001, 413),
        (JSON_PATCH, [{"op": "replace", "path": "", "value": []}], 400),
        (JSON_PATCH, [{"op": "replace", "path": "/metadata", "value": 1}], 400),
        (MERGE, [], 400),
        (MERGE, {"metadata": None}, 400),
        (MERGE, {"metadata": {"labels": {"a": 1}}}, 400),
        (MERGE, {"spec": None}, 422),
        (MERGE, {"spec": {"title": None}}, 400),
        (MERGE, {"metadata": {"annotations": {"grafana.app/folder": "nowhere"}}}, 404),
        (MERGE, {"metadata": {"annotations": {"grafana.app/message": "a" * 600}}}, 400),
        (STRATEGIC, {"spec": {"panels": [{"$patch": "delete"}]}}, 400),
    ],
)
async def test_an_invalid_patch_changes_nothing(api: Api, media_type: str, body: Any, status: int) -> None:
    """An invalid patch is refused with the reason, and the object is unchanged."""
    await create_object(api, dashboard())
    before = await count_rows(api)
    actual_status, response = await patch_object(api, body, media_type)
    assert actual_status == status, response
    assert await count_rows(api) == before


async def test_a_patch_of_an_unknown_object_is_404(api: Api) -> None:
    """A patch of an unknown object is 404; only an apply creates objects."""
    assert (await patch_object(api, {"spec": {"title": "U"}}))[0] == 404


async def test_a_patch_may_require_a_version(api: Api) -> None:
    """A patch with a resourceVersion applies to that version only."""
    first = await create_object(api, dashboard())
    version = first["metadata"]["resourceVersion"]
    assert (await patch_object(api, {"metadata": {"resourceVersion": version}, "spec": {"title": "U"}}))[0] == 200
    status, response = await patch_object(api, {"metadata": {"resourceVersion": version}, "spec": {"title": "V"}})
    assert (status, response["reason"]) == (409, "Conflict")
    assert response["message"].endswith(MODIFIED)


@pytest.mark.parametrize("media_type", [JSON_PATCH, MERGE, STRATEGIC])
async def test_a_patch_without_effect_stores_nothing(api: Api, media_type: str) -> None:
    """A patch without effect makes no version, generation, event or audit event, and returns the same object."""
    first = await create_object(api, dashboard(labels={"a": "b"}))
    before = await count_rows(api)
    body: Any = {"metadata": {"labels": {"a": "b"}}, "spec": {"title": "T"}}
    if media_type == JSON_PATCH:
        body = [{"op": "replace", "path": "/spec/title", "value": "T"}]
    assert await patch_object(api, body, media_type) == (200, first)
    assert await count_rows(api) == before


async def test_concurrent_patches_are_all_applied(api: Api) -> None:
    """Each concurrent patch is applied to the result of the previous one, so that none is lost."""
    await create_object(api, dashboard())
    responses = await asyncio.gather(*[patch_object(api, {"spec": {f"m{index}": index}}) for index in range(20)])
    assert {status for status, _ in responses} == {200}
    _, response = await api("GET", f"{DASHBOARDS}/d")
    assert response["spec"] == {"title": "T", **{f"m{index}": index for index in range(20)}}
    # The creation is the first generation, and each of the 20 patches makes one.
    assert response["metadata"]["generation"] == 21


async def test_a_dry_run_of_a_patch_writes_nothing(api: Api) -> None:
    """The dry run of a patch returns its result, and stores nothing."""
    first = await create_object(api, dashboard())
    before = await count_rows(api)
    status, response = await patch_object(api, {"spec": {"title": "U"}}, path=f"{DASHBOARDS}/d?dryRun=All")
    assert (status, response["spec"], response["metadata"]["generation"]) == (200, {"title": "U"}, 2)
    assert response["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert await count_rows(api) == before


async def test_a_patch_of_a_placeholder_keeps_the_spec(api: Api) -> None:
    """A version that cannot express a dashboard shows a placeholder for it.

    A patch of the placeholder can change labels, but a patch of its spec is rejected.
    """
    spec = {"title": "T", "elements": {}, "layout": {"kind": "Unknown", "spec": {"items": []}}}
    await create_object(api, {"metadata": {"name": "d"}, "spec": spec})
    older_version = DASHBOARDS.replace("v2alpha1", "v0alpha1")
    status, response = await patch_object(api, {"metadata": {"labels": {"a": "b"}}}, path=f"{older_version}/d")
    assert (status, response["spec"]["schemaVersion"]) == (200, 9999)  # the schema of placeholders
    _, complete = await api("GET", f"{DASHBOARDS}/d")
    assert (complete["spec"], complete["metadata"]["labels"]["a"], complete["metadata"]["generation"]) == (spec, "b", 1)
    assert (await patch_object(api, {"spec": {"time": {}}}, path=f"{older_version}/d"))[0] == 422


async def test_a_patched_repository_is_validated(api: Api) -> None:
    """Defaults are added after a patch, and the kind's rules are checked."""
    sync = {"enabled": True, "target": "folder"}
    spec = {"title": "R", "workflows": [], "type": "local", "local": {"path": str(api.data)}, "sync": sync}
    await create_object(api, {"metadata": {"name": "r"}, "spec": spec}, REPOSITORIES)
    status, response = await patch_object(api, {"spec": {"sync": {"intervalSeconds": 60}}}, path=f"{REPOSITORIES}/r")
    assert (status, response["spec"]["sync"]) == (200, {**sync, "intervalSeconds": 60})
    assert (await patch_object(api, {"spec": {"sync": {"intervalSeconds": 5}}}, path=f"{REPOSITORIES}/r"))[0] == 422
    await create_object(api, dashboard("f"), FOLDERS)
    assert (await patch_object(api, {"spec": {"title": ""}}, path=f"{FOLDERS}/f"))[0] in (400, 422)


async def test_only_an_apply_is_forced(api: Api) -> None:
    """``force`` is refused except for an apply, because other patches never conflict with field owners."""
    await create_object(api, dashboard())
    status, response = await patch_object(api, {}, path=f"{DASHBOARDS}/d?force=true")
    assert (status, response["details"]["causes"][0]["field"]) == (422, "force")


async def test_an_object_does_not_grow_over_the_limit(api: Api) -> None:
    """Small patches cannot make an object too large."""
    await create_object(api, dashboard())
    # Five parts are just below the limit of 5 MiB, and six are above it.
    part = "x" * 1_000_000
    for index in range(5):
        assert (await patch_object(api, {"spec": {f"part{index}": part}}))[0] == 200
    status, response = await patch_object(api, {"spec": {"part5": part}})
    assert (status, response["reason"]) == (413, "RequestEntityTooLarge")
    # The creation and five patches made a generation each.
    assert (await api("GET", f"{DASHBOARDS}/d"))[1]["metadata"]["generation"] == 6
