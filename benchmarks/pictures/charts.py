"""The charts of V1 to V3 as a dashboard for Dashwright, and as Vega-Lite specs for the reference, vl-convert.

``python -m benchmarks.pictures.charts COUNT`` prints the seconds that vl-convert takes for its first conversion in a process.
"""

import json
import sys
import time
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import vl_convert

from benchmarks.sources.workload import PROMETHEUS, START, STEP, WALK
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.pictures.composition import compose
from dashwright.expressions.pictures.dashboard import read_dashboard
from dashwright.expressions.pictures.layout import PictureLayout, lay_out
from dashwright.expressions.pictures.outcomes import PanelOutcome, State
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.drawing import PanelProps
from dashwright.expressions.pictures.theme import THEMES

#: Points of each chart.
POINTS: Final = 1_200
#: The width of the picture in pixels.
WIDTH: Final = 1_000
#: The end of the time range, in seconds since 1970.
END: Final = START + STEP * (POINTS - 1)
_THEME: Final = THEMES["dark"]
#: Pixels of axes and titles, which Vega-Lite adds to the given size of a chart.
_AXES_PIXELS: Final = 50


def dashboard(count: int) -> dict[str, Any]:
    """Return a dashboard of time series panels, three in a row.

    Their queries contain the variable ``run``, so that a request can change the text of all queries.
    """
    source = {"type": "prometheus", "uid": PROMETHEUS}
    panels = [
        {
            "id": number + 1,
            "type": "timeseries",
            "title": f"Load of node {number}",
            "gridPos": {"x": number % 3 * 8, "y": number // 3 * 8, "w": 8, "h": 8},
            "datasource": source,
            "maxDataPoints": POINTS,
            "interval": f"{STEP}s",
            "targets": [{"refId": "A", "datasource": source, "expr": f"{WALK}_1 > -$run.{number + 100}", "range": True}],
        }
        for number in range(count)
    ]
    variable = {"name": "run", "type": "textbox", "query": "1", "current": {"text": "1", "value": "1"}}
    return {
        "uid": f"charts-{count}",
        "title": f"{count} charts",
        "schemaVersion": 41,
        "time": {"from": _iso_time(START), "to": _iso_time(END)},
        "panels": panels,
        "templating": {"list": [variable]},
    }


def layout(count: int) -> PictureLayout:
    """Return the layout of the dashboard."""
    return lay_out(read_dashboard(dashboard(count)).panels, WIDTH, None, is_single_panel=False)


def draw_svg(picture_layout: PictureLayout) -> str:
    """Return the SVG of a dashboard, drawn from frames as the worker draws the results of queries."""
    times = np.arange(START, END + 1, STEP, dtype=np.int64) * 1_000_000_000
    outcomes = []
    for number, box in enumerate(picture_layout.boxes):
        frame = Frame([Field("Time", FieldType.TIME, times), Field("Value", FieldType.FLOAT64, _values(number))], ref_id="A")
        drawing = DRAW_FUNCTIONS[box.panel.type](
            PanelProps(box.panel, [frame], *box.content_size, _THEME, START * 1000, END * 1000),
        )
        outcomes.append(PanelOutcome("".join(drawing.elements), State.DRAWN, is_contained=drawing.is_contained))
    time_range = TimeRange(datetime.fromtimestamp(START, UTC), datetime.fromtimestamp(END, UTC))
    return compose(picture_layout, outcomes, _THEME, f"{len(outcomes)} charts", time_range)


def vega_lite_specs(picture_layout: PictureLayout) -> list[str]:
    """Return a Vega-Lite spec with data for each panel of a layout."""
    return [json.dumps(_spec(number, *box.content_size)) for number, box in enumerate(picture_layout.boxes)]


def convert(specs: list[str]) -> None:
    """Convert each Vega-Lite spec to a PNG."""
    for spec in specs:
        vl_convert.vegalite_to_png(spec)


def _spec(number: int, width: float, height: float) -> dict[str, Any]:
    """Return the Vega-Lite spec of a line chart with the title and the values of a panel."""
    times = range(START * 1000, END * 1000 + 1, STEP * 1000)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": width - _AXES_PIXELS,
        "height": height - _AXES_PIXELS,
        "title": f"Load of node {number}",
        "data": {"values": [{"time": time, "value": value} for time, value in zip(times, _values(number).tolist(), strict=True)]},
        "mark": "line",
        "encoding": {"x": {"field": "time", "type": "temporal"}, "y": {"field": "value", "type": "quantitative"}},
    }


def _values(number: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return a random walk like those of the stub of Prometheus."""
    return np.cumsum(np.random.default_rng(number).uniform(-1, 1, POINTS))


def _iso_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def main() -> None:
    """Print the seconds of the first conversion."""
    specs = vega_lite_specs(layout(int(sys.argv[1])))
    started = time.perf_counter()
    convert(specs)
    print(time.perf_counter() - started)


if __name__ == "__main__":
    main()
