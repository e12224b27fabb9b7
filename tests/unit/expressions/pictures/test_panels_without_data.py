"""Pictures of panels whose queries have no data, and of panels without a background."""

import asyncio
import json
import re
from time import monotonic
from typing import Any, Literal

import pytest

from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.pictures.dashboard import read_dashboard
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.expressions.pictures.theme import THEMES
from dashwright.expressions.queries import QuerySettings

#: A query without data.
EMPTY = {"refId": "A", "datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "no_data_points"}


def picture(format_: Literal["svg", "json"], **panel: Any) -> bytes:
    """Return the picture of, or the report on, a panel without data."""
    request = PictureRequest(spec={"panels": [{"id": 1, "title": "T", "targets": [EMPTY], **panel}]}, format=format_, width=600)
    return asyncio.run(draw(request, QueryContext(org_id=1), QuerySettings(), Plotter(), monotonic() + 30)).body


@pytest.mark.parametrize(
    ("panel_type", "state"),
    [("stat", "drawn"), ("gauge", "drawn"), ("bargauge", "drawn"), ("timeseries", "noData"), ("table", "noData")],
)
def test_a_panel_without_data_shows_its_configured_text(panel_type: str, state: str) -> None:
    """The configured text replaces the message ``No data``. Panels with single values count as drawn, because the text is their value."""
    panel = {"type": panel_type, "fieldConfig": {"defaults": {"noValue": "calm"}}}
    assert json.loads(picture("json", **panel))["panels"][0]["state"] == state
    texts = re.findall(r">([^<>]+)</text>", picture("svg", **panel).decode())
    assert "calm" in texts
    assert "No data" not in texts


@pytest.mark.parametrize("panel_type", ["stat", "timeseries"])
def test_a_panel_without_data_and_text_shows_no_data(panel_type: str) -> None:
    """The state in the report is ``noData`` for every type of panel. A message, which not all types have, is ``No data``."""
    (panel,) = json.loads(picture("json", type=panel_type))["panels"]
    assert panel.pop("message", "No data") == "No data"
    assert panel == {"id": 1, "title": "T", "type": panel_type, "state": "noData"}


@pytest.mark.parametrize(
    ("title", "panel", "expected"),
    [
        ("per $__interval", {"interval": "2m"}, "per 2m"),
        ("per ${__interval}", {"maxDataPoints": 100}, "per 5m"),
        ("[[__interval_ms]] ms", {"interval": "2m"}, "120000 ms"),
        ("$__intervals", {}, "$__intervals"),
    ],
)
def test_titles_contain_the_interval_of_the_queries(title: str, panel: dict[str, Any], expected: str) -> None:
    """The interval in a title is the configured minimum, or the range of six hours divided by the number of points, rounded."""
    report = json.loads(picture("json", type="timeseries", title=title, **panel))
    assert report["panels"][0]["title"] == expected


def test_a_transparent_panel_has_no_background_and_no_border() -> None:
    """The colour of panels is not part of the picture of a transparent panel."""
    assert THEMES["dark"].panel in picture("svg", type="text").decode()
    assert THEMES["dark"].panel not in picture("svg", type="text", transparent=True).decode()


def test_an_element_may_be_transparent() -> None:
    """The setting ``transparent`` is also read from the schema with elements."""
    element = {"kind": "Panel", "spec": {"id": 1, "transparent": True, "vizConfig": {"group": "text"}}}
    item = {"kind": "GridLayoutItem", "spec": {"element": {"kind": "ElementReference", "name": "a"}, "width": 12, "height": 8}}
    spec = {"elements": {"a": element}, "layout": {"kind": "GridLayout", "spec": {"items": [item]}}}
    assert [panel.is_transparent for panel in read_dashboard(spec).panels] == [True]
