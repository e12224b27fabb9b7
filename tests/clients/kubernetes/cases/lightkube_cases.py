"""Cases of lightkube: generic resources, strategic patches by default, and server-side apply."""

from typing import Any

import pytest
from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.types import PatchType

Dashboard = create_namespaced_resource("dashboard.grafana.app", "v0alpha1", "Dashboard", "dashboards")


def dashboard(name: str, title: str = "One", **labels: str) -> Any:
    """Return a dashboard as an object of the client."""
    return Dashboard(metadata={"name": name, "namespace": "default", "labels": labels}, spec={"title": title})


@pytest.fixture(scope="module")
def api() -> Client:
    """Return a client with the field manager ``lk``."""
    return Client(field_manager="lk")


def test_an_object_is_created_replaced_and_deleted(api: Client) -> None:
    """An object is created, read, replaced, listed and deleted."""
    created = api.create(dashboard("lk-life", case="lk"))
    created.spec["title"] = "Two"
    assert api.replace(created).spec == {"title": "Two"}
    assert [item.metadata.name for item in api.list(Dashboard, labels={"case": "lk"})] == ["lk-life"]
    assert [item.metadata.name for item in api.list(Dashboard, fields={"metadata.name": "lk-life"}, chunk_size=1)] == ["lk-life"]
    api.delete(Dashboard, "lk-life")
    with pytest.raises(ApiError) as missing:
        api.get(Dashboard, "lk-life")
    assert missing.value.status.code == 404


@pytest.mark.parametrize("kind", [PatchType.STRATEGIC, PatchType.MERGE], ids=["strategic", "merge"])
def test_strategic_patches_have_the_effect_of_merge_patches(api: Client, kind: PatchType) -> None:
    """Strategic merge patches, the client's default, have the effect of merge patches."""
    api.create(dashboard("lk-patch"))
    assert api.patch(Dashboard, "lk-patch", {"spec": {"title": "Two", "refresh": "1m"}}, patch_type=kind).spec["title"] == "Two"
    assert api.patch(Dashboard, "lk-patch", {"spec": {"refresh": None}}, patch_type=kind).spec == {"title": "Two"}
    api.delete(Dashboard, "lk-patch")


def test_a_json_patch_is_applied_or_refused_as_a_whole(api: Client) -> None:
    """A JSON patch is applied, and refused as a whole if one of its tests fails."""
    api.create(dashboard("lk-json"))
    change = [{"op": "test", "path": "/spec/title", "value": "One"}, {"op": "replace", "path": "/spec/title", "value": "Two"}]
    assert api.patch(Dashboard, "lk-json", change, patch_type=PatchType.JSON).spec == {"title": "Two"}
    with pytest.raises(ApiError) as failed:
        api.patch(Dashboard, "lk-json", change, patch_type=PatchType.JSON)
    assert failed.value.status.code == 422
    api.delete(Dashboard, "lk-json")


def test_two_managers_apply_one_object(api: Client) -> None:
    """Two managers apply an object: a conflict, force, and a field that is deleted with its owner."""
    first = api.apply(dashboard("lk-apply"))
    assert first.metadata.managedFields[0].manager == "lk"
    with pytest.raises(ApiError) as conflict:
        api.apply(dashboard("lk-apply", "Two"), field_manager="other")
    assert conflict.value.status.reason == "Conflict"
    assert api.apply(dashboard("lk-apply", "Two"), field_manager="other", force=True).spec == {"title": "Two"}
    api.delete(Dashboard, "lk-apply")


def test_a_watch_returns_objects_and_changes(api: Client) -> None:
    """A watch returns existing objects and their changes."""
    api.create(dashboard("lk-watch", case="lk-watch"))
    events = iter(api.watch(Dashboard, labels={"case": "lk-watch"}, server_timeout=20))
    assert next(events)[0] == "ADDED"
    api.patch(Dashboard, "lk-watch", {"spec": {"title": "Two"}})
    kind, changed = next(events)
    assert (kind, changed.spec["title"]) == ("MODIFIED", "Two")
    api.delete(Dashboard, "lk-watch")
    assert next(events)[0] == "DELETED"


def test_a_collection_is_deleted_by_one_request(api: Client) -> None:
    """A collection is deleted by one request."""
    for index in range(2):
        api.create(dashboard(f"lk-many-{index}", case="lk-many"))
    api.deletecollection(Dashboard, namespace="default")
    assert [item.metadata.name for item in api.list(Dashboard, labels={"case": "lk-many"})] == []


def test_every_version_is_served(api: Client, plural: str, manifest: dict[str, Any]) -> None:
    """An object is applied, patched, read and deleted in each version of its kind."""
    group, _, version = manifest["apiVersion"].partition("/")
    kind_class, name = create_namespaced_resource(group, version, manifest["kind"], plural), manifest["metadata"]["name"]
    api.apply(kind_class(metadata=manifest["metadata"], spec=manifest["spec"]))
    api.patch(kind_class, name, {"spec": {"title": "Two"}}, patch_type=PatchType.MERGE)
    read = api.get(kind_class, name)
    assert (read.apiVersion, read.kind) == (manifest["apiVersion"], manifest["kind"])
    assert read.spec | manifest["spec"] | {"title": "Two"} == read.spec
    api.delete(kind_class, name)
