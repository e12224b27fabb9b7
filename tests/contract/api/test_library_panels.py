"""Library panels through the resource API."""

from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api

PANELS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/librarypanels"
SPEC = {"type": "text", "title": "T", "options": {"limit": 1}, "fieldConfig": {"defaults": {}}}


async def create_panel(api: Api, spec: Any, name: str = "p", query: str = "") -> tuple[int, Any]:
    """Create a library panel. Return the status and the body of the response."""
    return await api("POST", PANELS + query, {"metadata": {"name": name}, "spec": spec})


async def read_stored_body(api: Api) -> str:
    """Return the stored body of the only library panel."""
    text: str = await api.sql("select spec from resource_history join resource using (uid, generation)")
    return text


async def replace_stored_body(api: Api, body: str) -> None:
    """Replace the stored body of the only library panel, as if an earlier release had stored it."""
    await api.sql("update resource_history set spec = $1", body)
    # The content hash and the managed fields must agree with the body.
    await api.sql("update resource set managed_fields = '[]', content_hash = sha256(convert_to($1, 'utf8') || '\\x00')", body)


async def test_a_panel_is_returned_as_created(api: Api) -> None:
    """A panel is the same in each version. It has no status, and its numbers keep their digits, such as ``1.10``."""
    headers = {"Authorization": ADMIN, "Content-Type": "application/json"}
    text = '{"metadata":{"name":"p"},"spec":{"type":"text","title":"T","options":{"limit":1.10},"fieldConfig":{}}}'
    async with api.session.post(PANELS, data=text, headers=headers) as response:
        assert response.status == 201
    for version in ("v2alpha1", "v1beta1", "v0alpha1"):
        async with api.session.get(f"{PANELS.replace('v2alpha1', version)}/p", headers=headers) as response:
            assert '"spec":{"type":"text","title":"T","options":{"limit":1.10},"fieldConfig":{}}}' in await response.text()


async def test_unknown_fields_of_the_spec_are_kept(api: Api) -> None:
    """An update of the spec keeps fields of the stored panel that the spec lacks. The status shows these fields as missing."""
    await create_panel(api, SPEC)
    await replace_stored_body(api, '{"type":"text","title":"T","gridPos":{"h":1.10},"datasource":"${DS}"}')
    _, body = await api("GET", f"{PANELS}/p")
    assert body["spec"] == {"type": "text", "title": "T", "options": {}, "fieldConfig": {}}
    assert body["status"]["missing"] == {"gridPos": {"h": 1.1}, "datasource": "${DS}"}
    assert len(body["status"]["warnings"]) == 1
    body["spec"]["title"] = "New"
    status, changed = await api("PUT", f"{PANELS}/p", body)
    assert (status, changed["spec"]["title"], changed["status"]["missing"]) == (200, "New", body["status"]["missing"])
    assert '"gridPos":{"h":1.10}' in await read_stored_body(api)


async def test_a_patch_of_the_spec_keeps_other_fields(api: Api) -> None:
    """A patch of the spec keeps fields of the stored panel that the spec lacks, with their digits."""
    await create_panel(api, SPEC)
    await replace_stored_body(api, '{"type":"text","title":"T","gridPos":{"h":1.10}}')
    headers = {"Content-Type": "application/json-patch+json"}
    status, body = await api("PATCH", f"{PANELS}/p", [{"op": "replace", "path": "/spec/title", "value": "New"}], headers=headers)
    assert (status, body["spec"]["title"], body["status"]["missing"]) == (200, "New", {"gridPos": {"h": 1.1}})
    assert '"gridPos":{"h":1.10}' in await read_stored_body(api)


async def test_an_unchanged_panel_sent_back_changes_nothing(api: Api) -> None:
    """If a client sends a panel as it has read it, the fields that the response added are not stored."""
    await create_panel(api, SPEC)
    await replace_stored_body(api, '{"type":"text","id":7}')
    _, body = await api("GET", f"{PANELS}/p")
    status, updated = await api("PUT", f"{PANELS}/p", body)
    assert (status, updated["metadata"]["resourceVersion"]) == (200, body["metadata"]["resourceVersion"])
    assert await read_stored_body(api) == '{"type":"text","id":7}'


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"targets": {}}, "spec.targets"),
        ({"options": None}, "spec.options"),
        ({"fieldConfig": []}, "spec.fieldConfig"),
        ({"title": 1}, "spec.title"),
    ],
)
async def test_an_invalid_spec_is_refused(api: Api, change: Any, field: str) -> None:
    """An invalid field is 422 with its path."""
    status, error = await create_panel(api, SPEC | change)
    assert (status, [cause["field"] for cause in error["details"]["causes"]]) == (422, [field])


async def test_a_repeated_target_is_refused(api: Api) -> None:
    """A repeated target is 422, even if its members are in another order and its number has another form."""
    status, error = await create_panel(api, SPEC | {"targets": [{"refId": "A", "x": 1}, {"x": 1.0, "refId": "A"}]})
    assert (status, [cause["field"] for cause in error["details"]["causes"]]) == (422, ["spec.targets[1]"])
    assert "spec.targets[1]: Duplicate value" in error["message"]


async def test_strict_validation_rejects_unknown_fields(api: Api) -> None:
    """Strict validation refuses an unknown field. Otherwise the field is stored, and the status shows it as missing in the spec."""
    status, error = await create_panel(api, SPEC | {"gridPos": {}}, query="?fieldValidation=Strict")
    assert (status, error["message"]) == (400, 'strict decoding error: unknown field "spec.gridPos"')
    status, created = await create_panel(api, SPEC | {"gridPos": {}})
    assert (status, created["status"]["missing"]) == (201, {"gridPos": {}})


async def test_a_table_of_panels_names_their_types(api: Api) -> None:
    """A table has the names, titles, types and creation times of library panels."""
    await create_panel(api, SPEC)
    _, body = await api("GET", PANELS, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
    assert [column["name"] for column in body["columnDefinitions"]] == ["Name", "Title", "Type", "Created At"]
    assert body["rows"][0]["cells"][:3] == ["p", "T", "text"]
