"""Options of variables in the rows of a statement."""

import numpy as np

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.sources.postgres.variable_options import options_of


def column(name: str, *values: str | None) -> Field:
    """Return a column of texts, with None for null."""
    return Field(name, FieldType.STRING, np.array(values, dtype=object), np.array([value is None for value in values]))


def test_named_columns_are_value_and_text() -> None:
    """The columns ``__value`` and ``__text`` are the value and the text of each option."""
    frame = Frame([column("__text", "One", "Two"), column("__value", "1", "2")])
    assert options_of(frame) == [("1", "One"), ("2", "Two")]


def test_other_columns_are_values() -> None:
    """Without ``__value`` and ``__text``, the options are the values of all columns, one column after another. Nulls are omitted."""
    assert options_of(Frame([column("a", "x", None), column("b", "y", "z")])) == [("x", "x"), ("y", "y"), ("z", "z")]
    # A null among the values prevents pairs of value and text.
    assert options_of(Frame([column("__text", "One", "Two"), column("__value", "1", None)]))[0] == ("One", "One")
    # PostgreSQL gives this name to every column without an alias.
    assert len(options_of(Frame([column("?column?", "x"), column("?column?", "y")]))) == 2
    assert options_of(Frame([Field("n", FieldType.INT64, np.array([3, 4]))])) == [("3", "3"), ("4", "4")]
