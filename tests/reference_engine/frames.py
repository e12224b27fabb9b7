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
    """A column. ``cells`` are nanoseconds in one of times, values (booleans as 1 and 0) in one of numbers, texts in others."""

    name: str
    type: str
    labels: Labels
    config: Mapping[str, Json]
    cells: list[Any]


@dataclass(frozen=True)
class Frame:
    name: str
    meta: Mapping[str, Json]
    fields: list[Field]

    def of_type(self, *types: str) -> list[Field]:
        return [field for field in self.fields if field.type in types]

    @property
    def declares(self) -> str:
        """The type, if it is declared with a version other than 0.0."""
        return str(self.meta.get("type", "")) if self.meta.get("typeVersion", [0, 0]) != [0, 0] else ""

    @property
    def rows(self) -> int:
        return len(self.fields[0].cells) if self.fields else 0


def decoded(frame: Json) -> Frame:
    """Return the values of a column. Nulls are null unless the entities list them; times have nanoseconds."""
    schema, data = frame["schema"], frame["data"]
    fields = []
    for index, (field, values) in enumerate(zip(schema["fields"], data["values"], strict=True)):
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
    """Return the items of the frames. The first condition that the frames meet decides their shape."""
    if frames and frames[0].declares:
        return _declared(frames) if frames[0].fields else [NoData()]
    if not any(frame.fields for frame in frames):
        return [NoData()]
    if all(_is_vector(frame) for frame in frames):
        return [Number(field.cells[0], field.labels, field.name) for frame in frames for field in frame.of_type("number")]
    if len(frames) == 1 and len(frames[0].of_type("number")) == 1 and len(frames[0].of_type("number", "string")) == len(frames[0].fields):
        return _numbers_of_rows(frames[0])
    for frame in frames:
        if not frame.of_type("time") or not frame.of_type("number"):
            raise Refused("readDataError", "input data must be a wide series but got type not")
        if frame.of_type("string", "boolean"):
            raise Refused("readDataError", "input data must be a wide series but got type long")
    return _series_of_fields(frames)


def _is_vector(frame: Frame) -> bool:
    custom = frame.meta.get("custom") or {}
    return custom.get("resultType") == "vector" and len(frame.fields) == 2 and frame.rows == 1


def _numbers_of_rows(frame: Frame) -> Items:
    """Return a number for each row, whose labels are the row's texts that are not null."""
    (number,) = frame.of_type("number")
    return [Number(value, _texts(frame, row), number.name) for row, value in enumerate(number.cells)]


def _texts(frame: Frame, row: int) -> Labels:
    return {field.name: field.cells[row] for field in frame.of_type("string") if field.cells[row] is not None}


def _series_of_fields(frames: list[Frame]) -> Items:
    """Return a series for each numeric field.

    If no field has labels, each series gets a label with its name: the first of the names that all fields have and that
    is unique.
    """
    fields = [(frame, field) for frame in frames for field in frame.of_type("number")]
    names = [_name(frame, field) for frame, field in fields]
    labels: list[Labels] = [field.labels for _, field in fields]
    if not any(labels):
        kinds: list[tuple[list[str], list[str]]] = [
            *(
                (display_names, display_names)
                for display_names in (
                    [str(field.config.get(key, "")) for _, field in fields] for key in ("displayNameFromDS", "displayName")
                )
            ),
            ([field.name for _, field in fields], names),
        ]
        chosen = next(
            (chosen_names for display_names, chosen_names in kinds if all(display_names) and len(set(display_names)) == len(display_names)),
            None,
        )
        if chosen:
            labels = [{"__name__": name} for name in chosen]
    return [
        Series(_points(frame, field.cells), its_labels, name)
        for (frame, field), name, its_labels in zip(fields, names, labels, strict=True)
    ]


def _name(frame: Frame, field: Field) -> str:
    """Return the name of the frame if it has one value field, and else that of the field."""
    return frame.name if frame.name and len(frame.of_type("number")) == 1 else field.name


def _points(frame: Frame, cells: list[Value], rows: list[int] | None = None) -> list[tuple[int, Value]]:
    """Return the points by the first time field. Order and repeats are kept."""
    times = frame.of_type("time")[0].cells
    return [(times[row], cells[row]) for row in (range(len(cells)) if rows is None else rows)]


def _declared(frames: list[Frame]) -> Items:
    """Return values by the table of declared types, sorted by field name and then labels."""
    reader = _READERS.get(frames[0].declares)
    if reader is None:
        raise Refused("readDataError", "kind not supported")
    items = reader(frames)
    assert all(isinstance(item, Series | Number) for item in items)
    return sorted(items, key=lambda item: (getattr(item, "name", ""), sorted(item.labels.items())))


def _series(frames: list[Frame]) -> Items:
    return [
        Series(_points(frame, field.cells), field.labels, field.name) for frame in frames for field in frame.of_type("number", "boolean")
    ]


def _numbers(frames: list[Frame]) -> Items:
    """Return the numbers of a frame with at most one row. Without a row, the number is null."""
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


_READERS: Final[Mapping[str, Callable[[list[Frame]], Items]]] = {
    "timeseries-wide": lambda frames: _series(frames[:1]),
    "timeseries-multi": _series,
    "timeseries-many": _series,
    "timeseries-long": _long_series,
    "numeric-wide": lambda frames: _numbers(frames[:1]),
    "numeric-multi": _numbers,
    "numeric-long": _long_numbers,
}
