"""Frames as transformations read and return them: columns of cells of any type, each with labels and a configuration.

Cells are ``None`` for null, ``UNDEFINED`` for undefined, and milliseconds since 1970 for times, as in Grafana's frames.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from dashwright.expressions.calculations.table import Calculation
from dashwright.expressions.calculations.values import FieldValues, NullMode
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, is_number

Cells = Sequence[Any]


class CellType(StrEnum):
    """The type of a column. Single cells may have another type."""

    TIME = "time"
    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"
    ENUM = "enum"
    OTHER = "other"
    FRAME = "frame"
    FRAMES = "nestedFrames"


_TIME_NAMES: Final = frozenset({"date", "time"})
_NUMBER: Final = re.compile(r"\s*(-?(\d*\.?\d+|\d+\.?\d*)(e[-+]?\d+)?|nan)\s*", re.IGNORECASE | re.ASCII)
_MAX_NUMBER_LENGTH: Final = 100


@dataclass(slots=True)
class KnownName:
    """The display name of a column from the last time that it was computed. Copies of the column share it."""

    name: str = ""
    has_siblings: bool = False  #: True if there were several frames when the name was computed.


@dataclass(slots=True, eq=False)
class Column:
    """One column. Treat it as frozen, except for ``known_name``."""

    name: str
    type: CellType
    source: Cells | Callable[[], Cells]  #: The cells, or a function that reads them.
    labels: Mapping[str, Any] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)  #: Grafana's configuration of the column, such as ``displayName``.
    known_name: KnownName | None = None  #: None before ``DisplayNames`` computes the display name.

    @property
    def values(self) -> Cells:
        """The cells."""
        if callable(self.source):
            self.source = self.source()
        return self.source

    @property
    def is_numeric(self) -> bool:
        """True for numbers and times, with which calculations compute."""
        return self.type in (CellType.NUMBER, CellType.TIME)

    def with_values(self, values: Cells, type_: CellType | None = None) -> "Column":
        """Return the column with other cells, and with another type if one is given."""
        return replace(self, source=values, type=type_ or self.type)

    def with_config(self, **settings: Any) -> "Column":
        """Return the column with settings of its configuration changed; ``None`` removes a setting."""
        removed_names = {name for name, value in settings.items() if value is None}
        config = {name: value for name, value in {**self.config, **settings}.items() if name not in removed_names}
        return replace(self, config=config)

    def with_display_name(self, display_name: str) -> "Column":
        """Return the column with a display name."""
        known_name = KnownName(display_name, self.known_name.has_siblings if self.known_name else False)
        return replace(self.with_config(displayName=display_name), known_name=known_name)

    def reduced(self, calculation: Calculation) -> Any:
        """Return the result of a calculation."""
        return calculation(FieldValues(self.values, self.is_numeric, NullMode.of(self.config.get("nullValueMode"))))


@dataclass(slots=True, eq=False)
class DataFrame:
    """Columns of one length. Treat it as frozen."""

    columns: Sequence[Column] = ()
    row_count: int = 0
    name: str = ""
    ref_id: str = ""
    meta: Mapping[str, Any] | None = None

    @staticmethod
    def of(columns: Iterable[Column], ref_id: str = "", *, meta: Mapping[str, Any] | None = None) -> "DataFrame":
        """Return a frame without a name, as long as its longest column."""
        all_columns = list(columns)
        return DataFrame(all_columns, max((len(column.values) for column in all_columns), default=0), ref_id=ref_id, meta=meta)

    def with_columns(self, columns: Iterable[Column]) -> "DataFrame":
        """Return the frame with other columns of the same length."""
        return replace(self, columns=list(columns))

    def with_rows(self, rows: Sequence[int]) -> "DataFrame":
        """Return the frame with only the rows at the given positions, in that order."""
        columns = [column.with_values([column.values[row] for row in rows]) for column in self.columns]
        return replace(self, columns=columns, row_count=len(rows))

    @property
    def time_column(self) -> Column | None:
        """The first column of times."""
        return next((column for column in self.columns if column.type is CellType.TIME), None)


Frames = Sequence[DataFrame]


@dataclass(frozen=True, slots=True, eq=False)
class Trend:
    """A cell with a time series, which tables show as a small line."""

    frame: DataFrame  #: A column of times and one of values.
    value: Any  #: The result of a calculation on the values, by which rows are sorted.


def joined_ref_id(transformation_id: str, frames: Frames) -> str:
    """Return the refId of a frame that a transformation makes from several, such as ``merge-A-B``."""
    return f"{transformation_id}-{'-'.join(frame.ref_id for frame in frames)}"


def type_of_value(value: Any) -> CellType:
    """Return the type of one cell."""
    if isinstance(value, bool):
        return CellType.BOOLEAN
    if is_number(value):
        return CellType.NUMBER
    return CellType.STRING if isinstance(value, str) else CellType.OTHER


def type_of_text(text: str) -> CellType:
    """Return the type that Grafana guesses from text: text that reads as a number or boolean has that type."""
    if text in ("true", "TRUE", "True", "false", "FALSE", "False"):
        return CellType.BOOLEAN
    return CellType.NUMBER if len(text) < _MAX_NUMBER_LENGTH and _NUMBER.fullmatch(text) else CellType.STRING


def guessed_type(name: str, values: Cells) -> CellType | None:
    """Return the type that Grafana guesses for a column from its name and its first cell that is not null."""
    if name.lower() in _TIME_NAMES:
        return CellType.TIME
    value = next((value for value in values if not is_missing(value)), None)
    if value is None:
        return None
    return type_of_text(value) if isinstance(value, str) else type_of_value(value)


def padded(values: Cells, length: int) -> list[Any]:
    """Return the cells, extended to a length by undefined cells."""
    return [*values, *[UNDEFINED] * (length - len(values))]
