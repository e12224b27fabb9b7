"""``metadata.managedFields``: the owners of the fields of an object after writes of each type."""

from typing import Any, Final

from tests.contract.api.conftest import Api

DASHBOARDS: Final = "/apis/dashboard.grafana.app/v1beta1/namespaces/default/dashboards"


def dashboard(title: str = "T", **spec: Any) -> dict[str, Any]:
    """Return the body of the dashboard ``d``."""
    return {"metadata": {"name": "d"}, "spec": {"title": title, **spec}}


def fields_by_manager(manifest: Any) -> dict[str, Any]:
    """Return the fields of each manager."""
    return {entry["manager"]: entry["fieldsV1"] for entry in manifest["metadata"].get("managedFields", ())}


async def test_the_creator_owns_the_sent_fields(api: Api) -> None:
    """The fields of a new object belong to the named manager, or else to the program. The author and the times belong to no manager."""
    body = dashboard()
    body["metadata"] |= {"labels": {"team": "a"}, "finalizers": ["x"], "annotations": {"grafana.app/message": "hello"}}
    _, created = await api("POST", f"{DASHBOARDS}?fieldManager=me", body)
    entry = created["metadata"]["managedFields"][0]
    fields = {"f:metadata": {"f:labels": {"f:team": {}}, "f:finalizers": {'v:"x"': {}}}, "f:spec": {"f:title": {}}}
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "manager": "me",
        "operation": "Update",
        "apiVersion": "dashboard.grafana.app/v1beta1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    headers = {"User-Agent": "kr8s/0.20 (linux)"}
    _, other = await api("POST", DASHBOARDS, {"metadata": {"name": "e"}, "spec": {"title": "T"}}, headers=headers)
    assert fields_by_manager(other) == {"kr8s": {"f:spec": {"f:title": {}}}}


async def test_changed_fields_move_to_the_writer(api: Api) -> None:
    """The writer of an object owns the fields that it changes, and the other fields keep their owners."""
    await api("POST", f"{DASHBOARDS}?fieldManager=a", dashboard(refresh="1m", tags=["x"]))
    status, changed = await api("PUT", f"{DASHBOARDS}/d?fieldManager=b", dashboard(refresh="5m", tags=["x"]))
    assert status == 200
    assert fields_by_manager(changed) == {"a": {"f:spec": {"f:tags": {}, "f:title": {}}}, "b": {"f:spec": {"f:refresh": {}}}}


async def test_a_write_without_effect_changes_no_owner(api: Api) -> None:
    """An equal write keeps entries, times and version."""
    _, created = await api("POST", f"{DASHBOARDS}?fieldManager=a", dashboard())
    _, repeated = await api("PUT", f"{DASHBOARDS}/d?fieldManager=b", dashboard())
    assert repeated["metadata"] == created["metadata"]


async def test_owners_may_be_rewritten(api: Api) -> None:
    """A client may replace the entries of ``managedFields``, for example to transfer fields to another manager.

    An invalid entry changes nothing, and one empty entry removes all, as in Kubernetes.
    """
    _, created = await api("POST", f"{DASHBOARDS}?fieldManager=a", dashboard())
    entry = created["metadata"]["managedFields"][0]
    body = dashboard()
    body["metadata"]["managedFields"] = [entry | {"manager": "z", "operation": "Apply"}]
    _, transferred = await api("PUT", f"{DASHBOARDS}/d?fieldManager=b", body)
    assert fields_by_manager(transferred) == {"z": entry["fieldsV1"]}
    assert transferred["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]
    body["metadata"]["managedFields"] = [{"manager": 5}]
    _, unchanged = await api("PUT", f"{DASHBOARDS}/d?fieldManager=b", body)
    assert unchanged["metadata"] == transferred["metadata"]
    body["metadata"]["managedFields"] = [{}]
    _, without_owners = await api("PUT", f"{DASHBOARDS}/d?fieldManager=b", body)
    assert fields_by_manager(without_owners) == {}


async def test_many_entries_are_refused(api: Api) -> None:
    """Each write with more than 200 entries in ``managedFields`` is refused, because the work grows with the entries."""
    body = dashboard()
    body["metadata"]["managedFields"] = [{"manager": "m"}] * 201
    for method, path in (("POST", DASHBOARDS), ("PUT", f"{DASHBOARDS}/d")):
        status, error = await api(method, path, body)
        assert (status, error["message"].partition(";")[0]) == (400, "metadata.managedFields has 201 entries, and 200 is the limit")
    body["metadata"]["managedFields"].pop()
    status, _ = await api("POST", DASHBOARDS, body)
    assert status == 201


async def test_items_of_a_set_have_owners(api: Api) -> None:
    """Each query of a library panel has an owner of its own."""
    panels = "/apis/dashboard.grafana.app/v1beta1/namespaces/default/librarypanels"
    panel = {"type": "text", "title": "P", "options": {}, "fieldConfig": {}, "targets": [{"refId": "A"}]}
    status, created = await api("POST", f"{panels}?fieldManager=a", {"metadata": {"name": "p"}, "spec": panel})
    assert status == 201, created
    changed = panel | {"targets": [{"refId": "A"}, {"refId": "B"}]}
    _, created = await api("PUT", f"{panels}/p?fieldManager=b", {"metadata": {"name": "p"}, "spec": changed})
    assert fields_by_manager(created)["b"] == {"f:spec": {"f:targets": {'v:{"refId":"B"}': {}}}}


async def test_a_label_set_in_another_version_keeps_the_owners(api: Api) -> None:
    """A label set in a version that converts the dashboard keeps the owners of the dashboard's fields."""
    layouts = DASHBOARDS.replace("v1beta1", "v2alpha1")
    _, created = await api("POST", f"{layouts}?fieldManager=a", dashboard(elements={}, layout={"kind": "GridLayout"}))
    _, converted = await api("GET", f"{DASHBOARDS}/d")
    assert "layout" not in converted["spec"]
    converted["metadata"]["labels"] = {"team": "a"}
    status, _ = await api("PUT", f"{DASHBOARDS}/d?fieldManager=b", converted)
    assert status == 200
    _, body = await api("GET", f"{layouts}/d")
    assert fields_by_manager(body) == fields_by_manager(created) | {"b": {"f:metadata": {"f:labels": {"f:team": {}}}}}


async def test_the_classic_api_records_owners_too(api: Api) -> None:
    """A classic save owns the fields that it changes, until another writer changes them."""
    saved = {"dashboard": {"uid": "d", "title": "T", "refresh": "1m"}, "overwrite": True}
    assert (await api("POST", "/api/dashboards/db", saved))[0] == 200
    _, created = await api("GET", f"{DASHBOARDS}/d")
    assert fields_by_manager(created) == {"classic-api": {"f:spec": {"f:title": {}, "f:refresh": {}}}}
    await api("PUT", f"{DASHBOARDS}/d?fieldManager=b", dashboard("U", refresh="1m"))
    saved["dashboard"] = {"uid": "d", "title": "U", "refresh": "5m"}
    assert (await api("POST", "/api/dashboards/db", saved))[0] == 200
    _, changed = await api("GET", f"{DASHBOARDS}/d")
    assert fields_by_manager(changed) == {"classic-api": {"f:spec": {"f:refresh": {}}}, "b": {"f:spec": {"f:title": {}}}}


async def test_the_status_has_separate_owners(api: Api) -> None:
    """Fields written through the status belong to its writer and do not affect the owners of other fields."""
    repositories = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
    spec = {"title": "R", "type": "local", "local": {"path": "r"}, "sync": {"enabled": False, "target": "folder"}, "workflows": []}
    status, created = await api("POST", f"{repositories}?fieldManager=a", {"metadata": {"name": "r"}, "spec": spec})
    assert status == 201, created
    headers = {"Content-Type": "application/json-patch+json"}
    patch = [{"op": "add", "path": "/status/observedGeneration", "value": 1}]
    status, changed = await api("PATCH", f"{repositories}/r/status?fieldManager=worker", patch, headers=headers)
    assert status == 200, changed
    entries = {entry["manager"]: (entry.get("subresource"), entry["fieldsV1"]) for entry in changed["metadata"]["managedFields"]}
    assert entries == {"a": (None, fields_by_manager(created)["a"]), "worker": ("status", {"f:status": {"f:observedGeneration": {}}})}
    created["spec"]["title"] = "S"
    _, later = await api("PUT", f"{repositories}/r?fieldManager=b", {"metadata": {"name": "r"}, "spec": created["spec"]})
    assert fields_by_manager(later)["worker"] == {"f:status": {"f:observedGeneration": {}}}
