"""Conversion of columns to other types."""

import re
from collections.abc import Callable, Mapping
from datetime import tzinfo
from math import isfinite
from typing import Any, Final

import orjson

from dashwright.common.json_shapes import list_of, object_of, objects_of, string_of
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, is_number, is_true, json_text, key_of, number_of, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.matchers.fields import MatchedColumn, named
from dashwright.expressions.transformations.moments import format_moment, parse_iso, parse_moment, whole_milliseconds, zone_of
from dashwright.expressions.transformations.names import DisplayNames

_ISO: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{3,})?(?:Z|[-+]\d{2}:?\d{2})")
_SECONDS_FORMAT: Final = "X"

#: Returns a column with another type. Its arguments are the column, the options of the conversion and the default time zone.
Conversion = Callable[[Column, Mapping[str, Any], tzinfo], Column]


def convert_field_type(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the frames with the columns ``targetField`` of each conversion converted to ``destinationType``."""
    for conversion in objects_of(options.get("conversions")):
        convert = _CONVERSIONS.get(string_of(conversion.get("destinationType")))
        target = string_of(conversion.get("targetField"))
        if convert is None or not target:
            continue
        frames = _converted(frames, convert, target, conversion, context)
    return frames


def _converted(frames: Frames, convert: Conversion, target: str, options: Mapping[str, Any], context: Context) -> Frames:
    matches, names = named(target), DisplayNames(frames)

    def converted(column: Column, frame: DataFrame) -> Column:
        context.step(frame.row_count)
        return convert(column, options, context.zone) if matches(MatchedColumn(column, frame, names)) else column

    return [frame.with_columns([converted(column, frame) for column in frame.columns]) for frame in frames]


def _to_number(column: Column, _conversion: Mapping[str, Any], _zone: tzinfo) -> Column:
    """Return the column as numbers. Text may have commas between thousands; other values become null."""
    numbers = [number_of(value.replace(",", "") if isinstance(value, str) else value) for value in column.values]
    return column.with_values([number if isfinite(number) else None for number in numbers], CellType.NUMBER)


def _to_boolean(column: Column, _conversion: Mapping[str, Any], _zone: tzinfo) -> Column:
    return column.with_values([is_true(value) for value in column.values], CellType.BOOLEAN)


def _to_string(column: Column, conversion: Mapping[str, Any], zone: tzinfo) -> Column:
    return text_column(column, conversion.get("dateFormat"), conversion.get("timezone"), zone, string_of(conversion.get("joinWith")))


def text_column(column: Column, date_format: Any, zone_name: Any, default_zone: tzinfo, separator: str = "") -> Column:
    """Return the column as text: times in a format, text and documents as JSON, lists joined by ``separator`` if there is one."""
    values: list[Any]
    if column.type is CellType.TIME:
        zone, is_named = zone_of(zone_name, default_zone), zone_name not in (None, "", "browser")
        values = [format_moment(value, date_format, zone, is_named=is_named) for value in column.values]
    elif column.type in (CellType.STRING, CellType.OTHER):
        values = [
            separator.join("" if is_missing(item) else text_of(item) for item in value)
            if separator and isinstance(value, list)
            else json_text(value)
            for value in column.values
        ]
    else:
        values = [text_of(value) for value in column.values]
    return column.with_values(values, CellType.STRING)


def _to_time(column: Column, conversion: Mapping[str, Any], zone: tzinfo) -> Column:
    """Return the column as times: numbers are milliseconds, or seconds in the format ``X``, and text is parsed."""
    pattern = string_of(conversion.get("dateFormat"))
    starts_with_number = len(column.values) > 0 and is_number(column.values[0])
    if starts_with_number and (column.type is CellType.TIME or pattern != _SECONDS_FORMAT):
        return column.with_values(column.values, CellType.TIME)
    first = next((value for value in column.values if not is_missing(value)), None)
    factor = 1000 if is_number(first) and pattern == _SECONDS_FORMAT else 1
    is_iso = isinstance(first, str) and _ISO.fullmatch(first) is not None

    def time_of(value: Any) -> float | None:
        if is_number(value):
            # As in Grafana, 0 is not a time.
            milliseconds = whole_milliseconds(value) if is_true(value) and isfinite(value) else None
            return None if milliseconds is None else milliseconds * factor
        if not isinstance(value, str) or not value:
            return None
        return parse_iso(value) if is_iso else parse_moment(value, pattern, zone)

    return column.with_values([time_of(value) for value in column.values], CellType.TIME)


def _to_document(column: Column, _conversion: Mapping[str, Any], _zone: tzinfo) -> Column:
    return column.with_values([_parsed(text_of(value)) for value in column.values], CellType.OTHER)


def _parsed(text: str) -> Any:
    """Return the value of JSON text; null if it is invalid."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _to_enum(column: Column, conversion: Mapping[str, Any], _zone: tzinfo) -> Column:
    """Return the column as positions in the texts of ``enumConfig``. Without texts it is unchanged."""
    settings = object_of(conversion.get("enumConfig"))
    texts = list_of(settings.get("text"))
    if not texts:
        return column
    positions = {key_of(text): position for position, text in enumerate(texts)}
    values = [positions.get(key_of(value), UNDEFINED) for value in column.values]
    return column.with_config(type={"enum": settings}).with_values(values, CellType.ENUM)


#: A function for each destination type.
_CONVERSIONS: Final[Mapping[str, Conversion]] = {
    "number": _to_number,
    "string": _to_string,
    "time": _to_time,
    "boolean": _to_boolean,
    "other": _to_document,
    "enum": _to_enum,
}
