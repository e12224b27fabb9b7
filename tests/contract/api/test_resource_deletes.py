"""Deletes of single objects and of collections through the resource API. Finalizers, options and permissions can prevent them."""

from typing import Any, Final

import orjson
import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.test_folder_permissions import allow, number_of
from tests.contract.api.test_resource_writes import DASHBOARDS, FOLDERS, REPOSITORIES, count_rows, create_object, dashboard, replace_object

from dashwright.common.identity import Role

PROVISIONED_BY_FILE: Final = {"grafana.app/managedBy": "classic-file-provisioning"}
IN_FOLDER_F: Final = {"grafana.app/folder": "f"}


async def object_names(api: Api, path: str = DASHBOARDS) -> list[str]:
    """Return the names of the objects of a collection."""
    return [item["metadata"]["name"] for item in (await api("GET", path))[1]["items"]]


async def test_a_delete_returns_a_status(api: Api) -> None:
    """The Status has name, group, kind and uid; the deleted object is in the trash with the user who deleted it."""
    first = await create_object(api, dashboard())
    status, response = await api("DELETE", f"{DASHBOARDS}/d", {})
    assert (status, response["kind"], response["status"]) == (200, "Status", "Success")
    assert response["details"] == {"name": "d", "group": "dashboard.grafana.app", "kind": "dashboards", "uid": first["metadata"]["uid"]}
    entry = await api.sql("select to_json(array[uid::text, name, title, generation::text, deleted_by]) #>> '{}' from trash")
    assert orjson.loads(entry) == [first["metadata"]["uid"], "d", "T", "1", "user:1"]
    assert (await api("DELETE", f"{DASHBOARDS}/d"))[0] == 404


async def test_only_dashboards_are_kept_in_the_trash(api: Api) -> None:
    """A deleted folder is not in the trash."""
    await create_object(api, dashboard("f"), FOLDERS)
    assert (await api("DELETE", f"{FOLDERS}/f"))[0] == 200
    assert await api.sql("select count(*) from trash") == 0


async def test_provisioned_objects_are_protected(api: Api) -> None:
    """A provisioned object can be deleted only with a grace period of zero."""
    await create_object(api, dashboard(annotations=PROVISIONED_BY_FILE))
    status, response = await api("DELETE", f"{DASHBOARDS}/d")
    assert (status, response["message"]) == (400, "provisioned dashboard cannot be deleted")
    assert (await api("DELETE", f"{DASHBOARDS}/d", {"gracePeriodSeconds": 30}))[0] == 400
    assert (await api("DELETE", f"{DASHBOARDS}/d", {"gracePeriodSeconds": 0}))[0] == 200
    await create_object(api, dashboard(annotations=PROVISIONED_BY_FILE))
    assert (await api("DELETE", f"{DASHBOARDS}/d?gracePeriodSeconds=0"))[0] == 200


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("?propagationPolicy=Sideways", None),
        ("", {"propagationPolicy": 7}),
        ("?gracePeriodSeconds=soon", None),
        ("", {"gracePeriodSeconds": -1}),
        ("", {"gracePeriodSeconds": True}),
        ("", {"dryRun": "All"}),
        ("", {"preconditions": []}),
        ("", []),
    ],
)
async def test_invalid_options_delete_nothing(api: Api, query: str, body: Any) -> None:
    """A delete with invalid options is 400, and the object is kept."""
    await create_object(api, dashboard())
    status, response = await api("DELETE", f"{DASHBOARDS}/d{query}", body)
    assert (status, response["reason"]) == (400, "BadRequest")
    assert await object_names(api) == ["d"]


async def test_an_object_waits_for_its_finalizers(api: Api) -> None:
    """The first delete of an object with finalizers marks it and makes a generation. Removing its last finalizer deletes it."""
    first = await create_object(api, dashboard(finalizers=["a", "b"]))
    status, marked = await api("DELETE", f"{DASHBOARDS}/d")
    assert (status, marked["kind"]) == (200, "Dashboard")
    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["generation"] == 2
    assert marked["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    assert marked["spec"] == first["spec"]
    before = await count_rows(api)
    assert await api("DELETE", f"{DASHBOARDS}/d") == (200, marked)
    assert await count_rows(api) == before
    assert (await replace_object(api, dashboard(finalizers=["b"])))[1]["metadata"]["finalizers"] == ["b"]
    status, response = await replace_object(api, dashboard(finalizers=["b", "c"]))
    assert (status, response["details"]["causes"][0]["field"]) == (422, "metadata.finalizers")
    assert (await replace_object(api, dashboard()))[0] == 200
    assert (await api("GET", f"{DASHBOARDS}/d"))[0] == 404
    assert await api.sql("select count(*) from trash") == 1
    assert await api.sql("select type from change order by resource_version desc limit 1") == "DELETED"


async def test_a_dry_run_of_a_delete_stores_nothing(api: Api) -> None:
    """The dry run of a delete returns the object with its deletion time, as if it waited for its finalizers, and stores nothing."""
    first = await create_object(api, dashboard(finalizers=["a"]))
    before = await count_rows(api)
    status, response = await api("DELETE", f"{DASHBOARDS}/d?dryRun=All")
    assert status == 200
    assert "deletionTimestamp" in response["metadata"]
    assert response["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert await count_rows(api) == before


async def test_only_an_empty_folder_is_deleted(api: Api) -> None:
    """Deleting a folder with content is rejected with a message that it is not empty."""
    await create_object(api, dashboard("f"), FOLDERS)
    await create_object(api, dashboard(annotations=IN_FOLDER_F))
    status, response = await api("DELETE", f"{FOLDERS}/f")
    assert status == 400
    assert "not empty" in response["message"]
    assert (await api("DELETE", f"{DASHBOARDS}/d"))[0] == 200
    assert (await api("DELETE", f"{FOLDERS}/f"))[0] == 200


@pytest.mark.parametrize(
    ("query", "remaining"),
    [
        ("", []),
        ("?labelSelector=a=1", ["c"]),
        ("?labelSelector=a%20in%20(1,2),b", ["a", "c"]),
        ("?labelSelector=!a", ["a", "b"]),
        ("?fieldSelector=metadata.name=b", ["a", "c"]),
        ("?fieldSelector=metadata.name=unknown", ["a", "b", "c"]),
        ("?fieldSelector=metadata.namespace=org-2", ["a", "b", "c"]),
    ],
)
async def test_selected_objects_are_deleted(api: Api, query: str, remaining: list[str]) -> None:
    """A delete of a collection has the selectors of a list. Each deleted object has a change and an audit event and is in the trash."""
    for name, labels in (("a", {"a": "1"}), ("b", {"a": "1", "b": ""}), ("c", {})):
        await create_object(api, dashboard(name, labels=labels))
    before = await count_rows(api)
    status, response = await api("DELETE", f"{DASHBOARDS}{query}")
    assert (status, response["status"]) == (200, "Success")
    assert await object_names(api) == remaining
    deleted_count = 3 - len(remaining)
    # Each deleted object adds a change and an audit event, and no generation.
    added = [new - old for new, old in zip(await count_rows(api), before, strict=True)]
    assert added == [deleted_count, 0, deleted_count]
    assert await api.sql("select count(*) from trash") == deleted_count
    assert await api.sql("select count(*) from audit_event where action = 'dashboard.delete'") == deleted_count


@pytest.mark.parametrize(
    "query", ["?labelSelector=grafana.app/get-trash=true", "?limit=1", "?labelSelector=(", "?fieldSelector=spec.title=T"]
)
async def test_an_invalid_selector_deletes_nothing(api: Api, query: str) -> None:
    """An invalid selector is rejected, as ignoring it would delete more than intended."""
    await create_object(api, dashboard())
    assert (await api("DELETE", f"{DASHBOARDS}{query}"))[0] == 400
    assert await object_names(api) == ["d"]


async def test_all_selected_objects_are_deleted_or_none(api: Api) -> None:
    """If one selected object must not be deleted, all are kept, and the message names it."""
    for name in ("a", "b", "c"):
        await create_object(api, dashboard(name, annotations=PROVISIONED_BY_FILE if name == "b" else {}))
    before = await count_rows(api)
    assert (await api("DELETE", DASHBOARDS))[0] == 400
    await api.sql(
        """update resource set annotations = '{"grafana.app/managedBy": "repo", "grafana.app/managerId": "r"}' where name = 'b'"""
    )
    status, response = await api("DELETE", DASHBOARDS)
    assert status == 403
    assert '"b"' in response["message"]
    assert await object_names(api) == ["a", "b", "c"]
    # The statement above made a change, which is the first count.
    assert (await count_rows(api))[1:] == before[1:]


async def test_selected_objects_with_finalizers_are_marked(api: Api) -> None:
    """Objects with finalizers in a collection are marked, and the others are deleted."""
    await create_object(api, dashboard("a", finalizers=["x"]))
    await create_object(api, dashboard("b"))
    assert (await api("DELETE", f"{DASHBOARDS}?dryRun=All"))[0] == 200
    assert await object_names(api) == ["a", "b"]
    assert (await api("DELETE", DASHBOARDS))[0] == 200
    assert await object_names(api) == ["a"]
    assert "deletionTimestamp" in (await api("GET", f"{DASHBOARDS}/a"))[1]["metadata"]


async def test_nested_folders_are_deleted_together(api: Api) -> None:
    """In a deleted collection, inner folders are deleted before outer ones, regardless of their names."""
    await create_object(api, dashboard("f"), FOLDERS)
    await create_object(api, dashboard("g", annotations=IN_FOLDER_F), FOLDERS)
    await create_object(api, dashboard("a", annotations={"grafana.app/folder": "g"}), FOLDERS)
    assert (await api("DELETE", FOLDERS))[0] == 200
    assert await object_names(api, FOLDERS) == []


async def test_a_viewer_cannot_delete_a_collection(api: Api) -> None:
    """A Viewer, who may only read dashboards, is refused, and all dashboards are kept."""
    await create_object(api, dashboard())
    viewer = await api.person("viewer", Role.VIEWER)
    assert (await api("DELETE", DASHBOARDS, auth=viewer))[0] == 403
    assert await object_names(api) == ["d"]


async def test_deleting_a_collection_needs_permission_for_each_object(api: Api) -> None:
    """Objects that the caller may not read are excluded.

    If the caller may only read an object, the whole request is refused, and the error names the object.
    """
    auth = await api.person("vic", Role.VIEWER)
    user_id = await number_of(api, "vic")
    for name in ("mine", "shown", "hidden"):
        await create_object(api, dashboard(name), FOLDERS)
        await create_object(api, dashboard(f"in-{name}", annotations={"grafana.app/folder": name}))
    await allow(api, "folders/mine", {"userId": user_id, "permission": 2})
    await allow(api, "folders/shown", {"userId": user_id, "permission": 1})
    await allow(api, "folders/hidden", {"role": "Admin", "permission": 4})
    status, response = await api("DELETE", DASHBOARDS, auth=auth)
    assert status == 403
    assert '"in-shown"' in response["message"]
    assert await object_names(api) == ["in-hidden", "in-mine", "in-shown"]
    await allow(api, "folders/shown", {"role": "Admin", "permission": 4})
    assert (await api("DELETE", DASHBOARDS, auth=auth))[0] == 200
    assert await object_names(api) == ["in-hidden", "in-shown"]


def repository(api: Api) -> Any:
    """Return a local repository."""
    sync = {"enabled": True, "target": "folder"}
    return {
        "metadata": {"name": "r"},
        "spec": {"title": "R", "workflows": [], "type": "local", "local": {"path": str(api.data)}, "sync": sync},
    }


async def test_the_status_is_a_subresource(api: Api) -> None:
    """The status is changed only at its own path, where spec and labels are ignored; it changes the version and not the generation."""
    first = await create_object(api, repository(api), REPOSITORIES)
    body = {"metadata": {"name": "r", "labels": {"a": "b"}}, "spec": {"title": "S"}, "status": {**first["status"], "observedGeneration": 9}}
    status, second = await api("PUT", f"{REPOSITORIES}/r/status", body)
    assert status == 200, second
    assert (second["status"]["observedGeneration"], second["spec"]) == (9, first["spec"])
    assert "labels" not in second["metadata"]
    assert second["metadata"]["generation"] == 1
    assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    before = await count_rows(api)
    assert await api("PUT", f"{REPOSITORIES}/r/status", body) == (200, second)
    assert await count_rows(api) == before
    stale = {**body, "metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}}
    assert (await api("PUT", f"{REPOSITORIES}/r/status", stale))[0] == 409


async def test_a_status_is_patched(api: Api) -> None:
    """A status can be patched, as the workers of existing installations do."""
    await create_object(api, repository(api), REPOSITORIES)
    operations = [
        {"op": "replace", "path": "/status/observedGeneration", "value": 3},
        {"op": "replace", "path": "/spec/title", "value": "X"},
    ]
    headers = {"Content-Type": "application/json-patch+json"}
    status, response = await api("PATCH", f"{REPOSITORIES}/r/status", operations, headers=headers)
    assert (status, response["status"]["observedGeneration"], response["spec"]["title"]) == (200, 3, "R")
    invalid_patch = [{"op": "replace", "path": "/status/observedGeneration", "value": "three"}]
    status, response = await api("PATCH", f"{REPOSITORIES}/r/status", invalid_patch, headers=headers)
    assert (status, response["details"]["causes"][0]["field"]) == (422, "status.observedGeneration")


FOLDER_WITH_UNKNOWN_FIELDS: Final = {
    "metadata": {"name": "f", "labelz": {}},
    "spec": {"title": "T", 'qu"ote': 1, "ünknown": 2},
    "extra": 1,
}
#: Value of the header ``Warning`` for these fields. Quotes are escaped once, and non-ASCII characters as in Python.
WARNINGS: Final = (
    '299 - "unknown field \\"extra\\"", 299 - "unknown field \\"metadata.labelz\\"", '
    '299 - "unknown field \\"spec.qu\\"ote\\"", 299 - "unknown field \\"spec.\\\\xfcnknown\\""'
)


@pytest.mark.parametrize(
    ("query", "expected_warnings"),
    [("", WARNINGS), ("?fieldValidation=Warn", WARNINGS), ("?fieldValidation=Ignore", "")],
    ids=["default", "Warn", "Ignore"],
)
async def test_unknown_fields_are_omitted(api: Api, query: str, expected_warnings: str) -> None:
    """Unknown fields are omitted, by default and with ``Warn`` with one warning each."""
    headers = {"Authorization": ADMIN}
    async with api.session.post(f"{FOLDERS}{query}", json=FOLDER_WITH_UNKNOWN_FIELDS, headers=headers) as response:
        assert response.status == 201
        assert (await response.json())["spec"] == {"title": "T"}
        assert response.headers.get("Warning", "") == expected_warnings


async def test_strict_validation_refuses_unknown_fields(api: Api) -> None:
    """With strict validation, one error names all unknown fields."""
    status, error = await api("POST", f"{FOLDERS}?fieldValidation=Strict", FOLDER_WITH_UNKNOWN_FIELDS)
    assert status == 400
    fields = ("extra", "metadata.labelz", 'spec.qu"ote', "spec.ünknown")
    assert error["message"] == "strict decoding error: " + ", ".join(f'unknown field "{field}"' for field in fields)


@pytest.mark.parametrize("validation", ["strict", "Everything"])
async def test_another_validation_is_refused(api: Api, validation: str) -> None:
    """An unknown value of ``fieldValidation`` is refused.

    Strict validation refuses unknown fields, except for those in the open spec of a dashboard.
    """
    assert (await api("POST", f"{DASHBOARDS}?fieldValidation={validation}", dashboard()))[0] == 400
    body = {**dashboard(), "spec": {"title": "T", "whatever": {"is": "fine"}}}
    assert (await api("POST", f"{DASHBOARDS}?fieldValidation=Strict", body))[0] == 201
    assert (await api("PUT", f"{DASHBOARDS}/d?fieldValidation=Strict", {**body, "extra": 1}))[0] == 400
    headers = {"Content-Type": "application/merge-patch+json"}
    assert (await api("PATCH", f"{DASHBOARDS}/d?fieldValidation=Strict", {"metadata": {"labelz": {}}}, headers=headers))[0] == 400


async def test_the_name_of_a_field_manager_is_limited(api: Api) -> None:
    """The name of a field manager has at most 128 printable characters."""
    body = {"metadata": {"generateName": "d"}, "spec": {"title": "T"}}
    for manager, status in (("a" * 128, 201), ("a" * 129, 422), ("a%07b", 422)):
        assert (await api("POST", f"{DASHBOARDS}?fieldManager={manager}", body))[0] == status
