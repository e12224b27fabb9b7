"""Dashboards that try to exhaust the worker: each of them is drawn within seconds, and notices name the limits."""

import asyncio
import json
from time import monotonic
from typing import Any

import pytest

from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.expressions.queries import QuerySettings
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry
from dashwright.expressions.sources.registry import SourceRegistry

TESTDATA = {"type": "grafana-testdata-datasource", "uid": "t"}
TARGET = {"refId": "A", "datasource": TESTDATA, "scenarioId": "csv_metric_values", "stringInput": "1,2"}
#: The time that a report and a picture may take together, on a busy machine.
SECONDS = 15


def report_of(spec: dict[str, Any], **options: Any) -> Any:
    """Return the report on a dashboard, and its picture as ``svg``. Raises AssertionError if they take too long."""
    started = monotonic()
    bodies = {}
    for format_ in ("json", "svg"):
        request = PictureRequest(spec=spec, format=format_, **options)
        picture = asyncio.run(draw(request, QueryContext(org_id=1), QuerySettings(sources=OneDataSource()), Plotter(), monotonic() + 30))
        bodies[format_] = picture.body.decode()
    assert monotonic() - started < SECONDS
    assert "<script" not in bodies["svg"]
    return json.loads(bodies["json"]) | {"svg": bodies["svg"]}


def board(*panels: dict[str, Any], variables: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """Return a dashboard with panels and variables."""
    return {"panels": list(panels), "templating": {"list": list(variables)}}


def text_panel(content: str, mode: str = "markdown") -> dict[str, Any]:
    """Return a panel that shows a text."""
    return {"id": 1, "type": "text", "title": "T", "options": {"mode": mode, "content": content}}


def stat(**members: Any) -> dict[str, Any]:
    """Return a panel of the type ``stat`` with a query. ``members`` are further members, or replace these."""
    return {"id": 1, "type": "stat", "title": "S", "targets": [TARGET], **members}


VARIABLES_IN_A_CYCLE = (
    {"name": "a", "type": "custom", "query": "$b", "current": {"value": "1"}},
    {"name": "b", "type": "custom", "query": "$a"},
)
VARIABLE_WITH_MANY_VALUES = {
    "name": "m",
    "type": "custom",
    "query": ",".join(f"v{index}" for index in range(10_000)),
    "includeAll": True,
    "multi": True,
}


class OneDataSource(SourceRegistry):
    """Data sources, the only one of which has a name on which some regular expressions do not end."""

    async def catalog(self, context: QueryContext) -> Catalog:
        """Return the only data source."""
        return Catalog([CatalogEntry("u", "x" * 5_000 + "!", "prometheus")])


@pytest.mark.parametrize(
    ("spec", "notice"),
    [
        (board(stat(title="$a"), variables=VARIABLES_IN_A_CYCLE), "$a, $b refer to each other in a circle, so each has its saved value"),
        (board(stat(title="$m"), variables=(VARIABLE_WITH_MANY_VALUES,)), "$m has 10000 options, of which the first 1000 are used"),
        (board(stat(repeat="m"), variables=(VARIABLE_WITH_MANY_VALUES,)), "$m has 1000 values; panels are repeated for the first 60"),
        (board(*(stat(id=index) for index in range(2_500))), "more panels are not shown"),
    ],
    ids=["a circle of variables", "10,000 options", "a panel for each of 10,000 values", "2,500 panels"],
)
def test_a_picture_names_the_limits_of_its_dashboard(spec: dict[str, Any], notice: str) -> None:
    """At most 60 panels are drawn, and a notice names what is limited."""
    report = report_of(spec)
    assert any(notice in text for text in report["notices"]), report["notices"]
    assert len(report["panels"]) <= 60
    assert all(panel["state"] == "drawn" for panel in report["panels"])


@pytest.mark.parametrize(
    "position",
    [
        {"x": -5, "y": -1, "w": -3, "h": 0},
        {"x": 10**400, "y": 1e300, "w": 1e300, "h": 10**30},
        {"x": float("nan"), "y": float("nan"), "w": float("inf"), "h": float("-inf")},
        {"x": "1", "y": [], "w": {}, "h": None},
    ],
)
def test_positions_are_moved_into_the_grid(position: dict[str, Any]) -> None:
    """A panel with an impossible position or size is drawn in the grid."""
    (panel,) = report_of(board(stat(gridPos=position)))["panels"]
    assert panel["state"] == "drawn"


def test_panels_with_one_id_are_all_drawn() -> None:
    """The first of several panels with the same id keeps it. The others get the next free ids."""
    panels = report_of(board(*(stat(id=4) for _ in range(5))))["panels"]
    assert sorted(panel["id"] for panel in panels) == [4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    "content",
    [
        "[" * 20_000 + "](x)",
        "> " * 20_000 + "x",
        "*" * 50_000,
        "`" * 50_000,
        "- " * 10_000,
        "![a](javascript:alert(1)) <script>alert(1)</script><img src=x onerror=alert(1)>",
        "<div>" * 20_000,
        "|a" * 10_000 + "\n" + "|-" * 10_000,
        "x" * 1_000_000,
    ],
    ids=lambda content: str(content)[:12],
)
@pytest.mark.parametrize("mode", ["markdown", "html"])
def test_hostile_texts_are_drawn(content: str, mode: str) -> None:
    """A text with very many marks or elements is drawn in time, and the picture has neither images nor links."""
    report = report_of(board(text_panel(content, mode)))
    assert report["panels"][0]["state"] in ("drawn", "partial", "noData")
    assert "<img" not in report["svg"]
    assert "href" not in report["svg"]


@pytest.mark.parametrize("unit", ["", "no such unit", "suffix:", "time:" + "Y" * 5_000, "si:", "currency:", 5, None, ["a"]])
def test_unknown_units_are_written_after_numbers(unit: Any) -> None:
    """A panel with an unknown unit of any type, and with very many decimals, is drawn."""
    report = report_of(board(stat(fieldConfig={"defaults": {"unit": unit, "decimals": 10**9}})))
    assert report["panels"][0]["state"] == "drawn"


@pytest.mark.parametrize("panel_type", ["timeseries", "heatmap", "state-timeline", "status-history", "logs"])
def test_a_panel_over_time_names_missing_times(panel_type: str) -> None:
    """A panel that needs times shows a message about them if its data has none."""
    target = {"refId": "A", "datasource": TESTDATA, "scenarioId": "csv_content", "csvContent": "a,b\n1,2\n3,4"}
    (panel,) = report_of(board(stat(type=panel_type, targets=[target])))["panels"]
    assert panel["state"] == "noData"
    assert "time" in panel["message"]


def nested_lists(depth: int) -> Any:
    """Return a list in a list, and so on to a depth, with a text in the innermost list."""
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("member", ["options", "fieldConfig", "targets", "transformations", "title", "gridPos", "repeat"])
def test_deeply_nested_members_are_drawn(member: str) -> None:
    """A panel with very deeply nested JSON in a member is part of the report, and so is the panel after it."""
    value = nested_lists(190)
    wrapped: Any = [{"refId": "A", "datasource": TESTDATA, "x": value}] if member == "targets" else value
    assert len(report_of(board(stat(**{member: wrapped}), stat(id=2)))["panels"]) == 2


@pytest.mark.usefixtures("short_pattern_time")
def test_a_regular_expression_that_never_ends_is_stopped() -> None:
    """A regular expression that takes too long is an error of the panel, which names the variable and the expression."""
    variable = {"name": "e", "type": "datasource", "query": "prometheus", "regex": "/^(x|xx)+$/"}
    (panel,) = report_of(board(stat(targets=[{**TARGET, "stringInput": "${e}"}]), variables=(variable,)))["panels"]
    assert panel["state"] == "error"
    assert "$e has no options: the regular expression '^(x|xx)+$' takes longer than 0.1 s" in panel["message"]


def test_one_transformation_too_many_is_named() -> None:
    """A panel with 5,000 transformations has an error with their number."""
    steps = [{"id": "limit", "options": {"limitField": 1}}] * 5_000
    (panel,) = report_of(board(stat(transformations=steps)))["panels"]
    assert panel["state"] == "error"
    assert "5000 transformations" in panel["message"]
