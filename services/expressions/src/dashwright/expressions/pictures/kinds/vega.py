"""Common parts of charts drawn by Vega-Lite.

User text appears only in ``values`` and in lists of names, so that it is never interpreted as a Vega expression.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.expressions.pictures.kinds.drawing import Sheet
from dashwright.expressions.pictures.svg import width_of
from dashwright.expressions.pictures.theme import FONT

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_LEGEND_SIZE: Final = 11
_ROW: Final = 15
_SYMBOL: Final = 26
_LONGEST_LABEL: Final = 320


def chart(sheet: Sheet, layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the spec of a chart with layers."""
    theme = sheet.theme
    return {
        "$schema": SCHEMA,
        "width": int(sheet.width),
        "height": int(sheet.height),
        "padding": 4,
        "autosize": {"type": "fit", "contains": "padding"},
        "background": None,
        "layer": list(layers),
        "config": {
            "aria": False,
            "font": FONT,
            "view": {"stroke": None},
            "axis": {
                "labelColor": theme.muted,
                "titleColor": theme.muted,
                "gridColor": theme.grid,
                "domain": False,
                "ticks": False,
                "labelFontSize": 11,
                "labelPadding": 6,
            },
            "legend": {"labelColor": theme.text, "title": None, "labelFontSize": _LEGEND_SIZE, "rowPadding": 2, "columnPadding": 12},
        },
    }


def colours(sheet: Sheet, names: Sequence[str], codes: Sequence[str], *, as_lines: bool = True) -> dict[str, Any]:
    """Return the encoding of series by colour, with a legend if there is room for one."""
    return {
        "field": "s",
        "type": "nominal",
        "scale": {"domain": list(names), "range": list(codes)},
        "legend": _legend(sheet, names, "stroke" if as_lines else "square"),
    }


def _legend(sheet: Sheet, names: Sequence[str], symbol: str) -> dict[str, Any] | None:
    legend = sheet.panel.options.get("legend")
    legend = legend if isinstance(legend, dict) else {}
    if legend.get("showLegend") is False or legend.get("displayMode") == "hidden" or sheet.height < 110 or sheet.width < 160:
        return None
    on_the_right = legend.get("placement") == "right" and sheet.width > 360
    room = sheet.width * 0.35 if on_the_right else sheet.width - 60
    most = min(_LONGEST_LABEL, room - _SYMBOL)
    widest = min(max(width_of(name, _LEGEND_SIZE) for name in names), most)
    columns = 1 if on_the_right else max(1, min(len(names), int(room // (widest + _SYMBOL))))
    rows = int((sheet.height - 30 if on_the_right else sheet.height * 0.34) // _ROW)
    return {
        "orient": "right" if on_the_right else "bottom",
        "direction": "vertical" if on_the_right else "horizontal",
        "columns": columns,
        "labelLimit": int(widest) + 8,
        "symbolLimit": max(1, rows) * columns,
        "symbolType": symbol,
        "symbolStrokeWidth": 3,
        "symbolSize": 110,
    }
