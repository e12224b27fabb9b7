"""Strict reader of frames from the JSON that ``codec`` writes.

``location`` is the place of a value in the JSON, such as ``[0].data.values[1]``. Each error begins with the location of the fault.
"""

from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.json_documents import check_depth
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.values import Mask

_NANOS_PER_MILLISECOND = 1_000_000
#: The last time in milliseconds whose nanoseconds fit into an int64, even with ``nanos`` added. The first time is its negative.
_LAST_MILLISECOND = (2**63 - 1) // _NANOS_PER_MILLISECOND - 1
#: Types of columns by the names that ``typeInfo.frame`` and ``type`` may have.
_TYPES = {item.value: item for item in FieldType} | {
    "time": FieldType.TIME,
    "number": FieldType.FLOAT64,
    "boolean": FieldType.BOOL,
    "other": FieldType.JSON,
}
JsonValue = TypeVar("JsonValue")

#: The numbers by the names that ``entities`` has.
_ENTITIES = {"NaN": np.nan, "Inf": np.inf, "NegInf": -np.inf}


def read_frames(content: str | bytes) -> list[Frame]:
    """Return the frames of a JSON list. Raises BadRequest with the location, such as ``[0].data.values[1]``."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the frames are not JSON: {error}; give a list of frames, each with schema and data") from error
    return [_frame(value, f"[{index}]") for index, value in enumerate(_json_list(document, "the frames"))]


def _frame(value: Any, location: str) -> Frame:
    document = _json_object(value, location, {"schema", "data"})
    schema = _json_object(document.get("schema", {}), f"{location}.schema", {"name", "refId", "meta", "fields"})
    data = _json_object(document.get("data", {}), f"{location}.data", {"values", "entities", "nanos"})
    field_schemas = _json_list(schema.get("fields", []), f"{location}.schema.fields")
    columns = _json_list(data.get("values", [[]] * len(field_schemas)), f"{location}.data.values")
    if len(columns) != len(field_schemas):
        raise _fault(
            f"{location}.data.values",
            f"has {len(columns)} columns where the schema has {len(field_schemas)} fields; give one array for each field",
        )
    entities, nanos = (_entries(data, key, len(field_schemas), location) for key in ("entities", "nanos"))
    fields = [
        _field(field_schemas[i], columns[i], entities[i], nanos[i], f"{location}.schema.fields[{i}]", f"{location}.data.values[{i}]")
        for i in range(len(field_schemas))
    ]
    if len({len(field) for field in fields}) > 1:
        raise _fault(f"{location}.data.values", "has columns of different lengths; give every field the same number of values")
    name, ref_id = (_string(schema.get(key, ""), f"{location}.schema.{key}") for key in ("name", "refId"))
    return Frame(fields, name, ref_id, _meta(schema.get("meta"), f"{location}.schema.meta"))


def _meta(meta: Any, location: str) -> dict[str, Any] | None:
    if meta is None:
        return None
    members = _check_depth(_json_object(meta, location), location)
    _string(members.get("type", ""), f"{location}.type")
    version = members.get("typeVersion", [0, 0])
    is_pair_of_integers = isinstance(version, list) and len(version) == 2 and all(type(number) is int for number in version)
    if not is_pair_of_integers:
        raise _fault(f"{location}.typeVersion", "must be two whole numbers, such as [0, 1]")
    return members


def _entries(data: dict[str, Any], key: str, count: int, location: str) -> list[Any]:
    """Return the entries of ``entities`` or ``nanos``, one for each of the ``count`` fields."""
    entries = _json_list([None] * count if data.get(key) is None else data[key], f"{location}.data.{key}")
    if len(entries) != count:
        raise _fault(
            f"{location}.data.{key}", f"has {len(entries)} entries where the schema has {count} fields; give one for each field, or null"
        )
    return entries


def _field(field_schema: Any, column: Any, entities: Any, nanos: Any, location: str, values_location: str) -> Field:
    schema = _json_object(field_schema, location, {"name", "type", "typeInfo", "labels", "config"})
    field_type = _field_type(schema, location)
    values, nulls = _column(_json_list(column, values_location), field_type, values_location)
    if entities is not None:
        values, nulls = _with_entities(values, nulls, field_type, entities, values_location)
    if nanos is not None:
        values = _with_nanos(values, field_type, nanos, values_location)
    nulls = nulls if nulls is not None and nulls.any() else None
    nullable = nulls is not None or schema.get("typeInfo", {}).get("nullable") is True
    config = schema.get("config")
    labels = None if schema.get("labels") is None else _labels(schema["labels"], f"{location}.labels")
    return Field(
        _string(schema.get("name", ""), f"{location}.name"),
        field_type,
        values,
        nulls,
        nullable=nullable,
        labels=labels,
        config=None if config is None else _check_depth(_json_object(config, f"{location}.config"), f"{location}.config"),
    )


def _field_type(schema: dict[str, Any], location: str) -> FieldType:
    info = _json_object(schema.get("typeInfo", {}), f"{location}.typeInfo", {"frame", "nullable"})
    name = info.get("frame") or schema.get("type")
    field_type = _TYPES.get(name) if isinstance(name, str) else None
    if field_type is None:
        raise _fault(location, f"has the unknown type {name!r}; use one of {', '.join(_TYPES)}")
    return field_type


def _labels(labels: Any, location: str) -> Labels:
    labels = _json_object(labels, location)
    for key, value in labels.items():
        _string(value, f"{location}.{key}")
    return Labels.of(labels)


def _column(column: list[Any], field_type: FieldType, location: str) -> tuple[NDArray[Any], Mask | None]:
    """Return the values and the null mask of a column. Raises BadRequest if a value is not of the type."""
    types = set(map(type, column))
    has_nulls = type(None) in types
    types.discard(type(None))
    nulls = np.array([value is None for value in column], np.bool_) if has_nulls else None
    if field_type is FieldType.JSON:
        return _object_array(_check_depth(column, location)), nulls
    if field_type is FieldType.STRING:
        _check_types(types, {str}, field_type, location)
        return _object_array(column), nulls
    if field_type is FieldType.BOOL:
        _check_types(types, {bool}, field_type, location)
        return np.array([bool(value) for value in column] if has_nulls else column, np.bool_), nulls
    if field_type.is_float:
        _check_types(types, {int, float}, field_type, location)
        # numpy converts None to NaN, which is the value at a null.
        return np.array(column, field_type.dtype), nulls
    return _integers(column, types, field_type, location), nulls


def _object_array(column: list[Any]) -> NDArray[Any]:
    values = np.empty(len(column), object)
    values[:] = column
    return values


def _integers(column: list[Any], types: set[type], field_type: FieldType, location: str) -> NDArray[Any]:
    """Return a column of integers or times. Raises BadRequest if a value is not whole or out of range."""
    _check_types(types, {int, float, str}, field_type, location)
    try:
        integers = [_integer(value) for value in column] if types != {int} or None in column else column
        values = np.array(integers, field_type.dtype)
    except (ValueError, OverflowError) as error:
        reason = "it is out of range" if isinstance(error, OverflowError) else error
        raise _fault(location, f"holds a number that is not {field_type}: {reason}") from error
    if field_type is not FieldType.TIME:
        return values
    if len(values) and (int(values.max()) > _LAST_MILLISECOND or int(values.min()) < -_LAST_MILLISECOND):
        raise _fault(location, "holds a time outside the years 1678 to 2262; give epoch milliseconds")
    return values * _NANOS_PER_MILLISECOND


def _integer(value: Any) -> int:
    """Return the value as an integer, 0 for null. Clients send large integers as strings."""
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is not whole")
    return 0 if value is None else int(value)


def _with_entities(
    values: NDArray[Any], nulls: Mask | None, field_type: FieldType, entities: Any, location: str
) -> tuple[NDArray[Any], Mask | None]:
    """Return the values and the null mask with the NaN and infinities that the column's entry of ``entities`` lists."""
    entities = _json_object(entities, f"{location} entities", set(_ENTITIES))
    if not field_type.is_float:
        raise _fault(location, f"is {field_type}, and only a float field has entities")
    for name, rows in entities.items():
        positions = _positions(rows, len(values), f"{location} entities.{name}")
        values[positions] = _ENTITIES[name]
        # JSON has no NaN and no infinities, so the column has null in their rows.
        if nulls is not None:
            nulls[positions] = False
    return values, nulls


def _with_nanos(values: NDArray[Any], field_type: FieldType, nanos: Any, location: str) -> NDArray[Any]:
    """Return the times with the column's entry of ``nanos``, the nanoseconds of each time below a millisecond."""
    if field_type is not FieldType.TIME:
        raise _fault(location, f"is {field_type}, and only a time field has nanos")
    nanoseconds = _json_list(nanos, f"{location} nanos")
    are_valid = all(type(number) is int and 0 <= number < _NANOS_PER_MILLISECOND for number in nanoseconds)
    if len(nanoseconds) != len(values) or not are_valid:
        raise _fault(f"{location} nanos", f"must hold a whole number from 0 to {_NANOS_PER_MILLISECOND - 1} for each value")
    times: NDArray[Any] = values + np.array(nanoseconds, np.int64)
    return times


def _positions(rows: Any, size: int, location: str) -> NDArray[np.intp]:
    rows = _json_list(rows, location)
    if not all(type(row) is int and 0 <= row < size for row in rows):
        raise _fault(location, f"must hold row numbers from 0 to {size - 1}")
    return np.array(rows, np.intp)


def _check_types(types: set[type], allowed: set[type], field_type: FieldType, location: str) -> None:
    """Raise BadRequest if values have a Python type that is not allowed for the type of the column."""
    if unexpected := sorted(python_type.__name__ for python_type in types - allowed):
        raise _fault(location, f"is declared {field_type} but holds {', '.join(unexpected)}; change the values or the field's type")


def _json_object(value: Any, location: str, names: set[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _fault(location, "must be an object")
    if names is not None and (unknown := value.keys() - names):
        raise _fault(location, f"has the unknown property {min(unknown)!r}; known are {', '.join(sorted(names))}")
    return value


def _check_depth(value: JsonValue, location: str) -> JsonValue:
    """Return the value. Raises BadRequest if it nests deeper than the JSON encoder supports."""
    try:
        check_depth(value)
    except Invalid as error:
        raise _fault(location, f"is {error.message}") from error
    return value


def _json_list(value: Any, location: str) -> list[Any]:
    if not isinstance(value, list):
        raise _fault(location, "must be a list")
    return value


def _string(value: Any, location: str) -> str:
    if not isinstance(value, str):
        raise _fault(location, "must be text")
    return value


def _fault(location: str, problem: str) -> BadRequest:
    return BadRequest(f"{location} {problem}")
