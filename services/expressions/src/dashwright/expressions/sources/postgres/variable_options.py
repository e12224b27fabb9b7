"""Options of variables in the rows of a statement."""

from collections.abc import Sequence
from typing import Final

from dashwright.expressions.engine.frame import Field, Frame

_VALUE, _TEXT = "__value", "__text"
_MAX_VALUES: Final = 20_000


def options_of(frame: Frame) -> Sequence[tuple[str, str]]:
    """Return the values and texts of the rows, or the values of all columns if no column is named ``__text``."""
    columns = [(field.name, _values(field)) for field in frame.fields]
    by_name = dict(columns)
    texts = by_name.get(_TEXT)
    if texts is not None:
        values = by_name.get(_VALUE, texts)
        # With different numbers of nulls, values and texts of a row cannot be matched.
        if len(values) == len(texts):
            return list(zip(values, texts, strict=True))
    return [(value, value) for _, column in columns for value in column]


def _values(field: Field) -> list[str]:
    """Return the values of a column without nulls."""
    return [str(field.values[row]) for row in range(min(len(field), _MAX_VALUES)) if not _is_null(field, row)]


def _is_null(field: Field, row: int) -> bool:
    return bool(field.nulls is not None and field.nulls[row])
