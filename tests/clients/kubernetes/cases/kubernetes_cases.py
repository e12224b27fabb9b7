"""Cases of the official Python client: custom objects, and the dynamic client over discovery."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

GROUP, VERSION, NAMESPACE, PLURAL = "dashboard.grafana.app", "v0alpha1", "default", "dashboards"
#: Arguments that every method of the client begins with.
RESOURCE = (GROUP, VERSION, NAMESPACE, PLURAL)


def dashboard(name: str, title: str = "One", **labels: str) -> dict[str, Any]:
    """Return the manifest of a dashboard."""
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Dashboard", "metadata": metadata, "spec": {"title": title}}


@pytest.fixture(scope="module", params=["token", "password"])
def objects(request: pytest.FixtureRequest) -> client.CustomObjectsApi:
    """Return a client that uses a token or a password."""
    return client.CustomObjectsApi(config.new_client_from_config(context=request.param))


@pytest.fixture
def created_dashboard(objects: client.CustomObjectsApi) -> Iterator[str]:
    """Create a dashboard and return its name."""
    name = "official"
    objects.create_namespaced_custom_object(*RESOURCE, dashboard(name))
    yield name
    objects.delete_collection_namespaced_custom_object(*RESOURCE, field_selector=f"metadata.name={name}")


def test_an_object_is_created_read_replaced_and_deleted(objects: client.CustomObjectsApi) -> None:
    """An object is created, read, replaced and deleted; an outdated version is refused."""
    created = objects.create_namespaced_custom_object(*RESOURCE, dashboard("life"))
    assert created["metadata"]["generation"] == 1
    read = objects.get_namespaced_custom_object(*RESOURCE, "life")
    assert read["spec"] == {"title": "One"}
    read["spec"]["title"] = "Two"
    replaced = objects.replace_namespaced_custom_object(*RESOURCE, "life", read)
    assert replaced["metadata"]["generation"] == 2
    with pytest.raises(ApiException) as refused:
        objects.replace_namespaced_custom_object(*RESOURCE, "life", read | {"spec": {"title": "Three"}})
    assert refused.value.status == 409
    objects.delete_namespaced_custom_object(*RESOURCE, "life")
    with pytest.raises(ApiException) as missing:
        objects.get_namespaced_custom_object(*RESOURCE, "life")
    assert missing.value.status == 404


def test_merge_and_json_patches_change_an_object(objects: client.CustomObjectsApi, created_dashboard: str) -> None:
    """A merge patch, the client's default, and a JSON patch change an object."""
    merged = objects.patch_namespaced_custom_object(*RESOURCE, created_dashboard, {"spec": {"title": "Two"}})
    assert merged["spec"]["title"] == "Two"
    patch = [{"op": "replace", "path": "/spec/title", "value": "Three"}]
    changed = objects.patch_namespaced_custom_object(*RESOURCE, created_dashboard, patch, _content_type="application/json-patch+json")
    assert changed["spec"]["title"] == "Three"


def test_pages_make_up_one_list(objects: client.CustomObjectsApi) -> None:
    """Pages make up one list, labels select from it, and a collection is deleted by labels."""
    for index in range(5):
        objects.create_namespaced_custom_object(*RESOURCE, dashboard(f"page-{index}", case="pages"))
    names, token, versions = [], None, set()
    while True:
        page_token: dict[str, Any] = {"_continue": token} if token else {}
        page = objects.list_namespaced_custom_object(*RESOURCE, limit=2, label_selector="case=pages", **page_token)
        names += [item["metadata"]["name"] for item in page["items"]]
        versions.add(page["metadata"]["resourceVersion"])
        token = page["metadata"].get("continue")
        if not token:
            break
    assert names == [f"page-{index}" for index in range(5)]
    assert len(versions) == 1
    objects.delete_collection_namespaced_custom_object(*RESOURCE, label_selector="case=pages")
    assert objects.list_namespaced_custom_object(*RESOURCE, label_selector="case=pages")["items"] == []


def test_a_watch_returns_each_change_once(objects: client.CustomObjectsApi, created_dashboard: str) -> None:
    """A watch after a list returns each change once."""
    version = objects.list_namespaced_custom_object(*RESOURCE)["metadata"]["resourceVersion"]
    changer = threading.Timer(
        0.5, lambda: objects.patch_namespaced_custom_object(*RESOURCE, created_dashboard, {"spec": {"title": "Seen"}})
    )
    changer.start()
    events = watch.Watch().stream(objects.list_namespaced_custom_object, *RESOURCE, resource_version=version, timeout_seconds=10)
    event = next(iter(events))
    changer.join()
    assert (event["type"], event["object"]["spec"]["title"]) == ("MODIFIED", "Seen")


def test_a_dry_run_stores_nothing(objects: client.CustomObjectsApi) -> None:
    """A dry run stores nothing."""
    objects.create_namespaced_custom_object(*RESOURCE, dashboard("tried"), dry_run="All")
    with pytest.raises(ApiException):
        objects.get_namespaced_custom_object(*RESOURCE, "tried")


def test_the_dynamic_client_finds_kinds_by_discovery() -> None:
    """Discovery is enough to find kinds, apply on the server, and watch until a timeout."""
    api = dynamic.DynamicClient(config.new_client_from_config())
    dashboards = api.resources.get(api_version=f"{GROUP}/{VERSION}", kind="Dashboard")
    created = dashboards.server_side_apply(body=dashboard("dynamic"), name="dynamic", namespace=NAMESPACE, field_manager="case")
    assert created.metadata.managedFields[0].manager == "case"
    assert dashboards.get(name="dynamic", namespace=NAMESPACE).spec.title == "One"
    assert "dynamic" in [item.metadata.name for item in dashboards.get(namespace=NAMESPACE).items]
    events = dashboards.watch(namespace=NAMESPACE, name="dynamic", timeout=1)
    assert [event["type"] for event in events] == ["ADDED"]
    dashboards.delete(name="dynamic", namespace=NAMESPACE)


def test_every_version_is_served(plural: str, manifest: dict[str, Any]) -> None:
    """The dynamic client finds each version of a kind, and applies, patches, watches and deletes an object in it."""
    api = dynamic.DynamicClient(config.new_client_from_config())
    resources = api.resources.get(api_version=manifest["apiVersion"], kind=manifest["kind"])
    address = {"name": manifest["metadata"]["name"], "namespace": NAMESPACE}
    assert resources.name == plural
    resources.server_side_apply(body=manifest, field_manager="case", **address)
    patch = {"spec": {"title": "Two"}}
    resources.patch(body=patch, content_type="application/merge-patch+json", **address)
    read = resources.get(**address).to_dict()
    assert (read["apiVersion"], read["kind"]) == (manifest["apiVersion"], manifest["kind"])
    assert read["spec"] | manifest["spec"] | patch["spec"] == read["spec"]
    event = next(iter(resources.watch(timeout=10, **address)))
    assert (event["type"], event["raw_object"]["apiVersion"]) == ("ADDED", manifest["apiVersion"])
    resources.delete(**address)


def test_the_version_can_be_parsed() -> None:
    """The server reports a version that the client can parse."""
    assert client.VersionApi(config.new_client_from_config()).get_code().git_version
