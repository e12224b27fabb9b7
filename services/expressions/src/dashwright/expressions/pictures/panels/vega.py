"""Parts of Vega-Lite specs that panels of several types share.

User text appears only in ``values`` and in lists of names, so that it is never interpreted as a Vega expression.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import object_of
from dashwright.expressions.pictures.panels.drawing import PanelProps
from dashwright.expressions.pictures.svg import text_width
from dashwright.expressions.pictures.theme import FONT

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
# Of legends, in pixels.
_LEGEND_FONT_SIZE: Final = 11
_LEGEND_ROW_HEIGHT: Final = 15
_SYMBOL_WIDTH: Final = 26
_MAX_LABEL_WIDTH: Final = 320


def chart(props: PanelProps, layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the Vega-Lite spec of a chart with these layers, in the size of the panel."""
    theme = props.theme
    return {
        "$schema": SCHEMA,
        "width": int(props.width),
        "height": int(props.height),
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
            "legend": {"labelColor": theme.text, "title": None, "labelFontSize": _LEGEND_FONT_SIZE, "rowPadding": 2, "columnPadding": 12},
        },
    }


def colours(props: PanelProps, names: Sequence[str], colour_codes: Sequence[str]) -> dict[str, Any]:
    """Return the encoding of series by colour. It has a legend unless the legend is hidden or the panel is too small for one."""
    return {
        "field": "s",
        "type": "nominal",
        "scale": {"domain": list(names), "range": list(colour_codes)},
        "legend": _legend(props, names),
    }


def _legend(props: PanelProps, names: Sequence[str]) -> dict[str, Any] | None:
    legend = object_of(props.panel.options.get("legend"))
    is_hidden = legend.get("showLegend") is False or legend.get("displayMode") == "hidden"
    is_panel_too_small = props.height < 110 or props.width < 160
    if is_hidden or is_panel_too_small:
        return None
    is_on_the_right = legend.get("placement") == "right" and props.width > 360
    available_width = props.width * 0.35 if is_on_the_right else props.width - 60
    max_label_width = min(_MAX_LABEL_WIDTH, available_width - _SYMBOL_WIDTH)
    label_width = min(max(text_width(name, _LEGEND_FONT_SIZE) for name in names), max_label_width)
    columns = 1 if is_on_the_right else max(1, min(len(names), int(available_width // (label_width + _SYMBOL_WIDTH))))
    rows = int((props.height - 30 if is_on_the_right else props.height * 0.34) // _LEGEND_ROW_HEIGHT)
    return {
        "orient": "right" if is_on_the_right else "bottom",
        "direction": "vertical" if is_on_the_right else "horizontal",
        "columns": columns,
        "labelLimit": int(label_width) + 8,
        "symbolLimit": max(1, rows) * columns,
        "symbolType": "square",
        "symbolSize": 110,
    }
