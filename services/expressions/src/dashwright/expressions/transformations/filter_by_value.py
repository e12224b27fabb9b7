"""Filter of rows by the values of columns."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import DataFrame, Frames
from dashwright.expressions.transformations.matchers.cells import cell_matcher
from dashwright.expressions.transformations.names import DisplayNames


def filter_by_value(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the rows for which ``any`` or ``all`` filters match, or the other rows if ``type`` is ``exclude``."""
    filters = objects_of(options.get("filters"))
    if not filters:
        return frames
    combine = all if options.get("match") == "all" else any
    is_included = options.get("type", "include") == "include"
    names = DisplayNames(frames)
    known_names = {name for frame in frames for name in names.of_frame(frame)}
    names_and_configs = [(string_of(filter_.get("fieldName")), object_of(filter_.get("config"))) for filter_ in filters]
    # Grafana does not read the conditions of columns that do not exist.
    conditions = [(name, cell_matcher(config) if name in known_names else _no_match) for name, config in names_and_configs]

    def filtered(frame: DataFrame) -> DataFrame:
        columns = dict(zip(names.of_frame(frame), frame.columns, strict=True))
        tests = [_test(columns[name].values, matches) if name in columns else _never for name, matches in conditions]
        context.step(frame.row_count * len(tests))
        are_matches = [combine(test(row) for test in tests) for row in range(frame.row_count)]
        rows = [row for row, is_match in enumerate(are_matches) if (is_match if is_included else not is_match)]
        frame_with_rows = frame.with_rows(rows)
        return frame_with_rows.with_columns([replace(column, known_name=None) for column in frame_with_rows.columns])

    return [filtered(frame) for frame in frames]


def _test(values: Any, matches: Callable[[Any], bool]) -> Callable[[int], bool]:
    return lambda row: matches(values[row])


def _no_match(_value: Any) -> bool:
    return False


def _never(_row: int) -> bool:
    return False
