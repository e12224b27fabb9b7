"""Pictures of panels whose query results are transformed before they are drawn."""

import asyncio
import json
import re
from time import monotonic
from typing import Any, Literal

import pytest
from tests.unit.expressions.transformations.tables import apply_all, column, frame

from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.expressions.pictures.series import series_of
from dashwright.expressions.queries import QuerySettings
from dashwright.expressions.transformations.conversion import to_frame

FRAMES = [
    {
        "schema": {"fields": [{"name": "host", "type": "string"}, {"name": "load", "type": "number"}]},
        "data": {"values": [["web", "db"], [3, 7]]},
    }
]
TARGET = {
    "refId": "A",
    "datasource": {"type": "grafana-testdata-datasource"},
    "scenarioId": "raw_frame",
    "rawFrameContent": json.dumps(FRAMES),
}
VARIABLES = {"list": [{"name": "unit", "type": "constant", "query": "Percent"}]}


def picture(format_: Literal["svg", "json"], *transformations: dict[str, Any]) -> bytes:
    """Return the picture (``svg``) of a table with transformations, or the report on it (``json``)."""
    panel = {"id": 1, "type": "table", "title": "T", "targets": [TARGET], "transformations": list(transformations)}
    request = PictureRequest(spec={"panels": [panel], "templating": VARIABLES}, format=format_, width=600, height=300)
    return asyncio.run(draw(request, QueryContext(org_id=1), QuerySettings(), Plotter(), monotonic() + 30)).body


def test_a_panel_draws_its_transformed_frames() -> None:
    """The table has the renamed and sorted columns, without those that are excluded. Variables in options are replaced."""
    svg = picture(
        "svg",
        {"id": "sortBy", "options": {"sort": [{"field": "load", "desc": True}]}},
        {
            "id": "calculateField",
            "options": {"mode": "binary", "alias": "in $unit", "binary": {"left": "load", "operator": "*", "right": "100"}},
        },
        {"id": "organize", "options": {"excludeByName": {"load": True}, "renameByName": {"host": "Machine"}}},
    ).decode()
    texts = re.findall(r">([^<>]+)</text>", svg)
    # The headings and two rows, which follow the title of the panel.
    assert texts[texts.index("Machine") :][:6] == ["Machine", "in Percent", "db", "700", "web", "300"]


@pytest.mark.parametrize(
    ("transformations", "state", "message"),
    [
        ([{"id": "organize"}], "drawn", None),
        ([{"id": "spatial"}, {"id": "organize"}], "partial", "without transformations (spatial: shapes on maps are not calculated)"),
        ([{"id": "filterByRefId", "options": {"include": "B"}}], "noData", "No data"),
        (
            [{"id": "organize"}, {"id": "renameByRegex", "options": {"regex": "/("}}],
            "error",
            "transformation 2 (renameByRegex): '/(' is not",
        ),
    ],
)
def test_the_report_names_what_is_left_out_or_failed(transformations: list[dict[str, Any]], state: str, message: str | None) -> None:
    """A panel has the state ``partial`` without a transformation that pictures lack, and ``error`` after one that failed."""
    (panel,) = json.loads(picture("json", *transformations))["panels"]
    assert panel["state"] == state
    assert panel.get("message", "").startswith(message or "")


def test_lines_connect_values_next_to_rows_that_a_join_added() -> None:
    """A series has no points at times that only the other frame has, so that lines connect its own points.

    Times of the other frame next to a null of the series are nulls, too, unless nulls are spanned.
    """
    frames = [frame("A", time=[1, 3, 5], a=[1, None, 5]), frame("B", column("time", [2, 4]), b=[2, 4])]
    (joined,) = apply_all(frames, {"id": "prepareTimeSeries"})
    with_null, without_null = series_of([to_frame(joined)])
    assert with_null.times is not None
    assert with_null.times.tolist() == [1, 2, 3, 4, 5]
    assert len(with_null.values) == 5
    assert without_null.times is not None
    assert without_null.times.tolist() == [2, 4]
    assert len(without_null.values) == 2
    (spanned,) = apply_all(
        [frames[0].with_columns([column("time", [1, 3, 5]), column("a", [1, None, 5], {"custom": {"spanNulls": True}})]), frames[1]],
        {"id": "prepareTimeSeries"},
    )
    assert series_of([to_frame(spanned)])[0].values.tolist() == [1, 5]


def test_a_matrix_with_gaps_has_columns_of_numbers() -> None:
    """A bar chart draws a matrix, although the cells of the matrix without a value are empty texts."""
    matrix = {"id": "groupingToMatrix", "options": {"columnField": "host", "rowField": "load", "valueField": "load"}}
    panel = {"id": 1, "type": "barchart", "targets": [TARGET], "transformations": [matrix]}
    request = PictureRequest(spec={"panels": [{**panel, "options": {"xField": "load\\host"}}]}, format="json")
    body = asyncio.run(draw(request, QueryContext(org_id=1), QuerySettings(), Plotter(), monotonic() + 30)).body
    assert json.loads(body)["panels"][0]["state"] == "drawn"
