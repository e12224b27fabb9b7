"""Entries of the legend of a time series panel: names with calculated values, in the configured order."""

import math
from collections.abc import Sequence
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_of, string_of
from dashwright.expressions.calculations.table import Calculation, known_calculations
from dashwright.expressions.javascript.sorting import collation_key
from dashwright.expressions.pictures.panels.legend import NAME_COLUMN, LegendEntry
from dashwright.expressions.pictures.plots.plotted import PlottedSeries
from dashwright.expressions.pictures.style import Style

#: The maximum number of calculations in a legend. Further ones in its options are ignored.
_MAX_CALCULATIONS: Final = 12
#: The maximum number of results that are shown for a calculation with several results.
_MAX_LISTED: Final = 20


def legend_entries(plotted: Sequence[PlottedSeries], options: Any, right_scales: frozenset[Any]) -> tuple[list[LegendEntry], list[str]]:
    """Return the entries of a legend, and the titles of its columns of values. Without the display mode ``table``, it has no columns.

    ``right_scales`` are the keys of the scales whose axes are at the right.
    """
    legend = object_of(options)
    is_table = legend.get("displayMode") == "table"
    calculations = known_calculations(list_of(legend.get("calcs")))[:_MAX_CALCULATIONS]
    titles = [calculation.name for calculation in calculations]
    rows = []
    for series in plotted:
        if series.look.is_in_legend:
            name = f"{series.name} (right y-axis)" if series.scale in right_scales and not series.look.is_hidden else series.name
            # A series without a column of a frame, such as one of totals, has no source and so no results.
            source = series.series.source
            results = [source.calculated(calculation) if source else None for calculation in calculations]
            rows.append((series, name, results))
    if is_table and (key := string_of(legend.get("sortBy"))):
        position = titles.index(key) if key in titles else None
        if position is not None or key == NAME_COLUMN:
            rows.sort(key=lambda row: _sort_key(row[1], row[2], position), reverse=legend.get("sortDesc") is True)
    entries = []
    for series, name, results in rows:
        texts = [result_text(series.style, calculation, result) for calculation, result in zip(calculations, results, strict=True)]
        values = texts if is_table else [f"{title}: {text}" for title, text in zip(titles, texts, strict=True)]
        entries.append(LegendEntry(name, series.colour, values, is_disabled=series.look.is_hidden))
    return entries, titles if is_table else []


def result_text(style: Style, calculation: Calculation, result: Any) -> str:
    """Return the result of a calculation as text, in the unit of the values unless the calculation has one of its own."""
    if isinstance(result, list):
        return ", ".join(result_text(style, calculation, value) for value in result[:_MAX_LISTED])
    if calculation.unit is not None:
        config = {**style.config, "unit": calculation.unit}
        # The configured decimals are for the values. They fit a percentage, but not a count.
        if calculation.unit != "percent":
            config["decimals"] = None
        style = Style(config, style.theme)
    return str(style.processor.display(result if isinstance(result, int | float) else None))


def _sort_key(name: str, results: Sequence[Any], position: int | None) -> tuple[Any, ...]:
    """Return the sort key of a row by its column at ``position``, or by its name. Numbers in names are sorted by their values."""
    if position is not None:
        result = results[position]
        return (result if isinstance(result, int | float) and not math.isnan(result) else -math.inf,)
    return tuple(collation_key(name, is_numeric=True))
