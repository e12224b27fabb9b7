"""Configurations of fields from the result of a query."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dashwright.common.json_shapes import object_at, object_of, objects_of
from dashwright.expressions.calculations.table import calculation_of
from dashwright.expressions.javascript.comparisons import difference
from dashwright.expressions.javascript.sorting import sorted_by
from dashwright.expressions.javascript.values import key_of
from dashwright.expressions.transformations.config_mapping import ColumnMapping, config_of, map_columns
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Column, DataFrame, Frames
from dashwright.expressions.transformations.matchers.fields import MatchedColumn, field_matcher
from dashwright.expressions.transformations.names import DisplayNames


def config_from_data(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the frames with settings from the frame of the query ``configRefId``, which is left out unless it is the only frame.

    The cells of that frame become settings, such as ``max`` or ``unit``, of the columns that ``applyTo`` matches. By default, these
    are all columns of numbers. Without a frame of that query, nothing changes.
    """
    source = next((frame for frame in frames if frame.ref_id == options.get("configRefId")), None)
    if source is None:
        return frames
    mapping = map_columns(source, options.get("mappings"), rows_are_fields=False)

    def setting_of(mapped: ColumnMapping) -> Any:
        return mapped.column.reduced(calculation_of(mapped.calculation))

    config = config_of(mapping, setting_of)
    matches = field_matcher(object_of(options.get("applyTo")) or {"id": "numeric"})
    names = DisplayNames(frames)

    def configured(column: Column, frame: DataFrame) -> Column:
        return replace(column, config=_merged(column.config, config)) if matches(MatchedColumn(column, frame, names)) else column

    # Grafana's frames lose their name and ``meta`` in this transformation, too.
    return [
        replace(frame, columns=[configured(column, frame) for column in frame.columns], name="", meta=None)
        for frame in frames
        if frame is not source or len(frames) == 1
    ]


def _merged(config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with settings added. The steps of thresholds of both are kept, in the order of their values."""
    merged = {**config, **settings}
    old, new = object_at(config, "thresholds").get("steps"), object_at(settings, "thresholds").get("steps")
    if isinstance(old, list) and isinstance(new, list):
        steps = sorted_by([*objects_of(old), *new], lambda left, right: difference(left.get("value"), right.get("value")))
        # Of steps with equal values the new one counts.
        last_of_each = {key_of(step.get("value")): step for step in steps}
        merged["thresholds"] = {**settings["thresholds"], "steps": list(last_of_each.values())}
    return merged
