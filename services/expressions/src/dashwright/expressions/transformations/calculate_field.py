"""Fields that are calculated from others, row by row."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, isfinite
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import list_of, object_of, string_of
from dashwright.expressions.calculations.table import calculation_of
from dashwright.expressions.calculations.values import FieldValues, NullMode
from dashwright.expressions.javascript.values import is_missing, number_of
from dashwright.expressions.transformations import binary_operation
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Cells, CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.join_by_field import join_series
from dashwright.expressions.transformations.matchers.fields import FieldMatcher, MatchedColumn, field_matcher, named
from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.operators import apply_unary
from dashwright.expressions.transformations.windows import moving_values

_REDUCE_ROW: Final = "reduceRow"
_DEFAULT_REDUCE: Final = {"reducer": "sum"}
_DEFAULT_WINDOW: Final = {"reducer": "mean", "windowAlignment": "trailing", "windowSizeMode": "percentage", "windowSize": 0.1}
_DEFAULT_UNARY: Final = {"operator": "abs", "fieldName": ""}

#: Returns the cells of a new field, or None if the frame lacks an operand.
Creator = Callable[[DataFrame, DisplayNames], Cells | None]


def calculate_field(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the frames with a field that is calculated from others. Time series are joined first, unless ``timeSeries`` is false."""
    mode = _REDUCE_ROW if options.get("mode") is None else string_of(options["mode"])
    binary = object_of(options.get("binary"))
    if options.get("timeSeries") is not False and not (mode == "binary" and binary_operation.is_constant(binary.get("right"))):
        frames = join_series(frames, context)
    context.check_cells(sum(frame.row_count for frame in frames))
    if mode == "index":
        return [_with_index(frame, options) for frame in frames]
    if mode == "binary":
        operation = binary_operation.BinaryOperation.of(binary, frames)
        if operation.left_type:
            return operation.calculated_by_type(frames, options, context)
        return _with_field(frames, options, operation.values, operation.name)
    read_options = _MODES.get(mode)
    if read_options is None:
        return frames
    create, name = read_options(options, context)
    return _with_field(frames, options, create, name)


def _with_field(frames: Frames, options: Mapping[str, Any], create: Creator, name: str) -> Frames:
    """Return the frames with a new field, or with only the new field and the time if ``replaceFields``."""
    names = DisplayNames(frames)
    alias = string_of(options.get("alias"))
    result = []
    for frame in frames:
        values = create(frame, names)
        if values is None:
            if not options.get("replaceFields"):
                result.append(frame)
            continue
        column = Column(alias or name, CellType.NUMBER, values, config={"displayName": alias} if alias else {})
        kept_columns: Sequence[Column] = frame.columns
        if options.get("replaceFields"):
            kept_columns = [frame.time_column] if frame.time_column and options.get("timeSeries") is not False else []
        result.append(frame.with_columns([*kept_columns, column]))
    return result


def _with_index(frame: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """Return the frame with the number of each row, or its share of all rows."""
    is_share = bool(object_of(options.get("index")).get("asPercentile"))
    values = [row / frame.row_count if is_share else row for row in range(frame.row_count)]
    alias = options.get("alias")
    column = Column(alias if isinstance(alias, str) else "Row", CellType.NUMBER, values, config={"unit": "percentunit"} if is_share else {})
    return frame.with_columns([column] if options.get("replaceFields") else [*frame.columns, column])


def _reduce_row(options: Mapping[str, Any], context: Context) -> tuple[Creator, str]:
    """Return the creator and the name of a calculation over the columns of each row, by default over all numbers."""
    settings = {**_DEFAULT_REDUCE, **object_of(options.get("reduce"))}
    included = [name for name in list_of(settings.get("include")) if isinstance(name, str)]
    matches = named(*included) if included else field_matcher({"id": "numeric"})
    calculation = calculation_of(settings["reducer"])
    mode = settings.get("nullValueMode")
    # As in Grafana, nulls are values by default, unlike in calculations on columns.
    nulls = NullMode(mode) if mode in (NullMode.IGNORE, NullMode.ZERO) else NullMode.KEEP

    def create(frame: DataFrame, names: DisplayNames) -> Cells:
        columns = [column.values for column in frame.columns if matches(MatchedColumn(column, frame, names))]
        context.step(frame.row_count * len(columns))
        rows = zip(*columns, strict=True) if columns else ((),) * frame.row_count
        return [calculation.reduce(FieldValues(row, nulls=nulls)) for row in rows]

    return create, calculation.name


def _cumulative(options: Mapping[str, Any], _context: Context) -> tuple[Creator, str]:
    """Return the creator and the name of the running sum or mean of a column."""
    settings = {**_DEFAULT_REDUCE, **object_of(options.get("cumulative"))}
    reducer, matches = settings["reducer"], _matcher_of_field(settings)
    if reducer not in ("sum", "mean"):
        raise BadRequest(f"cumulative functions have no calculation {str(reducer)[:40]!r}; use sum or mean")

    def create(frame: DataFrame, names: DisplayNames) -> Cells | None:
        values = _numbers(frame, names, matches)
        if values is None:
            return None
        total, totals = 0.0, []
        for count, value in enumerate(values, 1):
            total += value or 0
            totals.append(total / count if reducer == "mean" else total)
        return totals

    has_settings = isinstance(options.get("cumulative"), dict)
    return create, f"cumulative {reducer}{_field_suffix(settings)}" if has_settings else "cumulative "


def _window(options: Mapping[str, Any], context: Context) -> tuple[Creator, str]:
    """Return the creator and the name of a calculation over a moving window of a column."""
    settings = {**_DEFAULT_WINDOW, **object_of(options.get("window"))}
    size, matches = number_of(settings["windowSize"]), _matcher_of_field(settings)
    if not size > 0 or not isfinite(size):
        raise BadRequest("the size of the window must be a number above 0")
    is_share = settings["windowSizeMode"] == "percentage"

    def create(frame: DataFrame, names: DisplayNames) -> Cells | None:
        values = _numbers(frame, names, matches)
        if values is None:
            return None
        # Limited to a size at which every window, even a centered one, has all rows.
        rows = min(ceil(size * (frame.row_count if is_share else 1)), 2 * frame.row_count + 2)
        return moving_values(values, string_of(settings["reducer"]), rows, context, is_centered=settings["windowAlignment"] == "centered")

    has_settings = isinstance(options.get("window"), dict)
    name = f"{settings['windowAlignment']} moving {settings['reducer']}{_field_suffix(settings)}"
    return create, name if has_settings else " moving "


def _unary(options: Mapping[str, Any], _context: Context) -> tuple[Creator, str]:
    """Return the creator and the name of a function of one column."""
    settings = {**_DEFAULT_UNARY, **object_of(options.get("unary"))}
    operator, name = string_of(settings["operator"]), settings["fieldName"]

    def create(frame: DataFrame, names: DisplayNames) -> Cells | None:
        numbers = [column for column in frame.columns if names.of(column, frame) == name and column.type is CellType.NUMBER]
        return apply_unary(operator, list(numbers[-1].values)) if numbers and len(numbers[-1].values) else None

    has_settings = isinstance(options.get("unary"), dict)
    argument = f"({name})" if name else ""
    return create, f"{operator}{argument}" if has_settings else ""


def _matcher_of_field(settings: Mapping[str, Any]) -> FieldMatcher:
    return named(string_of(settings["field"])) if settings.get("field") else field_matcher({"id": "numeric"})


def _field_suffix(settings: Mapping[str, Any]) -> str:
    return f"({settings['field']})" if settings.get("field") else ""


def _numbers(frame: DataFrame, names: DisplayNames, matches: FieldMatcher) -> list[float | None] | None:
    """Return the values of the first matching column, with null for missing values, or None if no column matches."""
    column = next((column for column in frame.columns if matches(MatchedColumn(column, frame, names))), None)
    return None if column is None else [None if is_missing(value) else number_of(value) for value in column.values]


#: A function for each mode, which returns the creator and the name of the new field. As in Grafana, the name is incomplete if the
#: panel has no options of the mode.
_MODES: Final[Mapping[str, Callable[[Mapping[str, Any], Context], tuple[Creator, str]]]] = {
    _REDUCE_ROW: _reduce_row,
    "cumulativeFunctions": _cumulative,
    "windowFunctions": _window,
    "unary": _unary,
}
