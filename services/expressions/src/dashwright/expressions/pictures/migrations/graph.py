"""Migration of graphs to time series, bar charts, bar gauges and histograms."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import list_of, number_of, object_of, objects_of, string_of
from dashwright.expressions.pictures.migrations.members import CALCULATIONS, colour_overrides, fixed_colour, override, successor

#: Further overrides, and further thresholds, of a graph are ignored.
_MAX_OVERRIDES: Final = 500
_MAX_CALCULATIONS: Final = 20
#: The default length of dashes and of gaps between them.
_DEFAULT_DASH: Final = 10
#: The fill of a graph is in tenths, that of a time series in percent.
_FILL_FACTOR: Final = 10
#: The setting ``spanNulls`` of a time series for each ``nullPointMode`` of a graph.
_NULL_SPANS: Final = {"connected": True, "null": False, "null as zero": False}
#: The colour of each ``colorMode`` of an old threshold.
_COLOURS: Final = {"critical": "red", "warning": "orange", "ok": "green"}
#: The calculations of a legend in the order of its columns.
_LEGEND_ORDER: Final = ("min", "max", "avg", "current", "total")
#: The titles of columns of a legend, by which it can be sorted.
_TITLES: Final = {"min": "Min", "max": "Max", "avg": "Mean", "current": "Last *", "total": "Total"}


def migrate_graph(panel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the successor of a graph, which depends on the meaning of its horizontal axis."""
    axis, legend = object_of(panel.get("xaxis")), object_of(panel.get("legend"))
    if axis.get("mode") == "series":
        return _of_series(panel, axis, has_values=legend.get("values") is True)
    if axis.get("mode") == "histogram":
        return successor(panel, "histogram", {"bucketCount": axis.get("buckets"), "combine": True}, {"unit": _axes(panel)[0].get("format")})
    left, _ = _axes(panel)
    null_mode = panel.get("nullPointMode")
    defaults = {
        **_axis_settings(left),
        "decimals": left.get("decimals", panel.get("decimals")),
        "noValue": "0" if null_mode == "null as zero" else None,
        "color": {"mode": "palette-classic"},
        **_thresholds(objects_of(panel.get("thresholds"))),
    }
    defaults["custom"] = {
        **_look(panel, is_default=True),
        **_axis_custom(left),
        "spanNulls": _NULL_SPANS.get(string_of(null_mode), False),
        "stacking": _stacking(panel),
        **object_of(defaults.get("custom")),
    }
    rules = objects_of(panel.get("seriesOverrides"))[:_MAX_OVERRIDES]
    overrides = [*colour_overrides(panel.get("aliasColors")), *(_override(panel, rule) for rule in rules)]
    return successor(panel, "timeseries", {"legend": _legend(legend)}, defaults, overrides)


def _of_series(panel: Mapping[str, Any], axis: Mapping[str, Any], *, has_values: bool) -> dict[str, Any]:
    """Return the bar gauge or bar chart that replaces a graph with a bar for each series."""
    calculations = [CALCULATIONS.get(string_of(name), "lastNotNull") for name in list_of(axis.get("values"))[:_MAX_CALCULATIONS]] or [
        "lastNotNull"
    ]
    defaults, overrides = {"unit": _axes(panel)[0].get("format")}, colour_overrides(panel.get("aliasColors"))
    if has_values:
        return successor(panel, "bargauge", {"reduceOptions": {"calcs": calculations[:1]}}, defaults, overrides)
    reduction = {"id": "reduce", "options": {"reducers": calculations}}
    changed = successor(panel, "barchart", {}, defaults, overrides)
    return {**changed, "transformations": [reduction, *objects_of(panel.get("transformations"))]}


def _axes(panel: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the left and the right axis."""
    axes = objects_of(panel.get("yaxes"))
    return (axes[0] if axes else {}), (axes[1] if len(axes) > 1 else {})


def _axis_settings(axis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a field configuration for an axis."""
    return {"unit": axis.get("format"), "min": number_of(axis.get("min")), "max": number_of(axis.get("max"))}


def _axis_custom(axis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the custom settings of a field configuration for an axis."""
    base = number_of(axis.get("logBase"))
    return {
        **({"scaleDistribution": {"type": "log", "log": int(base)}} if base in (2, 10) else {}),
        **({"axisLabel": axis["label"]} if isinstance(axis.get("label"), str) else {}),
        **({"axisPlacement": "hidden"} if axis.get("show") is False else {}),
    }


def _look(source: Mapping[str, Any], *, is_default: bool) -> dict[str, Any]:
    """Return the custom settings of a graph (``is_default``), or of one of its overrides, with only what the override sets."""
    look: dict[str, Any] = {}
    if is_default or not {"bars", "lines", "points"}.isdisjoint(source):
        has_lines = source.get("lines", True) is not False
        if source.get("bars") is True or has_lines or source.get("points") is True:
            look["drawStyle"] = "bars" if source.get("bars") is True else "line" if has_lines else "points"
        look["showPoints"] = "always" if source.get("points") is True else "never"
    fill, gradient = number_of(source.get("fill")), number_of(source.get("fillGradient"))
    if fill is not None or is_default:
        look["fillOpacity"] = min(max((fill or 0) * _FILL_FACTOR, 0), 100)
    # Graphs fill bars completely.
    if look.get("drawStyle") == "bars":
        look["fillOpacity"] = 100
    if gradient:
        look |= {"gradientMode": "opacity", "fillOpacity": min(gradient * _FILL_FACTOR, 100)}
    if (width := number_of(source.get("linewidth"))) is not None:
        look["lineWidth"] = width
    if (radius := number_of(source.get("pointradius"))) is not None:
        # As in Grafana's migration; a size is a diameter.
        look["pointSize"] = 2 + 2 * radius
    if "steppedLine" in source:
        look["lineInterpolation"] = "stepAfter" if source.get("steppedLine") is True else "linear"
    if source.get("dashes") is True:
        lengths = [number_of(source.get(name)) or _DEFAULT_DASH for name in ("dashLength", "spaceLength")]
        look["lineStyle"] = {"fill": "dash", "dash": lengths}
    return look


def _stacking(panel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting of stacking. ``A`` is the group of all series without one of their own, as in Grafana."""
    if panel.get("stack") is not True:
        return {"mode": "none", "group": "A"}
    return {"mode": "percent" if panel.get("percentage") is True else "normal", "group": "A"}


def _override(panel: Mapping[str, Any], rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the override for an old rule, which selects series by name or by a pattern."""
    properties: dict[str, Any] = {f"custom.{name}": value for name, value in _look(rule, is_default=False).items()}
    if isinstance(rule.get("color"), str):
        properties["color"] = fixed_colour(rule["color"])
    # The second axis is the right one.
    if rule.get("yaxis") == 2:
        right = _axes(panel)[1]
        properties |= {name: value for name, value in _axis_settings(right).items() if value is not None}
        properties |= {f"custom.{name}": value for name, value in _axis_custom(right).items()}
        properties.setdefault("custom.axisPlacement", "right")
    if rule.get("stack") is False:
        properties["custom.stacking"] = {"mode": "none", "group": "A"}
    elif "stack" in rule:
        group = rule["stack"] if isinstance(rule["stack"], str) else "A"
        properties["custom.stacking"] = {"mode": "percent" if panel.get("percentage") is True else "normal", "group": group}
    if rule.get("transform") in ("negative-Y", "constant"):
        properties["custom.transform"] = rule["transform"]
    if isinstance(rule.get("fillBelowTo"), str):
        properties["custom.fillBelowTo"] = rule["fillBelowTo"]
    if (spans_nulls := _NULL_SPANS.get(string_of(rule.get("nullPointMode")))) is not None:
        properties["custom.spanNulls"] = spans_nulls
    hidden_from = {"legend": rule.get("legend") is False, "viz": rule.get("hiddenSeries") is True}
    if any(hidden_from.values()):
        properties["custom.hideFrom"] = hidden_from
    return override(string_of(rule.get("alias")), properties)


def _legend(legend: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the legend of a time series."""
    calculations = [name for name in _LEGEND_ORDER if legend.get("values") is True and legend.get(name) is True]
    options: dict[str, Any] = {
        "showLegend": legend.get("show") is not False,
        "displayMode": "table" if legend.get("alignAsTable") is True else "list",
        "placement": "right" if legend.get("rightSide") is True else "bottom",
        "calcs": [CALCULATIONS[name] for name in calculations],
    }
    if number_of(legend.get("sideWidth")):
        options["width"] = legend["sideWidth"]
    if title := _TITLES.get(string_of(legend.get("sort"))):
        options |= {"sortBy": title, "sortDesc": legend.get("sortDesc") is True}
    return options


def _thresholds(rules: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the thresholds of old rules with the style of their marks. Values to which no rule applies are transparent."""
    steps: list[dict[str, Any]] = [{"value": None, "color": "transparent"}]
    has_area = has_line = False
    numbered_rules = [(number, rule) for rule in rules[:_MAX_OVERRIDES] if (number := number_of(rule.get("value"))) is not None]
    for value, rule in sorted(numbered_rules, key=lambda numbered_rule: numbered_rule[0]):
        colour = _COLOURS.get(string_of(rule.get("colorMode"))) or rule.get("fillColor") or rule.get("lineColor") or "red"
        has_area, has_line = has_area or rule.get("fill") is True, has_line or rule.get("line") is True
        # A step colours the values above it, so the colour of a rule for lower values belongs to the step before it.
        if rule.get("op") == "lt":
            steps[-1]["color"] = colour
            steps.append({"value": value, "color": "transparent"})
        else:
            steps.append({"value": value, "color": colour})
    if len(steps) == 1 or not (has_area or has_line):
        return {}
    mode = "line+area" if has_area and has_line else "area" if has_area else "line"
    return {"thresholds": {"mode": "absolute", "steps": steps}, "custom": {"thresholdsStyle": {"mode": mode}}}
