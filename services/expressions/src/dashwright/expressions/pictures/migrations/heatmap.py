"""Migration of heat maps that have their settings next to their options."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.pictures.migrations.members import successor

#: The members that only old heat maps have.
_OLD_MEMBERS: Final = frozenset({"dataFormat", "cards", "heatmap", "highlightCards", "yBucketBound"})
#: The layout of rows for each ``yBucketBound``: names of buckets are upper bounds, lower bounds or neither.
_LAYOUTS: Final = {"upper": "le", "lower": "ge", "middle": "unknown"}
#: The number of colours, which old heat maps did not configure.
_STEPS: Final = 128


def migrate_heatmap(panel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the heat map with its settings as options; a new heat map is returned as it is."""
    if _OLD_MEMBERS.isdisjoint(panel):
        return dict(panel)
    colours, axis, cards = (object_of(panel.get(name)) for name in ("color", "yAxis", "cards"))
    padding = number_of(cards.get("cardPadding"))
    options = {
        "calculate": panel.get("dataFormat") != "tsbuckets",
        "calculation": {"xBuckets": _buckets(panel, "x"), "yBuckets": {**_buckets(panel, "y"), **_scale(axis)}},
        "color": _colours(colours),
        "cellGap": 2 if padding is None else padding,
        "legend": {"show": object_of(panel.get("legend")).get("show") is True},
        "rowsFrame": {"layout": _LAYOUTS.get(string_of(panel.get("yBucketBound")), "auto")},
        "yAxis": {
            "unit": axis.get("format"),
            "decimals": axis.get("decimals"),
            "reverse": panel.get("reverseYBuckets") is True,
            "axisPlacement": "hidden" if axis.get("show") is False else "left",
        },
        # Cells with values up to this one are hidden. Counts are never as low as -1e9.
        "filterValues": {"le": 1e-9 if panel.get("hideZeroBuckets") is True else -1e9},
    }
    return successor(panel, "heatmap", options, {})


def _buckets(panel: Mapping[str, Any], axis: str) -> dict[str, Any]:
    """Return the settings of the buckets of an axis: their size if it is configured, or else their number."""
    size, number = panel.get(f"{axis}BucketSize"), panel.get(f"{axis}BucketNumber")
    if size:
        return {"mode": "size", "value": str(size)}
    return {"mode": "count", "value": str(number)} if number else {}


def _scale(axis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scale of calculated rows. On a logarithmic scale, each power of the base may have several rows."""
    base = number_of(axis.get("logBase"))
    if base not in (2, 10):
        return {}
    splits = number_of(axis.get("splitFactor"))
    return {"mode": "size", "value": str(splits or 1), "scale": {"type": "log", "log": int(base)}}


def _colours(colours: Mapping[str, Any]) -> dict[str, Any]:
    """Return the option ``color`` for the colours of an old heat map: one colour by opacity, or a scheme."""
    common = {"min": colours.get("min"), "max": colours.get("max"), "steps": _STEPS}
    if colours.get("mode") == "opacity":
        scale = "linear" if colours.get("colorScale") == "linear" else "exponential"
        return {**common, "mode": "opacity", "fill": colours.get("cardColor"), "scale": scale, "exponent": colours.get("exponent")}
    return {**common, "mode": "scheme", "scheme": string_of(colours.get("colorScheme")).removeprefix("interpolate")}
