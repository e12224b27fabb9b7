"""Dashboards with wrong values in any place, which are drawn without an error, and reports about pictures."""

import asyncio
import json
from time import monotonic
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.json_trees import paths, replace_at

from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.expressions.queries import QuerySettings

TESTDATA = {"type": "grafana-testdata-datasource", "uid": "t"}
WRONG_VALUES = st.sampled_from(
    [None, True, -1, 1e308, 10**400, "", "$v", "${v:date:x}", "$w", "$__all", [], {}, [1], {"a": 1}, ["$__all"], "/(/"]
)
TARGET = {"refId": "A", "datasource": TESTDATA, "scenarioId": "csv_metric_values", "stringInput": "$v,2"}
#: A place of an element in a grid, which is repeated for each value of a variable.
ITEM = {"spec": {"x": 0, "y": 0, "width": 4, "height": 4, "element": {"name": "e"}, "repeat": {"value": "v"}}}
#: Dashboards in the classic schema and in that with elements, with most of the members that pictures read.
BOARDS: list[dict[str, Any]] = [
    {
        "title": "$v",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "Europe/Berlin",
        "weekStart": "monday",
        "__inputs": [{"name": "i", "type": "constant", "value": "1"}],
        "templating": {
            "list": [
                {"name": "v", "type": "custom", "query": "1,2", "multi": True, "includeAll": True, "allValue": "$w"},
                {"name": "w", "type": "query", "query": "$i", "datasource": TESTDATA, "regex": "/a/", "sort": 1, "current": {"value": "3"}},
                {"name": "d", "type": "datasource", "query": "prometheus", "regex": "/x/"},
                {
                    "name": "n",
                    "type": "interval",
                    "query": "1m",
                    "auto": True,
                    "auto_count": 3,
                    "auto_min": "1s",
                    "current": {"value": "$__auto"},
                },
                {"name": "f", "type": "adhoc", "filters": [{"key": "k", "operator": "=", "value": "l"}]},
                {"name": "g", "type": "groupby", "current": {"value": ["a"]}},
            ]
        },
        "panels": [
            {"id": 1, "type": "stat", "title": "$v $w $d $n $f $g", "targets": [TARGET], "repeat": "v", "maxPerRow": 3, "interval": "1m"},
            {"id": 2, "type": "row", "collapsed": True, "repeat": "v", "panels": [{"id": 3, "type": "text", "targets": []}]},
            {"id": 4, "type": "stat", "datasource": "-- Dashboard --", "targets": [{"panelId": 1}], "transformations": [{"id": "merge"}]},
        ],
    },
    {
        "timeSettings": {"from": "now-1h", "to": "now", "timezone": "utc"},
        "variables": [{"kind": "CustomVariable", "spec": {"name": "v", "query": "1,2", "current": {"value": "1"}}}],
        "elements": {"e": {"spec": {"id": 1, "vizConfig": {"group": "stat"}, "data": {"spec": {"queries": [], "transformations": []}}}}},
        "layout": {"kind": "RowsLayout", "spec": {"rows": [{"spec": {"layout": {"kind": "GridLayout", "spec": {"items": [ITEM]}}}}]}},
    },
]
#: The places where a wrong value is set: the index of a dashboard and a path in it. A wrong time range would be an error.
ALL_PATHS = [
    (index, path) for index, board in enumerate(BOARDS) for path in paths(board) if path and path[0] not in ("time", "timeSettings")
]


def report_of(spec: dict[str, Any], **options: Any) -> Any:
    """Return the report on a picture."""
    request = PictureRequest(spec=spec, format="json", **options)
    picture = asyncio.run(draw(request, QueryContext(org_id=1), QuerySettings(), Plotter(), monotonic() + 30))
    return json.loads(picture.body)


@given(st.sampled_from(ALL_PATHS), WRONG_VALUES, st.sampled_from(["stored", "expanded"]))
def test_wrong_values_cause_no_error(board_and_path: tuple[int, tuple[int | str, ...]], wrong_value: Any, rows: str) -> None:
    """A wrong value in any place may change the picture, but the picture is drawn."""
    index, path = board_and_path
    assert isinstance(report_of(replace_at(BOARDS[index], path, wrong_value), rows=rows)["panels"], list)


def test_reports_say_what_was_drawn() -> None:
    """Each panel has a state, and a message if something is missing. Headings of rows are not in the report."""
    panels = [
        {"id": 1, "type": "stat", "title": "Value of $v", "targets": [TARGET]},
        {"id": 2, "type": "stat", "targets": [TARGET], "transformations": [{"id": "spatial"}, {"id": "off", "disabled": True}]},
        {"id": 3, "type": "stat", "targets": []},
        {"id": 4, "type": "news", "targets": [TARGET]},
        {"id": 5, "type": "stat", "targets": [{"refId": "A", "datasource": {"uid": "${ds}"}, "expr": "up"}]},
        {"id": 6, "type": "row"},
    ]
    variables = [{"name": "v", "type": "custom", "query": "7,8"}, {"name": "ds", "type": "textbox", "query": "gone"}]
    entries = report_of({"panels": panels, "templating": {"list": variables}})["panels"]
    assert [(entry["id"], entry["state"]) for entry in entries] == [
        (1, "drawn"),
        (2, "partial"),
        (3, "noData"),
        (4, "unsupported"),
        (5, "error"),
    ]
    assert entries[0] == {"id": 1, "title": "Value of 7", "type": "stat", "state": "drawn"}
    assert entries[1]["message"] == "without transformations (spatial: shapes on maps are not calculated)"
    assert entries[4]["message"] == "there is no data source 'gone' (${ds}; $ds is 'gone'); there are: none"


def test_variables_of_the_url_reach_the_panels() -> None:
    """Variables in a panel have the values of the request, and ``$__timezone`` is the time zone of the request."""
    board = {"templating": {"list": [{"name": "v", "type": "textbox"}]}, "panels": [{"id": 1, "type": "text", "title": "$v $__timezone"}]}
    options: dict[str, Any] = {"variables": {"v": ["x"]}, "timezone": "Asia/Tokyo"}
    assert report_of(board, **options)["panels"][0]["title"] == "x Asia/Tokyo"
