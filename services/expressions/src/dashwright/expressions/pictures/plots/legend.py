"""Entries of the legend of a time series panel: names with calculated values, sorted as its options demand."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_of, string_of
from dashwright.expressions.pictures.panels.swatches import LegendEntry
from dashwright.expressions.pictures.plots.plotted import PlottedSeries
from dashwright.expressions.pictures.series import reduced_value
from dashwright.expressions.pictures.style import Style

_MAX_CALCULATIONS: Final = 12
_NAME_COLUMN: Final = "Name"
#: The titles of calculations in legends, by id.
_TITLES: Final = {
    "lastNotNull": "Last *",
    "current": "Last *",
    "last": "Last",
    "firstNotNull": "First *",
    "first": "First",
    "min": "Min",
    "max": "Max",
    "mean": "Mean",
    "avg": "Mean",
    "sum": "Total",
    "total": "Total",
    "count": "Count",
    "range": "Range",
    "delta": "Delta",
    "step": "Step",
    "diff": "Difference",
    "logmin": "Min (above zero)",
    "allIsZero": "All Zeros",
    "allIsNull": "All Nulls",
    "changeCount": "Change Count",
    "distinctCount": "Distinct Count",
    "diffperc": "Difference percent",
    "allValues": "All values",
    "uniqueValues": "All unique values",
    "stdDev": "StdDev",
    "variance": "Variance",
    "median": "Median",
}
_PERCENTILE: Final = re.compile(r"p(\d{1,2})")
#: Settings that replace those of the style for calculations whose results have another unit than the values.
_UNITS: Final[Mapping[str, Mapping[str, Any]]] = {
    "count": {"unit": "none", "decimals": 0},
    "distinctCount": {"unit": "none", "decimals": 0},
    "changeCount": {"unit": "none", "decimals": 0},
    "diffperc": {"unit": "percent"},
}


def legend_entries(plotted: Sequence[PlottedSeries], options: Any, right_scales: frozenset[Any]) -> tuple[list[LegendEntry], list[str]]:
    """Return the entries of a legend, and the titles of the columns with their values; none for a list.

    ``right_scales`` are the keys of the scales whose axes are at the right.
    """
    legend = object_of(options)
    is_table = legend.get("displayMode") == "table"
    calculations = [name for name in list_of(legend.get("calcs")) if isinstance(name, str) and title_of(name)][:_MAX_CALCULATIONS]
    titles = [title_of(calculation) for calculation in calculations]
    rows = []
    for each in plotted:
        if each.look.is_in_legend:
            name = f"{each.name} (right y-axis)" if each.scale in right_scales and not each.look.is_hidden else each.name
            results = [reduced_value(each.series.values, calculation) for calculation in calculations]
            rows.append((each, name, results))
    if is_table and (key := string_of(legend.get("sortBy"))):
        position = titles.index(key) if key in titles else None
        if position is not None or key == _NAME_COLUMN:
            rows.sort(key=lambda row: _sort_key(row[1], row[2], position), reverse=legend.get("sortDesc") is True)
    entries = []
    for each, name, results in rows:
        texts = [result_text(each.style, calculation, result) for calculation, result in zip(calculations, results, strict=True)]
        values = texts if is_table else [f"{title}: {text}" for title, text in zip(titles, texts, strict=True)]
        entries.append(LegendEntry(name, each.colour, values, is_disabled=each.look.is_hidden))
    return entries, titles if is_table else []


def title_of(calculation: str) -> str:
    """Return the title of a calculation; empty if it is unknown."""
    if match := _PERCENTILE.fullmatch(calculation):
        number = int(match[1])
        ending = "th" if number // 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        return f"{number}{ending} %"
    return _TITLES.get(calculation, "")


def result_text(style: Style, calculation: str, result: float | None) -> str:
    """Return the result of a calculation as text, in the unit of the values unless it is a count or a share."""
    if result is None:
        return ""
    settings = _UNITS.get(calculation)
    return (Style({**style.config, **settings}, style.theme) if settings else style).format_value(result)


def _sort_key(name: str, results: Sequence[float | None], position: int | None) -> tuple[Any, ...]:
    """Return the key of a row for its column at ``position``, or for its name, in which numbers are in order of their values."""
    if position is not None:
        result = results[position]
        return (-math.inf if result is None else result,)
    parts = re.split(r"(\d+)", name.casefold())
    return tuple((0, int(part[:18]), "") if part.isdecimal() else (1, 0, part) for part in parts if part)
