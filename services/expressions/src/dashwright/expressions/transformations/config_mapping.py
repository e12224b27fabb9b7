"""Configurations of fields from the cells of a frame. The options, or the names of columns, map columns to settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Final

from dashwright.common.json_shapes import object_at, objects_of, string_of
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, number_of, text_of
from dashwright.expressions.transformations.data import CellType, Column, DataFrame
from dashwright.expressions.transformations.names import DisplayNames

NAME_KEY: Final = "field.name"
VALUE_KEY: Final = "field.value"
LABEL_KEY: Final = "field.label"
#: Keys of columns other than settings.
_OTHER_KEYS: Final = frozenset({NAME_KEY, VALUE_KEY, LABEL_KEY, "__ignore"})
_MAX_DECIMALS: Final = 15
#: Grafana's colour of a threshold without one.
_DEFAULT_COLOUR: Final = "red"
#: Parts of value mappings, which take all values of a column as a list.
_MAPPING_KEYS: Final = frozenset({"mappings.value", "mappings.color", "mappings.text"})
_LAST: Final = "lastNotNull"


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """A column, and the setting that it provides."""

    column: Column
    name: str  #: The display name of the column.
    key: str  #: The setting, such as ``min``, or one of ``_OTHER_KEYS``; empty if the column is ignored.
    colour: str  #: The colour of a threshold.
    calculation: str  #: The id of the calculation that reduces the column to one value.


@dataclass(frozen=True, slots=True)
class FrameMapping:
    """The columns of a frame, and the settings that they provide."""

    columns: Sequence[ColumnMapping] = field(default_factory=list)
    name_column: Column | None = None
    value_column: Column | None = None


def map_columns(frame: DataFrame, options: Any, *, rows_are_fields: bool) -> FrameMapping:
    """Return the mapping of the columns by ``options``, or by their names in lower case.

    If ``rows_are_fields``, each row describes a field: the first column of text has the name of the field, the first column of numbers
    has its value, and columns without a setting are labels.
    """
    mappings = objects_of(options)
    names = DisplayNames([frame], are_related=False)
    mapped_keys = {mapping.get("handlerKey") for mapping in mappings}
    name_column = value_column = None
    result = []
    for column in frame.columns:
        name = names.of(column, frame)
        mapping = next((mapping for mapping in mappings if mapping.get("fieldName") == name), None)
        key = string_of(mapping.get("handlerKey")) if mapping else name.lower()
        key = key if key in _OTHER_KEYS or key in _SETTINGS or key in _MAPPING_KEYS else ""
        if rows_are_fields and key == NAME_KEY:
            name_column = column
        elif rows_are_fields and key == VALUE_KEY:
            value_column = column
        elif rows_are_fields and not key and mapping is None:
            if name_column is None and NAME_KEY not in mapped_keys and column.type is CellType.STRING:
                name_column, key = column, NAME_KEY
            if value_column is None and VALUE_KEY not in mapped_keys and column.type is CellType.NUMBER:
                value_column, key = column, VALUE_KEY
        colour = string_of(object_at(object_at(mapping or {}, "handlerArguments"), "threshold").get("color"))
        calculation = string_of((mapping or {}).get("reducerId")) or ("allValues" if key in _MAPPING_KEYS else _LAST)
        result.append(ColumnMapping(column, name, key or (LABEL_KEY if rows_are_fields else ""), colour or _DEFAULT_COLOUR, calculation))
    return FrameMapping(result, name_column, value_column)


def config_of(mapping: FrameMapping, value_of: Callable[[ColumnMapping], Any]) -> dict[str, Any]:
    """Return the configuration from one value of each column."""
    config: dict[str, Any] = {}
    lists: dict[str, Any] = {}
    for mapped in mapping.columns:
        value = value_of(mapped)
        if mapped.key in _OTHER_KEYS or not mapped.key or is_missing(value):
            continue
        if mapped.key in _MAPPING_KEYS:
            if isinstance(value, list):
                lists[mapped.key] = value
            continue
        if mapped.key == "threshold1":
            # Several columns may be thresholds, each of which is a step.
            if not isnan(_number(value)):
                thresholds = config.setdefault("thresholds", {"mode": "absolute", "steps": []})
                thresholds["steps"].append({"value": _number(value), "color": mapped.colour})
            continue
        setting = _SETTINGS[mapped.key](value)
        if setting is not None:
            config[mapped.key] = setting
    if "mappings.value" in lists:
        config["mappings"] = [_value_mapping(lists)]
    return config


def _value_mapping(lists: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return the value mapping of lists of values, colours and texts."""

    def at(key: str, index: int) -> Any:
        values = lists.get(key, ())
        return values[index] if index < len(values) else UNDEFINED

    parts = {"color": "mappings.color", "text": "mappings.text"}
    options = {
        text_of(value): {**{part: at(key, index) for part, key in parts.items() if at(key, index) is not UNDEFINED}, "index": index}
        for index, value in enumerate(lists["mappings.value"])
        if not is_missing(value)
    }
    return {"type": "value", "options": options}


def _number(value: Any) -> float:
    """Return the number of a cell; NaN for empty text and lists, which JavaScript would convert to numbers."""
    return float("nan") if value == "" or isinstance(value, list) else number_of(value)


def _number_or_none(value: Any) -> float | None:
    number = _number(value)
    return None if isnan(number) else number


def _decimals(value: Any) -> int | None:
    number = _number(value)
    return int(number) if float(number).is_integer() and 0 <= number <= _MAX_DECIMALS else None


#: The conversion of a cell to the value of each setting; None for an invalid cell.
_SETTINGS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "max": _number_or_none,
    "min": _number_or_none,
    "unit": text_of,
    "decimals": _decimals,
    "displayName": text_of,
    "color": lambda value: {"fixedColor": value, "mode": "fixed"},
    # Its conversion is not called: ``config_of`` makes a step of it.
    "threshold1": _number_or_none,
}
