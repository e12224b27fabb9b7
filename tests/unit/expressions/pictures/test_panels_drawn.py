"""Drawings of panel types: the text of their SVG, not pixels."""

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.pictures.dashboard import MAX_PANELS, Panel, read_dashboard
from dashwright.expressions.pictures.layout import lay_out
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.series import MAX_POINTS, PlotSeries, downsampled
from dashwright.expressions.pictures.theme import THEMES, colour_of
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry

#: A text that would be executed or loaded if a drawing did not escape it.
HOSTILE = "</text><script>alert(1)</script>https://example.com/"


def frame(*values: float | None, name: str = "Value", **labels: str) -> Frame:
    """Return a series with a value for each minute."""
    nulls = np.array([value is None for value in values])
    numbers = np.array([np.nan if value is None else value for value in values])
    times = np.arange(len(values), dtype=np.int64) * 60_000_000_000
    return Frame([Field("time", FieldType.TIME, times), Field(name, FieldType.FLOAT64, numbers, nulls, labels=Labels.of(labels))])


def draw_panel(panel_type: str, *frames: Frame, **panel: Any) -> PanelDrawing:
    """Return the drawing of a panel of 400 by 200 pixels over ten minutes."""
    panel_to_draw = read_dashboard({"panels": [{"type": panel_type, "title": "T", **panel}]}).panels[0]
    return DRAW_FUNCTIONS[panel_to_draw.type](PanelProps(panel_to_draw, frames, 400, 200, THEMES["dark"], 0, 600_000))


def field_config(**defaults: Any) -> dict[str, Any]:
    """Return a field configuration with defaults only."""
    return {"defaults": defaults, "overrides": []}


def test_user_strings_are_only_text() -> None:
    """Names, units and texts of a hostile dashboard are escaped in SVG."""
    drawings = [
        draw_panel(
            "stat", frame(1, name=HOSTILE), fieldConfig=field_config(unit="suffix:<script>"), options={"textMode": "value_and_name"}
        ),
        draw_panel("text", options={"content": HOSTILE}),
        draw_panel("table", frame(1, name=HOSTILE)),
    ]
    assert all("<script" not in "".join(drawing.elements) for drawing in drawings)
    assert colour_of(HOSTILE, THEMES["dark"]) is None


def test_numbers_are_reduced_mapped_and_coloured() -> None:
    """The text of a number depends on the calculation and mappings of the panel, and its colour on the thresholds."""
    thresholds = {"steps": [{"value": None, "color": "green"}, {"value": 3, "color": "red"}]}
    text = "".join(draw_panel("stat", frame(1, 5, None), fieldConfig=field_config(unit="percent", thresholds=thresholds)).elements)
    assert ">5%<" in text
    assert "#f2495c" in text
    mean = draw_panel("stat", frame(1, 5), options={"reduceOptions": {"calcs": ["mean"]}}, fieldConfig=field_config(thresholds=thresholds))
    assert ">3<" in "".join(mean.elements)
    mappings = [{"type": "value", "options": {"1": {"text": "Up", "color": "blue"}}}]
    assert ">Up<" in "".join(draw_panel("stat", frame(1), fieldConfig=field_config(mappings=mappings)).elements)
    assert ">No data<" in "".join(draw_panel("stat").elements)


@pytest.mark.parametrize("panel_type", ["gauge", "bargauge"])
def test_gauges_show_their_values(panel_type: str) -> None:
    """Each of several gauges shows its value and its name."""
    svg = "".join(draw_panel(panel_type, frame(40, host="a"), frame(80, host="b"), fieldConfig=field_config(unit="percent")).elements)
    for text in (">40%<", ">80%<", ">a<", ">b<"):
        assert text in svg


def test_tables_show_rows_and_the_number_of_others() -> None:
    """A table shows the rows that fit, and the number of further rows."""
    texts = Field("name", FieldType.STRING, np.array([f"n{index}" for index in range(100)], dtype=object))
    text = "".join(draw_panel("table-old", Frame([texts, Field("v", FieldType.INT64, np.arange(100))])).elements)
    assert ">n0<" in text
    assert ">n99<" not in text
    assert "more rows" in text


def test_peaks_and_gaps_are_kept_by_downsampling() -> None:
    """Downsampling keeps the lowest and the highest point of each interval, and a gap for an interval without points."""
    values = np.zeros(100_000)
    values[54_321] = 99
    values[77_777] = -99
    values[10_000:20_000] = np.nan
    thinned = downsampled(PlotSeries("s", np.arange(100_000, dtype=float), values), MAX_POINTS)
    assert len(thinned.values) <= MAX_POINTS
    assert {np.nanmin(thinned.values), np.nanmax(thinned.values)} == {-99, 99}
    assert np.isnan(thinned.values).any()


def test_a_panel_without_data_shows_a_message() -> None:
    """A panel without frames, or without a required time column, shows a message."""
    with pytest.raises(NothingToDraw, match="No data"):
        draw_panel("timeseries")
    with pytest.raises(NothingToDraw, match="No time"):
        draw_panel("timeseries", Frame([Field("v", FieldType.FLOAT64, np.ones(1))]))


def test_layouts_with_elements_are_read() -> None:
    """The panels of a grid in a row are read with their positions and queries. A query names its data source by ``uid``."""
    query = {"kind": "DataQuery", "group": "prometheus", "datasource": {"name": "p"}, "spec": {"expr": "up"}}
    data = {"spec": {"queries": [{"spec": {"refId": "A", "query": query}}]}}
    element = {"spec": {"id": 7, "title": "E", "vizConfig": {"kind": "VizConfig", "group": "stat", "spec": {}}, "data": data}}
    item = {"spec": {"x": 6, "y": 0, "width": 6, "height": 4, "element": {"name": "e"}}}
    grid = {"kind": "GridLayout", "spec": {"items": [item]}}
    rows = {"kind": "RowsLayout", "spec": {"rows": [{"spec": {"title": "R", "layout": grid}}]}}
    catalog = Catalog([CatalogEntry("p", "P", "prometheus")])
    panels = read_dashboard({"elements": {"e": element}, "layout": rows}, catalog=catalog).panels
    assert [(panel.type, panel.title, panel.position.x, panel.position.y) for panel in panels] == [("row", "R", 0, 0), ("stat", "E", 6, 1)]
    stat = panels[1]
    assert stat.targets[0] == {"expr": "up", "refId": "A", "hide": False, "datasource": {"type": "prometheus", "uid": "p"}}


def test_invalid_parts_of_a_dashboard_are_ignored() -> None:
    """Invalid parts are omitted and never an error."""
    invalid_parts: list[Any] = [
        None,
        3,
        "x",
        [],
        {"type": 3, "gridPos": "no", "targets": {}, "fieldConfig": []},
        {"gridPos": {"x": 1e300, "w": -4}},
    ]
    # The two objects are panels, although their members are invalid.
    assert len(read_dashboard({"panels": invalid_parts, "templating": 4, "time": [], "title": 9}).panels) == 2


WRONG_VALUES = st.sampled_from(
    [None, True, -1, 1e308, -1e308, 5e-324, 10**400, "", "nan", "1e999", "bytes", "percent", [], {}, [1], {"a": 1}, HOSTILE]
)
STEPS = [{"value": None, "color": "green"}, {"value": 5, "color": "red"}]
#: Valid settings of fields, some of which a test replaces.
SETTINGS: dict[str, Any] = {
    "unit": "bytes",
    "min": 0,
    "max": 10,
    "decimals": 1,
    "thresholds": {"mode": "percentage", "steps": STEPS},
    "mappings": [{"type": "range", "options": {"from": 1, "to": 2, "result": {"text": "a"}}}],
    "custom": {"thresholdsStyle": {"mode": "line+area"}, "stacking": {"mode": "percent"}, "fillOpacity": 9, "lineWidth": 2},
}


@given(
    panel_type=st.sampled_from(sorted(DRAW_FUNCTIONS)),
    names=st.sets(st.sampled_from(sorted(SETTINGS))),
    wrong_value=WRONG_VALUES,
    options=WRONG_VALUES,
    width=st.integers(200, 900),
)
@example(panel_type="bargauge", names={"max"}, wrong_value=5e-324, options=None, width=242)  # half of the smallest positive number is 0
def test_no_setting_of_a_panel_breaks_a_picture(panel_type: str, names: set[str], wrong_value: Any, options: Any, width: int) -> None:
    """A panel with settings of any shape is drawn, or shows a message."""
    settings = SETTINGS | dict.fromkeys(names, wrong_value)
    spec = {
        "panels": [{"type": panel_type, "options": options, "gridPos": {"x": 3, "w": wrong_value}, "fieldConfig": field_config(**settings)}]
    }
    for box in lay_out(read_dashboard(spec).panels, width, None, is_single_panel=False).boxes:
        for frames in ([], [frame()], [frame(None)], [frame(1, 2, None), frame(1e308, -1e308, 5e-324)]):
            with contextlib.suppress(NothingToDraw):
                DRAW_FUNCTIONS[panel_type](PanelProps(box.panel, frames, *box.content_size, THEMES["light"], 0, 600_000))


def test_panels_are_laid_out_in_the_grid() -> None:
    """Panels are laid out in 24 columns over the width, and move up as far as possible.

    At most 60 panels are drawn, and the others are counted.
    """

    def panel_at(x: int, y: int) -> Panel:
        """Return a panel of half of the width."""
        return read_dashboard({"panels": [{"type": "stat", "gridPos": {"x": x, "y": y, "w": 12, "h": 4}}]}).panels[0]

    # The width is 24 columns of 42 pixels, 25 gaps of 8 pixels between and around them.
    layout = lay_out([panel_at(0, 0), panel_at(12, 0), panel_at(0, 50)], 1208, None, is_single_panel=False)
    assert [(box.x, box.y, box.width, box.height) for box in layout.boxes] == [(8, 36, 592, 144), (608, 36, 592, 144), (8, 188, 592, 144)]
    assert lay_out([panel_at(0, 4 * index) for index in range(70)], 1000, None, is_single_panel=False).omitted_count == 70 - MAX_PANELS
