"""The binary operation of calculated fields: two operands, each of which is a field or a number."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, is_true, leading_number, number_of, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Cells, CellType, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.operators import BINARY_OPERATORS


def is_constant(operand: Any) -> bool:
    """Return whether an operand of the options is a number."""
    if isinstance(operand, dict):
        return not isnan(number_of(operand.get("fixed", UNDEFINED)))
    # The older form of an operand is text.
    return isinstance(operand, str) and not isnan(number_of(operand))


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand: the fields that a matcher selects, or a fixed number."""

    matcher_id: str = ""
    matcher_options: Any = UNDEFINED
    fixed: Any = UNDEFINED

    @staticmethod
    def of(value: Any, names: set[str]) -> "Operand":
        """Return the operand of an option, whose older form is text: the name of a field, or a number."""
        if isinstance(value, str):
            # A field may have a number as its name.
            is_name = isnan(number_of(value)) or value in names
            return Operand("byName", value) if is_name else Operand(fixed=value)
        settings = object_of(value)
        matcher = object_of(settings.get("matcher"))
        return Operand(string_of(matcher.get("id")), matcher.get("options", UNDEFINED), settings.get("fixed", UNDEFINED))

    def values(self, frame: DataFrame, names: DisplayNames) -> Cells | None:
        """Return the values of the field, or the number for each row; None if the frame has no such field."""
        if self.matcher_id == "byName":
            for column in frame.columns:
                if names.of(column, frame) == self.matcher_options:
                    is_boolean = column.type is CellType.BOOLEAN
                    return [int(is_true(value)) for value in column.values] if is_boolean else column.values
        # As in Grafana, a name that no column has may be a number.
        number = leading_number(self.matcher_options if is_missing(self.fixed) else self.fixed)
        return None if isnan(number) else [number] * frame.row_count

    @property
    def text(self) -> str:
        """The operand in the name of the new field."""
        value = self.fixed if is_missing(self.matcher_options) else self.matcher_options
        return "" if is_missing(value) else text_of(value)


@dataclass(frozen=True, slots=True)
class BinaryOperation:
    """An operator and its operands."""

    left: Operand
    operator: str
    right: Operand

    @staticmethod
    def of(settings: Mapping[str, Any], frames: Frames) -> "BinaryOperation":
        """Return the operation of the options ``left``, ``operator`` and ``right``."""
        names = {column.name for frame in frames for column in frame.columns}
        left, right = (Operand.of("" if settings.get(side) is None else settings[side], names) for side in ("left", "right"))
        operator = settings.get("operator")
        return BinaryOperation(left, "+" if operator is None else string_of(operator), right)

    @property
    def left_type(self) -> str:
        """The type of the fields to which the operation is applied one by one; empty for a single left operand."""
        return string_of(self.left.matcher_options) if self.left.matcher_id == "byType" else ""

    @property
    def name(self) -> str:
        """The name of the new field, empty if an operand refers to a variable."""
        left, right = self.left.text, self.right.text
        has_variable = "$" in left or "$" in right
        return f"{left} {self.operator} {right}" if left and right and not has_variable else ""

    def values(self, frame: DataFrame, names: DisplayNames) -> Cells | None:
        """Return the results for the rows of a frame; None if it lacks an operand."""
        left, right = self.left.values(frame, names), self.right.values(frame, names)
        return None if left is None or right is None else self._results(left, right)

    def _results(self, left: Cells, right: Cells) -> Cells | None:
        """Return the results of the operator for pairs of cells; None for an unknown operator."""
        operate = BINARY_OPERATORS.get(self.operator)
        return None if operate is None else [operate(first, second) for first, second in zip(left, right, strict=False)]

    def calculated_by_type(self, frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
        """Return the frames with a new field for each field of the type ``left_type``.

        If ``replaceFields``, the new fields and the time replace the others, and frames without new fields are left out.
        """
        names = DisplayNames(frames)
        result = []
        for frame in frames:
            context.check_cells(frame.row_count, 2 * len(frame.columns))
            time_column = frame.time_column if options.get("timeSeries") is not False else None
            columns = [time_column] if time_column else []
            has_new = False
            for column in frame.columns:
                if not options.get("replaceFields") and column is not time_column:
                    columns.append(column)
                right = self.right.values(frame, names) if column.type == self.left_type else None
                values = None if right is None else self._results(column.values, right)
                if values is not None:
                    name = f"{column.name} {self.operator} {self.right.text}"
                    columns.append(replace(column, name=name, source=values, known_name=None))
                    has_new = True
            if has_new or not options.get("replaceFields"):
                result.append(frame.with_columns(columns))
        return result
