"""Frames as JSON, and their conversion to items for expressions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.reference_engine.values import Items, Labels, NoData, Number, Refused, Series, Value

Json = Any

_ENTITIES: Final = {"NaN": math.nan, "Inf": math.inf, "NegInf": -math.inf}


@dataclass(frozen=True)
class Field:
    """A column. Its cells are nanoseconds for times, numbers for numbers and booleans (1 and 0), and texts for other types."""

    name: str
    type: str
    labels: Labels
    config: Mapping[str, Json]
    cells: list[Any]


@dataclass(frozen=True)
class Frame:
    """A decoded frame. All fields have the same number of cells."""

    name: str
    meta: Mapping[str, Json]
    fields: list[Field]

    def of_type(self, *types: str) -> list[Field]:
        """Return the fields of these types."""
        return [field for field in self.fields if field.type in types]

    @property
    def declared_type(self) -> str:
        """The type of the frame, if it is declared with a version other than 0.0, else an empty text."""
        return str(self.meta.get("type", "")) if self.meta.get("typeVersion", [0, 0]) != [0, 0] else ""

    @property
    def rows(self) -> int:
        return len(self.fields[0].cells) if self.fields else 0


def decode_frame(frame: Json) -> Frame:
    """Return the frame of JSON. NaN and infinities are null in ``values`` and listed in ``entities``; ``nanos`` are added to times."""
    schema, data = frame["schema"], frame["data"]
    fields = []
    for index, (field, values) in enumerate(zip(schema["fields"], data["values"], strict=True)):
        # Both members are optional lists with an item for each field.
        entities, nanos = ((data.get(member) or {index: None})[index] for member in ("entities", "nanos"))
        cells: list[Any] = list(values)
        if field["type"] == "time":
            cells = [time * 10**6 + (nanos[row] if nanos else 0) for row, time in enumerate(values)]
        elif field["type"] in {"number", "boolean"}:
            cells = [None if value is None else float(value) for value in values]
        for entity, rows in (entities or {}).items():
            for row in rows:
                cells[row] = _ENTITIES[entity]
        fields.append(Field(field.get("name", ""), field["type"], field.get("labels") or {}, field.get("config") or {}, cells))
    return Frame(schema.get("name", ""), schema.get("meta") or {}, fields)


def items_of(frames: list[Frame]) -> Items:
    """Return the items of the frames. The order of the conditions matters: the first one that the frames meet decides how they are read."""
    if frames and frames[0].declared_type:
        return _declared_items(frames) if frames[0].fields else [NoData()]
    if not any(frame.fields for frame in frames):
        return [NoData()]
    if all(_is_vector(frame) for frame in frames):
        return [Number(field.cells[0], field.labels, field.name) for frame in frames for field in frame.of_type("number")]
    if len(frames) == 1 and _is_table_of_numbers(frames[0]):
        return _untyped_numbers(frames[0])
    for frame in frames:
        if not frame.of_type("time") or not frame.of_type("number"):
            raise Refused("readDataError", "input data must be a wide series but got type not")
        if frame.of_type("string", "boolean"):
            raise Refused("readDataError", "input data must be a wide series but got type long")
    return _untyped_series(frames)


def _is_table_of_numbers(frame: Frame) -> bool:
    """Return whether a frame has one number field, and only texts in addition."""
    return len(frame.of_type("number")) == 1 and len(frame.of_type("number", "string")) == len(frame.fields)


def _is_vector(frame: Frame) -> bool:
    """Return whether a frame is an element of a vector of Prometheus: a time and a number in one row."""
    custom = frame.meta.get("custom") or {}
    return custom.get("resultType") == "vector" and len(frame.fields) == 2 and frame.rows == 1


def _untyped_numbers(frame: Frame) -> Items:
    """Return a number for each row. The labels of a number are the texts of its row that are not null."""
    (number,) = frame.of_type("number")
    return [Number(value, _row_labels(frame, row), number.name) for row, value in enumerate(number.cells)]


def _row_labels(frame: Frame, row: int) -> Labels:
    return {field.name: field.cells[row] for field in frame.of_type("string") if field.cells[row] is not None}


def _untyped_series(frames: list[Frame]) -> Items:
    """Return a series for each numeric field.

    If no field has labels, the label ``__name__`` distinguishes the series: the display name of the data source, the display name, or
    the name. The first of these that all fields have, and that is unique, is used.
    """
    fields = [(frame, field) for frame in frames for field in frame.of_type("number")]
    names = [_series_name(frame, field) for frame, field in fields]
    labels: list[Labels] = [field.labels for _, field in fields]
    if not any(labels):
        display_names = [[str(field.config.get(key, "")) for _, field in fields] for key in ("displayNameFromDS", "displayName")]
        field_names = [field.name for _, field in fields]
        for unique_names in (*display_names, field_names):
            if all(unique_names) and len(set(unique_names)) == len(fields):
                labels = [{"__name__": name} for name in (names if unique_names is field_names else unique_names)]
                break
    return [
        Series(_points(frame, field.cells), series_labels, name)
        for (frame, field), name, series_labels in zip(fields, names, labels, strict=True)
    ]


def _series_name(frame: Frame, field: Field) -> str:
    """Return the name of the frame if the frame has one number field, else the name of the field."""
    return frame.name if frame.name and len(frame.of_type("number")) == 1 else field.name


def _points(frame: Frame, cells: list[Value], rows: list[int] | None = None) -> list[tuple[int, Value]]:
    """Return the points of a field, with the times of the first time field. Order and repeated times are kept."""
    times = frame.of_type("time")[0].cells
    return [(times[row], cells[row]) for row in (range(len(cells)) if rows is None else rows)]


def _declared_items(frames: list[Frame]) -> Items:
    """Return the items of frames with a declared type, sorted by field name and then by labels."""
    reader = _READERS.get(frames[0].declared_type)
    if reader is None:
        raise Refused("readDataError", "kind not supported")
    items = reader(frames)
    assert all(isinstance(item, Series | Number) for item in items)
    return sorted(items, key=lambda item: (getattr(item, "name", ""), sorted(item.labels.items())))


def _declared_series(frames: list[Frame]) -> Items:
    """Return a series for each field of numbers or booleans."""
    return [
        Series(_points(frame, field.cells), field.labels, field.name) for frame in frames for field in frame.of_type("number", "boolean")
    ]


def _declared_numbers(frames: list[Frame]) -> Items:
    """Return the numbers of frames with at most one row. Without a row, the numbers are null."""
    if any(frame.rows > 1 for frame in frames):
        raise Refused("readDataError", "expected no more than one row")
    return [
        Number(field.cells[0] if field.cells else None, field.labels, field.name)
        for frame in frames
        for field in frame.of_type("number", "boolean")
    ]


def _long_series(frames: list[Frame]) -> Items:
    """Return a series for each value field and distinct row of texts. A null text counts as an empty text."""
    frame = frames[0]
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for row in range(frame.rows):
        groups.setdefault(tuple((field.name, field.cells[row] or "") for field in frame.of_type("string")), []).append(row)
    return [
        Series(_points(frame, field.cells, rows), dict(texts), field.name)
        for field in frame.of_type("number", "boolean")
        for texts, rows in groups.items()
    ]


def _long_numbers(frames: list[Frame]) -> Items:
    """Return a number for each value field and row. A null text counts as an empty text."""
    frame = frames[0]
    return [
        Number(value, {text.name: text.cells[row] or "" for text in frame.of_type("string")}, field.name)
        for field in frame.of_type("number", "boolean")
        for row, value in enumerate(field.cells)
    ]


#: Functions that return the items of frames, by the declared type of the first frame. A wide or long type has one frame only.
_READERS: Final[Mapping[str, Callable[[list[Frame]], Items]]] = {
    "timeseries-wide": lambda frames: _declared_series(frames[:1]),
    "timeseries-multi": _declared_series,
    "timeseries-many": _declared_series,
    "timeseries-long": _long_series,
    "numeric-wide": lambda frames: _declared_numbers(frames[:1]),
    "numeric-multi": _declared_numbers,
    "numeric-long": _long_numbers,
}
