"""What a dashboard may be: its refresh, the classic schema, and what stands for it in older versions."""

from typing import Any

import orjson
import pytest

from dashwright.common.errors import BadRequest
from dashwright.common.kinds import rendering
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Body
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.kinds.settings import AdmissionSettings

LAYOUT = '{"title":"T","elements":{},"layout":{"kind":"GridLayout"}}'


def admitted(spec: dict[str, Any], *, version: str = "v2alpha1", old: dict[str, Any] | None = None, shortest: float = 10) -> list[str]:
    """The causes that are found, by their fields."""
    draft = Draft("d", "default", {"title": "T"} | spec, old_spec=old, version=version)
    assert DASHBOARD.admit is not None
    DASHBOARD.admit(draft, AdmissionSettings(min_refresh_seconds=shortest))
    return [cause.field for cause in draft.causes]


def stored(spec: str, *, layout: bool = False) -> Body:
    return Body("d", "T", "", "v0alpha1", layout, spec, None)


@pytest.mark.parametrize("refresh", ["10s", "30s", "auto", "", False, None, "1m", "1h30m", "1d", "10000ms", "1.5m"])
def test_a_refresh_at_or_above_the_shortest_is_taken(refresh: Any) -> None:
    """Where the shortest is 10 s; words and nothing are no interval."""
    assert admitted({"refresh": refresh}) == []
    assert admitted({"timeSettings": {"autoRefresh": refresh}}) == []


@pytest.mark.parametrize("refresh", ["5s", "9999ms", "0s", "soon", "10", "10 s", "s", "-10s", 10, True, ["10s"], "1" * 50 + "s"])
def test_a_refresh_below_the_shortest_or_unreadable_is_refused(refresh: Any) -> None:
    """In either layout, with the text that existing clients look for."""
    for spec in ({"refresh": refresh}, {"timeSettings": {"autoRefresh": refresh}}):
        with pytest.raises(BadRequest, match="Dashboard refresh interval"):
            admitted(spec)


def test_a_refresh_that_was_stored_may_stay() -> None:
    """A dashboard from before the limit was raised can still be changed elsewhere."""
    assert admitted({"refresh": "5s"}, old={"refresh": "5s"}) == []
    with pytest.raises(BadRequest):
        admitted({"refresh": "4s"}, old={"refresh": "5s"})


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
    """Each wrong member is a cause; the other versions take anything."""
    assert sorted(admitted(spec, version="v1beta1")) == sorted(fields)
    assert admitted(spec, version="v0alpha1") == admitted(spec, version="v2alpha1") == []


def test_a_classic_body_keeps_its_text_in_every_version() -> None:
    """Shown as it was sent, in v1beta1 with defaults behind it."""
    for version in DASHBOARD.versions:
        spec = rendering.render(DASHBOARD, stored('{"title":"T"}'), version).spec
        assert spec.startswith('{"title":"T","annotations"' if version == "v1beta1" else '{"title":"T"}')
    assert orjson.loads(rendering.render(DASHBOARD, stored("{}"), "v1beta1").spec)["time"] == {"from": "now-6h", "to": "now"}


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1"])
def test_a_layout_is_a_stub_in_older_versions(version: str) -> None:
    """With the title and a schema version that no dashboard has; the status names the version that shows the dashboard."""
    spec, status, _ = rendering.render(DASHBOARD, stored(LAYOUT, layout=True), version)
    assert orjson.loads(spec) == {"title": "T", "schemaVersion": 9999}
    conversion = orjson.loads(status or "")["conversion"]
    assert (conversion["failed"], conversion["storedVersion"], version in conversion["error"]) == (True, "v2alpha1", True)
    assert rendering.render(DASHBOARD, stored(LAYOUT, layout=True), "v2alpha1") == (LAYOUT, "{}", None)


def test_a_stub_sent_back_keeps_the_body() -> None:
    """In the version that shows the stub. Anything else of that schema version is no dashboard."""
    old = stored(LAYOUT, layout=True)
    stub = {"schemaVersion": 9999, "title": "T"}
    assert rendering.body_of(DASHBOARD, old, "v1beta1", stub) == orjson.loads(LAYOUT)
    changed = rendering.body_of(DASHBOARD, old, "v1beta1", stub | {"title": "New"})
    assert admitted(changed) == ["spec.schemaVersion"]
    assert rendering.body_of(DASHBOARD, old, "v2alpha1", stub) == stub
    assert rendering.body_of(DASHBOARD, None, "v1beta1", stub) == stub


def test_a_layout_is_stored_as_the_newest_version() -> None:
    """Whatever version it came in; a classic body keeps its own."""
    layout, classic = DASHBOARD.extract({"title": "T", "layout": {}}), DASHBOARD.extract({"title": "T"})
    assert rendering.stored_version(DASHBOARD, "v0alpha1", layout) == "v2alpha1"
    assert rendering.stored_version(DASHBOARD, "v0alpha1", classic) == "v0alpha1"
