"""The expression type ``sql``: a statement on the results of queries, which returns a table, or numbers for alert rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.expressions.engine.expression import Outcome, TableExpression
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels, LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Cells, NoData, Numbers, Values
from dashwright.expressions.sql.engine import SqlEngine
from dashwright.expressions.sql.relation import Relation, Statement
from dashwright.expressions.sql.tables import relation_of

_MAX_EXAMPLES = 5


class Format(StrEnum):
    """The type of a statement's result."""

    TABLE = "table"
    ALERTING = "alerting"  #: Each row is a number with its strings as labels.


@dataclass(frozen=True, slots=True)
class SqlExpression(TableExpression):
    """A parsed statement with the engine that runs it."""

    ref_id: str
    statement: Statement
    format: Format
    engine: SqlEngine

    @staticmethod
    def parse(ref_id: str, source: str, result_format: str, engine: SqlEngine) -> "SqlExpression":
        """Return the expression with the statement ``source``. Raises BadRequest if it is invalid or not allowed."""
        return SqlExpression(ref_id, engine.parse(source, ref_id), Format(result_format or Format.TABLE), engine)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refIds that the statement selects from."""
        return self.statement.tables

    def select(self, inputs: Mapping[str, Values | Table], limits: Limits) -> Outcome:
        """Return the result of the statement on ``inputs`` by refId. Raises a DashwrightError."""
        relations = {name: self._relation(name, inputs[name], limits) for name in self.inputs}
        result = self.engine.select(self.ref_id, self.statement.sql, relations, limits)
        warnings = [notice for relation in relations.values() for notice in relation.notices]
        frame = result.frame
        if result.is_truncated:
            warnings.append(
                f"the result was cut after {frame.row_count} rows of {len(frame.fields)} columns, because it has more than the "
                f"{limits.sql_output_cells} cells allowed (setting DASHWRIGHT_SQL_OUTPUT_CELLS); select less, or group"
            )
        values = _numbers(self.ref_id, frame) if self.format is Format.ALERTING else Table((frame,))
        return Outcome(values, tuple(warnings))

    def _relation(self, name: str, value: Values | Table, limits: Limits) -> Relation:
        limits.deadline.check()
        try:
            return relation_of(name, value, limits)
        except BadRequest as error:
            raise _conversion_error(self.ref_id, name, value, error) from error


def _conversion_error(ref_id: str, name: str, value: Values | Table, error: DashwrightError) -> BadRequest:
    source_type = f" (Datasource Type: [{value.source_type}])" if isinstance(value, Table) and value.source_type else ""
    return BadRequest(
        f"failed to convert the results of query [{name}]{source_type} into a SQL/Tabular format "
        f"for sql expression [{ref_id}]: {error.message}",
        message_id="sse.sql.input_conversion",
    )


def _numbers(ref_id: str, frame: Frame) -> Values:
    """Return a number for each row, from the only numeric column.

    Raises BadRequest if there is no such column or more than one, or if rows have equal strings.
    """
    if not frame.row_count:
        return NoData()
    numeric = [field for field in frame.fields if field.type.is_numeric]
    if len(numeric) > 1:
        names = ", ".join(field.name for field in numeric)
        raise _format_error(ref_id, f"expected exactly one numeric field, but found multiple: {names}")
    if not numeric:
        raise _format_error(ref_id, "no numeric field found in frame")
    labels = _row_labels(frame)
    if repeated := _repeated(labels):
        examples = " ".join(f"{{{item}}}" for item in repeated[:_MAX_EXAMPLES])
        raise _format_error(ref_id, f"duplicate values across the string columns: {examples}")
    return Numbers(LabelSets.of(labels), _cells(numeric[0]))


def _format_error(ref_id: str, reason: str) -> BadRequest:
    return BadRequest(
        f"the result of sql expression [{ref_id}] does not fit the format alerting: {reason}; select one number a row, and text that "
        "distinguishes the rows",
        message_id="sse.sql.alerting_format",
    )


def _row_labels(frame: Frame) -> list[Labels]:
    """Return the label set of each row: its strings that are not null."""
    string_columns = [(field.name, field.values.tolist()) for field in frame.fields if field.type is FieldType.STRING]
    return [Labels.of((name, values[row]) for name, values in string_columns if values[row] is not None) for row in range(frame.row_count)]


def _repeated(labels: Sequence[Labels]) -> list[Labels]:
    """Return the label sets that occur more than once, without duplicates."""
    seen_labels: set[Labels] = set()
    repeated_labels: dict[Labels, None] = {}
    for label_set in labels:
        if label_set in seen_labels:
            repeated_labels[label_set] = None
        seen_labels.add(label_set)
    return list(repeated_labels)


def _cells(field: Field) -> Cells:
    return Cells.with_nulls(field.values.astype(np.float64), field.nulls)
