"""The type ``sql``: a statement over tables, with a table as its result, or numbers for alert rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.expressions.engine.expression import Outcome, TableExpression
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Cells, NoData, Numbers, Values
from dashwright.expressions.sql.engine import SqlEngine
from dashwright.expressions.sql.relation import Relation, Statement
from dashwright.expressions.sql.tables import relation_of

_SHOWN_EXAMPLES = 5


class Format(StrEnum):
    """The form of a statement's result."""

    TABLE = "table"
    ALERTING = "alerting"  #: Each row is a number, its texts are the labels.


@dataclass(frozen=True, slots=True)
class Sql(TableExpression):
    """A parsed statement with the engine that runs it."""

    ref_id: str
    statement: Statement
    format: Format
    engine: SqlEngine

    @staticmethod
    def of(ref_id: str, text: str, form: str, engine: SqlEngine) -> "Sql":
        """Return the expression of a target. Raises BadRequest if the statement is not allowed."""
        return Sql(ref_id, engine.read(text, ref_id), Format(form or Format.TABLE), engine)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refIds that the statement selects from."""
        return self.statement.tables

    def select(self, inputs: Mapping[str, Values | Table], limits: Limits) -> Outcome:
        """Return the result of the statement. Raises an error of the tree."""
        relations = {name: self._relation(name, inputs[name], limits) for name in self.inputs}
        selected = self.engine.select(self.ref_id, self.statement.sql, relations, limits)
        warnings = [notice for relation in relations.values() for notice in relation.notices]
        frame = selected.frame
        if selected.is_cut:
            warnings.append(
                f"the result was cut after {frame.rows} rows of {len(frame.fields)} columns, because it has more than the "
                f"{limits.sql_output_cells} cells allowed (setting DASHWRIGHT_SQL_OUTPUT_CELLS); select less, or group"
            )
        values = _numbers(self.ref_id, frame) if self.format is Format.ALERTING else Table((frame,))
        return Outcome(values, tuple(warnings))

    def _relation(self, name: str, held: Values | Table, limits: Limits) -> Relation:
        limits.deadline.check()
        try:
            return relation_of(name, held, limits)
        except BadRequest as error:
            raise _unconverted(self.ref_id, name, held, error) from error


def _unconverted(ref_id: str, name: str, held: Values | Table, error: DashwrightError) -> BadRequest:
    kind = f" (Datasource Type: [{held.source_type}])" if isinstance(held, Table) and held.source_type else ""
    return BadRequest(
        f"failed to convert the results of query [{name}]{kind} into a SQL/Tabular format for sql expression [{ref_id}]: {error.message}",
        message_id="sse.sql.input_conversion",
    )


def _numbers(ref_id: str, frame: Frame) -> Values:
    """Return a number a row, from the only numeric column.

    Raises BadRequest unless there is exactly one, and if rows have equal texts.
    """
    if not frame.rows:
        return NoData()
    numeric = [item for item in frame.fields if item.type.is_numeric]
    if len(numeric) > 1:
        names = ", ".join(item.name for item in numeric)
        raise _unfit(ref_id, f"expected exactly one numeric field, but found multiple: {names}")
    if not numeric:
        raise _unfit(ref_id, "no numeric field found in frame")
    labels = _row_labels(frame)
    if repeated := _repeated(labels):
        shown = " ".join(f"{{{item}}}" for item in repeated[:_SHOWN_EXAMPLES])
        raise _unfit(ref_id, f"duplicate values across the string columns: {shown}")
    return Numbers(tuple(labels), _cells(numeric[0]))


def _unfit(ref_id: str, found: str) -> BadRequest:
    return BadRequest(
        f"the result of sql expression [{ref_id}] does not fit the format alerting: {found}; select one number a row, and text that "
        "distinguishes the rows",
        message_id="sse.sql.alerting_format",
    )


def _row_labels(frame: Frame) -> list[Labels]:
    text = [(item.name, item.values.tolist()) for item in frame.fields if item.type is FieldType.STRING]
    return [Labels.of((name, values[row]) for name, values in text if values[row] is not None) for row in range(frame.rows)]


def _repeated(labels: Sequence[Labels]) -> list[Labels]:
    """Return the label sets that occur more than once, each once."""
    seen: set[Labels] = set()
    return list(dict.fromkeys(item for item in labels if item in seen or seen.add(item)))  # type: ignore[func-returns-value]


def _cells(item: Field) -> Cells:
    return Cells.of(item.values.astype(np.float64), item.nulls)
