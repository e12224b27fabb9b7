"""Library panels: the spec is a view of the stored model, which keeps fields that the view lacks."""

from typing import Any

import orjson
import pytest

from dashwright.common.errors import BadRequest
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Body, Extract
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.kinds.settings import AdmissionSettings

# A stored model with members that the spec does not have, and a data source in the classic form.
CLASSIC_PANEL = '{"type":"text","title":"T","gridPos":{"h":1.10},"id":7,"datasource":"${DS}","options":{"limit":1.50}}'


def stored_body(spec: str, *, title: str = "T", subtype: str = "text") -> Body:
    """Return a stored library panel: its model, and the title and type in columns of the database."""
    return Body(
        name="p", namespace="default", title=title, subtype=subtype, stored_version="v0alpha1", layout=False, spec=spec, status=None
    )


def render_body(body: Body) -> tuple[Any, Any]:
    """Return the spec and the status that clients read. The status may be None."""
    spec, status, _ = LIBRARY_PANEL.rendered(body, "v2alpha1")
    return orjson.loads(spec), None if status is None else orjson.loads(status)


def test_the_status_has_missing_and_different_fields() -> None:
    """Members that the spec does not have are in the status as sent. A member with another shape than in the spec causes a warning."""
    spec, status, _ = LIBRARY_PANEL.rendered(stored_body(CLASSIC_PANEL), "v0alpha1")
    assert orjson.loads(spec) == {"type": "text", "title": "T", "options": {"limit": 1.5}, "fieldConfig": {}}
    assert '"limit":1.50' in spec
    result = orjson.loads(status or "")
    assert result["missing"] == {"gridPos": {"h": 1.1}, "id": 7, "datasource": "${DS}"}
    assert [warning.split()[0] for warning in result["warnings"]] == ["datasource"]


def test_a_complete_spec_has_no_status() -> None:
    """A spec without missing or different fields has no status."""
    body = '{"type":"text","title":"T","options":{},"fieldConfig":{},"datasource":{"uid":"u","more":1},"targets":[{"refId":"A"}]}'
    assert render_body(stored_body(body)) == (orjson.loads(body), None)


def test_a_difference_from_the_stored_columns_is_a_warning() -> None:
    """A title or type that differs from its column causes a warning. A missing one has the value of its column, without a warning."""
    spec, status = render_body(stored_body('{"type":"text","title":"T"}', title="Known", subtype="graph"))
    assert spec["title"] == "T"
    assert spec["type"] == "text"
    assert len(status["warnings"]) == 2
    assert all("Known" in text or "graph" in text for text in status["warnings"])
    spec, status = render_body(stored_body("{}", title="Known", subtype="graph"))
    assert spec["title"] == "Known"
    assert spec["type"] == "graph"
    assert status is None


def test_an_unchanged_view_sent_back_changes_nothing() -> None:
    """Defaults that the view added to a spec are not stored when a client sends the spec back."""
    for text in (CLASSIC_PANEL, "{}"):
        body = stored_body(text)
        spec = read_json(LIBRARY_PANEL.rendered(body, "v2alpha1").spec)
        assert write_json(LIBRARY_PANEL.body_of(body, "v2alpha1", spec)).decode() == text


def test_a_new_spec_keeps_fields_outside_of_the_schema() -> None:
    """An update keeps stored members that are not in the schema, and deletes omitted members that are in the schema."""
    spec = {"type": "graph", "options": {}, "fieldConfig": {}}
    body = LIBRARY_PANEL.body_of(stored_body(CLASSIC_PANEL), "v2alpha1", spec)
    assert body == {**spec, "gridPos": {"h": 1.1}, "id": 7, "datasource": "${DS}"}
    assert LIBRARY_PANEL.body_of(None, "v2alpha1", spec) == spec


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"options": {}, "fieldConfig": {}, "targets": [{"a": 1}, {"b": 1}]}, []),
        ({"options": {}, "fieldConfig": {}, "targets": [{"a": 1}, {"a": 1}]}, ["spec.targets[1]"]),
        ({"type": "text"}, ["spec.options", "spec.fieldConfig"]),
        ({"options": [], "fieldConfig": {}, "datasource": "x"}, ["spec.options", "spec.datasource"]),
    ],
)
def test_a_sent_spec_is_validated(spec: dict[str, Any], fields: list[str]) -> None:
    """A spec needs options and field config, and may not have a target twice."""
    assert [fault.field for fault in LIBRARY_PANEL.validation_errors(spec)] == fields


def test_title_and_type_must_be_storable_strings() -> None:
    """Title and type are stored in columns, so they must be strings that the database accepts."""
    assert LIBRARY_PANEL.admit is not None
    for spec in ({"title": 1}, {"type": ["text"]}, {"title": "a\0b"}, {"type": "a\0b"}):
        with pytest.raises(BadRequest):
            LIBRARY_PANEL.admit(Draft("p", "default", spec), AdmissionSettings())
    assert LIBRARY_PANEL.extract({"title": "T", "type": "text"}) == Extract(title="T", subtype="text")
