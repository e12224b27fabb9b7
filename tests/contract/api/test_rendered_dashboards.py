"""Dashboards as pictures over HTTP. The URL of a picture has its options, and the caller needs permissions to view and to query."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

TESTDATA = {"type": "grafana-testdata-datasource", "uid": "testdata"}
#: A panel with a fixed value, one with random values, and one of an unknown data source.
PANELS = [
    {
        "id": 1,
        "type": "stat",
        "title": "Answer <&>",
        "gridPos": {"x": 0, "y": 0, "w": 12, "h": 4},
        "targets": [{"refId": "A", "datasource": TESTDATA, "scenarioId": "csv_metric_values", "stringInput": "41,42"}],
    },
    {
        "id": 2,
        "type": "timeseries",
        "title": "Walk",
        "gridPos": {"x": 12, "y": 0, "w": 12, "h": 8},
        "targets": [{"refId": "A", "datasource": TESTDATA, "scenarioId": "random_walk", "alias": "walk"}],
    },
    {
        "id": 3,
        "type": "stat",
        "title": "Foreign",
        "gridPos": {"x": 0, "y": 4, "w": 12, "h": 4},
        "targets": [{"refId": "A", "datasource": {"type": "prometheus", "uid": "none"}, "expr": "up"}],
    },
]
PICTURE = "/render/d/pictured"


@pytest.fixture
async def gateway(api: Api, broker: MemoryBroker, database: Database) -> AsyncIterator[Api]:
    """Return a gateway with an expressions worker and the dashboard ``pictured``."""
    worker = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await worker.start()
    body = {"dashboard": {"uid": "pictured", "title": "Pictured", "panels": PANELS, "time": {"from": "now-1h", "to": "now"}}}
    status, response = await api("POST", "/api/dashboards/db", body)
    assert status == 200, response
    yield api
    await worker.stop()


async def fetch(api: Api, path: str, auth: str = ADMIN) -> tuple[int, str, bytes, Any]:
    """Return the status, media type, body and headers of a response."""
    async with api.session.get(path, headers={"Authorization": auth}) as response:
        return response.status, response.content_type, await response.read(), response.headers


async def test_a_dashboard_is_drawn_as_png_and_svg(gateway: Api) -> None:
    """A picture is a PNG by default. An SVG has values, escaped titles and errors of panels as text, and its policy is a sandbox."""
    status, media_type, body, headers = await fetch(gateway, PICTURE)
    assert (status, media_type, body[:8]) == (200, "image/png", b"\x89PNG\r\n\x1a\n")
    assert "private" in headers["Cache-Control"]
    status, media_type, body, headers = await fetch(gateway, f"{PICTURE}/slug?format=svg&theme=light")
    text = body.decode()
    assert (status, media_type) == (200, "image/svg+xml")
    assert "sandbox" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    for part in (">Pictured<", ">Answer &lt;&amp;&gt;<", ">42<", ">walk<", ">Foreign<", "no data source"):
        assert part in text, text


async def test_a_panel_is_drawn_alone(gateway: Api) -> None:
    """The parameter panelId selects a panel. An unknown panel is 404, and an invalid size 400."""
    status, _, body, _ = await fetch(gateway, f"{PICTURE}?panelId=panel-1&width=400&height=200&format=svg")
    assert status == 200
    assert b'width="400" height="200"' in body
    assert b">42<" in body
    assert b">walk<" not in body
    assert (await fetch(gateway, f"{PICTURE}?panelId=99"))[0] == 404
    for wrong_query in ("width=9", "width=x", "theme=pink", "format=gif", "scale=9", "from=never"):
        status, _, body, _ = await fetch(gateway, f"{PICTURE}?{wrong_query}")
        assert status == 400, wrong_query
        assert b"message" in body, wrong_query


async def test_a_picture_needs_permission_to_view_and_query(gateway: Api) -> None:
    """A caller without one of the permissions receives no picture, and in another organization the dashboard is unknown."""
    callers = {
        "without queries": await gateway.person("viewer", Role.NONE, ("dashboards:read", "dashboards:*")),
        "without dashboards": await gateway.person("querier", Role.NONE, ("datasources:query", "datasources:*")),
        "with both": await gateway.person(
            "reader", Role.NONE, ("dashboards:read", "dashboards:*"), ("datasources:query", "datasources:uid:a")
        ),
        "of another organization": await gateway.person("stranger", Role.ADMIN, org_id=await gateway.organization("other")),
    }
    statuses = {name: (await fetch(gateway, f"{PICTURE}?format=svg", caller))[0] for name, caller in callers.items()}
    assert statuses == {"without queries": 403, "without dashboards": 403, "with both": 200, "of another organization": 404}


async def test_the_url_sets_variables_zone_and_rows(gateway: Api) -> None:
    """The URL sets variables, time zone and rows of a picture. An unknown zone or row option, and more than 100 variables are refused."""
    panel_in_row = {"id": 9, "type": "text", "title": "In $v at $__timezone"}
    panels = [{"id": 8, "type": "row", "title": "R", "collapsed": True, "panels": [panel_in_row]}]
    templating = {"list": [{"name": "v", "type": "custom", "query": "a,b,c", "multi": True}]}
    await gateway("POST", "/api/dashboards/db", {"dashboard": {"uid": "urls", "title": "U", "panels": panels, "templating": templating}})
    query = "format=json&rows=expanded&var-v=b&var-v=c&tz=Asia/Tokyo"
    status, media_type, body, _ = await fetch(gateway, f"/render/d/urls?{query}")
    assert (status, media_type) == (200, "application/json"), body
    assert json.loads(body) == {"panels": [{"id": 9, "title": "In b + c at Asia/Tokyo", "type": "text", "state": "drawn"}], "notices": []}
    status, _, body, _ = await fetch(gateway, "/render/d-solo/urls?panelId=9&format=svg")
    assert status == 200
    assert b"In a at UTC" in body
    for wrong_query, name in (
        ("tz=Mars", b"tz"),
        ("rows=all", b"rows"),
        ("&".join(f"var-{index}=1" for index in range(101)), b"variables"),
    ):
        status, _, body, _ = await fetch(gateway, f"/render/d/urls?{wrong_query}")
        assert status == 400, body
        assert name in body, body


async def test_the_url_may_have_the_middle_and_length_of_the_range(gateway: Api) -> None:
    """The URL may have a time range as its middle and length. Pages and their pictures then show this range instead of from and to."""
    # The range begins and ends half an hour, or 1,800,000 milliseconds, from its middle.
    zoom = "time=1767225600000&time.window=1h&from=now-5m&to=now"
    _, _, body, _ = await fetch(gateway, f"{PICTURE}?format=outline&{zoom}")
    outline = json.loads(body)
    assert (outline["start"], outline["end"]) == (1767223800000, 1767227400000)
    status, _, body, _ = await fetch(gateway, f"/d/pictured?{zoom}")
    page = body.decode()
    assert status == 200
    assert "from=1767223800000&amp;to=1767227400000" in page
    assert "time.window" not in page
    assert (await fetch(gateway, f"{PICTURE}?time=soon&time.window=1h"))[0] == 400


async def test_an_outline_has_positions_and_options_but_no_data(gateway: Api) -> None:
    """An outline has the time range of a dashboard and the positions of its panels."""
    status, media_type, body, _ = await fetch(gateway, f"{PICTURE}?format=outline")
    outline = json.loads(body)
    assert (status, media_type, outline["from"]) == (200, "application/json", "now-1h")
    assert [(panel["id"], panel["x"], panel["y"]) for panel in outline["sections"][0]["panels"]] == [(1, 0, 0), (2, 12, 0), (3, 0, 4)]


async def test_panels_use_the_default_data_source(gateway: Api) -> None:
    """A data source of another installation is replaced by the default of its type."""
    source = {"name": "Here", "type": "prometheus", "uid": "here", "url": "http://127.0.0.1:1", "access": "proxy", "isDefault": True}
    status, response = await gateway("POST", "/api/datasources", source)
    assert status == 200, response
    _, _, body, _ = await fetch(gateway, f"{PICTURE}?format=json&panelId=3")
    assert "host '127.0.0.1'" in json.loads(body)["panels"][0]["message"]


async def test_a_panel_is_drawn_at_the_address_of_grafana(gateway: Api) -> None:
    """``/render/d-solo`` draws one panel, 500 pixels high by default. A request without the id of a panel is 400."""
    status, media_type, body, _ = await fetch(gateway, "/render/d-solo/pictured/slug?panelId=panel-1&format=svg&orgId=1&tz=UTC")
    assert (status, media_type) == (200, "image/svg+xml")
    text = body.decode()
    assert 'height="500"' in text
    assert ">Answer &lt;&amp;&gt;<" in text
    assert ">Walk<" not in text
    status, _, body, _ = await fetch(gateway, "/render/d-solo/pictured")
    assert status == 400
    assert b"panelId is missing" in body


async def test_library_panels_are_drawn_if_the_caller_may_read_them(gateway: Api) -> None:
    """A panel that refers to a library panel is drawn like it. A panel that refers to a missing one has an error with its name."""
    model = {"type": "stat", "title": "Shared", "targets": PANELS[0]["targets"]}
    status, response = await gateway("POST", "/api/library-elements", {"name": "Shared value", "kind": 1, "uid": "shared", "model": model})
    assert status == 200, response
    references = [{"uid": "shared", "name": "Shared value"}, {"uid": "gone", "name": "Lost value"}]
    panels = [{"id": index, "gridPos": PANELS[0]["gridPos"], "libraryPanel": reference} for index, reference in enumerate(references, 1)]
    assert (await gateway("POST", "/api/dashboards/db", {"dashboard": {"uid": "sharing", "title": "S", "panels": panels}}))[0] == 200
    _, _, body, _ = await fetch(gateway, "/render/d/sharing?format=json")
    entries = json.loads(body)["panels"]
    assert [(entry["title"], entry["state"]) for entry in entries] == [("Shared", "drawn"), ("Lost value", "error")]
    assert entries[1]["message"] == "the library panel 'Lost value' does not exist in this organization, or you may not read it"
