"""Frames from their JSON: the counterpart of ``codec``, strict, with the exact place of a fault."""

from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.common.document import check_depth
from dashwright.common.errors import BadRequest, Invalid
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.values import Mask

_NANOS = 1_000_000
_LAST_MILLISECOND = (2**63 - 1) // _NANOS - 1
_TYPES = {item.value: item for item in FieldType} | {
    "time": FieldType.TIME,
    "number": FieldType.FLOAT64,
    "boolean": FieldType.BOOL,
    "other": FieldType.JSON,
}
Nested = TypeVar("Nested")

_ENTITIES = {"NaN": np.nan, "Inf": np.inf, "NegInf": -np.inf}


def read_frames(content: str | bytes) -> list[Frame]:
    """Return the frames of a JSON list. Raises BadRequest that names the place, such as ``[0].data.values[1]``."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the frames are not JSON: {error}; give a list of frames, each with schema and data") from error
    return [_frame(item, f"[{number}]") for number, item in enumerate(_list(document, "the frames"))]


def _frame(item: Any, place: str) -> Frame:
    document = _object(item, place, {"schema", "data"})
    schema = _object(document.get("schema", {}), f"{place}.schema", {"name", "refId", "meta", "fields"})
    data = _object(document.get("data", {}), f"{place}.data", {"values", "entities", "nanos"})
    schemas = _list(schema.get("fields", []), f"{place}.schema.fields")
    columns = _list(data.get("values", [[]] * len(schemas)), f"{place}.data.values")
    if len(columns) != len(schemas):
        raise _wrong(
            f"{place}.data.values", f"has {len(columns)} columns where the schema has {len(schemas)} fields; give one array a field"
        )
    entities, nanos = (_beside(data, key, len(schemas), place) for key in ("entities", "nanos"))
    fields = [
        _field(schemas[i], columns[i], entities[i], nanos[i], f"{place}.schema.fields[{i}]", f"{place}.data.values[{i}]")
        for i in range(len(schemas))
    ]
    if len({len(field) for field in fields}) > 1:
        raise _wrong(f"{place}.data.values", "has columns of different lengths; give every field as many values")
    name, ref_id = (_text(schema.get(key, ""), f"{place}.schema.{key}") for key in ("name", "refId"))
    return Frame(fields, name, ref_id, _meta(schema.get("meta"), f"{place}.schema.meta"))


def _meta(meta: Any, place: str) -> dict[str, Any] | None:
    if meta is None:
        return None
    found = _shallow(_object(meta, place), place)
    _text(found.get("type", ""), f"{place}.type")
    version = found.get("typeVersion", [0, 0])
    if not (isinstance(version, list) and len(version) == 2 and all(type(part) is int for part in version)):
        raise _wrong(f"{place}.typeVersion", "must be two whole numbers, such as [0, 1]")
    return found


def _beside(data: dict[str, Any], key: str, count: int, place: str) -> list[Any]:
    entries = _list([None] * count if data.get(key) is None else data[key], f"{place}.data.{key}")
    if len(entries) != count:
        raise _wrong(
            f"{place}.data.{key}", f"has {len(entries)} entries where the schema has {count} fields; give one a field, null for none"
        )
    return entries


def _field(item: Any, column: Any, entities: Any, nanos: Any, place: str, values_place: str) -> Field:
    schema = _object(item, place, {"name", "type", "typeInfo", "labels", "config"})
    kind = _field_type(schema, place)
    values, nulls = _column(_list(column, values_place), kind, values_place)
    if entities is not None:
        values, nulls = _with_entities(values, nulls, kind, entities, values_place)
    if nanos is not None:
        values = _with_nanos(values, kind, nanos, values_place)
    nulls = nulls if nulls is not None and nulls.any() else None
    nullable = nulls is not None or schema.get("typeInfo", {}).get("nullable") is True
    config = schema.get("config")
    labels = None if schema.get("labels") is None else _labels(schema["labels"], f"{place}.labels")
    return Field(
        _text(schema.get("name", ""), f"{place}.name"),
        kind,
        values,
        nulls,
        nullable=nullable,
        labels=labels,
        config=None if config is None else _shallow(_object(config, f"{place}.config"), f"{place}.config"),
    )


def _field_type(schema: dict[str, Any], place: str) -> FieldType:
    info = _object(schema.get("typeInfo", {}), f"{place}.typeInfo", {"frame", "nullable"})
    name = info.get("frame") or schema.get("type")
    found = _TYPES.get(name) if isinstance(name, str) else None
    if found is None:
        raise _wrong(place, f"has the unknown type {name!r}; use one of {', '.join(_TYPES)}")
    return found


def _labels(labels: Any, place: str) -> Labels:
    labels = _object(labels, place)
    for key, value in labels.items():
        _text(value, f"{place}.{key}")
    return Labels.of(labels)


def _column(column: list[Any], kind: FieldType, place: str) -> tuple[NDArray[Any], Mask | None]:
    types = set(map(type, column))
    missing = type(None) in types
    types.discard(type(None))
    nulls = np.array([value is None for value in column], np.bool_) if missing else None
    if kind is FieldType.JSON:
        return _objects(_shallow(column, place)), nulls
    if kind is FieldType.STRING:
        _only(types, {str}, kind, place)
        return _objects(column), nulls
    if kind is FieldType.BOOL:
        _only(types, {bool}, kind, place)
        return np.array([bool(value) for value in column] if missing else column, np.bool_), nulls
    if kind.is_float:
        _only(types, {int, float}, kind, place)
        # numpy converts None to NaN, which is what the slot of a null holds.
        return np.array(column, kind.dtype), nulls
    return _integers(column, types, kind, place), nulls


def _objects(column: list[Any]) -> NDArray[Any]:
    values = np.empty(len(column), object)
    values[:] = column
    return values


def _integers(column: list[Any], types: set[type], kind: FieldType, place: str) -> NDArray[Any]:
    _only(types, {int, float, str}, kind, place)
    try:
        whole = [_whole(value) for value in column] if types != {int} or None in column else column
        values = np.array(whole, kind.dtype)
    except (ValueError, OverflowError) as error:
        reason = "it is out of range" if isinstance(error, OverflowError) else error
        raise _wrong(place, f"holds a number that is not {kind}: {reason}") from error
    if kind is not FieldType.TIME:
        return values
    if len(values) and (int(values.max()) > _LAST_MILLISECOND or int(values.min()) < -_LAST_MILLISECOND):
        raise _wrong(place, "holds a time outside the years 1678 to 2262; give epoch milliseconds")
    return values * _NANOS


def _whole(value: Any) -> int:
    """Return the whole number of a value; large numbers are sent as text."""
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is not whole")
    return 0 if value is None else int(value)


def _with_entities(
    values: NDArray[Any], nulls: Mask | None, kind: FieldType, entities: Any, place: str
) -> tuple[NDArray[Any], Mask | None]:
    entities = _object(entities, f"{place} entities", set(_ENTITIES))
    if not kind.is_float:
        raise _wrong(place, f"is {kind}, and only a float field has entities")
    for name, rows in entities.items():
        positions = _positions(rows, len(values), f"{place} entities.{name}")
        values[positions] = _ENTITIES[name]
        if nulls is not None:
            nulls[positions] = False
    return values, nulls


def _with_nanos(values: NDArray[Any], kind: FieldType, nanos: Any, place: str) -> NDArray[Any]:
    if kind is not FieldType.TIME:
        raise _wrong(place, f"is {kind}, and only a time field has nanos")
    parts = _list(nanos, f"{place} nanos")
    if len(parts) != len(values) or not all(type(part) is int and 0 <= part < _NANOS for part in parts):
        raise _wrong(f"{place} nanos", f"must hold a whole number from 0 to {_NANOS - 1} for each value")
    summed: NDArray[Any] = values + np.array(parts, np.int64)
    return summed


def _positions(rows: Any, size: int, place: str) -> NDArray[np.intp]:
    rows = _list(rows, place)
    if not all(type(row) is int and 0 <= row < size for row in rows):
        raise _wrong(place, f"must hold row numbers from 0 to {size - 1}")
    return np.array(rows, np.intp)


def _only(types: set[type], allowed: set[type], kind: FieldType, place: str) -> None:
    if wrong := sorted(found.__name__ for found in types - allowed):
        raise _wrong(place, f"is declared {kind} but holds {', '.join(wrong)}; change the values or the field's type")


def _object(value: Any, place: str, known: set[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(place, "must be an object")
    if known is not None and (unknown := value.keys() - known):
        raise _wrong(place, f"has the unknown property {min(unknown)!r}; known are {', '.join(sorted(known))}")
    return value


def _shallow(value: Nested, place: str) -> Nested:
    """Return the value. Raises BadRequest if it nests deeper than the encoder can follow."""
    try:
        check_depth(value)
    except Invalid as error:
        raise _wrong(place, f"is {error.message}") from error
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(place, "must be a list")
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise _wrong(place, "must be text")
    return value


def _wrong(place: str, what: str) -> BadRequest:
    return BadRequest(f"{place} {what}")
