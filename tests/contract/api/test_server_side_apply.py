"""Server-side apply: clients send the fields that they own."""

import asyncio
import json
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_field_owners import fields_by_manager

from dashwright.common.identity import Role

GROUP: Final = "dashboard.grafana.app"
DASHBOARDS: Final = f"/apis/{GROUP}/v0alpha1/namespaces/default/dashboards"
PANELS: Final = f"/apis/{GROUP}/v0alpha1/namespaces/default/librarypanels"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


async def apply(
    api: Api, spec: Any, manager: str = "a", query: str = "", path: str = f"{DASHBOARDS}/d", **metadata: Any
) -> tuple[int, Any]:
    """Apply a spec, or none, and metadata. Return the status and the body."""
    config: dict[str, Any] = {"metadata": metadata} | ({} if spec is None else {"spec": spec})
    return await send_apply(api, json.dumps(config), manager, query, path)


async def send_apply(
    api: Api, text: str, manager: str = "a", query: str = "", path: str = f"{DASHBOARDS}/d", **options: Any
) -> tuple[int, Any]:
    """Apply the text of a configuration. Return the status and the body."""
    headers = {"Content-Type": "application/apply-patch+yaml"}
    return await api("PATCH", f"{path}?fieldManager={manager}{query}", headers=headers, data=text, **options)


async def count_rows(api: Api) -> list[int]:
    """Return the numbers of changes, generations and audit events."""
    return [await api.sql(f"select count(*) from {table}") for table in ("change", "resource_history", "audit_event")]


async def test_an_apply_creates_a_missing_object(api: Api) -> None:
    """A missing object is created, and the applier owns its fields."""
    status, created = await apply(api, {"title": "T", "tags": ["x"]}, labels={"team": "a"})
    assert status == 201
    assert (created["metadata"]["name"], created["spec"]) == ("d", {"title": "T", "tags": ["x"]})
    entry = created["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"], entry["apiVersion"]) == ("a", "Apply", f"{GROUP}/v0alpha1")
    assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:tags": {}, "f:title": {}}}


async def test_a_repeated_apply_stores_nothing(api: Api) -> None:
    """A repeated apply makes no version, history entry or event, and the entry of the field owner keeps its time."""
    _, created = await apply(api, {"title": "T", "time": {"from": "now-1h"}})
    before = await count_rows(api)
    status, repeated = await apply(api, {"time": {"from": "now-1h"}, "title": "T"})
    assert (status, repeated) == (200, created)
    assert await count_rows(api) == before


async def test_two_managers_apply_parts_of_one_object(api: Api) -> None:
    """Each of two managers applies its part without changing the other part. An omitted part is removed."""
    await apply(api, {"title": "T", "time": {"from": "now-1h"}})
    await apply(api, {"time": {"to": "now"}}, "b")
    _, shared = await apply(api, {"title": "U"})
    assert shared["spec"] == {"title": "U", "time": {"to": "now"}}
    assert shared["metadata"]["generation"] == 3


async def test_a_field_of_another_owner_conflicts(api: Api) -> None:
    """A conflict names manager and field in Kubernetes' words, and nothing changes."""
    await apply(api, {"title": "T", "refresh": "1m"})
    _, before = await api("GET", f"{DASHBOARDS}/d")
    status, error = await apply(api, {"title": "U"}, "b")
    assert (status, error["reason"]) == (409, "Conflict")
    assert error["message"] == 'Apply failed with 1 conflict: conflict with "a": .spec.title'
    assert error["details"]["causes"] == [{"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".spec.title"}]
    _, error = await apply(api, {"title": "U", "refresh": "5m"}, "b")
    assert error["message"] == 'Apply failed with 2 conflicts: conflicts with "a":\n- .spec.refresh\n- .spec.title'
    assert (await api("GET", f"{DASHBOARDS}/d"))[1] == before


async def test_an_update_owns_its_fields(api: Api) -> None:
    """Fields of an update have an owner, and the conflict has the time of the update."""
    await api("POST", f"{DASHBOARDS}?fieldManager=u", {"metadata": {"name": "d"}, "spec": {"title": "T"}})
    status, error = await apply(api, {"title": "U"})
    assert status == 409
    # The time of the update follows, which begins with the century.
    start = f'Apply failed with 1 conflict: conflict with "u" using {GROUP}/v0alpha1 at 20'
    assert error["message"].startswith(start)
    assert error["message"].endswith("Z: .spec.title")


async def test_force_takes_the_fields(api: Api) -> None:
    """A forced apply sets the value and makes the applier the only owner."""
    await apply(api, {"title": "T", "refresh": "1m"})
    status, forced = await apply(api, {"title": "U"}, "b", "&force=true")
    assert (status, forced["spec"]) == (200, {"title": "U", "refresh": "1m"})
    assert fields_by_manager(forced) == {"a": {"f:spec": {"f:refresh": {}}}, "b": {"f:spec": {"f:title": {}}}}


async def test_equal_values_do_not_conflict(api: Api) -> None:
    """Two managers may own a field with the same value; it is kept while one of them applies it."""
    await apply(api, {"title": "T", "refresh": "1m"})
    status, shared = await apply(api, {"title": "T", "refresh": "1m"}, "b")
    assert status == 200
    assert shared["metadata"]["generation"] == 1
    _, unchanged = await apply(api, {"title": "T"})
    assert unchanged["spec"] == {"title": "T", "refresh": "1m"}
    _, released = await apply(api, {"title": "T"}, "b")
    assert released["spec"] == {"title": "T"}


async def test_metadata_is_owned_too(api: Api) -> None:
    """Labels, annotations and finalizers are added and removed one by one. The folder is an annotation like others."""
    await api("POST", "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders", {"metadata": {"name": "f"}, "spec": {"title": "F"}})
    await apply(api, {"title": "T"}, labels={"x": "1", "y": "1"}, annotations={"grafana.app/folder": "f"}, finalizers=["one"])
    await apply(api, None, "b", finalizers=["two"], labels={"z": "1"})
    _, remaining = await apply(api, {"title": "T"}, labels={"x": "1"})
    metadata = remaining["metadata"]
    # Labels that the server adds have longer names.
    assert {key: metadata["labels"][key] for key in metadata["labels"] if len(key) == 1} == {"x": "1", "z": "1"}
    assert metadata["finalizers"] == ["two"]
    assert "grafana.app/folder" not in metadata["annotations"]


async def test_items_of_a_set_are_merged(api: Api) -> None:
    """The queries of a library panel are a set: each applier owns its own queries."""
    panel = {"type": "text", "title": "P", "options": {}, "fieldConfig": {}}
    status, created = await apply(api, panel | {"targets": [{"refId": "A"}]}, path=f"{PANELS}/p")
    assert status == 201, created
    _, shared = await apply(api, {"targets": [{"refId": "B"}]}, "b", path=f"{PANELS}/p")
    assert shared["spec"]["targets"] == [{"refId": "A"}, {"refId": "B"}]
    _, first = await apply(api, panel, path=f"{PANELS}/p")
    assert first["spec"]["targets"] == [{"refId": "B"}]


async def test_fields_without_owner_belong_to_before_first_apply(api: Api) -> None:
    """The first apply to an object without entries neither takes nor removes its fields."""
    await api("POST", DASHBOARDS, {"metadata": {"name": "d"}, "spec": {"title": "T", "refresh": "1m"}})
    await api.sql("update resource set managed_fields = '[]' returning 1")
    status, error = await apply(api, {"title": "U"})
    assert status == 409
    assert 'conflict with "before-first-apply"' in error["message"]
    status, agreed = await apply(api, {"title": "T"})
    assert (status, agreed["spec"]) == (200, {"title": "T", "refresh": "1m"})


async def test_kubectl_may_switch_to_server_side_apply(api: Api) -> None:
    """Fields of kubectl's last client-side apply do not conflict for kubectl itself, and they do for other managers."""
    config = json.dumps({"metadata": {"name": "d"}, "spec": {"title": "T"}})
    body = {"metadata": {"name": "d", "annotations": {LAST_APPLIED: config}}, "spec": {"title": "T", "refresh": "1m"}}
    await api("POST", f"{DASHBOARDS}?fieldManager=kubectl-client-side-apply", body)
    assert (await apply(api, {"title": "U"}, "other"))[0] == 409
    assert (await apply(api, {"refresh": "5m"}, "kubectl"))[0] == 409
    status, applied_by_kubectl = await apply(api, {"title": "U"}, "kubectl")
    assert (status, applied_by_kubectl["spec"]["title"]) == (200, "U")


async def test_a_dry_run_keeps_nothing(api: Api) -> None:
    """The dry run of an apply returns creations and changes without storing them, and finds conflicts."""
    status, result = await apply(api, {"title": "T"}, query="&dryRun=All")
    assert (status, result["spec"]) == (201, {"title": "T"})
    assert (await api("GET", f"{DASHBOARDS}/d"))[0] == 404
    _, created = await apply(api, {"title": "T"})
    before = await count_rows(api)
    status, result = await apply(api, {"title": "U"}, query="&dryRun=All")
    assert (status, result["spec"], result["metadata"]["resourceVersion"]) == (200, {"title": "U"}, created["metadata"]["resourceVersion"])
    assert (await apply(api, {"title": "U"}, "b", "&dryRun=All"))[0] == 409
    assert await count_rows(api) == before


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("", 422, 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'),
        ("fieldManager=" + "m" * 129, 422, "fieldManager: Invalid value"),
        ("fieldManager=a&force=perhaps", 400, "force 'perhaps' is neither true nor false"),
        ("fieldManager=a&dryRun=Some", 400, "dryRun 'Some' is unknown"),
    ],
    ids=["no manager", "a long name", "force", "dry run"],
)
async def test_options_are_checked(api: Api, query: str, status: int, message: str) -> None:
    """An apply needs the name of a manager, and invalid options are refused."""
    headers = {"Content-Type": "application/apply-patch+yaml"}
    actual_status, error = await api("PATCH", f"{DASHBOARDS}/d?{query}", headers=headers, data=json.dumps({"spec": {"title": "T"}}))
    assert actual_status == status
    assert error["message"].startswith(message)


@pytest.mark.parametrize("force", ["true", "false"])
async def test_force_is_for_applies(api: Api, force: str) -> None:
    """``force`` of other patches is refused, because they never conflict."""
    headers = {"Content-Type": "application/merge-patch+json"}
    status, error = await api("PATCH", f"{DASHBOARDS}/d?force={force}", headers=headers, data="{}")
    assert status == 422
    assert error["message"] == 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("{", 400, "the body cannot be read"),
        ("- a", 400, "the body must be one Dashboard object"),
        ("{metadata: {name: other}, spec: {title: T}}", 400, "the name of the object (other)"),
        ("{kind: Folder, spec: {title: T}}", 400, "kind 'Folder' in the body"),
        ('{"metadata": {"managedFields": [{"manager": "x"}]}, "spec": {"title": "T"}}', 400, "metadata.managedFields must be nil"),
        ("{spec: 5}", 400, "spec must be an object"),
        ("{spec: {refresh: 1m}}", 400, "Dashboard title cannot be empty"),
    ],
    ids=["not YAML", "list", "another name", "another kind", "managedFields", "number as spec", "no title"],
)
async def test_an_apply_is_validated(api: Api, text: str, status: int, message: str) -> None:
    """An apply must name the path's object, have no managedFields, and result in a valid object."""
    actual_status, error = await send_apply(api, text)
    assert actual_status == status
    assert error["message"].startswith(message)


async def test_yaml_is_applied(api: Api) -> None:
    """The body of an apply is read as YAML, as its media type says."""
    status, created = await send_apply(api, "spec:\n  title: T\n  tags:\n  - x\n")
    assert (status, created["spec"]) == (201, {"title": "T", "tags": ["x"]})


async def test_numbers_are_unchanged(api: Api) -> None:
    """Applied JSON keeps the digits of its numbers, and another notation of a number is not a change."""
    await send_apply(api, '{"spec": {"title": "T", "ratio": 1.10, "big": 12345678901234567890123}}')
    assert await api.sql("select spec like '%1.10%' and spec like '%12345678901234567890123%' from resource_history")
    _, repeated = await send_apply(api, '{"spec": {"title": "T", "ratio": 1.1, "big": 12345678901234567890123}}')
    assert repeated["metadata"]["generation"] == 1


async def test_an_old_version_is_a_conflict(api: Api) -> None:
    """An apply with an outdated ``resourceVersion`` is a conflict."""
    _, created = await apply(api, {"title": "T"})
    await apply(api, {"title": "U"})
    status, error = await apply(api, {"title": "V"}, resourceVersion=created["metadata"]["resourceVersion"])
    assert status == 409
    assert "the object has been modified" in error["message"]


async def test_an_apply_needs_write_permission(api: Api) -> None:
    """A Viewer can neither create nor change an object by an apply."""
    viewer = await api.person("viewer", Role.VIEWER)
    assert (await send_apply(api, '{"spec": {"title": "T"}}', auth=viewer))[0] == 403
    await apply(api, {"title": "T"})
    assert (await send_apply(api, '{"spec": {"title": "U"}}', query="&force=true", auth=viewer))[0] == 403


async def test_a_missing_folder_is_rejected(api: Api) -> None:
    """An apply that creates an object in a missing folder is rejected."""
    status, error = await apply(api, {"title": "T"}, annotations={"grafana.app/folder": "nowhere"})
    assert status == 404
    assert error["message"] == 'folders.folder.grafana.app "nowhere" not found'


async def test_the_message_of_an_apply_is_stored(api: Api) -> None:
    """The message of an apply is stored with the generation and returned with the object, and no manager owns it."""
    _, created = await apply(api, {"title": "T"}, annotations={"grafana.app/message": "hello"})
    assert created["metadata"]["annotations"]["grafana.app/message"] == "hello"
    assert await api.sql("select message from resource_history") == "hello"
    _, changed = await apply(api, {"title": "U"}, annotations={"grafana.app/message": "again"})
    assert await api.sql("select message from resource_history where generation = 2") == "again"
    assert fields_by_manager(changed) == {"a": {"f:spec": {"f:title": {}}}}


async def test_an_apply_through_a_placeholder_keeps_the_spec(api: Api) -> None:
    """An apply through a version that cannot express a dashboard keeps its spec and changes other fields.

    Such a version returns a placeholder instead of the spec.
    """
    newer_version = DASHBOARDS.replace("v0alpha1", "v2alpha1")
    spec = {"title": "T", "elements": {"p": {"kind": "Panel"}}, "layout": {"kind": "Unknown"}}
    await apply(api, spec, path=f"{newer_version}/d")
    _, placeholder = await api("GET", f"{DASHBOARDS}/d")
    status, _ = await apply(api, placeholder["spec"], "b", labels={"team": "a"})
    assert status == 200
    _, response = await api("GET", f"{newer_version}/d")
    assert (response["spec"], response["metadata"]["generation"], response["metadata"]["labels"]["team"]) == (spec, 1, "a")
    assert fields_by_manager(response)["b"] == {"f:metadata": {"f:labels": {"f:team": {}}}}


async def test_concurrent_applies_are_all_stored(api: Api) -> None:
    """If several managers concurrently apply parts of a missing object, one apply creates it, and it has all parts."""
    parts = [apply(api, {"title": "T"}, f"m{index}", labels={f"l{index}": "x"}) for index in range(6)]
    responses = await asyncio.gather(*parts)
    assert sorted(status for status, _ in responses) == [200, 200, 200, 200, 200, 201]
    _, body = await api("GET", f"{DASHBOARDS}/d")
    assert {f"l{index}" for index in range(6)} <= set(body["metadata"]["labels"])
    assert set(fields_by_manager(body)) == {f"m{index}" for index in range(6)}
