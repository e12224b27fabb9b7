"""Rules of dashboards: the refresh interval, the classic schema, and the placeholder that replaces newer specs in older versions."""

from typing import Any

import orjson
import pytest

from dashwright.common.errors import BadRequest
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Body, RenderedBody
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.kinds.settings import AdmissionSettings

#: A dashboard with elements and a layout, as text.
LAYOUT = '{"title":"T","elements":{},"layout":{"kind":"GridLayout"}}'
#: A dashboard whose layout refers to an element that does not exist.
BROKEN_LAYOUT = orjson.dumps(
    {
        "title": "T",
        "elements": {},
        "layout": {
            "kind": "GridLayout",
            "spec": {
                "items": [
                    {
                        "kind": "GridLayoutItem",
                        "spec": {"x": 0, "y": 0, "width": 6, "height": 3, "element": {"kind": "ElementReference", "name": "missing"}},
                    }
                ]
            },
        },
    }
).decode()


def admission_faults(
    spec: dict[str, Any], *, version: str = "v2alpha1", old: dict[str, Any] | None = None, min_refresh: float = 10
) -> list[str]:
    """Return the fields of the causes that the admission finds."""
    draft = Draft("d", "default", {"title": "T"} | spec, old_spec=old, version=version)
    assert DASHBOARD.admit is not None
    DASHBOARD.admit(draft, AdmissionSettings(min_refresh_seconds=min_refresh))
    return [cause.field for cause in draft.causes]


def stored_form(spec: str, *, version: str = "") -> Body:
    """Return the stored body of a dashboard. The default version is that in which its form, classic or with a layout, is stored."""
    layout = DASHBOARD.extract(orjson.loads(spec)).layout
    if not version:
        version = "v2alpha1" if layout else "v0alpha1"
    return Body(name="d", namespace="default", title="T", subtype="", stored_version=version, layout=layout, spec=spec, status=None)


@pytest.mark.parametrize("refresh", ["10s", "30s", "auto", "", False, None, "1m", "1h30m", "1d", "10000ms", "1.5m"])
def test_a_refresh_of_at_least_the_minimum_is_accepted(refresh: Any) -> None:
    """Intervals from the minimum of 10 s on are accepted, as are ``auto`` and empty or absent values."""
    assert admission_faults({"refresh": refresh}) == []
    assert admission_faults({"timeSettings": {"autoRefresh": refresh}}) == []


@pytest.mark.parametrize("refresh", ["5s", "9999ms", "0s", "soon", "10", "10 s", "s", "-10s", 10, True, ["10s"], "1" * 50 + "s"])
def test_a_short_or_invalid_refresh_is_rejected(refresh: Any) -> None:
    """A short or invalid refresh is rejected in each schema of dashboards, with the message that existing clients look for."""
    for spec in ({"refresh": refresh}, {"timeSettings": {"autoRefresh": refresh}}):
        with pytest.raises(BadRequest, match="Dashboard refresh interval"):
            admission_faults(spec)


def test_a_stored_refresh_is_kept() -> None:
    """A stored refresh below the minimum is accepted again, so that other members of the dashboard can be changed."""
    assert admission_faults({"refresh": "5s"}, old={"refresh": "5s"}) == []
    with pytest.raises(BadRequest):
        admission_faults({"refresh": "4s"}, old={"refresh": "5s"})


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"editable": "elephant", "time": 9000}, ["spec.editable", "spec.time"]),
        ({"panels": {}}, ["spec.panels"]),
        (
            {"panels": [{"type": "text"}, 7, {"type": 1, "gridPos": []}]},
            ["spec.panels[1]", "spec.panels[2].gridPos", "spec.panels[2].type"],
        ),
        ({"templating": {"list": [{"name": 1}]}, "annotations": {"list": "no"}}, ["spec.templating.list[0].name", "spec.annotations.list"]),
        ({"tags": ["a", 1]}, ["spec.tags"]),
        ({"time": {"from": 0, "to": "now"}}, ["spec.time.from"]),
        ({"schemaVersion": 1.5}, ["spec.schemaVersion"]),
        (
            {
                "schemaVersion": 41,
                "editable": None,
                "time": {"from": "now-6h", "to": "now"},
                "gnetId": 11074,
                "refresh": False,
                "panels": [{"id": 1, "type": "text", "anything": {}}],
                "templating": {"list": []},
                "unknown": [],
            },
            [],
        ),
    ],
)
def test_the_classic_schema_is_checked_in_v1beta1_only(spec: dict[str, Any], fields: list[str]) -> None:
    """Each wrong member is a cause in v1beta1; the other versions accept any member."""
    assert sorted(admission_faults(spec, version="v1beta1")) == sorted(fields)
    assert admission_faults(spec, version="v0alpha1") == []
    assert admission_faults(spec, version="v2alpha1") == []


def test_a_body_keeps_its_text_in_its_stored_version() -> None:
    """A body is returned in its stored version, or an alias of it, exactly as it was sent, with the digits of its numbers."""
    assert DASHBOARD.rendered(stored_form('{"title":"T","n":1.10}'), "v0alpha1") == RenderedBody('{"title":"T","n":1.10}', status="{}")
    assert DASHBOARD.rendered(stored_form(LAYOUT, version="v2"), "v2") == RenderedBody(LAYOUT, status="{}")
    assert DASHBOARD.rendered(stored_form('{"title":"T","n":1.10}', version="v1"), "v1beta1").spec == '{"title":"T","n":1.10}'


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1", "v1"])
def test_a_broken_layout_has_a_placeholder_in_classic_versions(version: str) -> None:
    """In classic versions, a placeholder replaces a layout that cannot be converted.

    The placeholder has the title and the schema version 9999, which no real dashboard has. The status has the error and the stored spec.
    """
    spec, status, _ = DASHBOARD.rendered(stored_form(BROKEN_LAYOUT), version)
    assert orjson.loads(spec) == {"title": "T", "schemaVersion": 9999}
    conversion = orjson.loads(status or "")["conversion"]
    assert conversion["failed"] is True
    assert conversion["storedVersion"] == "v2alpha1"
    assert conversion["source"] == orjson.loads(BROKEN_LAYOUT)
    # The error names the element that does not exist.
    assert "missing" in conversion["error"]
    assert DASHBOARD.rendered(stored_form(BROKEN_LAYOUT), "v2alpha1") == RenderedBody(BROKEN_LAYOUT, status="{}")


def test_a_placeholder_sent_back_keeps_the_body() -> None:
    """A client that sends a placeholder back keeps the stored spec. A changed placeholder is rejected.

    In a version that has no placeholders, or for a new dashboard, the same spec is stored as it is.
    """
    old = stored_form(BROKEN_LAYOUT)
    placeholder = {"schemaVersion": 9999, "title": "T"}
    assert DASHBOARD.body_of(old, "v1beta1", placeholder) == orjson.loads(BROKEN_LAYOUT)
    changed = DASHBOARD.body_of(old, "v1beta1", placeholder | {"title": "New"})
    assert admission_faults(changed) == ["spec.schemaVersion"]
    assert DASHBOARD.body_of(old, "v2alpha1", placeholder) == placeholder
    assert DASHBOARD.body_of(None, "v1beta1", placeholder) == placeholder


def test_a_layout_is_stored_as_the_newest_version() -> None:
    """A body with elements that was sent in a classic version is stored in a version with elements. A classic body keeps its version."""
    layout = DASHBOARD.extract({"title": "T", "layout": {}})
    classic = DASHBOARD.extract({"title": "T"})
    assert DASHBOARD.stored_version("v0alpha1", layout) == "v2alpha1"
    assert DASHBOARD.stored_version("v0alpha1", classic) == "v0alpha1"
