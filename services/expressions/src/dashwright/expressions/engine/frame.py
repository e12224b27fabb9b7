"""Data frames: typed columns with labels, as data sources return them and clients read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.values import Mask


class FieldType(StrEnum):
    """The type of a column. The value is its name on the wire."""

    TIME = "time.Time"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"
    ENUM = "enum"
    JSON = "json.RawMessage"

    @property
    def is_numeric(self) -> bool:
        """True for integer and float types."""
        return self in NUMERIC

    @property
    def is_float(self) -> bool:
        """True for float types."""
        return self in {FieldType.FLOAT32, FieldType.FLOAT64}

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of a column: times are int64 nanoseconds, enums are indexes, strings and JSON are objects."""
        return np.dtype(_DTYPES.get(self, self.value))


#: The integer and float types.
NUMERIC = frozenset(field_type for field_type in FieldType if field_type.value.startswith(("int", "uint", "float")))
_DTYPES = {FieldType.TIME: "int64", FieldType.STRING: "object", FieldType.JSON: "object", FieldType.ENUM: "uint16"}


@dataclass(slots=True, eq=False)
class Field:
    """One column. Treat it as frozen."""

    # Not declared frozen: a frozen dataclass takes three times as long to create, and there may be one for every series.
    name: str
    type: FieldType
    values: NDArray[Any]  #: The value at a null is NaN, 0, False or None, depending on the type.
    nulls: Mask | None = None  #: True for each null; None if there are no nulls.
    nullable: bool = False  #: True if the schema of the column allows nulls, even if no value is null.
    labels: Labels | None = None
    config: Mapping[str, Any] | None = None  #: A JSON object, Grafana's configuration of the column, such as ``displayName``.
    absent: Mask | None = None  #: True for each null that a join added. Charts draw a line across it; other nulls are gaps in the line.
    declared_type: str = ""  #: Grafana's name of the type of a JSON column, even if cells differ from it; empty if it is unknown.

    def __len__(self) -> int:
        return len(self.values)


@dataclass(slots=True, eq=False)
class Frame:
    """Columns of one length. Treat it as frozen."""

    fields: Sequence[Field] = ()
    name: str = ""
    ref_id: str = ""
    meta: Mapping[str, Any] | None = None  #: A JSON object with members such as ``type`` and ``notices``.

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.fields[0]) if self.fields else 0

    @property
    def time_field(self) -> Field | None:
        """The first column of times."""
        return next((field for field in self.fields if field.type is FieldType.TIME), None)
