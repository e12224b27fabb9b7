"""Reduction of columns to single values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_of
from dashwright.expressions.calculations.table import Calculation, known_calculations
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, guessed_type, joined_ref_id, padded
from dashwright.expressions.transformations.matchers.fields import FieldMatcher, MatchedColumn, field_matcher
from dashwright.expressions.transformations.names import DisplayNames

#: Calculations whose results have the type of the column.
_CHOICES: Final = frozenset({"first", "firstNotNull", "last", "lastNotNull"})
#: Calculations whose results are lists.
_LISTS: Final = frozenset({"allValues", "uniqueValues"})


def reduce(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a row of calculations for each column, or the columns with one row each if ``mode`` is ``reduceFields``."""
    reducers = list_of(options.get("reducers"))
    if not reducers:
        return frames
    reduces_fields = options.get("mode") == "reduceFields"
    calculations = known_calculations(reducers)
    matches = field_matcher({"id": "invertMatch", "options": {"id": "time"}})
    if options.get("fields"):
        matches = field_matcher(object_of(options["fields"]))
    elif options.get("includeTimeField") and reduces_fields:
        matches = field_matcher({"id": "alwaysMatch"})
    context.check_cells(sum(len(frame.columns) for frame in frames), 1 + len(calculations))
    if reduces_fields:
        return _reduced_columns(frames, matches, calculations)
    return _rows(frames, matches, calculations, with_labels=bool(options.get("labelsToFields")))


def _rows(frames: Frames, matches: FieldMatcher, calculations: Sequence[Calculation], *, with_labels: bool) -> Frames:
    """Return a frame with a row for each column: its name, optionally its labels, and the results, titled by their calculations."""
    if not frames:
        return []
    names = DisplayNames(frames)
    labels = dict.fromkeys(key for frame in frames for column in frame.columns for key in column.labels or ()) if with_labels else {}
    tables = []
    for frame in frames:
        chosen = [column for column in frame.columns if matches(MatchedColumn(column, frame, names))]
        titles = [column.name if with_labels else names.of(column, frame) for column in chosen]
        columns = [Column("Field", CellType.STRING, titles)]
        columns += [Column(key, CellType.STRING, [(column.labels or {}).get(key, UNDEFINED) for column in chosen]) for key in labels]
        tables.append(columns + [_result_column(calculation, chosen) for calculation in calculations])
    merged = _appended(tables)
    return [replace(frames[0], columns=merged, row_count=len(merged[0].values), name="", ref_id=joined_ref_id("reduce", frames))]


def _result_column(calculation: Calculation, columns: Sequence[Column]) -> Column:
    """Return the results of a calculation. A null is NaN, as in Grafana."""
    results = [column.reduced(calculation) for column in columns]
    values = [float("nan") if result is None else result for result in results]
    return Column(calculation.name, guessed_type(calculation.name, values) or CellType.OTHER, values)


def _appended(tables: Sequence[Sequence[Column]]) -> list[Column]:
    """Return the columns of the first table, with the rows of further tables where names and types agree.

    Columns that lack rows end with undefined values.
    """
    merged = []
    length = sum(len(table[0].values) for table in tables)
    for index, column in enumerate(tables[0]):
        values = list(column.values)
        for table in tables[1:]:
            for other_index, other_column in enumerate(table):
                # The first columns have the names of fields, in all tables.
                if index == other_index == 0 or (other_column.name == column.name and other_column.type is column.type):
                    values += other_column.values
        merged.append(column.with_values(padded(values, length)))
    return merged


def _reduced_columns(frames: Frames, matches: FieldMatcher, calculations: Sequence[Calculation]) -> Frames:
    """Return the columns with the result of each calculation as their only value."""
    names = DisplayNames(frames)
    reduced: list[DataFrame] = []
    for frame in frames:
        chosen = [column for column in frame.columns if matches(MatchedColumn(column, frame, names))]
        columns = [_reduced(column, calculation, len(calculations)) for column in chosen for calculation in calculations]
        if columns:
            reduced.append(replace(frame, columns=columns, row_count=1))
    return reduced


def _reduced(column: Column, calculation: Calculation, count: int) -> Column:
    """Return the column with a result as its only value. With a ``count`` of several calculations, a label names the calculation."""
    labels = {**(column.labels or {}), **({"reducer": calculation.name} if count > 1 else {})}
    type_ = _type_of_result(calculation, column)
    return replace(column, labels=labels, type=type_, source=[column.reduced(calculation)], known_name=None)


def _type_of_result(calculation: Calculation, column: Column) -> CellType:
    if calculation.id in _LISTS:
        return CellType.OTHER
    return column.type if calculation.id in _CHOICES else CellType.NUMBER
