"""Options of variables in the rows of a statement."""

from collections.abc import Sequence
from typing import Final

from dashwright.expressions.engine.frame import Field, Frame

_VALUE, _TEXT = "__value", "__text"
_MAX_VALUES: Final = 20_000


def options_of(frame: Frame) -> Sequence[tuple[str, str]]:
    """Return the values and texts of the rows, or the values of all columns if no column is named ``__text``."""
    columns = {
        field.name: [str(field.values[row]) for row in range(min(len(field), _MAX_VALUES)) if not _is_null(field, row)]
        for field in frame.fields
    }
    if _TEXT in columns and len(columns.get(_VALUE, columns[_TEXT])) == len(columns[_TEXT]):
        return list(zip(columns.get(_VALUE, columns[_TEXT]), columns[_TEXT], strict=True))
    return [(value, value) for column in columns.values() for value in column]


def _is_null(field: Field, row: int) -> bool:
    return bool(field.nulls is not None and field.nulls[row])
